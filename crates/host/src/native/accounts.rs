//! Accounts elsewhere that apps use: a person signs in at the provider, the host keeps what it gives, and the app is
//! told the token that is valid now.
//!
//! Only for providers and scopes that the app's manifest names, with a right that a person gave. A state is for one
//! answer, within a time. Tokens that renew others never leave the host.

mod provider; // where a person signs in
mod exchange; // asking for tokens

pub use self::provider::{OauthProvider, WrittenProvider};

use self::exchange::{failed, form, tokens};
use super::{folder::NativeFolder, sealed::Account};
use crate::host::{Host, Inner};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use roost_protocol::{Failure, Reason, Right, from_native};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::task::JoinHandle;

/// How long a person may take at the provider.
const SIGN_IN_WITHIN: Duration = Duration::from_secs(10 * 60);
/// People who are at a provider at once; the first of them has to begin again.
const SIGNING_IN_MAX: usize = 32;
/// Tokens are renewed when they end within this.
const RENEW_BEFORE: SignedDuration = SignedDuration::from_mins(5);

/// People who are at a provider now.
#[derive(Default)]
pub(super) struct SigningIn(Mutex<Vec<SignIn>>);

struct SignIn {
    state: String,
    app: String,
    provider: String,
    scopes: Vec<String>,
    verifier: String,
    redirect: String,
    begun: Instant,
}

/// An account as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownAccount {
    /// Whose account.
    pub provider: String,
    /// What it is used for, with spaces between.
    pub scopes: String,
    /// `connected`, `pending`, `expired` or `error`.
    pub connection_status: &'static str,
    /// When the token ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Renews tokens again and again for as long as this value lives.
#[must_use]
pub struct Renewing(JoinHandle<()>);

impl Drop for Renewing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Renews tokens before they end. For the one host of a home that stays.
pub fn keep_connected(host: &Host) -> Renewing {
    let host = host.clone();
    Renewing(tokio::spawn(async move {
        host.start_native_apps().await;
        loop {
            host.renew_accounts().await;
            tokio::time::sleep(host.inner.settings.native.renew_every).await;
        }
    }))
}

