//! What is already in a catalog, taken as it is: older than the rules, or written by hand.
//!
//! Only what installing needs is checked: a name, a version, files that are there and that are Python.

use super::{
    Checked, Rules,
    checks::Paths,
    code::{BundleError, Code},
    gated,
    names::BundleId,
    source_checks,
    tree::Tree,
};
use crate::container::Files;
use serde_json::{Map, Value};

const AGENTS: &str = "singleton/";
const PAGE: &str = "ui/index.html";

/// Finds the files that a lenient reader takes for the agent, the page and the HTTP module.
pub(super) fn check(
    mut manifest: Map<String, Value>,
    files: &Files,
) -> Result<(Checked, BundleId), Vec<BundleError>> {
    let tree = Tree::top(files.entries(), "");
    let id = manifest.get("id").and_then(Value::as_str).and_then(BundleId::parse_existing);
    let Some(id) = id else {
        return Err(vec![BundleError::new(Code::BadId, "`id` is not a name that a catalog may have")]);
    };
    let declared = |key: &str| manifest.get(key).and_then(Value::as_str).filter(|path| !path.is_empty());
    let mut errors = Vec::new();
    let mut resolve = |key: &str, path: Option<&str>, missing: Code| {
        let path = path?;
        let found = tree.resolve(path, Rules::Spec);
        if found.is_none() {
            errors.push(BundleError::new(missing, format!("`{key}` is no file of the bundle")));
        }
        found
    };
    let agent = declared("agent").or_else(|| declared("singleton")).or_else(|| only_agent(files));
    let page = declared("ui").or_else(|| files.get(PAGE).map(|_| PAGE));
    let paths = Paths {
        agent: resolve("agent", agent, Code::SingletonMissing),
        http_module: resolve("service", declared("service"), Code::ServiceMissing),
        page: resolve("ui", page, Code::UiMissing),
    };
    let is_gated = gated::is_gated(&manifest);
    if paths.agent.is_none() && paths.http_module.is_none() && errors.is_empty() {
        errors.push(BundleError::new(Code::NoEntrypoint, "there is neither an agent nor a service in it"));
    }
    for (path, code) in [(&paths.agent, Code::SingletonSyntax), (&paths.http_module, Code::ServiceSyntax)] {
        if let Some((path, bytes)) = path.as_deref().and_then(|path| Some((path, tree.get(path)?))) {
            errors.extend(source_checks::check_syntax(bytes, path, code));
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    // From here on the manifest says what was found.
    for (key, path) in [("agent", &paths.agent), ("ui", &paths.page), ("service", &paths.http_module)] {
        if let Some(path) = path {
            manifest.insert(key.to_owned(), Value::String(path.clone()));
        }
    }
    let integrity = paths.integrity(&tree);
    let submitted = manifest.clone();
    Ok((Checked { manifest, submitted, integrity, is_gated, paths }, id))
}

/// The only file directly in `singleton/`.
fn only_agent(files: &Files) -> Option<&str> {
    let is_agent = |path: &&str| {
        path.strip_prefix(AGENTS).is_some_and(|name| name.ends_with(".py") && !name.contains('/'))
    };
    let mut agents = files.iter().map(|(path, _)| path).filter(is_agent);
    let first = agents.next()?;
    agents.next().is_none().then_some(first)
}
