//! The person at GitHub: which token counts, the session it was exchanged for, and the files both are kept in.
//!
//! Only a completed login replaces the token. A session is dropped when Copilot refuses it, never because GitHub
//! could not be reached.

mod session; // what a token is exchanged for
mod report; // what may be told about credentials

pub use self::report::{AuthReport, SessionReport};
pub(crate) use self::session::Session;

use super::failed::{Trouble, detail};
use super::wire::{Target, Wire};
use super::{ModelFailure, ModelProblem, Secret};
use crate::models::GitHubSettings;
use crate::state_file::StateFile;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

const TOKEN_FILE: &str = ".copilot_token";
const SESSION_FILE: &str = ".copilot_session";

/// As Copilot's own editors introduce themselves; without it the exchange is refused.
pub(super) const EDITOR: &str = "vscode/1.95.0";
pub(super) const INTEGRATION: &str = "vscode-chat";

/// Tokens of the `gh` program that cannot be exchanged begin so.
const GH_PROGRAM_TOKEN: &str = "gho_";

/// Where a credential came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialSource {
    /// The settings, which the environment is part of.
    Settings,
    /// The file a login wrote.
    TokenFile,
    /// The `gh` program.
    GhProgram,
}

impl CredentialSource {
    /// The name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Settings => "env",
            Self::TokenFile => "file",
            Self::GhProgram => "gh",
        }
    }
}

/// How things stand, without asking anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AccountStanding {
    /// There is a session.
    Ready,
    /// There is a token that was not exchanged yet.
    Pending,
    /// There is nothing.
    NoCredential,
    /// GitHub did not take the token.
    Rejected,
    /// The account may not use Copilot.
    NoAccess { user: String },
}

/// How an exchange ended.
#[derive(Debug, Clone)]
pub(crate) enum Exchanged {
    Session(Session),
    NoAccess { user: String },
    Unauthenticated,
    Failed(ModelFailure),
}

/// A clonable handle; the lock is inside.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    wire: Wire,
    settings: GitHubSettings,
    token_file: StateFile,
    session_file: StateFile,
    state: Mutex<State>,
    /// Held during an exchange, so that many requests make one.
    exchanging: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Counts logins: what was learned with another account's token no longer holds.
    logins: u64,
    saved: Option<Secret>,
    session: Option<Session>,
    rejected: bool,
    no_access: Option<String>,
}

impl Account {
    /// Reads the files; asks nobody.
    pub(crate) fn open(wire: Wire, settings: GitHubSettings, folder: &Path) -> Self {
        let token_file = StateFile::new(folder, TOKEN_FILE);
        let session_file = StateFile::new(folder, SESSION_FILE);
        let state = State {
            saved: saved_token(&token_file),
            session: session_file.json().as_ref().and_then(Session::read),
            ..State::default()
        };
        let exchanging = tokio::sync::Mutex::default();
        let shared =
            Shared { wire, settings, token_file, session_file, state: Mutex::new(state), exchanging };
        Self { shared: Arc::new(shared) }
    }

    pub(crate) fn settings(&self) -> &GitHubSettings {
        &self.shared.settings
    }

    /// The token that counts: of the settings, of the file, of the `gh` program.
    pub(crate) fn token(&self) -> Option<(Secret, CredentialSource)> {
        let settings = &self.shared.settings;
        let named = |token: &Option<Secret>, source| token.clone().map(|token| (token, source));
        named(&settings.token, CredentialSource::Settings)
            .or_else(|| named(&self.state().saved, CredentialSource::TokenFile))
            .or_else(|| {
                named(&settings.gh_token, CredentialSource::GhProgram)
                    .filter(|(token, _)| can_be_exchanged(token))
            })
    }

    /// How many logins were completed.
    pub(crate) fn logins(&self) -> u64 {
        self.state().logins
    }

    pub(crate) fn standing(&self) -> AccountStanding {
        let token = self.token();
        let state = self.state();
        if let Some(user) = &state.no_access {
            return AccountStanding::NoAccess { user: user.clone() };
        }
        let token = token.as_ref().map(|(token, _)| token);
        match &state.session {
            Some(session) if session.holds(now(), token) => AccountStanding::Ready,
            _ if state.rejected => AccountStanding::Rejected,
            _ if token.is_some() => AccountStanding::Pending,
            _ => AccountStanding::NoCredential,
        }
    }

    /// A session that still holds: the kept one, or a new one in exchange for the token.
    pub(crate) async fn session(&self, model: &str) -> Result<Session, ModelFailure> {
        let failure = |problem, message: &str| ModelFailure {
            problem,
            message: message.to_owned(),
            model: model.to_owned(),
            detail: String::new(),
        };
        match self.exchange().await {
            Exchanged::Session(session) => Ok(session),
            Exchanged::Unauthenticated => {
                Err(failure(ModelProblem::NotSignedIn, "Nobody is signed in at GitHub, or not any more."))
            }
            Exchanged::NoAccess { user } => {
                let message = format!("The GitHub account '{user}' has no access to Copilot.");
                Err(failure(ModelProblem::NoCopilotAccess { user }, &message))
            }
            Exchanged::Failed(mut failed) => {
                model.clone_into(&mut failed.model);
                Err(failed)
            }
        }
    }

