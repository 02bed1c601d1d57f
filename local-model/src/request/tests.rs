//! Requests that are taken and requests that are refused.

use super::*;

fn check(body: Value) -> Result<Ask, String> {
    serde_json::from_value::<Sent>(body)
        .map_err(|error| error.to_string())?
        .check()
        .map_err(|refused| refused.to_string())
}

fn weather() -> Value {
    json!([{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}])
}

#[test]
fn plain_conversation_is_taken_with_defaults() {
    let ask = check(json!({"messages": [{"role": "user", "content": "hello"}]})).unwrap();
    assert_eq!(ask.choice, Choice::Never);
    assert_eq!(ask.delivery, Delivery::Whole);
    assert_eq!(ask.tokens_max, ANSWER_TOKENS_DEFAULT);
    assert_eq!(ask.messages[0].content, "hello");
}

#[test]
fn content_may_come_in_parts_of_text_only() {
    let parts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    let ask = check(json!({"messages": [{"role": "user", "content": parts}]})).unwrap();
    assert_eq!(ask.messages[0].content, "ab");
    let picture = json!([{"type": "image_url", "image_url": {"url": "x"}}]);
    assert!(
        check(json!({"messages": [{"role": "user", "content": picture}]})).unwrap_err().contains("only text")
    );
}

#[test]
fn arguments_of_past_calls_become_objects() {
    let call = json!({"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}});
    let ask = check(json!({"messages": [
        {"role": "user", "content": "?"}, {"role": "assistant", "content": null, "tool_calls": [call]}
    ]}))
    .unwrap();
    assert_eq!(ask.messages[1].calls[0].arguments, json!({"city": "Rome"}));
}

#[test]
fn every_tool_choice_is_understood() {
    let with = |choice: Value| {
        check(json!({"messages": [{"role": "user", "content": "?"}], "tools": weather(), "tool_choice": choice}))
            .map(|ask| ask.choice)
    };
    assert_eq!(with(json!("auto")), Ok(Choice::Auto));
    assert_eq!(with(json!("none")), Ok(Choice::Never));
    assert_eq!(with(json!("required")), Ok(Choice::Required));
    assert_eq!(with(json!({"type": "function", "function": {"name": "weather"}})), Ok(Choice::Named(0)));
    assert!(with(json!({"type": "function", "function": {"name": "other"}})).is_err());
    assert!(with(json!("perhaps")).is_err());
}

#[test]
fn what_is_not_followed_is_refused() {
    for (field, value) in [
        ("n", json!(2)),
        ("stop", json!(["x"])),
        ("logprobs", json!(true)),
        ("temperature", json!(3)),
        ("top_p", json!(0)),
        ("max_tokens", json!(0)),
        ("response_format", json!({"type": "json_object"})),
        ("tool_choice", json!("required")),
        ("messages", json!([])),
    ] {
        let mut body = json!({"messages": [{"role": "user", "content": "hello"}]});
        body[field] = value;
        assert!(check(body).is_err(), "{field} was taken");
    }
}

#[test]
fn names_of_tools_are_harmless_and_different() {
    let named = |name: &str| json!({"type": "function", "function": {"name": name}});
    let with = |tools: Value| check(json!({"messages": [{"role": "user", "content": "?"}], "tools": tools}));
    assert!(with(json!([named("files.read-2_x")])).is_ok());
    assert!(with(json!([named("a\", \"b")])).is_err());
    assert!(with(json!([named("")])).is_err());
    assert!(with(json!([named("a"), named("a")])).is_err());
    assert!(with(json!([named(&"a".repeat(65))])).is_err());
}
