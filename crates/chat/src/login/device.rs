//! GitHub's device flow on the wire: asking for a code, asking whether it was used, and every answer it gives.

use super::DeviceCode;
use crate::model::{Secret, Target, Trouble, Wire, now};
use crate::models::GitHubSettings;
use serde_json::{Value, json};

/// The id of GitHub's public flow for Copilot.
const CLIENT_ID: &str = "Iv1.b507a08c87ecfe98";
const SCOPE: &str = "read:user";
const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// What the flow says to use when no interval is given, and to add when asked to slow down, in seconds.
const INTERVAL_DEFAULT: u32 = 5;

/// No interval is longer than a code lives.
const INTERVAL_MAX: u32 = 900;

/// How long a code lives when GitHub does not say, in seconds.
const LIFE_DEFAULT: u64 = 900;

/// A login that waits for its person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pending {
    device_code: Secret,
    user_code: String,
    verification_uri: String,
    /// Seconds between questions.
    pub(super) interval: u32,
    expires_at: u64,
}

/// What a completed login gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Granted {
    pub(super) token: Secret,
    pub(super) refresh_token: Option<Secret>,
}

/// What GitHub said about a pending login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Poll {
    Waiting,
    SlowDown { interval: Option<u32> },
    Granted(Granted),
    Expired,
    Refused { why: String },
    Unclear { why: String },
}

impl Pending {
    pub(super) fn read(file: &Value) -> Option<Self> {
        let text = |key: &str| file[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        Some(Self {
            device_code: Secret::parse(file["device_code"].as_str()?)?,
            user_code: text("user_code")?,
            verification_uri: text("verification_uri")?,
            interval: interval(&file["interval"]).unwrap_or(INTERVAL_DEFAULT),
            // Python writes it with a fraction.
            expires_at: file["expires_at"]
                .as_u64()
                .or_else(|| format!("{:.0}", file["expires_at"].as_f64()?).parse().ok())?,
        })
    }

    pub(super) fn written(&self) -> Value {
        json!({
            "device_code": self.device_code.reveal(),
            "user_code": self.user_code,
            "verification_uri": self.verification_uri,
            "interval": self.interval,
            "expires_at": self.expires_at,
        })
    }

    pub(super) fn seconds_left(&self) -> u64 {
        self.expires_at.saturating_sub(now())
    }

    pub(super) fn shown(&self) -> DeviceCode {
        DeviceCode {
            user_code: self.user_code.clone(),
            verification_uri: self.verification_uri.clone(),
            expires_in: self.seconds_left(),
        }
    }
}

/// A new code, or why there is none, in one sentence.
pub(super) async fn ask_for_code(wire: &Wire, settings: &GitHubSettings) -> Result<Pending, String> {
    let target = target(settings, "login/device/code");
    let asked =
        async { wire.post_form(&target, &[("client_id", CLIENT_ID), ("scope", SCOPE)]).await?.json().await };
    let mut body = asked.await.map_err(|trouble: Trouble| said(trouble, &target))?;
    let life = body["expires_in"].as_u64().unwrap_or(LIFE_DEFAULT);
    body["expires_at"] = now().saturating_add(life).into();
    Pending::read(&body).ok_or_else(|| match body["error"].as_str() {
        Some(error) => format!("GitHub gives no code: {error}."),
        None => "GitHub gives no code.".to_owned(),
    })
}

/// Whether the person is done.
pub(super) async fn poll(wire: &Wire, settings: &GitHubSettings, pending: &Pending) -> Poll {
    let target = target(settings, "login/oauth/access_token");
    let form =
        [("client_id", CLIENT_ID), ("device_code", pending.device_code.reveal()), ("grant_type", GRANT_TYPE)];
    let asked = async { wire.post_form(&target, &form).await?.json().await };
    match asked.await {
        Ok(body) => read_poll(&body),
        Err(trouble) => Poll::Unclear { why: said(trouble, &target) },
    }
}

/// The interval after GitHub asked to slow down: the one it names, or five seconds more.
pub(super) fn slower(interval: u32, asked: Option<u32>) -> u32 {
    asked.filter(|asked| *asked > interval).unwrap_or(interval + INTERVAL_DEFAULT).min(INTERVAL_MAX)
}

fn read_poll(body: &Value) -> Poll {
    if let Some(token) = body["access_token"].as_str().and_then(Secret::parse) {
        let refresh_token = body["refresh_token"].as_str().and_then(Secret::parse);
        return Poll::Granted(Granted { token, refresh_token });
    }
    match body["error"].as_str() {
        Some("authorization_pending") => Poll::Waiting,
        Some("slow_down") => Poll::SlowDown { interval: interval(&body["interval"]) },
        Some("expired_token" | "token_expired") => Poll::Expired,
        Some("access_denied") => Poll::Refused { why: "The login was declined at GitHub.".into() },
        Some(error) => {
            let more = body["error_description"].as_str().unwrap_or(error);
            Poll::Refused { why: format!("GitHub refused the login: {more}") }
        }
        None => Poll::Unclear { why: "GitHub answered without a token and without an error".into() },
    }
}

fn interval(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|seconds| u32::try_from(seconds).ok()).map(|seconds| seconds.min(INTERVAL_MAX))
}

