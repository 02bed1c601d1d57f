//! A JSON schema as grammar rules: what they accept, the schema accepts too.
//!
//! The other direction is given up where it is cheap to do so: keys come in the schema's order, and what a keyword
//! would add (further properties, exponents) is left out. A keyword that is not known here allows more, never less.

use super::is_silent;
use super::rules::{Rules, literal};
use super::strings::{integer, number, repetition, string};
use crate::json_text::spaced;
use crate::limits::SCHEMA_DEPTH_MAX;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// A value of the schema.
#[cfg(test)]
pub(crate) fn value(rules: &mut Rules, schema: &Value) -> String {
    Reading { rules, whole: schema, named: HashMap::new() }.value(schema, 0)
}

/// An object of the schema, also where the schema forgets to say that it is one.
pub(crate) fn object(rules: &mut Rules, schema: &Value) -> String {
    let empty = Map::new();
    let mut reading = Reading { rules, whole: schema, named: HashMap::new() };
    let schema = match reading.followed(schema) {
        Value::Object(map) => reading.merged(map),
        _ => empty,
    };
    reading.object(&schema, 0)
}

struct Reading<'a> {
    rules: &'a mut Rules,
    /// Where references point into.
    whole: &'a Value,
    /// References that have a rule, or will have one when the reading of them ends.
    named: HashMap<String, String>,
}

