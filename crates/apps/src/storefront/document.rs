//! `index.json`: the catalog as everybody reads it. Entries keep their place; a new one comes last.

use super::{ground::Ground, settings::StoreFacts};
use crate::catalog::{CATALOG_BYTES_MAX, CATALOG_SCHEMA};
use jiff::Timestamp;
use roost_protocol::{Failure, Reason};
use serde_json::{Map, Value, json};

pub(super) const FILE: &str = "index.json";
const ENTRIES: &str = "rapplications";
const MADE_AT: &str = "generated_at";

/// The catalog of a store.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CatalogDocument {
    fields: Map<String, Value>,
}

impl CatalogDocument {
    /// The catalog, or an empty one where there is none yet.
    pub(super) fn read(ground: &Ground) -> Result<Self, Failure> {
        let unusable = |why: String| Failure::new(Reason::StoreUnusable, format!("{FILE}: {why}"));
        let Some(bytes) = ground.read(FILE, CATALOG_BYTES_MAX)? else {
            return Ok(Self { fields: Map::new() });
        };
        let fields: Map<String, Value> =
            serde_json::from_slice(&bytes).map_err(|error| unusable(error.to_string()))?;
        if fields.get("schema").and_then(Value::as_str) != Some(CATALOG_SCHEMA) {
            return Err(unusable(format!("its schema is not {CATALOG_SCHEMA}")));
        }
        if !fields.get(ENTRIES).is_some_and(Value::is_array) {
            return Err(unusable(format!("it has no list `{ENTRIES}`")));
        }
        Ok(Self { fields })
    }

    /// As the gate reads it.
    pub(super) fn value(&self) -> Value {
        Value::Object(self.fields.clone())
    }

    /// Every entry that is one.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.fields.get(ENTRIES).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
    }

    pub(super) fn entry(&self, id: &str) -> Option<&Map<String, Value>> {
        self.entries().find(|entry| text(entry, "id") == id)
    }

    pub(super) fn publishers(&self) -> impl Iterator<Item = &str> {
        self.entries().map(|entry| text(entry, "publisher"))
    }

    /// Puts an entry in the place of the one with its id, else at the end.
    pub(super) fn put(&mut self, entry: Map<String, Value>) {
        let mut entries: Vec<Value> = self.entries().cloned().map(Value::Object).collect();
        let id = text(&entry, "id").to_owned();
        let at = entries.iter().position(|known| known.get("id").and_then(Value::as_str) == Some(&id));
        match at {
            Some(at) => entries[at] = Value::Object(entry),
            None => entries.push(Value::Object(entry)),
        }
        self.set(entries);
    }

    pub(super) fn set(&mut self, entries: Vec<Value>) {
        self.fields.insert(ENTRIES.to_owned(), Value::Array(entries));
    }

    /// The document as it is written. Its time changes only when something else does.
    pub(super) fn bytes(
        &self,
        facts: &StoreFacts,
        ground: &Ground,
        now: Timestamp,
    ) -> Result<Vec<u8>, Failure> {
        let known = Self::read(ground)?;
        let mut fields = Map::new();
        fields.insert("schema".to_owned(), json!(CATALOG_SCHEMA));
        for (key, value) in
            [("name", &facts.name), ("description", &facts.description), ("maintainer", &facts.maintainer)]
        {
            fields.insert(key.to_owned(), json!(value));
        }
        fields.insert("version".to_owned(), json!("1.0.0"));
        fields.insert(MADE_AT.to_owned(), Value::Null);
        fields.insert("homepage".to_owned(), json!(facts.homepage));
        fields.insert("protocol_extensions".to_owned(), json!(["gated-rapplications/1.0"]));
        for (key, value) in &self.fields {
            if !fields.contains_key(key) {
                fields.insert(key.clone(), value.clone());
            }
        }
        fields.entry(ENTRIES).or_insert_with(|| json!([]));
        let before = known.fields.get(MADE_AT).cloned();
        fields[MADE_AT] = before.clone().unwrap_or_default();
        if before.is_none() || fields != known.fields {
            fields[MADE_AT] = json!(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        }
        let text = serde_json::to_string_pretty(&fields)
            .map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        Ok(format!("{text}\n").into_bytes())
    }
}

/// The text of a field; empty where there is none.
pub(super) fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> &'a str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}
