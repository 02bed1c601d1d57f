//! What `manifest.json` must say. Every check runs, in one order.

use super::{
    Rules,
    code::{BundleError, Code},
    gated,
    names::{self, BundleId, Publisher, Version},
    python_json::is_truthy,
};
use serde_json::{Map, Value};

pub(super) const FILE: &str = "manifest.json";
pub(super) const SCHEMA: &str = "rapp-application/1.0";

/// The tag that every rapplication has.
pub(super) const TAG: &str = "rapplication";

pub(super) const CATEGORIES: [&str; 7] =
    ["productivity", "creative", "analysis", "data", "integration", "platform", "workspace"];

const TIERS: [&str; 7] =
    ["featured", "official", "verified", "community", "experimental", "deprecated", "private"];

/// Everything that is wrong with a manifest.
pub(super) fn check(manifest: &Map<String, Value>, rules: Rules) -> Vec<BundleError> {
    let mut errors = Vec::new();
    let mut add = |code, message: String| errors.push(BundleError::at(code, FILE, message));
    let text = |key: &str| manifest.get(key).and_then(Value::as_str);
    let is_strict = rules == Rules::Spec;
    let holds = |key: &str, loose: fn(&str) -> bool, strict: fn(&str) -> bool| {
        text(key).is_some_and(|text| if is_strict { strict(text) } else { loose(text) })
    };
    let has_text = |key: &str| text(key).is_some_and(|text| !text.is_empty());
    if text("schema") != Some(SCHEMA) {
        add(
            Code::ManifestSchema,
            format!("`schema` must be `{SCHEMA}`, not {}", shown(manifest.get("schema"))),
        );
    }
    if !holds("id", names::is_loose_id, |text| BundleId::parse(text).is_some()) {
        add(Code::BadId, format!("`id` must be like `my_app`, not {}", shown(manifest.get("id"))));
    }
    if !has_text("name") {
        add(Code::BadName, "`name` is needed: a text with something in it".to_owned());
    }
    if !holds("version", names::is_loose_version, |text| Version::parse(text).is_some()) {
        add(
            Code::BadVersion,
            format!("`version` must be like `1.0.0`, not {}", shown(manifest.get("version"))),
        );
    }
    if !holds("publisher", names::is_loose_publisher, |text| Publisher::parse(text).is_some()) {
        let seen = shown(manifest.get("publisher"));
        add(Code::BadPublisher, format!("`publisher` must be like `@account`, not {seen}"));
    }
    if !has_text("summary") {
        add(Code::BadSummary, "`summary` is needed: a text with something in it".to_owned());
    }
    match text("category").filter(|category| !category.is_empty()) {
        None => add(Code::BadCategory, format!("`category` is needed: one of {}", CATEGORIES.join(", "))),
        Some(category) if !CATEGORIES.contains(&category) => {
            let seen = shown(manifest.get("category"));
            add(
                Code::UnknownCategory,
                format!("`category` must be one of {}, not {seen}", CATEGORIES.join(", ")),
            );
        }
        Some(_) => {}
    }
    if !has_tags(manifest.get("tags"), rules) {
        add(Code::BadTags, format!("`tags` must be a list of texts with `{TAG}` among them"));
    }
    let (has_agent, has_module) = (is_truthy(manifest.get("agent")), is_truthy(manifest.get("service")));
    match (has_agent, has_module, rules) {
        (true, _, _) | (false, true, Rules::Reference) => {}
        (false, false, Rules::Reference) => {
            add(Code::NoEntrypoint, "the manifest declares neither `agent` nor `service`".to_owned());
        }
        (false, false, Rules::Spec) => {
            add(
                Code::BareAgentBelongsInRar,
                "the manifest declares neither `agent` nor `service`".to_owned(),
            );
        }
        (false, true, Rules::Spec) => add(Code::NoAgent, "the manifest declares no `agent`".to_owned()),
    }
    errors.extend(tier_and_access(manifest, rules));
    errors
}

fn has_tags(tags: Option<&Value>, rules: Rules) -> bool {
    let Some(tags) = tags.and_then(Value::as_array) else { return false };
    match rules {
        Rules::Reference => !tags.is_empty(),
        Rules::Spec => tags.iter().all(Value::is_string) && tags.iter().any(|tag| tag == TAG),
    }
}

fn tier_and_access(manifest: &Map<String, Value>, rules: Rules) -> Vec<BundleError> {
    let mut errors = Vec::new();
    let set = |key: &str| manifest.get(key).filter(|value| !value.is_null());
    let tier = set("quality_tier");
    let is_gated = gated::is_gated(manifest);
    let may_have =
        |tier: &str| TIERS.contains(&tier) && (rules == Rules::Reference || is_gated || tier != gated::TIER);
    if let Some(tier) = tier
        && !tier.as_str().is_some_and(may_have)
    {
        let message = if tier == gated::TIER {
            format!("the tier `{}` is only for gated rapplications", gated::TIER)
        } else {
            format!("`quality_tier` must be one of {}, not {}", TIERS.join(", "), shown(Some(tier)))
        };
        errors.push(BundleError::at(Code::BadQualityTier, FILE, message));
    }
    if let Some(access) = set("access")
        && access != "public"
        && !is_gated
    {
        let message = format!("`access` must be `public` or `private`, not {}", shown(Some(access)));
        errors.push(BundleError::at(Code::BadAccess, FILE, message));
    }
    if is_gated {
        errors.extend(gated::check(manifest, "manifest", FILE, rules));
        if tier.is_some_and(|tier| tier != gated::TIER) {
            let message = format!("a gated rapplication has the tier `{}`, not {}", gated::TIER, shown(tier));
            errors.push(BundleError::at(Code::GatedBadTier, FILE, message));
        }
    }
    errors
}

/// A value in a message: short, and with its quotes.
pub(super) fn shown(value: Option<&Value>) -> String {
    const CHARACTERS_MAX: usize = 80;
    match value {
        None => "nothing".to_owned(),
        // Not written out whole only to be cut: a value can be as large as the file.
        Some(Value::Array(_)) => "a list".to_owned(),
        Some(Value::Object(_)) => "an object".to_owned(),
        Some(Value::String(text)) => {
            let short: String = text.chars().take(CHARACTERS_MAX).collect();
            format!("{short:?}")
        }
        Some(value) => value.to_string().chars().take(CHARACTERS_MAX).collect(),
    }
}
