//! Permissions of pages, the `permissions` object of their manifest, as rights and back.
//!
//! A key that is not known here is passed over: manifests of later versions have more of them, and a permission that
//! nobody understands allows nothing. A known key with a value of the wrong form is refused.

use super::{Access, AgentsUse, Direction, InvalidRight, Right, invalid};
use crate::{Ask, Evidence};
use serde_json::{Map, Value, json};

/// More patterns or origins than any page of one person needs to name.
const ENTRIES_MAX: usize = 200;

/// Units of `storage`, the largest first.
const UNITS: [(&str, u64); 3] = [("MB", 1 << 20), ("KB", 1 << 10), ("B", 1)];

/// The rights a page's `permissions` ask for, each with the entry it was written as, for example `vfs.read: /docs/*`.
pub fn from_page(permissions: &Map<String, Value>) -> Result<Vec<Ask>, InvalidRight> {
    let mut asks = Vec::new();
    for (key, value) in permissions {
        match key.as_str() {
            "vfs" => {
                patterns(key, value, [("read", "workspace:read"), ("write", "workspace:write")], &mut asks)?
            }
            "eventbus" => {
                patterns(key, value, [("subscribe", "events:watch"), ("emit", "events:emit")], &mut asks)?
            }
            "network" => network(value, &mut asks)?,
            "agents" => {
                for pattern in texts(key, value)? {
                    asks.push(ask(format!("agents:call:{pattern}").parse()?, format!("agents: {pattern}")));
                }
            }
            "notifications" | "clipboard" | "model" if flag(key, value)? => {
                asks.push(ask(key.parse()?, format!("{key}: true")));
            }
            "storage" => {
                let text = value.as_str().ok_or_else(|| wrong(key, value, "is not text such as `1MB`"))?;
                asks.push(ask(Right::Storage(bytes_of(text)?), format!("storage: {text}")));
            }
            _ => {}
        }
    }
    Ok(asks)
}

/// The `permissions` object these asks stand for. Rights that pages cannot ask for are left out.
#[must_use]
pub fn to_page(asks: &[Ask]) -> Value {
    let mut page = Map::new();
    for ask in asks {
        match &ask.right {
            Right::Workspace { access: Access::Read, pattern } => {
                add(&mut page, "vfs", "read", pattern.as_str())
            }
            Right::Workspace { access: Access::Write, pattern } => {
                add(&mut page, "vfs", "write", pattern.as_str())
            }
            Right::Events { direction: Direction::Watch, pattern } => {
                add(&mut page, "eventbus", "subscribe", pattern.as_str())
            }
            Right::Events { direction: Direction::Emit, pattern } => {
                add(&mut page, "eventbus", "emit", pattern.as_str())
            }
            Right::AnyNetwork => drop(page.insert("network".to_owned(), Value::Bool(true))),
            Right::Network(target) => {
                let origin =
                    written(ask, "network").map_or_else(|| format!("https://{target}"), str::to_owned);
                let entry = page.entry("network").or_insert_with(|| json!([]));
                // Beside `true` an origin says nothing more.
                if let Value::Array(origins) = entry {
                    origins.push(Value::String(origin));
                }
            }
            Right::Agents(AgentsUse::Call(pattern)) => {
                if let Value::Array(names) = page.entry("agents").or_insert_with(|| json!([])) {
                    names.push(Value::String(pattern.as_str().to_owned()));
                }
            }
            Right::Model => drop(page.insert("model".to_owned(), Value::Bool(true))),
            Right::Notifications => drop(page.insert("notifications".to_owned(), Value::Bool(true))),
            Right::Clipboard => drop(page.insert("clipboard".to_owned(), Value::Bool(true))),
            Right::Storage(bytes) => {
                let text = written(ask, "storage").map_or_else(|| size_text(*bytes), str::to_owned);
                page.insert("storage".to_owned(), Value::String(text));
            }
            _ => {}
        }
    }
    Value::Object(page)
}

/// What stood in the manifest for this ask, when the ask still means that.
fn written<'a>(ask: &'a Ask, key: &str) -> Option<&'a str> {
    let text = ask.original.as_deref()?.strip_prefix(key)?.strip_prefix(": ")?;
    let right = if key == "network" { origin(text) } else { bytes_of(text).map(Right::Storage) };
    right.is_ok_and(|right| right == ask.right).then_some(text)
}

