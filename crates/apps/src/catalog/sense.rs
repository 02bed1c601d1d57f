//! A sense as a catalog describes it: one file that says how a further part of a reply is asked for and found.

use super::{
    entry::{is_address_text, is_id, is_inner_path, is_publisher, shown, text_of},
    file_name::FileName,
    part::last_segment,
};
use roost_protocol::Digest;
use serde_json::{Map, Value, value::RawValue};

/// The form of a catalog that has senses only.
pub(super) const SENSES_SCHEMA: &str = "rapp-sense-store/1.0";

/// How files of senses end.
const ENDING: &str = "_sense.py";

/// One sense in a catalog.
#[derive(Debug, Clone)]
pub struct Sense {
    /// Its id; catalogs that have none call it by its name.
    pub id: String,
    /// Who publishes it, with the `@`.
    pub publisher: Option<String>,
    /// Where its file is: an address, or a path below the catalog.
    pub url: String,
    /// What its file is called: one component of a path.
    pub file_name: FileName,
    /// Digest of its bytes, where the catalog has one.
    pub sha256: Option<Digest>,
    document: Box<RawValue>,
}

impl Sense {
    /// Reads one sense. What is wrong comes with the id, where that could be read.
    pub(super) fn parse(raw: &RawValue) -> Result<Self, (Option<String>, String)> {
        let fields: Map<String, Value> =
            serde_json::from_str(raw.get()).map_err(|error| (None, format!("not an object: {error}")))?;
        let named = fields.get("id").or_else(|| fields.get("name"));
        let id = named.and_then(Value::as_str).map(shown);
        Self::of_fields(&fields, raw).map_err(|message| (id, message))
    }

    fn of_fields(fields: &Map<String, Value>, raw: &RawValue) -> Result<Self, String> {
        let id = text_of(fields, "id")?.map_or_else(|| text_of(fields, "name"), |id| Ok(Some(id)))?;
        let id = id.filter(|id| is_id(id)).ok_or("`id` is missing or not an id")?;
        let publisher = text_of(fields, "publisher")?;
        if publisher.is_some_and(|publisher| !is_publisher(publisher)) {
            return Err("`publisher` is not @NAME".to_owned());
        }
        let url = text_of(fields, "url")?.filter(|url| is_address_text(url));
        let url = url.ok_or("`url` is missing or not an address")?;
        let path = text_of(fields, "install_path")?;
        if path.is_some_and(|path| !is_inner_path(path)) {
            return Err("`install_path` is not a path below the home".to_owned());
        }
        let named = text_of(fields, "filename")?.or(path.map(last_segment)).unwrap_or(last_segment(url));
        let file_name = FileName::parse(named).map_err(|_| "`filename` is not the name of one file")?;
        if !named.ends_with(ENDING) {
            return Err(format!("`filename` does not end in {ENDING}"));
        }
        // All senses lie in one folder: a path that names another file means another place.
        if path.is_some_and(|path| last_segment(path) != named) {
            return Err("`install_path` and `filename` name two files".to_owned());
        }
        let sha256 = text_of(fields, "sha256")?.map(Digest::parse).transpose();
        let sha256 = sha256.map_err(|_| "`sha256` is not a SHA-256")?;
        Ok(Self {
            id: id.to_owned(),
            publisher: publisher.map(str::to_owned),
            url: url.to_owned(),
            file_name,
            sha256,
            document: raw.to_owned(),
        })
    }

    /// `@publisher/id`, or the id alone where nobody is named.
    #[must_use]
    pub fn full_name(&self) -> String {
        match &self.publisher {
            Some(publisher) => format!("{publisher}/{}", self.id),
            None => self.id.clone(),
        }
    }

    /// The sense as it stands in the catalog, every field of it.
    #[must_use]
    pub fn document(&self) -> &RawValue {
        &self.document
    }
}

#[cfg(test)]
mod tests {
    use super::Sense;
    use serde_json::{Value, json, value::to_raw_value};

    fn parse(more: &Value) -> Result<Sense, (Option<String>, String)> {
        let mut sense = json!({
            "id": "eli5", "name": "ELI5", "slot": "eli5", "delimiter": "|||ELI5|||", "summary": "Simpler.",
            "filename": "eli5_sense.py", "install_path": "utils/senses/eli5_sense.py",
            "url": "https://h.example/eli5_sense.py", "sha256": "0".repeat(64), "lines": 1, "bytes": 2,
        });
        sense.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Sense::parse(&to_raw_value(&sense).unwrap())
    }

    #[test]
    fn a_sense_is_one_file_with_one_name() {
        let sense = parse(&json!({})).unwrap();
        assert_eq!((sense.id.as_str(), sense.file_name.as_str()), ("eli5", "eli5_sense.py"));
        assert!(sense.sha256.is_some() && sense.document().get().contains("\"slot\""));
        let short = json!({ "id": null, "name": "tldr", "publisher": "@rapp", "filename": null, "install_path": null,
            "url": "senses/@rapp/tldr_sense.py", "sha256": null });
        let short = parse(&short).unwrap();
        assert_eq!((short.full_name().as_str(), short.file_name.as_str()), ("@rapp/tldr", "tldr_sense.py"));
    }

    #[test]
    fn what_leads_out_of_the_folder_is_told() {
        for bad in [
            json!({ "id": "../eli5" }),
            json!({ "id": 5 }),
            json!({ "publisher": "rapp" }),
            json!({ "url": null }),
            json!({ "url": "a b" }),
            json!({ "filename": "../eli5_sense.py" }),
            json!({ "filename": "a/eli5_sense.py" }),
            json!({ "filename": "eli5.py" }),
            json!({ "filename": "other_sense.py" }),
            json!({ "install_path": "../../eli5_sense.py" }),
            json!({ "install_path": "/etc/eli5_sense.py" }),
            json!({ "install_path": "senses\\eli5_sense.py" }),
            json!({ "install_path": "agents/eli5_agent.py" }),
            json!({ "sha256": "0" }),
        ] {
            assert!(parse(&bad).is_err(), "{bad}");
        }
    }
}
