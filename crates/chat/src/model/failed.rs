//! From what went wrong on the way to a provider to a failure that people and callers understand.
//!
//! Every text from outside is freed of credentials and cut here, so that no provider can forget it.

use super::secret::Secrets;
use super::{ModelFailure, ModelProblem};
use std::time::{Duration, SystemTime};

/// As much of a provider's words as its users were always shown.
const DETAIL_CHARS_MAX: usize = 300;

/// A provider that asks for more is not waited for by anyone; the number would only be noise.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30 * 24 * 3600);

/// What can go wrong with one request, before it is known for which model it was.
#[derive(Debug, Clone)]
pub(crate) enum Trouble {
    /// No connection, with the reason.
    Unreachable(String),
    /// Nothing came for this long.
    Silent(Duration),
    /// What came is not an answer, with what is wrong and how it begins.
    Garbled { what: &'static str, text: String },
    /// An answer that says no.
    Status { status: u16, text: String, retry_after: Option<Duration> },
}

impl Trouble {
    pub(crate) fn garbled(what: &'static str, text: impl Into<String>) -> Self {
        Self::Garbled { what, text: text.into() }
    }

    /// The failure of this model.
    pub(crate) fn of(self, model: &str, secrets: &Secrets) -> ModelFailure {
        let (problem, message, text) = match self {
            Self::Unreachable(text) => (
                ModelProblem::Unreachable,
                format!("The provider of model '{model}' cannot be reached."),
                text,
            ),
            Self::Silent(waited) => (
                ModelProblem::Silent,
                format!("Model '{model}' did not answer within {}.", in_words(waited)),
                String::new(),
            ),
            Self::Garbled { what, text } => (ModelProblem::Garbled, format!("Model '{model}' {what}."), text),
            Self::Status { status, text, retry_after } if is_limit(status, &text) => {
                let wait =
                    retry_after.map_or(String::new(), |wait| format!(" Ask again in {}.", in_words(wait)));
                let message = format!("The usage limit of model '{model}' is reached.{wait}");
                (ModelProblem::Limited { retry_after }, message, text)
            }
            Self::Status { status, text, .. } => {
                (ModelProblem::Refused { status }, format!("Model '{model}' returned {status}."), text)
            }
        };
        ModelFailure { problem, message, model: model.to_owned(), detail: detail(&text, secrets) }
    }
}

/// The beginning of a text from outside, without credentials.
pub(crate) fn detail(text: &str, secrets: &Secrets) -> String {
    // Cleaned before it is cut: half a credential would no longer be found.
    secrets.removed_from(text.trim()).chars().take(DETAIL_CHARS_MAX).collect()
}

/// The wait that a `Retry-After` header asks for: seconds, or a date.
pub(super) fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    let wait = match header.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok()?,
        Err(_) => httpdate::parse_http_date(header).ok()?.duration_since(now).unwrap_or_default(),
    };
    (wait <= RETRY_AFTER_MAX).then_some(wait)
}

fn is_limit(status: u16, text: &str) -> bool {
    status == 429 || text.to_lowercase().contains("quota")
}

fn in_words(duration: Duration) -> String {
    match (duration.as_secs(), duration.subsec_millis()) {
        (0, milliseconds) => format!("{milliseconds} ms"),
        (seconds, _) => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Trouble, retry_after};
    use crate::model::{
        ModelProblem,
        secret::{Secret, Secrets},
    };
    use std::time::{Duration, SystemTime};

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (header, expect) in [
            ("20", Some(20_000)),
            (" 0.5 ", Some(500)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60_000)),
            ("Sun, 06 Nov 1994 08:40:00 GMT", Some(0)),
            ("-3", None),
            ("NaN", None),
            ("99999999999", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(retry_after(header, now), expect.map(Duration::from_millis), "{header:?}");
        }
    }

    #[test]
    fn limits_are_told_by_status_or_by_the_word_quota() {
        let failure = |status, text: &str| {
            let retry_after = Some(Duration::from_secs(7));
            Trouble::Status { status, text: text.into(), retry_after }.of("m", &Secrets::default())
        };
        let limited = ModelProblem::Limited { retry_after: Some(Duration::from_secs(7)) };
        assert_eq!(failure(429, "slow").problem, limited);
        assert_eq!(failure(403, "Monthly Quota exceeded").problem, limited);
        assert_eq!(failure(429, "").message, "The usage limit of model 'm' is reached. Ask again in 7 s.");
        assert_eq!(failure(404, "what?").problem, ModelProblem::Refused { status: 404 });
        assert_eq!(failure(404, "what?").message, "Model 'm' returned 404.");
    }

    #[test]
    fn the_detail_is_short_and_clean_even_where_it_is_cut() {
        let mut secrets = Secrets::default();
        secrets.add(&Secret::parse("top-secret-key").unwrap());
        let text = format!("{}top-secret-key ends", "ä".repeat(294));
        let failure = Trouble::Status { status: 401, text, retry_after: None }.of("m", &secrets);
        assert_eq!(failure.detail.chars().count(), 300);
        assert!(!format!("{failure:?} {failure}").contains("top-s"), "{}", failure.detail);
    }
}