fn target(settings: &GitHubSettings, path: &str) -> Target {
    Target::new(format!("{}/{path}", settings.login_base.trim_end_matches('/')))
}

fn said(trouble: Trouble, target: &Target) -> String {
    let failure = trouble.of("", target.secrets());
    match failure.detail.as_str() {
        "" => "GitHub did not answer.".to_owned(),
        detail => format!("GitHub did not answer as expected: {detail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Granted, Pending, Poll, Secret, read_poll, slower};
    use serde_json::{Value, json};

    #[track_caller]
    fn check(body: Value, expect: &Poll) {
        assert_eq!(read_poll(&body), *expect, "{body}");
    }

    #[test]
    fn every_answer_of_github_is_understood() {
        let secret = |text: &str| Secret::parse(text).unwrap();
        let granted = |refresh: Option<&str>| {
            Poll::Granted(Granted { token: secret("ghu_a"), refresh_token: refresh.map(secret) })
        };
        check(json!({"access_token": "ghu_a", "token_type": "bearer", "scope": ""}), &granted(None));
        check(json!({"access_token": "ghu_a", "refresh_token": "ghr_b"}), &granted(Some("ghr_b")));
        check(json!({"error": "authorization_pending"}), &Poll::Waiting);
        check(json!({"error": "slow_down", "interval": 10}), &Poll::SlowDown { interval: Some(10) });
        check(json!({"error": "slow_down"}), &Poll::SlowDown { interval: None });
        check(json!({"error": "expired_token"}), &Poll::Expired);
        check(
            json!({"error": "access_denied"}),
            &Poll::Refused { why: "The login was declined at GitHub.".into() },
        );
        check(
            json!({"error": "incorrect_device_code", "error_description": "no such code"}),
            &Poll::Refused { why: "GitHub refused the login: no such code".into() },
        );
        assert!(matches!(read_poll(&json!([])), Poll::Unclear { .. }));
    }

    #[test]
    fn slowing_down_adds_five_seconds_or_what_github_says() {
        assert_eq!(slower(5, None), 10);
        assert_eq!(slower(5, Some(12)), 12);
        assert_eq!(slower(5, Some(5)), 10);
        assert_eq!(slower(900, None), 900);
    }

    #[test]
    fn a_pending_login_survives_its_file_and_damage_is_none() {
        let file = json!({
            "device_code": "d", "user_code": "AB-CD", "verification_uri": "https://x", "interval": 5,
            "expires_at": 4_102_444_800.5,
        });
        let pending = Pending::read(&file).unwrap();
        assert_eq!(Pending::read(&pending.written()), Some(pending.clone()));
        assert!(!format!("{pending:?}").contains("\"d\""));
        for damaged in
            [json!({}), json!(1), json!({"device_code": "d", "user_code": "", "verification_uri": "u"})]
        {
            assert_eq!(Pending::read(&damaged), None);
        }
    }
}
