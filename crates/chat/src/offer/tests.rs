//! What is offered for a sentence, and that every offered line can be sent.

use super::{Offer, SET_UP, TEXT_BYTES_MAX, offer};
use crate::{Explicit, Ranking, parse_explicit, tool_definition::ToolDefinition};
use proptest::prelude::*;
use serde_json::{Value, json};

fn tool(name: &str, description: &str, parameters: Value) -> ToolDefinition {
    ToolDefinition { name: name.into(), description: description.into(), parameters }
}

fn tools() -> Vec<ToolDefinition> {
    vec![
        tool(
            "WeatherAgent",
            "Shows the weather of a city. Slowly.",
            json!({"required": ["city"], "properties": {"days": {"type": "integer"}, "city": {"type": "string"}}}),
        ),
        tool(
            "MortgageCalculator",
            "Computes the monthly payment of a home loan.",
            json!({"required": ["principal", "rate", "years"], "properties": {"principal": {"type": "number"},
                "rate": {"type": "number"}, "years": {"type": "integer"}}}),
        ),
        tool(
            "Translator",
            "Translates text between languages.",
            json!({"required": ["text", "target_language"], "properties": {"text": {"type": "string"},
                "target_language": {"type": "string"}, "register": {"enum": ["formal", "informal"]},
                "glossary": {"type": "boolean", "default": false}}}),
        ),
        tool(
            "Search",
            "Searches documents.",
            json!({"required": ["query"], "properties": {"query": {"type": "string"}}}),
        ),
    ]
}

fn offered(sentence: &str, tools: &[ToolDefinition]) -> Offer {
    let ranking = Ranking::new(tools.iter().map(ToolDefinition::described));
    offer(sentence, tools, &ranking.rank(&[(sentence, 1.0)]))
}

#[track_caller]
fn check(sentence: &str, line: &str, arguments: Value) {
    let offer = offered(sentence, &tools());
    assert_eq!(offer.choices[0].example, line, "{}", offer.text);
    assert!(offer.text.contains(line));
    let Some(Ok(Explicit::Use { agent, arguments: read })) = parse_explicit(line, &tools()) else {
        panic!("{line}")
    };
    assert_eq!((agent, Value::Object(read)), (offer.choices[0].agent.clone(), arguments));
}

#[test]
fn arguments_are_guessed_from_the_sentence_and_the_line_can_be_sent() {
    check(
        "will it rain in New York for 3 days",
        r#"/WeatherAgent city="New York" days=3"#,
        json!({"city": "New York", "days": 3}),
    );
    check(
        "what would we pay monthly for a 400k loan at 6.1% over 30 years",
        "/MortgageCalculator principal=400000 rate=6.1 years=30",
        json!({"principal": 400_000, "rate": 6.1, "years": 30}),
    );
    check(
        "translate \"where is it?\" into japanese, informal, no glossary",
        r#"/Translator text="where is it?" target_language=japanese register=informal glossary=false"#,
        json!({"text": "where is it?", "target_language": "japanese", "register": "informal", "glossary": false}),
    );
    check(
        "please search the documents about travel",
        r#"/Search query="search the documents about travel""#,
        json!({"query": "search the documents about travel"}),
    );
}

#[test]
fn what_is_required_and_not_said_is_left_to_fill_in() {
    let offer = offered("weather tomorrow in the other town, or \"there\"? and a loan", &tools());
    let mortgage = offer.choices.iter().find(|choice| choice.agent == "MortgageCalculator").unwrap();
    assert_eq!(mortgage.example, "/MortgageCalculator principal=… rate=… years=…");
    assert!(mortgage.form.iter().all(|field| field.required && field.guess.is_none()));
}

#[test]
fn the_text_says_what_is_missing_what_to_send_and_what_to_do_next() {
    insta::assert_snapshot!(offered("is it going to rain in Bern", &tools()).text, @r"
    No model is set up yet, so nothing was run. This agent looks closest; copy its line, change what is wrong and send it:

    1. **WeatherAgent** – Shows the weather of a city.
       `/WeatherAgent city=Bern`

    `/agents` lists all agents, `/help` explains the lines.

    To have a model choose for you, do one of these:
    - `roost login` signs in with GitHub Copilot
    - put a key into `.env`, such as `OPENAI_API_KEY=…`
    - start Ollama, and it is found by itself
    - `roost models` lists small models for this computer, and how to get one
    ");
}

#[test]
fn without_a_match_some_agents_are_named() {
    let offer = offered("xyzzy", &tools());
    assert!(offer.choices.is_empty());
    assert!(
        offer.text.contains("Some of the 4 agents: `/WeatherAgent`, `/MortgageCalculator`"),
        "{}",
        offer.text
    );
    assert!(offered("xyzzy", &[]).text.contains("No agent is installed") && offer.text.ends_with(SET_UP));
}

#[test]
fn a_form_is_written_as_schemas_write_it() {
    let offer = offered("translate it", &tools());
    let form = serde_json::to_value(&offer.choices[0].form).unwrap();
    assert_eq!(
        form[2],
        json!({"name": "register", "type": "string", "required": false, "description": "",
        "enum": ["formal", "informal"]})
    );
    assert_eq!(form[3]["default"], json!(false));
}

proptest! {
    #[test]
    fn any_sentence_and_any_agent_get_an_offer_of_ordinary_length(
        sentence in any::<String>(), name in any::<String>(), description in any::<String>(), key in any::<String>(),
    ) {
        let mut tools = tools();
        let properties = json!({key.clone(): {"type": "string"}, "n": {"type": "integer"}, "b": {"type": "boolean"},
            "city": {}, "date": {"type": ["string", "null"]}, "e": {"enum": [sentence.clone(), "", 3]}});
        tools.push(tool(&name, &description, json!({"properties": properties, "required": [key, "n"]})));
        let ranked: Vec<_> = (0..tools.len()).rev().map(|index| crate::Ranked { index, score: 1.0 }).collect();
        for text in [sentence.clone(), format!("\"{sentence}\" in {name} 12 {sentence}")] {
            let offer = offer(&text, &tools, &ranked);
            prop_assert!(offer.text.len() <= TEXT_BYTES_MAX);
            prop_assert_eq!(offer.choices.len(), 3);
        }
    }
}

#[test]
fn a_sum_in_a_sentence_is_what_is_to_be_calculated() {
    let schema = json!({"type": "object", "properties": {"expression": {"type": "string"}}});
    let tool =
        ToolDefinition { name: "Calculator".into(), description: "Calculates.".into(), parameters: schema };
    for (sentence, sum) in [
        ("What is 12 plus 30?", Some("12 + 30")),
        ("what's (4+5)*2, please", Some("(4+5)*2")),
        ("17 * 23?", Some("17 * 23")),
        ("how much is 10 divided by 4.", Some("10 / 4")),
        ("tell me about 2026", None),
        ("- nothing -", None),
    ] {
        let guessed = super::guess::arguments(sentence, &tool);
        assert_eq!(guessed.get("expression").and_then(Value::as_str), sum, "{sentence}");
    }
}