fn ask(right: Right, original: String) -> Ask {
    Ask { right, evidence: Evidence::Declared, line: None, original: Some(original) }
}

fn add(page: &mut Map<String, Value>, key: &str, inner: &str, pattern: &str) {
    let group = page.entry(key).or_insert_with(|| json!({}));
    if let Value::Object(group) = group
        && let Value::Array(patterns) = group.entry(inner).or_insert_with(|| json!([]))
    {
        patterns.push(Value::String(pattern.to_owned()));
    }
}

/// Reads `{"read": [pattern, …], "write": […]}`; each inner key comes with the beginning of its rights.
fn patterns(
    key: &str,
    value: &Value,
    inner_keys: [(&str, &str); 2],
    asks: &mut Vec<Ask>,
) -> Result<(), InvalidRight> {
    let group = value.as_object().ok_or_else(|| wrong(key, value, "is not an object"))?;
    for (inner, value) in group {
        let Some((_, right)) = inner_keys.iter().find(|(known, _)| known == inner) else { continue };
        for pattern in texts(&format!("{key}.{inner}"), value)? {
            asks.push(ask(format!("{right}:{pattern}").parse()?, format!("{key}.{inner}: {pattern}")));
        }
    }
    Ok(())
}

fn network(value: &Value, asks: &mut Vec<Ask>) -> Result<(), InvalidRight> {
    match value {
        Value::Array(_) => {
            for text in texts("network", value)? {
                asks.push(ask(origin(text)?, format!("network: {text}")));
            }
        }
        other => {
            if flag("network", other)? {
                asks.push(ask(Right::AnyNetwork, "network: true".to_owned()));
            }
        }
    }
    Ok(())
}

/// `https://HOST` or `https://HOST:PORT`. Without encryption anyone on the way could answer, so nothing else is taken.
fn origin(text: &str) -> Result<Right, InvalidRight> {
    let target = text
        .strip_prefix("https://")
        .filter(|target| *target != "*")
        .ok_or_else(|| invalid(text, "is not an origin that begins with `https://`"))?;
    format!("network:{target}").parse()
}

fn texts<'a>(key: &str, value: &'a Value) -> Result<Vec<&'a str>, InvalidRight> {
    let refuse = || wrong(key, value, "is not a list of at most 200 texts");
    let items = value.as_array().filter(|items| items.len() <= ENTRIES_MAX).ok_or_else(refuse)?;
    items.iter().map(|item| item.as_str().ok_or_else(refuse)).collect()
}

fn flag(key: &str, value: &Value) -> Result<bool, InvalidRight> {
    value.as_bool().ok_or_else(|| wrong(key, value, "is neither true nor false"))
}

/// Reads `1MB`, `512KB` or `100B`.
fn bytes_of(text: &str) -> Result<u64, InvalidRight> {
    let refuse = || invalid(text, "is not a size such as `1MB`");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, factor) = UNITS.iter().find(|(known, _)| *known == unit).ok_or_else(refuse)?;
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(*factor)).ok_or_else(refuse)
}

/// In the largest unit that needs no fraction.
fn size_text(bytes: u64) -> String {
    let (unit, factor) =
        UNITS.into_iter().find(|(_, factor)| bytes.is_multiple_of(*factor)).unwrap_or(("B", 1));
    format!("{}{unit}", bytes / factor)
}

fn wrong(key: &str, value: &Value, why: &'static str) -> InvalidRight {
    invalid(&format!("{key}: {value}"), why)
}

#[cfg(test)]
mod tests {
    use super::{from_page, to_page};
    use crate::{Ask, Evidence, InvalidRight, Right};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn rights(page: &Value) -> Result<Vec<String>, InvalidRight> {
        let asks = from_page(page.as_object().unwrap())?;
        Ok(asks.iter().map(|ask| ask.right.to_string()).collect())
    }

