//! What the agent and the HTTP module of a bundle must look like, found in their text without running it.

use super::{
    Rules,
    code::{BundleError, Code},
};
use crate::python_source::{Field, Outline, OutlineClass, PythonVersion};
use std::{borrow::Cow, collections::HashSet};

/// The language of the published validator, and so of bundles.
const PYTHON: PythonVersion = PythonVersion { major: 3, minor: 11 };

const IMPORTS: [&str; 3] = [
    "from agents.basic_agent import BasicAgent",
    "from basic_agent import BasicAgent",
    "from openrappter.agents.basic_agent import BasicAgent",
];

const PLACEHOLDERS: [&str; 7] = [
    "{{PLACEHOLDER}}",
    "{{TEAM_NAME}}",
    "{{CLASS_NAME}}",
    "YOUR LOGIC GOES HERE",
    "TODO REPLACE",
    "RAPP AGENT TEMPLATE",
    "@your_username/",
];

/// With this in it, a file may speak of templates.
const ALLOWS_PLACEHOLDERS: &str = "rapp-validator: allow-template-placeholders";

const MANIFEST: &str = "__manifest__";
const INTERNAL_SCHEMA: &str = "rapp-agent/1.0";
const BASIC_AGENT: &str = "BasicAgent";

/// Most bytes that are looked into at all. Ten times what an agent may have.
pub(super) const SOURCE_BYTES_MAX: usize = 2 << 20;

/// Everything that is wrong with an agent's text. One that is far too large is not looked into.
pub(super) fn check_agent(bytes: &[u8], path: &str, rules: Rules) -> Vec<BundleError> {
    if bytes.len() > SOURCE_BYTES_MAX {
        return Vec::new();
    }
    let text = text(bytes);
    let mut errors = Vec::new();
    if !text.contains(ALLOWS_PLACEHOLDERS) {
        errors.extend(placeholders(rules).filter(|placeholder| text.contains(placeholder)).map(
            |placeholder| {
                BundleError::at(Code::TemplatePlaceholder, path, format!("`{placeholder}` is still in it"))
            },
        ));
    }
    if !IMPORTS.iter().any(|import| text.contains(import)) {
        let message = format!("it must import the class it extends: `{}`", IMPORTS[0]);
        errors.push(BundleError::at(Code::NoBasicAgentImport, path, message));
    }
    match outline(&text, path, Code::SingletonSyntax) {
        Err(error) => errors.push(error),
        Ok(outline) => {
            errors.extend(check_internal_manifest(&outline, path, rules));
            errors.extend(check_classes(&outline, path, rules));
        }
    }
    errors
}

/// Everything that is wrong with an HTTP module's text.
pub(super) fn check_http_module(bytes: &[u8], path: &str) -> Vec<BundleError> {
    if bytes.len() > SOURCE_BYTES_MAX {
        let message = format!("{} bytes, and it must not be more than {SOURCE_BYTES_MAX}", bytes.len());
        return vec![BundleError::at(Code::ServiceTooLarge, path, message)];
    }
    let outline = match outline(&text(bytes), path, Code::ServiceSyntax) {
        Err(error) => return vec![error],
        Ok(outline) => outline,
    };
    let mut errors = Vec::new();
    if !outline.assignments.iter().any(|assignment| assignment.name == "name") {
        let message = "it must assign `name`, the first part of its addresses";
        errors.push(BundleError::at(Code::ServiceNoName, path, message));
    }
    if !outline.functions.iter().any(|function| function == "handle") {
        let message = "it must define `handle(method, path, body)`";
        errors.push(BundleError::at(Code::ServiceNoHandle, path, message));
    }
    errors
}

/// Only that the text is Python.
pub(super) fn check_syntax(bytes: &[u8], path: &str, code: Code) -> Option<BundleError> {
    if bytes.len() > SOURCE_BYTES_MAX {
        let message = format!("{} bytes, and it must not be more than {SOURCE_BYTES_MAX}", bytes.len());
        return Some(BundleError::at(code, path, message));
    }
    outline(&text(bytes), path, code).err()
}

/// The bytes as text, with a sign for each that is none. The quick look first: nearly every file is text.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

fn outline(text: &str, path: &str, code: Code) -> Result<Outline, BundleError> {
    Outline::parse(text, PYTHON).map_err(|failure| {
        let place = failure.line.map_or_else(|| path.to_owned(), |line| format!("{path}:{line}"));
        BundleError::at(code, place, failure.message)
    })
}

/// The written rules have a shorter form of one of them.
fn placeholders(rules: Rules) -> impl Iterator<Item = &'static str> {
    PLACEHOLDERS.into_iter().map(move |placeholder| match (placeholder, rules) {
        ("YOUR LOGIC GOES HERE", Rules::Spec) => "YOUR LOGIC",
        _ => placeholder,
    })
}

