//! How a machine in Azure shows who it is: a token from its own platform, kept until shortly before it ends.

use super::failed::Trouble;
use super::wire::{Target, Wire};
use super::{ModelFailure, Secret};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What the token is for, as it stands in an address.
const RESOURCE: &str = "https%3A%2F%2Fcognitiveservices.azure.com%2F";

/// A token that ends sooner could end on its way.
const TOKEN_MARGIN: Duration = Duration::from_secs(120);

/// The platform is on this machine or next to it; elsewhere nothing answers there.
const TOKEN_WAIT: Duration = Duration::from_secs(5);

/// Where the machine's own token comes from.
#[derive(Debug, Clone)]
pub struct ManagedIdentity {
    /// The platform's address and the header's content, where it names them (`IDENTITY_ENDPOINT`, `IDENTITY_HEADER`).
    pub platform: Option<(String, Secret)>,
    /// The address of the metadata of a virtual machine, used otherwise; `http://169.254.169.254` in Azure.
    pub metadata: String,
    /// Which of several identities.
    pub client_id: Option<String>,
}

impl Default for ManagedIdentity {
    fn default() -> Self {
        Self { platform: None, metadata: "http://169.254.169.254".into(), client_id: None }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Identity {
    settings: ManagedIdentity,
    kept: Arc<Mutex<Option<Kept>>>,
}

#[derive(Debug, Clone)]
struct Kept {
    token: Secret,
    until: SystemTime,
}

impl Identity {
    pub(super) fn new(settings: ManagedIdentity) -> Self {
        Self { settings, kept: Arc::default() }
    }

    /// A token that still holds.
    pub(super) async fn token(&self, wire: &Wire, model: &str) -> Result<Secret, ModelFailure> {
        if let Some(kept) = self.kept().filter(|kept| kept.until > SystemTime::now() + TOKEN_MARGIN) {
            return Ok(kept.token);
        }
        let target = self.target();
        let fetched = async {
            let body = wire.within(TOKEN_WAIT).get(&target).await?.json().await?;
            let token = body["access_token"].as_str().and_then(Secret::parse);
            // The body is not told: whatever it is, it may hold a token.
            let token = token.ok_or_else(|| Trouble::garbled("got no token from its platform", ""))?;
            Ok(Kept { token, until: ends_at(&body) })
        };
        let kept = fetched.await.map_err(|trouble: Trouble| trouble.of(model, target.secrets()))?;
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept.clone());
        Ok(kept.token)
    }

    /// Forgets the token that was refused, unless it was replaced meanwhile.
    pub(super) fn forget(&self, refused: &Secret) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_some_and(|kept| kept.token == *refused) {
            *kept = None;
        }
    }

    fn kept(&self) -> Option<Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn target(&self) -> Target {
        let client = self.settings.client_id.as_ref().map_or(String::new(), |id| format!("&client_id={id}"));
        match &self.settings.platform {
            Some((endpoint, header)) => {
                let joint = if endpoint.contains('?') { '&' } else { '?' };
                Target::new(format!("{endpoint}{joint}api-version=2019-08-01&resource={RESOURCE}{client}"))
                    .with_secret("x-identity-header", "", header)
            }
            None => {
                let metadata = self.settings.metadata.trim_end_matches('/');
                let query = format!("api-version=2018-02-01&resource={RESOURCE}{client}");
                Target::new(format!("{metadata}/metadata/identity/oauth2/token?{query}"))
                    .with("metadata", "true")
            }
        }
    }
}

/// When the token ends; both platforms write the second as text.
fn ends_at(body: &Value) -> SystemTime {
    let seconds = body["expires_on"].as_u64().or_else(|| body["expires_on"].as_str()?.parse().ok());
    // A time that no clock can hold counts as over.
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds.unwrap_or_default())).unwrap_or(UNIX_EPOCH)
}
