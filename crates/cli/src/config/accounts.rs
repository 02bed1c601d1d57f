//! `[oauth.NAME]` of `roost.toml`: providers at which native apps may have accounts.

use roost_host::native::{OauthProvider, WrittenProvider};
use roost_protocol::Failure;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One provider as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Provider {
    authorize_url: Option<String>,
    token_url: Option<String>,
    client_id: String,
    client_secret: Option<String>,
    tenant: Option<String>,
}

pub(super) fn settings(
    written: BTreeMap<String, Provider>,
) -> Result<BTreeMap<String, OauthProvider>, Failure> {
    let read = |(name, provider): (String, Provider)| {
        let Provider { authorize_url, token_url, client_id, client_secret, tenant } = provider;
        let written = WrittenProvider { authorize_url, token_url, client_id, client_secret, tenant };
        Ok((name.clone(), OauthProvider::read(&name, written)?))
    };
    written.into_iter().map(read).collect()
}
