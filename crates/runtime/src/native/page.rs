//! What an app answers a browser.

use super::{
    connection::MESSAGE_BYTES_MAX,
    contract::{HttpRequest, ui_service_client::UiServiceClient},
    launch::NativeApp,
};
use prost::Message as _;
use roost_protocol::{Failure, Reason};
use std::collections::BTreeMap;

/// Largest request, and largest answer: what one message of the contract holds.
pub const PAGE_MESSAGE_BYTES_MAX: usize = MESSAGE_BYTES_MAX;

/// What a browser or a program asks of an app.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// The method.
    pub method: String,
    /// The path below the app's `api`, with its leading slash.
    pub path: String,
    /// The query as it was sent, without the question mark.
    pub query: String,
    /// One value for each name.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

/// What the app answers, as it wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageAnswer {
    /// The status, if the app is right.
    pub status: i32,
    /// Names and values, if the app is right.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

impl NativeApp {
    /// Lets the app answer a request. One that no message can hold is not sent.
    pub async fn answer_page(&self, request: PageRequest) -> Result<PageAnswer, Failure> {
        let PageRequest { method, path, query, headers, body } = request;
        let request = HttpRequest { method, path, query, headers: headers.into_iter().collect(), body };
        if request.encoded_len() > MESSAGE_BYTES_MAX {
            let message = format!("a request has at most {} MiB with its headers", MESSAGE_BYTES_MAX >> 20);
            return Err(Failure::new(Reason::BodyTooLarge, message));
        }
        let mut pages = UiServiceClient::new(self.channel()?)
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX);
        let asked = pages.handle_request(request);
        let answer = self.ask(self.wall(), "UIService.HandleRequest", asked).await?;
        Ok(PageAnswer {
            status: answer.status_code,
            headers: answer.headers.into_iter().collect(),
            body: answer.body,
        })
    }
}