    #[test]
    fn every_permission_has_its_right() {
        let page = json!({
            "vfs": {"read": ["/docs/*", "/apps/me/*"], "write": ["/apps/me/*"]},
            "eventbus": {"subscribe": ["agent:*"], "emit": ["app:me:*"]},
            "network": ["https://api.example.com", "https://api.example.com:8443"],
            "notifications": true,
            "clipboard": true,
            "storage": "1MB",
            "agents": ["Notes"],
            "model": true,
            "later": {"unknown": 1}
        });
        assert_eq!(
            rights(&page).unwrap(),
            [
                "workspace:read:/docs/*",
                "workspace:read:/apps/me/*",
                "workspace:write:/apps/me/*",
                "events:watch:agent:*",
                "events:emit:app:me:*",
                "network:api.example.com",
                "network:api.example.com:8443",
                "notifications",
                "clipboard",
                "storage:1048576",
                "agents:call:Notes",
                "model",
            ]
        );
        assert_eq!(rights(&json!({"network": true})).unwrap(), ["network:*"]);
        assert!(
            rights(&json!({"network": false, "clipboard": false, "vfs": {"read": []}})).unwrap().is_empty()
        );
    }

    #[test]
    fn a_value_of_the_wrong_form_is_refused() {
        for page in [
            json!({"vfs": ["/docs/*"]}),
            json!({"vfs": {"read": "/docs/*"}}),
            json!({"vfs": {"read": [1]}}),
            json!({"vfs": {"read": ["/../x"]}}),
            json!({"vfs": {"read": ["/a\u{202e}b"]}}),
            json!({"vfs": {"read": vec!["/a"; 201]}}),
            json!({"eventbus": true}),
            json!({"network": "https://a.example"}),
            json!({"network": ["http://a.example"]}),
            json!({"network": ["https://*"]}),
            json!({"network": ["https://a.example/path"]}),
            json!({"network": ["https://me@a.example"]}),
            json!({"notifications": "yes"}),
            json!({"clipboard": 1}),
            json!({"storage": 1}),
            json!({"storage": "1GB"}),
            json!({"storage": "MB"}),
            json!({"storage": "+1MB"}),
            json!({"storage": "99999999999999999999MB"}),
            json!({"agents": "Notes"}),
            json!({"model": "yes"}),
        ] {
            assert!(rights(&page).is_err(), "{page}");
        }
    }

    #[test]
    fn rights_without_an_origin_are_written_as_a_page_would() {
        let asks: Vec<Ask> = ["storage:1536", "network:a.example:8443", "schedule", "workspace:read:*"]
            .iter()
            .map(|text| {
                let right: Right = text.parse().unwrap();
                Ask { right, evidence: Evidence::Declared, line: None, original: None }
            })
            .collect();
        assert_eq!(
            to_page(&asks),
            json!({"storage": "1536B", "network": ["https://a.example:8443"], "vfs": {"read": ["*"]}})
        );
    }

    fn any_network() -> impl Strategy<Value = Value> {
        let origins = proptest::collection::vec(
            "https://[a-zA-Z][a-zA-Z0-9]{0,8}\\.[a-z]{2,5}(:[1-9][0-9]{0,3})?",
            1..4,
        );
        prop_oneof![Just(json!(true)), origins.prop_map(|origins| json!(origins))]
    }

    fn any_patterns() -> impl Strategy<Value = Value> {
        proptest::collection::vec("[a-zA-Z0-9/:_ é-]{1,12}\\*?", 1..4).prop_map(|patterns| json!(patterns))
    }

    proptest! {
        #[test]
        fn every_page_goes_there_and_back_unchanged(
            read in prop::option::of(any_patterns()), write in prop::option::of(any_patterns()),
            subscribe in prop::option::of(any_patterns()), emit in prop::option::of(any_patterns()),
            network in prop::option::of(any_network()), notifications: bool, clipboard: bool,
            storage in prop::option::of("[0-9]{1,6}(B|KB|MB)")
        ) {
            let mut page = json!({});
            for (key, inner, patterns) in [
                ("vfs", "read", read), ("vfs", "write", write),
                ("eventbus", "subscribe", subscribe), ("eventbus", "emit", emit),
            ] {
                if let Some(patterns) = patterns {
                    page[key][inner] = patterns;
                }
            }
            for (key, value) in [
                ("network", network), ("notifications", notifications.then_some(json!(true))),
                ("clipboard", clipboard.then_some(json!(true))), ("storage", storage.map(Value::String)),
            ] {
                if let Some(value) = value {
                    page[key] = value;
                }
            }
            let asks = from_page(page.as_object().unwrap()).unwrap();
            prop_assert_eq!(to_page(&asks), page);
        }
    }
}
