//! Something handed over to another computer, with a token. It is sent once, to one place, and never sent on.

use super::{HeaderValue, Reason, Token, Web, failed, web_address};
use crate::catalog::web_address::Reach;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use roost_protocol::Failure;

/// Largest answer: a list of what is wrong.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// What is handed over.
#[derive(Debug)]
pub struct Parcel<'a> {
    /// What it is, for messages.
    pub what: &'a str,
    /// Where it goes.
    pub url: &'a str,
    /// What it is to the other side.
    pub content_type: &'static str,
    /// Its bytes.
    pub body: Vec<u8>,
    /// Who hands it over.
    pub token: &'a Token,
}

impl Web {
    /// Hands something over. Answers with the status and what the other side said.
    pub async fn hand_over(&self, parcel: Parcel<'_>) -> Result<(u16, Vec<u8>), Failure> {
        let wanted = super::Wanted {
            what: parcel.what,
            url: parcel.url,
            reach: Reach::Anywhere,
            content: super::Content::Json,
            bytes_max: ANSWER_BYTES_MAX,
            guarded: None,
            etag: None,
        };
        let url = web_address::parse(parcel.url, Reach::Anywhere)
            .map_err(|failure| super::about(&wanted, failure))?;
        let bearer = parcel.token.bearer();
        let bearer =
            bearer.ok_or_else(|| failed(&wanted, Reason::Internal, "the token fits no header".to_owned()))?;
        let send = async {
            let request = self
                .client
                .post(url.clone())
                .header(CONTENT_TYPE, HeaderValue::from_static(parcel.content_type))
                .header(AUTHORIZATION, bearer)
                .body(parcel.body);
            let mut response =
                request.send().await.map_err(|error| super::before_answer(&wanted, &url, error))?;
            let status = response.status().as_u16();
            let mut answer = Vec::new();
            while let Some(piece) =
                response.chunk().await.map_err(|error| super::before_answer(&wanted, &url, error))?
            {
                if answer.len() + piece.len() > ANSWER_BYTES_MAX {
                    let message = format!("answered with more than {ANSWER_BYTES_MAX} bytes");
                    return Err(failed(&wanted, Reason::FetchTooLarge, message));
                }
                answer.extend_from_slice(&piece);
            }
            Ok((status, answer))
        };
        match tokio::time::timeout(self.limits.total, send).await {
            Ok(sent) => sent,
            Err(_) => Err(failed(&wanted, Reason::FetchSlow, "gave no answer in time".to_owned())),
        }
    }
}