fn check_internal_manifest(outline: &Outline, path: &str, rules: Rules) -> Vec<BundleError> {
    let manifests: Vec<_> =
        outline.assignments.iter().filter(|assignment| assignment.name == MANIFEST).collect();
    if manifests.is_empty() {
        let message = format!("it must assign a dict to `{MANIFEST}` at its top level");
        return vec![BundleError::at(Code::NoInternalManifest, path, message)];
    }
    let mut errors: Vec<BundleError> = manifests
        .iter()
        .filter(|assignment| assignment.dict.is_none())
        .map(|assignment| {
            let place = format!("{path}:{}", assignment.line);
            BundleError::at(
                Code::ManifestNotDict,
                place,
                format!("`{MANIFEST}` must be written out as a dict"),
            )
        })
        .collect();
    if rules == Rules::Spec
        && let Some((fields, line)) =
            manifests.iter().find_map(|manifest| Some((manifest.dict.as_ref()?, manifest.line)))
    {
        errors.extend(
            missing_fields(fields).map(|message| {
                BundleError::at(Code::InternalManifestFields, format!("{path}:{line}"), message)
            }),
        );
    }
    errors
}

/// What the agent's own manifest lacks.
fn missing_fields(fields: &[(String, Field)]) -> impl Iterator<Item = String> {
    // The last of two equal keys counts, as everywhere in Python.
    let text = |key: &str| {
        let (_, field) = fields.iter().rev().find(|(name, _)| name == key)?;
        match field {
            Field::Text(text) if !text.is_empty() => Some(text.as_str()),
            _ => None,
        }
    };
    let schema = text("schema") != Some(INTERNAL_SCHEMA);
    let schema = schema.then(|| format!("`{MANIFEST}` must have `schema: {INTERNAL_SCHEMA}`"));
    let others: Vec<&str> =
        ["name", "version", "description"].into_iter().filter(|key| text(key).is_none()).collect();
    let others = others.into_iter().map(|key| format!("`{MANIFEST}` must have `{key}` as a text"));
    schema.into_iter().chain(others)
}

fn check_classes(outline: &Outline, path: &str, rules: Rules) -> Vec<BundleError> {
    let is_public = |class: &&OutlineClass| {
        class.name.ends_with("Agent") && class.name != BASIC_AGENT && !class.name.starts_with("_Internal")
    };
    let public: Vec<&OutlineClass> = outline.classes.iter().filter(is_public).collect();
    let class = match public[..] {
        [] => {
            let message = "it must define one public class whose name ends in `Agent`";
            return vec![BundleError::at(Code::NoAgentClass, path, message)];
        }
        [class] => class,
        [_, second, ..] => {
            let names: Vec<&str> = public.iter().map(|class| class.name.as_str()).take(8).collect();
            let message = format!(
                "only one may be public, not {}: begin the others with `_Internal`",
                names.join(", ")
            );
            let place = format!("{path}:{}", second.line);
            return vec![BundleError::at(Code::MultipleAgentClasses, place, message)];
        }
    };
    let mut errors = Vec::new();
    let place = format!("{path}:{}", class.line);
    let extends = match rules {
        Rules::Reference => class.bases.iter().any(|base| base == BASIC_AGENT),
        Rules::Spec => extends_basic_agent(class, &outline.classes),
    };
    if !extends {
        let message = format!("`{}` must extend `{BASIC_AGENT}`", class.name);
        errors.push(BundleError::at(Code::NotBasicAgent, &place, message));
    }
    match class.performs.last() {
        None => {
            let message = format!("`{}` must define `perform(self, **kwargs)`", class.name);
            errors.push(BundleError::at(Code::NoPerform, &place, message));
        }
        // The last definition is the one that holds.
        Some(false) if rules == Rules::Spec => {
            let message = format!("`{}.perform` must take keywords: `perform(self, **kwargs)`", class.name);
            errors.push(BundleError::at(Code::PerformSignature, &place, message));
        }
        Some(_) => {}
    }
    errors
}

/// Directly, or through classes of the same file.
fn extends_basic_agent(class: &OutlineClass, classes: &[OutlineClass]) -> bool {
    let mut seen = HashSet::new();
    let mut bases: Vec<&str> = class.bases.iter().map(String::as_str).collect();
    while let Some(base) = bases.pop() {
        if base == BASIC_AGENT {
            return true;
        }
        if seen.insert(base) {
            let named = classes.iter().filter(|class| class.name == base);
            bases.extend(named.flat_map(|class| &class.bases).map(String::as_str));
        }
    }
    false
}
