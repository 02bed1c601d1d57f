//! Signing in: the device flow, what is kept, and what is left alone until a login is completed.

use crate::asking::{GITHUB_TOKEN, ask, github, open, open_in, signed_out};
use crate::server::Server;
use roost_chat::{CredentialSource, LoginProgress, ModelSettings, Models, RetryOutcome, StandingState};
use roost_protocol::Reason;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

const DEVICE_CODE: &str = "recorded-device-code-0005";

fn text(folder: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(folder.join(name)).ok()
}

fn kept(folder: &Path, name: &str) -> Value {
    assert_eq!(std::fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    serde_json::from_str(&text(folder, name).unwrap()).unwrap()
}

/// A host that works with what an earlier login left.
fn working(settings: ModelSettings, folder: &Path, server: &Server) -> Models {
    let session = json!({"token": "tid=old", "endpoint": server.url(), "expires_at": 4_102_444_800u64});
    std::fs::write(folder.join(".copilot_session"), session.to_string()).unwrap();
    std::fs::write(folder.join(".copilot_token"), "ghu_theOldToken").unwrap();
    let models = open_in(settings, folder);
    assert_eq!(models.standing().state, StandingState::Ready);
    models
}

#[tokio::test]
async fn a_login_is_waited_for_and_its_token_exchanged_and_kept() {
    let server = Server::of(&[
        "login/code",
        "login/poll_pending",
        "login/poll_slow_down",
        "login/poll_down",
        "login/poll_granted",
        "copilot/exchange",
        "copilot/chat",
    ])
    .await;
    let mut settings = signed_out(&server);
    settings.github.model = Some("gpt-4o".into());
    let (models, folder) = open(settings);
    let code = models.login().begin().await.unwrap();
    assert_eq!(
        (code.user_code.as_str(), code.verification_uri.as_str()),
        ("WDJB-MJHT", "https://github.com/login/device")
    );
    assert!((800..=899).contains(&code.expires_in), "{}", code.expires_in);
    assert_eq!(models.login().finished().await, LoginProgress::Ok { message: "Signed in.".into() });
    assert_eq!(models.login().poll().await, LoginProgress::Ok { message: "Signed in.".into() });
    assert_eq!(models.login().status(), None);
    assert_eq!(models.standing().state, StandingState::Ready);
    let token = kept(folder.path(), ".copilot_token");
    assert_eq!((&token["access_token"], &token["refresh_token"]), (&json!(GITHUB_TOKEN), &Value::Null));
    assert!(token["saved_at"].is_u64());
    assert_eq!(text(folder.path(), ".copilot_pending"), None);
    ask(&models).await.unwrap();
    server.is_done();
    assert!(!format!("{models:?}").contains(GITHUB_TOKEN));
}

#[tokio::test]
async fn a_pending_code_is_used_again_until_it_expires() {
    let server = Server::of(&["login/code", "login/poll_silent"]).await;
    let (models, folder) = open(signed_out(&server));
    let (first, second) = (models.login().begin().await.unwrap(), models.login().begin().await.unwrap());
    assert_eq!(first.user_code, second.user_code);
    assert_eq!(models.login().status().unwrap().user_code, "WDJB-MJHT");
    assert_eq!(models.login().poll().await, LoginProgress::Pending);
    assert_eq!(models.standing().state, StandingState::NotSignedIn);
    assert_eq!(kept(folder.path(), ".copilot_pending")["device_code"], DEVICE_CODE);
    assert!(!format!("{models:?}").contains(DEVICE_CODE));
}

#[tokio::test]
async fn a_pending_login_goes_on_after_a_restart() {
    let server = Server::of(&["login/poll_granted", "copilot/exchange"]).await;
    let folder = tempfile::tempdir().unwrap();
    let pending = json!({
        "device_code": DEVICE_CODE, "user_code": "WDJB-MJHT", "verification_uri": "https://github.com/login/device",
        "interval": 5, "expires_at": 4_102_444_800.25,
    });
    std::fs::write(folder.path().join(".copilot_pending"), pending.to_string()).unwrap();
    let models = open_in(signed_out(&server), folder.path());
    assert_eq!(models.login().status().unwrap().user_code, "WDJB-MJHT");
    models.login().resume();
    assert!(matches!(models.login().finished().await, LoginProgress::Ok { .. }));
    server.is_done();
}

#[tokio::test]
async fn an_expired_or_damaged_pending_login_is_begun_anew() {
    let expired = json!({"device_code": "d", "user_code": "OLD", "verification_uri": "u", "interval": 5, "expires_at": 1});
    for content in [expired.to_string(), "{".into(), "[1]".into()] {
        let server = Server::of(&["login/code", "login/poll_silent"]).await;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".copilot_pending"), content).unwrap();
        let models = open_in(signed_out(&server), folder.path());
        assert_eq!(models.login().status(), None);
        assert_eq!(models.login().begin().await.unwrap().user_code, "WDJB-MJHT");
    }
}