impl Host {
    /// The address at which a person lets an app use an account. `scopes` are some of those that the app names; all of
    /// them when absent.
    pub async fn connect_account(
        &self,
        id: &str,
        provider: &str,
        scopes: Option<Vec<String>>,
        redirect: &str,
    ) -> Result<String, Failure> {
        let folder = self.inner.known_or_installed(id).await?;
        let scopes = asked_scopes(&folder, provider, scopes)?;
        self.inner.may_use_account(&folder, provider)?;
        let known = self.inner.provider(provider)?;
        let (state, verifier) = (random()?, random()?);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let query = form(&[
            ("response_type", "code"),
            ("client_id", &known.client_id),
            ("redirect_uri", redirect),
            ("state", &state),
            ("scope", &scopes.join(" ")),
            ("access_type", "offline"),
            ("prompt", "consent"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        self.inner.native.signing_in().begin(SignIn {
            state,
            app: id.to_owned(),
            provider: provider.to_owned(),
            scopes,
            verifier,
            redirect: redirect.to_owned(),
            begun: Instant::now(),
        });
        let joint = if known.authorize_url.contains('?') { '&' } else { '?' };
        Ok(format!("{}{joint}{query}", known.authorize_url))
    }

    /// What the provider sent a person back with: a code for the state, or an error. The state counts once.
    pub async fn finish_account(&self, state: &str, said: Result<&str, &str>) -> Result<String, Failure> {
        let Some(sign_in) = self.inner.native.signing_in().take(state) else {
            let message = "nobody is signing in with this state, or too long ago";
            return Err(Failure::new(Reason::OauthRefused, message));
        };
        let code = said.map_err(|error| {
            let error: String = error.chars().take(60).flat_map(char::escape_debug).collect();
            Failure::new(Reason::OauthRefused, format!("the provider said `{error}`"))
        })?;
        let SignIn { app, provider, scopes, verifier, redirect, .. } = sign_in;
        let folder = self.inner.known_or_installed(&app).await?;
        // It may have been taken back meanwhile.
        self.inner.may_use_account(&folder, &provider)?;
        let known = self.inner.provider(&provider)?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &redirect),
            ("code_verifier", &verifier),
        ];
        let mut account = tokens(self.inner.workshop(), known, &fields).await?;
        if account.scopes.is_empty() {
            account.scopes = scopes;
        }
        let native = &self.inner.native;
        let kept = native.sealed().change(&app, |sealed| {
            sealed.accounts.insert(provider.clone(), account);
            Ok(())
        });
        kept.await?;
        self.book().note("native_account", serde_json::json!({ "app": app, "provider": provider }));
        self.tell_account(&app, &BTreeMap::new()).await;
        Ok(folder.manifest.name)
    }

    /// The accounts of an app.
    pub async fn accounts(&self, id: &str) -> Result<Vec<ShownAccount>, Failure> {
        let folder = self.inner.known_or_installed(id).await?;
        let sealed = self.inner.native.sealed().read(folder.id()).await?;
        let now = Timestamp::now();
        let mut shown: Vec<ShownAccount> =
            sealed.accounts.iter().map(|(provider, account)| account.shown(provider, now)).collect();
        for (provider, scopes) in self.inner.native.signing_in().of(id) {
            if shown.iter().all(|known| known.provider != provider) {
                let connection_status = "pending";
                shown.push(ShownAccount { provider, scopes, connection_status, expires_at: None });
            }
        }
        Ok(shown)
    }

    /// Forgets an account of an app, and tells the app so.
    pub async fn disconnect_account(&self, id: &str, provider: &str) -> Result<(), Failure> {
        let folder = self.inner.known_or_installed(id).await?;
        let native = &self.inner.native;
        native.signing_in().forget(id, Some(provider));
        let (_, was_there) = native
            .sealed()
            .change(folder.id(), |sealed| Ok(sealed.accounts.remove(provider).is_some()))
            .await?;
        if was_there {
            self.tell_account(id, &keys(provider, "", "", "")).await;
        }
        Ok(())
    }

    /// Renews every token that is about to end, as long as the app may use the account.
    pub async fn renew_accounts(&self) {
        for state in self.inner.native.states() {
            if let Err(failure) = self.renew_of(&state.id).await {
                tracing::warn!(app = state.id, %failure, "renew what providers gave");
            }
        }
    }

    async fn renew_of(&self, id: &str) -> Result<(), Failure> {
        let native = &self.inner.native;
        let soon = Timestamp::now().saturating_add(RENEW_BEFORE);
        let soon = soon.map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        let mut is_changed = false;
        for (provider, account) in native.sealed().read(id).await?.accounts {
            let ends = account.expires_at.is_some_and(|at| at <= soon);
            let Some(refresh) = account.refresh_token.as_ref().filter(|_| ends) else { continue };
            let folder = self.inner.known_or_installed(id).await?;
            if self.inner.may_use_account(&folder, &provider).is_err() {
                continue;
            }
            let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh.as_str())];
            let known = self.inner.provider(&provider)?;
            let renewed = tokens(self.inner.workshop(), known, &fields).await;
            let replaced = native.sealed().change(id, |sealed| {
                // Disconnected or connected anew meanwhile: that counts.
                let Some(kept) = sealed.accounts.get_mut(&provider).filter(|kept| **kept == account) else {
                    return Ok(false);
                };
                match &renewed {
                    Ok(renewed) => kept.renew(renewed.clone()),
                    Err(failure) => kept.trouble = Some(failure.message.clone()),
                }
                Ok(renewed.is_ok())
            });
            is_changed |= replaced.await?.1;
            if let Err(failure) = renewed {
                tracing::warn!(app = id, provider, %failure, "renew a token");
            }
        }
        if is_changed {
            self.tell_account(id, &BTreeMap::new()).await;
        }
        Ok(())
    }

    /// An app that does not hear it now hears it at its next start.
    async fn tell_account(&self, id: &str, over: &BTreeMap<String, String>) {
        if let Err(failure) = self.inner.native.tell(id, over).await {
            tracing::warn!(app = id, %failure, "tell an app its settings");
        }
    }
}

impl Inner {
    fn provider(&self, name: &str) -> Result<&OauthProvider, Failure> {
        self.settings.apps.oauth.get(name).ok_or_else(|| {
            Failure::new(Reason::OauthNotSetUp, format!("this host is not known to the provider {name}"))
                .with_next(format!("write `[oauth.{name}]` with `client_id` into roost.toml of the home"))
        })
    }

