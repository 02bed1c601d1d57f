//! Where a store takes submissions, seen from whoever publishes: a folder, or a place beside its catalog.

use super::HostCatalogs;
use roost_apps::catalog::{CatalogAddress, Parcel, Token};
use roost_protocol::{Failure, Reason, VariableName};
use serde_json::Value;
use std::path::PathBuf;

/// The variable, and the secret, that holds a token for stores.
const TOKEN: &str = "ROOST_STORE_TOKEN";

/// Where a store takes submissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorePlace {
    /// A folder of this machine.
    Folder(PathBuf),
    /// An address.
    Endpoint {
        /// Where.
        url: String,
        /// What the store is called here, if it is one of the catalogs.
        name: Option<String>,
    },
}

impl HostCatalogs {
    /// Finds a store by the name of its catalog, its address or its folder.
    pub fn store_place(&self, text: &str) -> Result<StorePlace, Failure> {
        let known = self.catalogs.sources()?.into_iter().find(|source| source.id == text);
        let (address, name) = match known {
            Some(source) => (source.address, Some(source.id)),
            None => (CatalogAddress::parse(text, &self.places)?, None),
        };
        match address {
            CatalogAddress::Folder(folder) => Ok(StorePlace::Folder(folder)),
            // Raw files of a repository take nothing in.
            CatalogAddress::Url(url) if self.places.is_raw(&url) => Err(Failure::new(
                Reason::NoSubmissions,
                format!("{text} is files of a repository: it takes submissions as issues"),
            )),
            CatalogAddress::Url(url) => {
                let above = url.rsplit_once('/').map_or(url.as_str(), |(above, _)| above);
                Ok(StorePlace::Endpoint { url: format!("{above}/submit"), name })
            }
        }
    }

    /// The token for a store: a variable, else a secret of the vault, the store's own before that for all.
    pub async fn store_token(&self, name: Option<&str>) -> Result<Option<Token>, Failure> {
        if let Some(token) = self.settings.host.variables.get(TOKEN).and_then(|token| Token::parse(token)) {
            return Ok(Some(token));
        }
        let own = name.map(|name| format!("{TOKEN}_{}", name.to_ascii_uppercase().replace('-', "_")));
        for name in own.into_iter().chain([TOKEN.to_owned()]) {
            let Ok(name) = VariableName::parse(&name) else { continue };
            if let Some(value) = self.settings.vault.get(&name).await? {
                return Ok(Token::parse(value.expose()));
            }
        }
        Ok(None)
    }

    /// Hands a submission over to a store. The token goes there and nowhere else.
    pub async fn submit(
        &self,
        url: &str,
        content_type: &'static str,
        body: Vec<u8>,
        token: &Token,
    ) -> Result<(u16, Value), Failure> {
        let parcel = Parcel { what: "the submission", url, content_type, body, token };
        let (status, answer) = self.web().await?.hand_over(parcel).await?;
        match serde_json::from_slice(&answer) {
            Ok(answer @ Value::Object(_)) if status != 404 && status != 405 => Ok((status, answer)),
            _ => Err(Failure::new(Reason::NoSubmissions, format!("{url} answered {status}"))),
        }
    }
}
