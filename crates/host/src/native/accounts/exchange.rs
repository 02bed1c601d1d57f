//! Asking a provider for tokens: one request, one answer, within a time and a size.

use super::{super::sealed::Account, provider::OauthProvider};
use crate::program::Workshop;
use jiff::{SignedDuration, Timestamp};
use roost_protocol::{Failure, Reason};
use serde_json::Value;

/// Largest answer.
const ANSWER_BYTES_MAX: usize = 256 << 10;
/// Largest token; more of them must fit into what is kept of an app.
const TOKEN_BYTES_MAX: usize = 16 << 10;
/// A token that lives longer is said to live so long.
const LIFE_SECONDS_MAX: i64 = 10 * 365 * 24 * 60 * 60;

/// Asks for tokens with these fields. What is refused is told without anything that was sent.
pub(super) async fn tokens(
    workshop: &Workshop,
    provider: &OauthProvider,
    fields: &[(&str, &str)],
) -> Result<Account, Failure> {
    let secret = match &provider.client_secret {
        None => None,
        Some(name) => Some(workshop.vault.get(name).await?.ok_or_else(|| {
            let message = format!("the vault has no secret {}", name.as_str());
            Failure::new(Reason::OauthNotSetUp, message)
                .with_next(format!("set it with `roost secrets set {}`", name.as_str()))
        })?),
    };
    let mut fields = fields.to_vec();
    fields.push(("client_id", &provider.client_id));
    if let Some(secret) = &secret {
        fields.push(("client_secret", secret.expose()));
    }
    let asked = ask(workshop, &provider.token_url, form(&fields));
    let within = workshop.settings.native.exchange_within;
    let answer = tokio::time::timeout(within, asked).await;
    let answer =
        answer.unwrap_or_else(|_| Err(failed(&format!("the provider did not answer within {within:?}"))))?;
    account(&answer)
}

/// Pairs as a query or a form has them.
pub(super) fn form(fields: &[(&str, &str)]) -> String {
    let encoded = |text: &str| {
        text.bytes().fold(String::new(), |mut to, byte| {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => to.push(byte.into()),
                _ => to.push_str(&format!("%{byte:02X}")),
            }
            to
        })
    };
    let pairs: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    pairs.join("&")
}

async fn ask(workshop: &Workshop, url: &str, form: String) -> Result<Value, Failure> {
    let client = roost_chat::web_client(workshop.settings.models.proxy.as_ref()).await?;
    let request = client
        .post(url)
        .header("accept", "application/json")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form);
    // Never with the address, which is the operator's affair, nor with what was sent.
    let unreachable = |error: reqwest::Error| failed(&error.without_url().to_string());
    let mut response = request.send().await.map_err(unreachable)?;
    let status = response.status();
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > ANSWER_BYTES_MAX {
            return Err(failed("the provider's answer is too large"));
        }
    }
    let answer: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    if status.is_success() && answer["access_token"].is_string() {
        return Ok(answer);
    }
    // The code of the error only: a description may repeat what was sent.
    let code = answer["error"].as_str().unwrap_or("no token");
    let code: String = code.chars().take(60).flat_map(char::escape_debug).collect();
    Err(failed(&format!("the provider refused with {} and `{code}`", status.as_u16())))
}

fn account(answer: &Value) -> Result<Account, Failure> {
    let token = |name: &str| {
        let token = answer[name].as_str().filter(|token| !token.is_empty());
        match token {
            Some(token) if token.len() > TOKEN_BYTES_MAX || token.contains('\0') => {
                Err(failed("the provider's token is too large"))
            }
            token => Ok(token.map(str::to_owned)),
        }
    };
    let access_token = token("access_token")?.ok_or_else(|| failed("the provider gave an empty token"))?;
    let seconds = &answer["expires_in"];
    let seconds = seconds.as_i64().or_else(|| seconds.as_str().and_then(|text| text.parse().ok()));
    let expires_at = seconds.filter(|seconds| *seconds > 0).map(|seconds| {
        Timestamp::now().saturating_add(SignedDuration::from_secs(seconds.min(LIFE_SECONDS_MAX)))
    });
    let expires_at = expires_at.transpose().map_err(|error| failed(&error.to_string()))?;
    let scopes = answer["scope"].as_str().unwrap_or_default();
    let scopes = scopes.split([' ', ',']).filter(|scope| !scope.is_empty()).map(str::to_owned).collect();
    Ok(Account {
        scopes,
        access_token,
        token_type: answer["token_type"].as_str().unwrap_or("Bearer").chars().take(40).collect(),
        refresh_token: token("refresh_token")?,
        expires_at,
        trouble: None,
    })
}

pub(super) fn failed(why: &str) -> Failure {
    Failure::new(Reason::OauthFailed, why)
}