impl<'a> Reading<'a> {
    fn value(&mut self, schema: &Value, depth: usize) -> String {
        let Value::Object(map) = schema else { return self.anything() };
        if is_silent(schema) || depth > SCHEMA_DEPTH_MAX || self.rules.full() {
            return self.anything();
        }
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            return self.reference(reference, depth);
        }
        let map = self.merged(map);
        if let Some(fixed) = map.get("const") {
            return literal(&spaced(fixed));
        }
        if let Some(Value::Array(values)) = map.get("enum")
            && !values.is_empty()
        {
            let all: Vec<_> = values.iter().map(|value| literal(&spaced(value))).collect();
            return self.rules.add("enum", all.join(" | "));
        }
        let plain = self.alternatives(&map, depth);
        if map.get("nullable") == Some(&Value::Bool(true)) {
            return self.rules.add("nullable", format!("{plain} | \"null\""));
        }
        plain
    }

    fn alternatives(&mut self, map: &Map<String, Value>, depth: usize) -> String {
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = map.get(keyword)
                && !branches.is_empty()
            {
                let all: Vec<_> = branches.iter().map(|branch| self.value(branch, depth + 1)).collect();
                return self.rules.add("any", all.join(" | "));
            }
        }
        match map.get("type") {
            Some(Value::String(kind)) => self.kind(kind, map, depth),
            Some(Value::Array(kinds)) => {
                let kinds = kinds.iter().filter_map(Value::as_str);
                let all: Vec<_> = kinds.map(|kind| self.kind(kind, map, depth)).collect();
                if all.is_empty() { self.anything() } else { self.rules.add("any", all.join(" | ")) }
            }
            _ if map.contains_key("properties") => self.object(map, depth),
            _ if map.contains_key("items") => self.array(map, depth),
            _ => self.anything(),
        }
    }

    fn kind(&mut self, kind: &str, map: &Map<String, Value>, depth: usize) -> String {
        match kind {
            "string" => string(self.rules, map),
            "integer" => integer(self.rules, map),
            "number" => number(self.rules, map),
            "boolean" => self.rules.add("boolean", "\"true\" | \"false\"".to_owned()),
            "null" => literal("null"),
            "array" => self.array(map, depth),
            "object" => self.object(map, depth),
            _ => self.anything(),
        }
    }

    /// A list. Positions with schemas of their own are all written, in order.
    fn array(&mut self, map: &Map<String, Value>, depth: usize) -> String {
        if let Some(Value::Array(positions)) = map.get("prefixItems")
            && !positions.is_empty()
        {
            let all: Vec<_> = positions.iter().map(|position| self.value(position, depth + 1)).collect();
            return self.rules.add("array", format!("\"[\" {} \"]\"", all.join(" \", \" ")));
        }
        let item = match map.get("items") {
            Some(items) => self.value(items, depth + 1),
            None => self.anything(),
        };
        let minimum = map.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let maximum = map.get("maxItems").and_then(Value::as_u64);
        if maximum == Some(0) {
            return literal("[]");
        }
        let more = repetition(minimum.saturating_sub(1), maximum.map(|maximum| maximum - 1));
        let items = format!("{item} (\", \" {item}){more}");
        let body =
            if minimum == 0 { format!("\"[\" ({items})? \"]\"") } else { format!("\"[\" {items} \"]\"") };
        self.rules.add("array", body)
    }

    fn object(&mut self, map: &Map<String, Value>, depth: usize) -> String {
        let properties = properties(map);
        if properties.is_empty() {
            return self.free_object(map, depth);
        }
        // From the last property to the first, the rest of the object in two forms: as the first thing in it, and
        // after something else. Only so can a property be left out without leaving its comma behind.
        let mut first = literal("}");
        let mut later = literal("}");
        for property in properties.iter().rev() {
            let value = match property.schema {
                Some(schema) => self.value(schema, depth + 1),
                None => self.anything(),
            };
            let key = spaced(&Value::String(property.name.to_owned()));
            let alone = format!("{} {value} {later}", literal(&format!("{key}: ")));
            let behind = format!("{} {value} {later}", literal(&format!(", {key}: ")));
            if property.required {
                first = self.rules.add("rest", alone);
                later = self.rules.add("rest", behind);
            } else {
                first = self.rules.add("rest", format!("{alone} | {first}"));
                later = self.rules.add("rest", format!("{behind} | {later}"));
            }
        }
        self.rules.add("object", format!("\"{{\" {first}"))
    }

    /// An object of which only the values are known, or nothing at all.
    fn free_object(&mut self, map: &Map<String, Value>, depth: usize) -> String {
        let closed = map.get("additionalProperties") == Some(&Value::Bool(false));
        // An argument list without arguments: leaving a model free here only invites inventions.
        if closed || (map.get("properties").is_some() && !map.contains_key("additionalProperties")) {
            return literal("{}");
        }
        let value = match map.get("additionalProperties") {
            Some(schema @ Value::Object(_)) => self.value(schema, depth + 1),
            _ => self.anything(),
        };
        let key = string(self.rules, &Map::new());
        let entry = format!("{key} \": \" {value}");
        self.rules.add("object", format!("\"{{\" ({entry} (\", \" {entry})*)? \"}}\""))
    }

    /// Any JSON at all.
    fn anything(&mut self) -> String {
        if let Some(name) = self.named.get("") {
            return name.clone();
        }
        let name = self.rules.reserve("value");
        self.named.insert(String::new(), name.clone());
        let text = string(self.rules, &Map::new());
        let number = number(self.rules, &Map::new());
        let array = format!("\"[\" ({name} (\", \" {name})*)? \"]\"");
        let object = format!("\"{{\" ({text} \": \" {name} (\", \" {text} \": \" {name})*)? \"}}\"");
        let body = format!("{text} | {number} | \"true\" | \"false\" | \"null\" | {array} | {object}");
        self.rules.define(name.clone(), body);
        name
    }

    fn reference(&mut self, reference: &str, depth: usize) -> String {
        if let Some(name) = self.named.get(reference) {
            return name.clone();
        }
        let whole = self.whole;
        let target = reference.strip_prefix('#').and_then(|pointer| whole.pointer(pointer));
        let Some(target) = target else { return self.anything() };
        // Named before it is read, since a schema may refer to itself.
        let name = self.rules.reserve("ref");
        self.named.insert(reference.to_owned(), name.clone());
        let body = self.value(target, depth + 1);
        // A reference to nothing but itself would make a rule that never ends.
        let body = if body == name { literal("null") } else { body };
        self.rules.define(name.clone(), body);
        name
    }

    fn followed(&self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        for _ in 0..SCHEMA_DEPTH_MAX {
            let reference =
                schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
            match reference.and_then(|pointer| self.whole.pointer(pointer)) {
                Some(target) => schema = target,
                None => return schema,
            }
        }
        schema
    }

    /// The schema with the parts of its `allOf` put into it: properties together, other keywords first come.
    fn merged(&self, map: &Map<String, Value>) -> Map<String, Value> {
        let mut whole = map.clone();
        let Some(Value::Array(parts)) = whole.remove("allOf") else { return whole };
        for part in &parts {
            let part = part.get("$ref").and_then(Value::as_str).map_or(part, |reference| {
                reference.strip_prefix('#').and_then(|pointer| self.whole.pointer(pointer)).unwrap_or(part)
            });
            for (keyword, value) in part.as_object().into_iter().flatten() {
                match (whole.get_mut(keyword), value) {
                    (Some(Value::Object(into)), Value::Object(from)) => into.extend(from.clone()),
                    (Some(Value::Array(into)), Value::Array(from)) => into.extend(from.iter().cloned()),
                    (Some(_), _) => {}
                    (None, _) => drop(whole.insert(keyword.clone(), value.clone())),
                }
            }
        }
        whole
    }
}

struct Property<'m> {
    name: &'m str,
    /// Absent where a name is required of which nothing else is said.
    schema: Option<&'m Value>,
    required: bool,
}

/// The properties in the schema's order, then those that are only required.
fn properties(map: &Map<String, Value>) -> Vec<Property<'_>> {
    let required: Vec<_> = map
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let described = map.get("properties").and_then(Value::as_object);
    let mut all: Vec<_> = described
        .into_iter()
        .flatten()
        .map(|(name, schema)| Property {
            name,
            schema: Some(schema),
            required: required.contains(&name.as_str()),
        })
        .collect();
    for name in required {
        if !all.iter().any(|property| property.name == name) {
            all.push(Property { name, schema: None, required: true });
        }
    }
    all
}
