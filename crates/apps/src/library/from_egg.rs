//! An app as another host exported it: `rapp-egg/1.0`, with the state it had there.

use super::{
    package::{Package, package_refused},
    record::AppOrigin,
};
use crate::{Bundle, BundleId, Files, catalog::FileName};
use roost_protocol::{Failure, Reason};
use serde_json::{Map, Value, json};

/// The form that is exported.
pub const EGG_SCHEMA: &str = "rapp-egg/1.0";

/// Where an egg has the files that its app keeps for itself.
const STATE: &str = "state/";

/// An app and its state.
#[derive(Debug, Clone)]
pub struct Egg {
    /// The app.
    pub package: Package,
    /// Files that it kept for itself, by their paths.
    pub state: Vec<(String, Vec<u8>)>,
}

impl Egg {
    /// Reads the files of an egg; nothing where they are not one.
    pub fn from_files(files: &Files, origin: AppOrigin) -> Result<Option<Self>, Failure> {
        let manifest = files.get("manifest.json");
        let fields: Option<Map<String, Value>> =
            manifest.and_then(|bytes| serde_json::from_slice(bytes).ok());
        let Some(fields) = fields.filter(|fields| fields.get("schema") == Some(&json!(EGG_SCHEMA))) else {
            return Ok(None);
        };
        let text = |key: &str| fields.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let wrong = |what: &str| Failure::new(Reason::BundleInvalid, format!("the egg's manifest: {what}"));
        let id = text("id").and_then(BundleId::parse_existing).ok_or_else(|| wrong("`id` is not an id"))?;
        let mut contents = Vec::new();
        let mut made = json!({
            "schema": "rapp-application/1.0", "id": id.as_str(), "name": text("name").unwrap_or(id.as_str()),
            "version": text("version").unwrap_or("0.0.0"), "publisher": text("publisher").unwrap_or("@nobody"),
        });
        for (key, named, inside, folder) in [
            ("agent", "agent_filename", "agent.py", "singleton"),
            ("service", "service_filename", "service.py", "service"),
        ] {
            let Some(name) = text(named) else { continue };
            let name = FileName::parse(name).ok().filter(|name| name.as_str().ends_with(".py"));
            let name = name.ok_or_else(|| wrong(&format!("`{named}` is not the name of one file")))?;
            let bytes = files.get(inside).or_else(|| files.get(name.as_str()));
            let bytes = bytes.ok_or_else(|| wrong(&format!("there is no `{inside}`")))?;
            let path = format!("{folder}/{name}");
            made[key] = json!(path);
            contents.push((path, bytes.to_vec()));
        }
        let mut state = Vec::new();
        for (path, bytes) in files.iter() {
            if path.starts_with("ui/") {
                contents.push((path.to_owned(), bytes.to_vec()));
            } else if let Some(below) = path.strip_prefix(STATE) {
                state.push((below.to_owned(), bytes.to_vec()));
            }
        }
        if let Some(page) = text("ui_filename") {
            made["ui"] = json!(format!("ui/{page}"));
        }
        let manifest = made.as_object().cloned().unwrap_or_default();
        let mut written = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        written.push(b'\n');
        contents.push(("manifest.json".to_owned(), written));
        let files = Files::from_contents(contents).map_err(|_| wrong("a path in it is not one"))?;
        let bundle =
            Bundle::from_catalog(manifest, files).map_err(|errors| package_refused(id.as_str(), &errors))?;
        Ok(Some(Self { package: Package::from_bundle(&bundle, origin)?, state }))
    }
}
