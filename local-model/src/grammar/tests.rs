//! What the grammars take: always JSON of the schema, and the JSON that a caller would expect.

use super::gbnf::Gbnf;
use super::*;
use crate::json_text::spaced;
use proptest::prelude::*;
use serde_json::json;

fn schemas() -> Vec<Value> {
    vec![
        json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 14}}, "required": ["city"]}),
        json!({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "number", "minimum": 0}, "c": {"type": ["string", "null"]}}}),
        json!({"type": "object", "properties": {"unit": {"enum": ["°C", "\"F\"", 3, null, {"a": [1]}]}, "mode": {"const": "x\ny"}}, "required": ["mode"], "additionalProperties": false}),
        json!({"type": "object", "properties": {
            "people": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "object", "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 5}, "age": {"type": "integer", "minimum": 0}}, "required": ["name", "age"]}},
            "matrix": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        }, "required": ["people"]}),
        json!({"type": "object", "properties": {"value": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}, {"$ref": "#/$defs/point"}]}}, "required": ["value"],
               "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x", "y"]}}}),
        json!({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "properties": {"label": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "required": ["label"]}}}),
        json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "integer"}}, "required": ["b"]}]}),
        json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        json!({"type": "object", "properties": {"when": {"type": "string", "format": "date"}, "at": {"type": "string", "format": "date-time"}, "id": {"type": "string", "format": "uuid"}}}),
        json!({"type": "object", "properties": {"pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}, "any": {}, "free": {"type": "object"}}, "required": ["other"]}),
        json!({"type": "object", "properties": {}}),
        json!({}),
    ]
}

fn tool(parameters: Value) -> Tool {
    Tool { name: "do.it-1".to_owned(), description: String::new(), parameters }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every text of the grammar is an object that an independent validator finds to be of the schema.
    #[test]
    fn what_a_grammar_takes_is_json_of_the_schema(seed: u64) {
        for schema in schemas() {
            let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
            let grammar = Gbnf::read(&of_arguments(&tool(schema.clone())).unwrap());
            let mut state = seed | 1;
            let mut choose = |below: usize| {
                // The generator of Marsaglia: any stream of numbers will do.
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                usize::try_from(state >> 33).unwrap() % below
            };
            let text = grammar.make(&mut choose);
            let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            prop_assert!(value.is_object(), "{text}");
            // A date of the calendar is more than a grammar can know: 2026-02-31 is one for it.
            let about_days = schema.to_string().contains("date");
            prop_assert!(about_days || validator.is_valid(&value), "{text} is not of {schema}");
            prop_assert!(grammar.takes(&text), "{text} is made by the grammar and not taken by it");
        }
    }
}

/// Whether the grammar of `schema` takes `value`, printed as models print it.
fn takes(schema: &Value, value: &Value) -> bool {
    Gbnf::read(&of_value(schema).unwrap()).takes(&spaced(value))
}

#[test]
fn expected_arguments_are_taken() {
    let all = schemas();
    for (schema, value) in [
        (0, json!({"city": "São Paulo \"x\" \\ \n 🙂", "days": 14})),
        (0, json!({"city": ""})),
        (1, json!({})),
        (1, json!({"b": 0.5})),
        (1, json!({"a": true, "c": null})),
        (2, json!({"unit": {"a": [1]}, "mode": "x\ny"})),
        (3, json!({"people": [{"name": "A", "age": 0}, {"name": "B", "age": 70}], "matrix": [[1, -2], []]})),
        (4, json!({"value": {"x": 1, "y": -2.25}})),
        (4, json!({"value": ["a", "b"]})),
        (5, json!({"label": "a", "children": [{"label": "b"}, {"label": "c", "children": []}]})),
        (6, json!({"a": "x", "b": 1})),
        (7, json!({"x": 1, "y": 2})),
        (8, json!({"when": "2026-02-28", "at": "2026-02-28T23:59:00Z"})),
        (9, json!({"pair": ["a", 1], "any": {"deep": [null]}, "free": {"a": {}}, "other": 1})),
        (11, json!({"anything": ["goes", {"here": 1.5}]})),
    ] {
        assert!(takes(&all[schema], &value), "{value} is not taken for {}", all[schema]);
    }
}

#[test]
fn other_arguments_are_not_taken() {
    let all = schemas();
    for (schema, value) in [
        (0, json!({"days": 3})),
        (0, json!({"city": "a", "days": 15})),
        (0, json!({"city": "a", "days": 0})),
        (0, json!({"city": 1})),
        (0, json!({"city": "a", "more": 1})),
        (0, json!(["city"])),
        (1, json!({"b": -1})),
        (1, json!({"c": 1})),
        (2, json!({"unit": "K", "mode": "x\ny"})),
        (3, json!({"people": []})),
        (3, json!({"people": [{"name": "", "age": 1}]})),
        (3, json!({"people": [{"name": "abcdef", "age": 1}]})),
        (4, json!({"value": {"x": 1}})),
        (6, json!({"a": "x"})),
        (7, json!({"x": "1"})),
        (8, json!({"when": "28.2.2026"})),
    ] {
        assert!(!takes(&all[schema], &value), "{value} is taken for {}", all[schema]);
    }
}

#[test]
fn call_names_a_tool_and_is_one() {
    let tools = [tool(schemas()[0].clone()), Tool { name: "other".to_owned(), ..tool(json!({})) }];
    let grammar = Gbnf::read(&of_call(&tools).unwrap());
    let call = "{\"name\": \"do.it-1\", \"arguments\": {\"city\": \"a\"}}\n</tool_call>";
    assert!(grammar.takes(call));
    assert!(grammar.takes("{\"name\": \"other\", \"arguments\": {}}\n</tool_call>"));
    assert!(!grammar.takes(&call.replace("do.it-1", "do.it")));
    assert!(!grammar.takes(&format!("{call}\n")));
}

#[test]
fn schema_that_never_ends_is_cut_and_one_that_is_too_large_refused() {
    let looping =
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
    assert!(of_arguments(&tool(looping)).is_ok());
    let own = json!({"type": "object", "properties": {"x": {"$ref": "#/properties/x"}}});
    assert!(of_arguments(&tool(own)).is_ok());
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    assert!(of_arguments(&tool(deep)).is_ok());
    let properties: serde_json::Map<_, _> =
        (0..5000).map(|number| (format!("p{number}"), json!({"type": "string"}))).collect();
    let wide = of_arguments(&tool(json!({"type": "object", "properties": properties})));
    assert!(matches!(wide, Err(Error::TooLarge { .. })));
}