#[tokio::test]
async fn every_other_end_is_told_and_forgets_the_code() {
    for (poll, expect) in [
        (
            "login/poll_expired",
            LoginProgress::Expired { message: "The code was not used in time; begin again.".into() },
        ),
        ("login/poll_denied", LoginProgress::Error { message: "The login was declined at GitHub.".into() }),
    ] {
        let server = Server::of(&["login/code", poll]).await;
        let (models, folder) = open(signed_out(&server));
        models.login().begin().await.unwrap();
        assert_eq!(models.login().finished().await, expect);
        assert_eq!(models.login().poll().await, expect);
        assert_eq!((models.login().status(), text(folder.path(), ".copilot_pending")), (None, None));
        server.is_done();
    }
}

#[tokio::test]
async fn a_code_that_died_before_it_was_used_is_expired() {
    let server = Server::of(&["login/code_dead"]).await;
    let (models, _folder) = open(signed_out(&server));
    models.login().begin().await.unwrap();
    assert!(matches!(models.login().finished().await, LoginProgress::Expired { .. }));
    server.is_done();
}

#[tokio::test]
async fn where_no_login_was_begun_polling_says_so() {
    let (models, _folder) = open(crate::asking::nothing());
    assert_eq!(models.login().poll().await, LoginProgress::Error { message: "No login was begun.".into() });
    assert_eq!(models.login().retry().await, RetryOutcome::Unauthenticated);
}

#[tokio::test]
async fn beginning_touches_neither_token_nor_session_whatever_github_says() {
    for exchanges in [
        &["login/code", "login/poll_denied"][..],
        &["login/code", "login/poll_expired"],
        &["login/code_refused"],
        &["login/code_error"],
        &["login/code_garbled"],
    ] {
        let server = Server::of(exchanges).await;
        let folder = tempfile::tempdir().unwrap();
        let models = working(signed_out(&server), folder.path(), &server);
        let before = (text(folder.path(), ".copilot_token"), text(folder.path(), ".copilot_session"));
        if models.login().begin().await.is_ok() {
            models.login().finished().await;
        } else {
            assert_eq!(text(folder.path(), ".copilot_pending"), None);
        }
        let after = (text(folder.path(), ".copilot_token"), text(folder.path(), ".copilot_session"));
        assert_eq!(before, after, "{exchanges:?}");
        assert_eq!(models.standing().state, StandingState::Ready);
        server.is_done();
    }
}

