//! What the stores that this home believes offer, as every client of native apps shows it. What a store says is read
//! into these shapes and nothing else of it is passed on.

use super::{AppKind, AppLibrary, Choice, InstallSource, Installed, Removed, source::StoreApp, unknown};
use roost_apps::native::NativeId;
use roost_protocol::{Failure, Reason};
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::collections::BTreeMap;

/// Apps of one page of a store, and pages of one store that are asked for.
const PAGE_SIZE: usize = 100;
const PAGES_MAX: usize = 10;

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct StoreQuery {
    /// Words that are all in an app's text.
    pub words: Option<String>,
    /// A category of the store.
    pub category: Option<String>,
}

/// One app of a store.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StoreItem {
    /// Its id.
    pub id: String,
    /// What people call it.
    #[serde(deserialize_with = "lenient")]
    pub name: String,
    /// Its name as part of an address.
    #[serde(deserialize_with = "lenient")]
    pub slug: String,
    /// What it does.
    #[serde(deserialize_with = "lenient")]
    pub description: String,
    /// Where its picture is.
    #[serde(deserialize_with = "lenient")]
    pub icon: String,
    /// Its category.
    #[serde(deserialize_with = "lenient")]
    pub category: String,
    /// The newest version.
    #[serde(deserialize_with = "lenient")]
    pub version: String,
    /// Who made it.
    #[serde(deserialize_with = "lenient")]
    pub author: StoreAuthor,
    /// How often it was installed, as the store says.
    #[serde(deserialize_with = "lenient")]
    pub install_count: u64,
    /// What people think of it, as the store says.
    #[serde(deserialize_with = "lenient")]
    pub rating: f64,
    /// How many of them.
    #[serde(deserialize_with = "lenient")]
    pub review_count: u64,
    /// Whether it is installed here; what a store says of that does not count.
    pub is_installed: bool,
    /// Where it stands with the store.
    #[serde(deserialize_with = "lenient")]
    pub status: String,
}

/// Who made an app.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StoreAuthor {
    /// Their id at the store.
    #[serde(deserialize_with = "lenient")]
    pub id: String,
    /// What people call them.
    #[serde(deserialize_with = "lenient")]
    pub name: String,
    /// Whether the store says that it knows them.
    #[serde(deserialize_with = "lenient")]
    pub verified: bool,
}

/// Everything a store says of one app.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StoreAppDetail {
    /// The same as in the list.
    #[serde(flatten)]
    pub item: StoreItem,
    /// From which age on.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub age_rating: Option<String>,
    /// Where it runs.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<String>,
    /// Bytes, by platform.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "BTreeMap::is_empty")]
    pub size: BTreeMap<String, u64>,
    /// The language of its pages.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Pictures of it.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Vec::is_empty")]
    pub screenshots: Vec<String>,
    /// What changed.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Vec::is_empty")]
    pub changelog: Vec<StoreChange>,
    /// Its own site.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// What it does with data.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub privacy_url: Option<String>,
    /// Who helps.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub support_url: Option<String>,
}

/// What changed with a version.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StoreChange {
    /// Which.
    #[serde(deserialize_with = "lenient")]
    pub version: String,
    /// When.
    #[serde(deserialize_with = "lenient")]
    pub date: String,
    /// What.
    #[serde(deserialize_with = "lenient")]
    pub notes: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Listed {
    apps: Vec<Value>,
}

/// What is of another kind counts as not said: one wrong field must not hide an app.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

impl AppLibrary {
    /// Everything the stores offer that fits, each id once: the first store that has it counts.
    pub async fn store_apps(&self, query: &StoreQuery) -> Result<Vec<StoreItem>, Failure> {
        let mut found: Vec<StoreItem> = Vec::new();
        let mut failed = None;
        for store in self.stores()? {
            match self.list_of(&store, query).await {
                Ok(items) => {
                    for item in items {
                        if found.iter().all(|known| known.id != item.id) {
                            found.push(item);
                        }
                    }
                }
                Err(failure) => {
                    tracing::warn!(store, %failure, "list the apps of a store");
                    failed = Some(failure);
                }
            }
        }
        match failed {
            // That one of several does not answer hides no other.
            Some(failure) if found.is_empty() => Err(failure),
            _ => Ok(found),
        }
    }

    /// One app, from the first store that has it.
    pub async fn store_app(&self, id: &str) -> Result<StoreAppDetail, Failure> {
        if NativeId::parse(id).is_none() {
            return Err(Failure::new(Reason::UnknownEntry, "this is not the id of a native app"));
        }
        let mut failed = None;
        for store in self.stores()? {
            match self.inner().library.trust.fetch_detail(&store, id).await {
                Ok(bytes) => {
                    let mut answer: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
                    let inside = answer["app"].take();
                    let detail = if inside.is_object() { inside } else { answer };
                    let read: Option<StoreAppDetail> = serde_json::from_value(detail).ok();
                    if let Some(mut detail) = read.filter(|detail| detail.item.id == id) {
                        detail.item.is_installed = self.record(id).is_ok();
                        return Ok(detail);
                    }
                    let message = format!("what {store} says of {id} is not readable");
                    failed = Some(Failure::new(Reason::EntryInvalid, message));
                }
                Err(failure) if failure.reason == Reason::FetchMissing => {}
                Err(failure) => failed = Some(failure),
            }
        }
        let nowhere =
            || Failure::new(Reason::UnknownEntry, format!("no store that this home believes has {id}"));
        Err(failed.unwrap_or_else(nowhere))
    }

    /// Installs an app of a store, with the rights that the policy gives.
    pub async fn install_from_store(
        &self,
        id: &str,
        version: Option<String>,
        by: &str,
    ) -> Result<Installed, Failure> {
        let source = InstallSource::Store(StoreApp { id: id.to_owned(), version, store: None });
        self.install(&source, None, &Choice::Policy, by).await
    }

    /// Removes a native app, and no other.
    pub async fn remove_native(&self, id: &str) -> Result<Removed, Failure> {
        match self.record(id)?.kind {
            AppKind::Native => self.remove(id).await,
            _ => Err(unknown(id)),
        }
    }

    fn stores(&self) -> Result<Vec<String>, Failure> {
        Ok(self.inner().library.trust.list()?.stores.into_iter().map(|store| store.url).collect())
    }

    async fn list_of(&self, store: &str, query: &StoreQuery) -> Result<Vec<StoreItem>, Failure> {
        let mut items = Vec::new();
        for page in 1..=PAGES_MAX {
            let bytes = self.inner().library.trust.fetch_list(store, query, page, PAGE_SIZE).await?;
            let listed: Listed = serde_json::from_slice(&bytes).map_err(|error| {
                Failure::new(Reason::EntryInvalid, format!("the list of {store}: {error}"))
            })?;
            let count = listed.apps.len();
            // One that is no app hides no other.
            let read = listed.apps.into_iter().filter_map(|item| serde_json::from_value(item).ok());
            let read = read.filter(|item: &StoreItem| NativeId::parse(&item.id).is_some());
            items.extend(read.map(|item| StoreItem { is_installed: self.record(&item.id).is_ok(), ..item }));
            if count < PAGE_SIZE {
                break;
            }
        }
        Ok(items)
    }
}
