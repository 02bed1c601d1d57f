//! What a shortlist promises, on rosters of every size and on tools of every shape.

use super::{Priorities, Shortlist, TOOLS_BYTES_MAX, TOOLS_MAX, ToolForms, names_in};
use crate::{ranking::Ranked, tool_definition::ToolDefinition};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn tool(name: impl Into<String>, description: String, parameters: Value) -> ToolDefinition {
    ToolDefinition { name: name.into(), description, parameters }
}

/// A tool with so many arguments, each described at length.
fn talkative(place: usize, arguments: usize) -> ToolDefinition {
    let properties: Map<String, Value> = (0..arguments)
        .map(|at| {
            (format!("argument_{at}"), json!({"type": "string", "description": "What it is for. ".repeat(4)}))
        })
        .collect();
    let schema = json!({"type": "object", "properties": properties, "required": ["argument_0"]});
    tool(format!("Tool{place}"), "Does one thing. Then explains it at length. ".repeat(5), schema)
}

fn ranked(order: impl Iterator<Item = usize>) -> Vec<Ranked> {
    order.map(|index| Ranked { index, score: 0.0 }).collect()
}

fn names(list: &Shortlist) -> Vec<&str> {
    list.tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
}

fn size(list: &Shortlist) -> usize {
    serde_json::to_vec(&list.tools).unwrap().len()
}

#[test]
fn a_small_roster_is_sent_as_it_is() {
    let tools: Vec<ToolDefinition> = (0..10).map(|place| talkative(place, 3)).collect();
    let list = ToolForms::of(&tools)
        .shortlist(Priorities { order: &ranked((0..10).rev()), ..Priorities::default() });
    assert_eq!(list.tools, tools.iter().map(ToolDefinition::function).collect::<Vec<_>>().into());
    assert_eq!(list.left_out, 0);
}

#[test]
fn a_large_roster_is_cut_at_the_end_of_the_ranking_and_stays_in_roster_order() {
    let tools: Vec<ToolDefinition> = (0..350).map(|place| talkative(place, 5)).collect();
    let list = ToolForms::of(&tools)
        .shortlist(Priorities { order: &ranked((0..350).rev()), ..Priorities::default() });
    assert!(size(&list) < TOOLS_BYTES_MAX && list.tools.len() > 60, "{} {}", size(&list), list.tools.len());
    let expect: Vec<String> = (350 - list.tools.len()..350).map(|place| format!("Tool{place}")).collect();
    assert_eq!(names(&list), expect);
    assert_eq!(list.tools.iter().last(), Some(&tools[349].function()), "the best is complete");
    let brief = &list.tools.iter().next().unwrap()["function"];
    assert_eq!(brief["description"], "Does one thing.");
    assert_eq!(brief["parameters"]["required"], json!(["argument_0"]));
    assert_eq!(brief["parameters"]["properties"]["argument_0"], json!({"type": "string"}));
}

#[test]
fn many_small_tools_stop_at_the_count() {
    let tools: Vec<ToolDefinition> =
        (0..300).map(|place| tool(format!("T{place}"), String::new(), json!({}))).collect();
    let list = ToolForms::of(&tools).shortlist(Priorities::default());
    assert_eq!((list.tools.len(), list.left_out), (TOOLS_MAX, 300 - TOOLS_MAX));
}

#[test]
fn pinned_and_used_tools_are_in_however_badly_they_rank() {
    let tools: Vec<ToolDefinition> = (0..350).map(|place| talkative(place, 5)).collect();
    let order = ranked(0..350);
    let priorities =
        Priorities { order: &order, pinned: &["Tool349", "gone"], used: &["Tool348", "Tool349"] };
    let list = ToolForms::of(&tools).shortlist(priorities);
    assert_eq!(names(&list)[list.tools.len() - 2..], ["Tool348", "Tool349"]);
}

#[test]
fn a_pathological_tool_is_compacted_or_left_out_and_counted() {
    let huge = "x".repeat(100_000);
    let many: Map<String, Value> =
        (0..5000).map(|at| (format!("argument_{at}"), json!({"type": "string"}))).collect();
    let all_required: Vec<&String> = many.keys().collect();
    let tools = [
        tool(
            "Long",
            huge.clone(),
            json!({"properties": {"a": {"description": huge, "enum": vec!["y"; 5000]}}}),
        ),
        tool("Wide", "Wide.".into(), json!({"type": "object", "properties": many, "required": all_required})),
        tool("Plain", "Plain.".into(), json!({"type": "object", "properties": {}})),
    ];
    let list = ToolForms::of(&tools).shortlist(Priorities::default());
    assert_eq!((names(&list), list.left_out), (vec!["Long", "Plain"], 1));
    assert!(size(&list) < 1000);
}

