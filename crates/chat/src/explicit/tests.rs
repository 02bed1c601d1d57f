//! Lines with a slash, and what becomes of them.

use super::{Explicit, ExplicitProblem, parse_explicit};
use crate::tool_definition::ToolDefinition;
use proptest::prelude::*;
use serde_json::{Value, json};

fn tools() -> Vec<ToolDefinition> {
    let tool = |name: &str, parameters: Value| ToolDefinition {
        name: name.into(),
        description: String::new(),
        parameters,
    };
    vec![
        tool(
            "WeatherAgent",
            json!({"type": "object", "required": ["city"], "properties": {
                "city": {"type": "string"}, "days": {"type": "integer"}, "rain_only": {"type": "boolean"},
                "units": {"type": "string", "enum": ["metric", "imperial"]}}}),
        ),
        tool(
            "Mixer",
            json!({"properties": {"parts": {"type": "array", "items": {"type": "number"}}, "how": {"type": "object"}}}),
        ),
        tool("Mixture", json!({})),
        tool("My Agent", json!({"properties": {"x": {}}})),
    ]
}

#[track_caller]
fn check(line: &str, agent: &str, arguments: Value) {
    match parse_explicit(line, &tools()) {
        Some(Ok(Explicit::Use { agent: found, arguments: read })) => {
            assert_eq!((found.as_str(), Value::Object(read)), (agent, arguments));
        }
        other => panic!("{line}: {other:?}"),
    }
}

#[track_caller]
fn refuses(line: &str, message: &str) {
    match parse_explicit(line, &tools()) {
        Some(Err(problem)) => assert_eq!(problem.to_string(), message),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn values_get_the_types_of_the_schema() {
    let expect = json!({"city": "New York", "days": 3, "rain_only": true, "units": "metric"});
    check(r#"/WeatherAgent city="New York" days=3 rain_only=yes units=METRIC"#, "WeatherAgent", expect);
    check("/mixer parts=1,2.5 parts=3", "Mixer", json!({"parts": [1, 2.5, 3]}));
    check(r#"/mixer parts=[4] how='{"a": 1}'"#, "Mixer", json!({"parts": [4], "how": {"a": 1}}));
    check("/Mixture anything=goes", "Mixture", json!({"anything": "goes"}));
}

#[test]
fn names_are_found_in_any_case_without_their_ending_and_by_their_beginning() {
    check("/weatheragent", "WeatherAgent", json!({}));
    check("/weather", "WeatherAgent", json!({}));
    check("  /weath days=1", "WeatherAgent", json!({"days": 1}));
    check("/my agent x=1", "My Agent", json!({"x": "1"}));
    check("/\"My Agent\" x=1", "My Agent", json!({"x": "1"}));
}

#[test]
fn json_is_taken_as_it_is() {
    check(r#"/Weather {"city": "Bern", "more": [1]}"#, "WeatherAgent", json!({"city": "Bern", "more": [1]}));
    check(r#"/Weather{"city": "Bern"}"#, "WeatherAgent", json!({"city": "Bern"}));
}

#[test]
fn words_without_a_key_go_where_there_is_only_one_place() {
    check(
        "/weather New York, it's big days=2",
        "WeatherAgent",
        json!({"city": "New York, it's big", "days": 2}),
    );
    check("/weather https://a.b/?c=d", "WeatherAgent", json!({"city": "https://a.b/?c=d"}));
    check(r#"/weather "a=b""#, "WeatherAgent", json!({"city": "a=b"}));
    refuses(
        "/mixer stir",
        "it is not clear which argument `stir` is for; write it as `name=value`; it takes parts, how",
    );
}

#[test]
fn problems_say_what_would_be_right() {
    refuses(
        "/wether",
        "there is no agent called `wether` (did you mean `/WeatherAgent`?); `/agents` lists all",
    );
    refuses("/zzzzzz", "there is no agent called `zzzzzz`; `/agents` lists all");
    refuses("/mix", "`mix` could be Mixer or Mixture; write the whole name");
    refuses("/weather citty=Bern", "WeatherAgent takes no `citty`; it takes city, days, rain_only, units");
    refuses("/weather days=many", "`days` must be a whole number, and `many` is not");
    refuses("/weather units=kelvin", "`units` must be one of metric, imperial, and `kelvin` is not");
    refuses("/weather city=\"Bern", "a quotation mark is not closed");
    let broken = parse_explicit("/weather {city: 1}", &tools());
    assert!(matches!(broken, Some(Err(ExplicitProblem::NotJson { .. }))));
}

#[test]
fn help_and_agents_are_commands_and_paths_are_not() {
    assert_eq!(parse_explicit("/help me", &tools()), Some(Ok(Explicit::Help)));
    assert_eq!(parse_explicit("/Agents", &[]), Some(Ok(Explicit::Agents)));
    for text in ["", "/", "hello", "//comment", "/ x", "/var/log/app.log is full", "1/2"] {
        assert_eq!(parse_explicit(text, &tools()), None, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in any::<String>(), name in any::<String>()) {
        let mut tools = tools();
        tools.push(ToolDefinition { name, description: String::new(), parameters: json!({"properties": 1, "required": 2}) });
        for line in [text.clone(), format!("/{text}"), format!("/weather {text}"), format!("/mixer parts={text}")] {
            if let Some(Err(problem)) = parse_explicit(&line, &tools) {
                prop_assert!(!problem.to_string().is_empty());
            }
        }
    }

    #[test]
    fn a_quoted_text_comes_back_as_it_was(text in "[^\\\\\"]{1,40}") {
        let line = format!("/weather city=\"{text}\"");
        let Some(Ok(Explicit::Use { arguments, .. })) = parse_explicit(&line, &tools()) else { panic!("{line}") };
        prop_assert_eq!(arguments["city"].as_str(), Some(text.as_str()));
    }
}
