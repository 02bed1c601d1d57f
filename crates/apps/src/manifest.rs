//! The rules of `__manifest__`, as the registry's own tool states them. The value of `schema` is not compared.

use serde_json::{Map, Value};

/// Keys without which a manifest is not one, in the order the registry lists them.
pub(crate) const REQUIRED_FIELDS: [&str; 8] =
    ["schema", "name", "version", "display_name", "description", "author", "tags", "category"];

const CATEGORIES: [&str; 24] = [
    "core",
    "pipeline",
    "integrations",
    "productivity",
    "devtools",
    "general",
    "b2b_sales",
    "b2c_sales",
    "healthcare",
    "financial_services",
    "manufacturing",
    "energy",
    "federal_government",
    "slg_government",
    "human_resources",
    "it_management",
    "professional_services",
    "retail_cpg",
    "software_digital_products",
    "analysis",
    "creative",
    "meta",
    "platform",
    "workflow",
];

const TIERS: [&str; 5] = ["experimental", "community", "verified", "official", "frontier"];

/// One rule that a manifest breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Stable code.
    pub(crate) code: &'static str,
    /// What was seen.
    pub(crate) message: String,
}

/// Every rule that the manifest breaks.
pub(crate) fn problems(manifest: &Value) -> Vec<Problem> {
    let Value::Object(fields) = manifest else {
        return vec![problem("manifest_missing_field", "__manifest__ is not a dict")];
    };
    let mut problems: Vec<Problem> = missing_fields(fields)
        .map(|field| problem("manifest_missing_field", format!("missing required field: {field}")))
        .collect();
    if !has_registry_name(fields) {
        let message = format!("invalid name {}: it must be @publisher/slug", shown(fields.get("name")));
        problems.push(problem("manifest_name", message));
    }
    if !fields.get("version").and_then(Value::as_str).is_some_and(is_version) {
        let message = format!("invalid version {}: it must be like 1.0.0", shown(fields.get("version")));
        problems.push(problem("manifest_version", message));
    }
    if fields.get("tags").is_some_and(|tags| !tags.is_array()) {
        problems.push(problem("manifest_tags", "tags must be a list"));
    }
    let is_one_of = |value: &Value, known: &[&str]| value.as_str().is_some_and(|text| known.contains(&text));
    if let Some(category) = fields.get("category")
        && !is_empty(category)
        && !is_one_of(category, &CATEGORIES)
    {
        let message = format!("invalid category {category}: it must be one of {}", CATEGORIES.join(", "));
        problems.push(problem("manifest_category", message));
    }
    if let Some(tier) = fields.get("quality_tier")
        && !is_one_of(tier, &TIERS)
    {
        let message = format!("invalid quality_tier {tier}: it must be one of {}", TIERS.join(", "));
        problems.push(problem("manifest_tier", message));
    }
    problems
}

/// Required keys that are not there.
pub(crate) fn missing_fields(fields: &Map<String, Value>) -> impl Iterator<Item = &'static str> {
    REQUIRED_FIELDS.into_iter().filter(|field| !fields.contains_key(*field))
}

/// True when the name has the form `@publisher/slug`.
pub(crate) fn has_registry_name(fields: &Map<String, Value>) -> bool {
    fields.get("name").and_then(Value::as_str).is_some_and(|name| name.starts_with('@') && name.contains('/'))
}

fn is_version(text: &str) -> bool {
    let groups: Vec<&str> = text.split('.').collect();
    groups.len() == 3
        && groups.iter().all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Empty as Python means it: a category that is empty is not compared.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "(none)".to_owned(), |value| value.to_string().chars().take(100).collect())
}

fn problem(code: &'static str, message: impl Into<String>) -> Problem {
    Problem { code, message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::problems;
    use serde_json::{Value, json};

    fn good() -> Value {
        json!({
            "schema": "rapp-agent/1.0", "name": "@a/b", "version": "1.0.0", "display_name": "B", "description": "d",
            "author": "a", "tags": [], "category": "general", "quality_tier": "verified"
        })
    }

    fn check(field: &str, value: Value, expected: &[&str]) {
        let mut manifest = good();
        manifest[field] = value;
        let codes: Vec<&str> = problems(&manifest).iter().map(|problem| problem.code).collect();
        assert_eq!(codes, expected, "{field}: {}", manifest[field]);
    }

    #[test]
    fn a_good_manifest_has_no_problems() {
        assert_eq!(problems(&good()), []);
        check("name", json!("@a/with-dash"), &[]);
        check("category", json!(""), &[]);
        check("category", json!("workflow"), &[]);
        check("quality_tier", json!("frontier"), &[]);
    }

    #[test]
    fn each_rule_has_its_code() {
        for name in [json!("a/b"), json!("@ab"), json!(1), json!(null)] {
            check("name", name, &["manifest_name"]);
        }
        for version in [json!("1.0"), json!("1.0.0.0"), json!("1.0.x"), json!("1..0"), json!(1.0)] {
            check("version", version, &["manifest_version"]);
        }
        check("tags", json!("a,b"), &["manifest_tags"]);
        check("category", json!("cooking"), &["manifest_category"]);
        check("category", json!(["general"]), &["manifest_category"]);
        check("quality_tier", json!("gold"), &["manifest_tier"]);
        check("quality_tier", json!(null), &["manifest_tier"]);
    }

    #[test]
    fn every_missing_field_is_named() {
        let found = problems(&json!({}));
        assert_eq!(found.iter().filter(|problem| problem.code == "manifest_missing_field").count(), 8);
        assert!(found[0].message.ends_with("schema"));
        assert_eq!(problems(&json!([1])).len(), 1);
    }
}
