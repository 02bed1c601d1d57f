//! What the maintainer said about the store: `store.json`, and the files that a new store begins with.

use super::ground::Ground;
use roost_protocol::{Failure, Reason};
use serde::{Deserialize, Serialize};

pub(super) const FILE: &str = "store.json";
const SCHEMA: &str = "roost-store/1.0";
const BYTES_MAX: usize = 64 << 10;

/// Longest address of raw files.
const ADDRESS_BYTES_MAX: usize = 1024;

/// Unfinished work, the lock and tokens stay on the machine that serves the store.
const IGNORED: &str = "/.store/\n";

/// What was checked is what is read: no line end is changed on the way.
const ATTRIBUTES: &str = "* -text\n";

/// What a store says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreFacts {
    /// `roost-store/1.0`.
    #[serde(default = "schema")]
    schema: String,
    /// What it is called.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Who runs it.
    #[serde(default)]
    pub maintainer: String,
    /// Its page.
    #[serde(default)]
    pub homepage: String,
    /// Where its files are when they are published. Without it, addresses in the catalog are paths from `index.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_base: Option<String>,
}

fn schema() -> String {
    SCHEMA.to_owned()
}

impl StoreFacts {
    /// A store of this name, with its files beside its catalog.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            schema: schema(),
            name: name.to_owned(),
            description: String::new(),
            maintainer: String::new(),
            homepage: String::new(),
            raw_base: None,
        }
    }

    /// The address of a file of the store, as the catalog names it.
    pub(super) fn address(&self, path: &str) -> String {
        match &self.raw_base {
            Some(place) => format!("{}/{path}", place.trim_end_matches('/')),
            None => path.to_owned(),
        }
    }

    fn check(self) -> Result<Self, String> {
        if self.schema != SCHEMA {
            return Err(format!("its schema is not {SCHEMA}"));
        }
        let is_address = |text: &str| {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#\\".contains(&byte));
            let is_web = text.starts_with("https://") || text.starts_with("http://");
            text.len() <= ADDRESS_BYTES_MAX && is_plain && is_web && !text.contains("/..")
        };
        match &self.raw_base {
            Some(place) if !is_address(place) => Err("`raw_base` is not an address".to_owned()),
            _ => Ok(self),
        }
    }
}

/// What the store says about itself.
pub(super) fn read(ground: &Ground) -> Result<StoreFacts, Failure> {
    let unusable = |why: String| {
        Failure::new(Reason::StoreUnusable, format!("{}: {why}", ground.root().join(FILE).display()))
    };
    let bytes = ground.read(FILE, BYTES_MAX)?.ok_or_else(|| unusable("there is no such file".to_owned()))?;
    let facts: StoreFacts = serde_json::from_slice(&bytes).map_err(|error| unusable(error.to_string()))?;
    facts.check().map_err(unusable)
}

/// The files that a new store begins with.
pub(super) fn first_files(facts: &StoreFacts) -> Result<[(&'static str, String); 3], Failure> {
    let wrong = |why: String| Failure::new(Reason::WrongUse, why);
    let facts = facts.clone().check().map_err(wrong)?;
    let text = serde_json::to_string_pretty(&facts).map_err(|error| wrong(error.to_string()))?;
    Ok([
        (".gitignore", IGNORED.to_owned()),
        (".gitattributes", ATTRIBUTES.to_owned()),
        (FILE, format!("{text}\n")),
    ])
}

#[cfg(test)]
mod tests {
    use super::{Ground, StoreFacts, first_files, read};
    use std::fs;

    #[test]
    fn facts_are_read_as_written_and_a_wrong_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let facts = StoreFacts { raw_base: Some("https://h/main/".into()), ..StoreFacts::new("A") };
        let files = first_files(&facts).unwrap();
        fs::write(folder.path().join("store.json"), &files[2].1).unwrap();
        let ground = Ground::new(folder.path().to_owned());
        assert_eq!(read(&ground).unwrap(), facts);
        assert_eq!(facts.address("apps/x"), "https://h/main/apps/x");
        assert_eq!(StoreFacts::new("A").address("apps/x"), "apps/x");
        for bad in ["{}", "[]", r#"{"name":"a","raw_base":"file:///etc"}"#, r#"{"name":"a","more":1}"#] {
            fs::write(folder.path().join("store.json"), bad).unwrap();
            assert!(read(&ground).is_err(), "{bad}");
        }
    }
}