    /// The kept session, or an exchange.
    pub(crate) async fn exchange(&self) -> Exchanged {
        let _one_at_a_time = self.shared.exchanging.lock().await;
        let token = self.token().map(|(token, _)| token);
        if let Some(session) =
            self.state().session.clone().filter(|session| session.holds(now(), token.as_ref()))
        {
            return Exchanged::Session(session);
        }
        let Some(token) = token else { return Exchanged::Unauthenticated };
        let exchanged = self.ask_for_session(&token).await;
        let mut state = self.state();
        match &exchanged {
            Exchanged::Session(session) => {
                (state.rejected, state.no_access) = (false, None);
                state.session = Some(session.clone());
                self.keep(&self.shared.session_file, &session.written());
            }
            Exchanged::Unauthenticated => state.rejected = true,
            Exchanged::NoAccess { user } => state.no_access = Some(user.clone()),
            Exchanged::Failed(_) => {}
        }
        exchanged
    }

    /// Drops the session that was refused, unless it was replaced meanwhile.
    pub(crate) fn drop_session(&self, refused: &Session) {
        let mut state = self.state();
        if state.session.as_ref() == Some(refused) {
            state.session = None;
            if let Err(error) = self.shared.session_file.remove() {
                tracing::warn!(%error, "the session of Copilot cannot be removed");
            }
        }
    }

    /// A login was completed: its token replaces the old one, and the old session ends.
    pub(crate) fn sign_in(&self, token: Secret, refresh_token: Option<&Secret>) {
        let saved = json!({
            "access_token": token.reveal(), "refresh_token": refresh_token.map(Secret::reveal), "saved_at": now(),
        });
        let mut state = self.state();
        self.keep(&self.shared.token_file, &saved);
        *state = State { logins: state.logins + 1, saved: Some(token), ..State::default() };
        if let Err(error) = self.shared.session_file.remove() {
            tracing::warn!(%error, "the session of Copilot cannot be removed");
        }
    }

    /// Reads the files again when nothing is known: another process may have signed in.
    pub(crate) fn look_again(&self) {
        if self.token().is_none() {
            let saved = saved_token(&self.shared.token_file);
            let session = self.shared.session_file.json().as_ref().and_then(Session::read);
            let mut state = self.state();
            (state.saved, state.session) = (saved, session);
        }
    }

    /// Forgets why the last exchange did not work, so that it is tried anew.
    pub(crate) fn clear_refusals(&self) {
        let mut state = self.state();
        (state.rejected, state.no_access) = (false, None);
    }

    /// What may be told about the credentials; the first characters of the token only to the owner.
    pub(crate) fn report(&self, reveal_prefix: bool) -> AuthReport {
        let token = self.token();
        let standing = self.standing();
        report::report(token.as_ref(), self.state().session.as_ref(), standing, reveal_prefix)
    }

    async fn ask_for_session(&self, token: &Secret) -> Exchanged {
        let target = self.api("copilot_internal/v2/token", token);
        let asked = async { self.shared.wire.get(&target).await?.json().await };
        match asked.await {
            Ok(body) => match Session::exchanged(&body, token) {
                Some(session) => Exchanged::Session(session),
                // The body is not told: it may hold a token.
                None => Exchanged::Failed(
                    Trouble::garbled("got no session from GitHub", "").of("", target.secrets()),
                ),
            },
            Err(Trouble::Status { status: 401, .. }) => Exchanged::Unauthenticated,
            Err(Trouble::Status { status: 403 | 404, text, .. }) if !text.contains("rate limit") => {
                tracing::info!(said = detail(&text, target.secrets()), "GitHub gives no session of Copilot");
                Exchanged::NoAccess { user: self.user(token).await }
            }
            Err(trouble) => Exchanged::Failed(trouble.of("", target.secrets())),
        }
    }

    /// The account's name; empty when GitHub does not tell.
    async fn user(&self, token: &Secret) -> String {
        let target = self.api("user", token);
        let asked = async { self.shared.wire.get(&target).await?.json().await };
        let body: Value = asked.await.unwrap_or_default();
        body["login"].as_str().unwrap_or_default().to_owned()
    }

    fn api(&self, path: &str, token: &Secret) -> Target {
        Target::new(format!("{}/{path}", self.shared.settings.api_base.trim_end_matches('/')))
            .with_secret("authorization", "token ", token)
            .with("editor-version", EDITOR)
            .with("copilot-integration-id", INTEGRATION)
    }

    /// Writes a file; a full disk must not end a conversation that works.
    fn keep(&self, file: &StateFile, content: &Value) {
        if let Err(error) = file.write(content) {
            tracing::warn!(%error, "credentials of GitHub cannot be kept; they hold until the host ends");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn can_be_exchanged(token: &Secret) -> bool {
    !token.reveal().starts_with(GH_PROGRAM_TOKEN)
}

/// The token in a login's file: an object, or the bare text of old.
fn saved_token(file: &StateFile) -> Option<Secret> {
    let text = file.text()?;
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(saved)) => saved.get("access_token")?.as_str().and_then(Secret::parse),
        Ok(Value::String(token)) => Secret::parse(&token),
        // One word that is no JSON; anything else is damage.
        _ => Secret::parse(&text).filter(|token| token.reveal().chars().all(is_token_character)),
    }
}

fn is_token_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