#[tokio::test]
async fn when_github_is_unreachable_nothing_changes() {
    let server = Server::of(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    // Nobody listens at the login's address.
    let settings = crate::asking::nothing();
    let models = working(settings, folder.path(), &server);
    for failure in [models.login().begin().await.unwrap_err(), models.login().switch().await.unwrap_err()] {
        assert_eq!(failure.reason, Reason::LoginFailed);
    }
    assert_eq!(models.standing().state, StandingState::Ready);
    assert!(
        text(folder.path(), ".copilot_session").is_some() && text(folder.path(), ".copilot_token").is_some()
    );
}

#[tokio::test]
async fn switching_replaces_the_account_only_when_it_is_completed() {
    let server = Server::of(&[
        "login/code",
        "login/poll_silent",
        "login/code_other",
        "login/poll_granted_other",
        "copilot/exchange_no_access",
        "copilot/user",
    ])
    .await;
    let folder = tempfile::tempdir().unwrap();
    let models = working(signed_out(&server), folder.path(), &server);
    assert_eq!(models.login().begin().await.unwrap().user_code, "WDJB-MJHT");
    assert_eq!(models.login().switch().await.unwrap().user_code, "ABCD-EFGH");
    assert_eq!(
        models.login().finished().await,
        LoginProgress::Ok { message: "Signed in as 'octocat', who has no access to Copilot.".into() }
    );
    assert_eq!(models.standing().state, StandingState::NoAccess { user: "octocat".into() });
    assert_eq!(text(folder.path(), ".copilot_session"), None);
    assert_eq!(kept(folder.path(), ".copilot_token")["refresh_token"], "ghr_recordedRefresh");
}

#[tokio::test]
async fn switching_is_refused_while_the_settings_hold_a_token() {
    let server = Server::of(&[]).await;
    let failure = open(github(&server, None)).0.login().switch().await.unwrap_err();
    assert_eq!(failure.reason, Reason::LoginFailed);
    assert!(failure.message.contains("GITHUB_TOKEN"));
}

#[tokio::test]
async fn trying_again_tells_how_it_went() {
    let server = Server::of(&[
        "copilot/exchange_no_access",
        "copilot/user",
        "copilot/exchange_bad_credentials",
        "copilot/exchange_garbled",
        "copilot/exchange",
    ])
    .await;
    let (models, _folder) = open(github(&server, None));
    let login = models.login();
    assert_eq!(login.retry().await, RetryOutcome::NoCopilotAccess { user: "octocat".into() });
    assert_eq!(login.retry().await, RetryOutcome::Unauthenticated);
    assert!(matches!(login.retry().await, RetryOutcome::Error { .. }));
    assert_eq!(login.retry().await, RetryOutcome::Ok);
    assert_eq!(models.standing().state, StandingState::Ready);
    server.is_done();
}

#[tokio::test]
async fn credentials_are_taken_from_the_settings_then_the_file_in_every_form() {
    let server = Server::of(&[]).await;
    let object =
        json!({"access_token": "ghu_inAnObject", "refresh_token": null, "saved_at": 1.5}).to_string();
    for (content, length) in [
        (object.as_str(), Some(14)),
        ("ghu_bare\n", Some(8)),
        ("\"ghu_quoted\"", Some(10)),
        ("{\"access_token\": ", None),
        ("{\"access_token\": 5}", None),
        ("", None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".copilot_token"), content).unwrap();
        let report = open_in(signed_out(&server), folder.path()).login().auth_report(false);
        assert_eq!(report.source, length.map(|_| CredentialSource::TokenFile), "{content}");
        assert_eq!(report.token_length, length.unwrap_or(0), "{content}");
        let report = open_in(github(&server, None), folder.path()).login().auth_report(false);
        assert_eq!(report.source, Some(CredentialSource::Settings));
    }
}

#[tokio::test]
async fn the_report_shows_lengths_and_to_the_owner_ten_characters() {
    let server = Server::of(&["copilot/exchange"]).await;
    let (models, _folder) = open(github(&server, None));
    assert_eq!(models.login().retry().await, RetryOutcome::Ok);
    let report = models.login().auth_report(false);
    assert_eq!((report.token_length, report.token_prefix.as_deref(), report.state), (27, None, "ready"));
    let session = report.session.clone().unwrap();
    assert_eq!((session.length, session.expires_at), (51, 4_102_444_800));
    assert!(!format!("{report:?}").contains("ghu_"));
    let report = models.login().auth_report(true);
    assert_eq!(report.token_prefix.as_deref(), Some("ghu_record"));
    assert!(!format!("{report:?}").contains("ghu_recorde"));
}