    /// Whether a person lets the app use accounts of this provider. Recorded.
    fn may_use_account(&self, folder: &NativeFolder, provider: &str) -> Result<(), Failure> {
        let right = account_right(provider).ok_or_else(|| not_named(folder, provider))?;
        let standing = folder.standing();
        match self.gate.decide(&standing.caller, &standing.asks, &right).failure(&right) {
            None => Ok(()),
            Some(failure) => Err(failure),
        }
    }
}

impl Account {
    /// What the app is told.
    pub(super) fn told(&self, provider: &str) -> BTreeMap<String, String> {
        let ends = self.expires_at.map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        keys(provider, &self.access_token, &self.token_type, &ends.unwrap_or_default())
    }

    fn renew(&mut self, renewed: Self) {
        let old = std::mem::replace(self, renewed);
        // Providers that give no new one mean the old one to be kept.
        self.refresh_token = self.refresh_token.take().or(old.refresh_token);
        if self.scopes.is_empty() {
            self.scopes = old.scopes;
        }
    }

    fn shown(&self, provider: &str, now: Timestamp) -> ShownAccount {
        let is_over = self.expires_at.is_some_and(|at| at <= now);
        let connection_status = match (&self.trouble, is_over) {
            (Some(_), _) => "error",
            (None, true) => "expired",
            (None, false) => "connected",
        };
        ShownAccount {
            provider: provider.to_owned(),
            scopes: self.scopes.join(" "),
            connection_status,
            expires_at: self.expires_at,
        }
    }
}

impl SigningIn {
    fn begin(&self, sign_in: SignIn) {
        let mut all = self.lock();
        all.retain(|one| one.begun.elapsed() < SIGN_IN_WITHIN);
        let surplus = (all.len() + 1).saturating_sub(SIGNING_IN_MAX);
        all.drain(..surplus);
        all.push(sign_in);
    }

    /// Once, and not too late.
    fn take(&self, state: &str) -> Option<SignIn> {
        let mut all = self.lock();
        all.retain(|one| one.begun.elapsed() < SIGN_IN_WITHIN);
        let place = all.iter().position(|one| one.state == state)?;
        Some(all.remove(place))
    }

    fn of(&self, app: &str) -> Vec<(String, String)> {
        let all = self.lock();
        let own = all.iter().filter(|one| one.app == app && one.begun.elapsed() < SIGN_IN_WITHIN);
        own.map(|one| (one.provider.clone(), one.scopes.join(" "))).collect()
    }

    pub(super) fn forget(&self, app: &str, provider: Option<&str>) {
        self.lock().retain(|one| one.app != app || provider.is_some_and(|provider| one.provider != provider));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SignIn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to use accounts of a provider.
pub(super) fn account_right(provider: &str) -> Option<Right> {
    from_native(&format!("oauth:{provider}")).ok().filter(|_| provider != "*").map(|ask| ask.right)
}

fn asked_scopes(
    folder: &NativeFolder,
    provider: &str,
    scopes: Option<Vec<String>>,
) -> Result<Vec<String>, Failure> {
    let mut needs = folder.manifest.oauth.iter().filter(|need| need.provider == provider).peekable();
    if needs.peek().is_none() {
        return Err(not_named(folder, provider));
    }
    let mut named: Vec<String> = needs.flat_map(|need| need.scopes.clone()).collect();
    named.dedup();
    let Some(scopes) = scopes else { return Ok(named) };
    match scopes.iter().find(|scope| !named.contains(scope)) {
        None => Ok(scopes),
        Some(scope) => {
            let scope: String = scope.chars().take(80).flat_map(char::escape_debug).collect();
            let message = format!("{} does not name the scope `{scope}` of {provider}", folder.id());
            Err(Failure::new(Reason::OauthRefused, message))
        }
    }
}

fn not_named(folder: &NativeFolder, provider: &str) -> Failure {
    let provider: String = provider.chars().take(80).flat_map(char::escape_debug).collect();
    let message = format!("{} names no account at `{provider}` in its manifest", folder.id());
    Failure::new(Reason::OauthRefused, message)
}

fn keys(provider: &str, token: &str, token_type: &str, expires_at: &str) -> BTreeMap<String, String> {
    let parts = [("access_token", token), ("token_type", token_type), ("expires_at", expires_at)];
    parts.map(|(part, value)| (format!("oauth:{provider}:{part}"), value.to_owned())).into()
}

/// What nobody guesses.
fn random() -> Result<String, Failure> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| failed(&error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