#[test]
fn a_long_list_of_choices_is_mentioned_and_not_cut() {
    let choices: Vec<String> = (0..40).map(|place| format!("choice{place}")).collect();
    let mut tools: Vec<ToolDefinition> = (0..200).map(|place| talkative(place, 8)).collect();
    let schema = json!({"type": "object", "properties": {"c": {"type": "string", "enum": choices, "description": "z".repeat(5000)}}});
    tools[0].parameters = schema;
    let list = ToolForms::of(&tools).shortlist(Priorities::default());
    let kept = &list.tools.iter().next().unwrap()["function"]["parameters"]["properties"]["c"];
    assert_eq!(kept["type"], "string");
    assert!(
        kept.get("enum").is_none() && kept["description"].as_str().unwrap().starts_with("one of choice0, "),
        "{kept}"
    );
}

#[test]
fn names_are_found_as_whole_words_in_any_case() {
    let tools = ["HackerNews", "News", "My Agent", ""].map(|name| tool(name, String::new(), json!({})));
    assert_eq!(names_in(&tools, "Use hackernews, then my agent."), ["HackerNews", "My Agent"]);
    assert_eq!(names_in(&tools, "newsletter"), Vec::<&str>::new());
}

/// A schema of the kinds authors write, and of some that they should not.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": ["integer", "null"], "minimum": 1, "description": "A number."})),
        Just(json!({"type": "array", "items": {"type": "object", "properties": {"x": {"$ref": "#/y"}}}})),
        Just(json!({"anyOf": [{"type": "string"}, {"type": "null"}]})),
        "[a-zé]{0,200}".prop_map(|text| json!({"type": "string", "description": text, "enum": [text, "b"]})),
        (0..60_usize).prop_map(|count| json!({"type": "string", "enum": vec!["choice"; count]})),
        Just(Value::Null),
    ];
    let object = prop::collection::vec(("[a-z_]{1,12}", leaf), 0..12).prop_map(|entries| {
        let required: Vec<String> = entries.iter().step_by(3).map(|(name, _)| name.clone()).collect();
        json!({"type": "object", "properties": entries.into_iter().collect::<Map<_, _>>(), "required": required})
    });
    prop_oneof![8 => object, 1 => Just(Value::Null), 1 => Just(json!("text"))]
}

fn assert_is_schema(parameters: &Value, of: &ToolDefinition) {
    assert!(parameters["properties"].is_object(), "{parameters}");
    let empty = Map::new();
    let original = of.properties().unwrap_or(&empty);
    for (name, property) in parameters["properties"].as_object().unwrap() {
        assert!(property.is_object() || original[name] == *property, "{parameters}");
        assert_eq!(property.get("type"), original[name].get("type"));
    }
    for name in of.required() {
        assert!(
            parameters["properties"].get(name).is_some()
                && parameters["required"].as_array().unwrap().contains(&json!(name))
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn limits_pins_counts_and_schemas_hold_for_any_roster(
        shapes in prop::collection::vec((schemas(), "[ -~é]{0,300}"), 0..220),
        pinned in prop::collection::vec(0..220_usize, 0..30),
        order in prop::collection::vec(0..400_usize, 0..300),
    ) {
        let tools: Vec<ToolDefinition> = shapes.into_iter().enumerate()
            .map(|(place, (schema, description))| tool(format!("Tool{place}"), description, schema)).collect();
        let pinned: Vec<&str> = pinned.iter().filter_map(|place| tools.get(*place)).map(|tool| tool.name.as_str()).collect();
        let order = ranked(order.into_iter());
        let list = ToolForms::of(&tools).shortlist(Priorities { order: &order, pinned: &pinned, used: &[] });
        prop_assert!(size(&list) < TOOLS_BYTES_MAX && list.tools.len() <= TOOLS_MAX);
        prop_assert_eq!(list.left_out + list.tools.len(), tools.len());
        let names = names(&list);
        prop_assert!(pinned.iter().all(|name| names.contains(name)));
        let places: Vec<usize> = names.iter().map(|name| name[4..].parse().unwrap()).collect();
        prop_assert!(places.is_sorted());
        for (place, sent) in places.iter().zip(list.tools.iter()) {
            assert_is_schema(&sent["function"]["parameters"], &tools[*place]);
        }
    }
}
