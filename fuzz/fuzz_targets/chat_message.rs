//! Any text as a message, a reply and a history: no panic, slots lose no words, and a history only shrinks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use roost_chat::{HistoryRule, Ranking, ToolDefinition, history, offer, parse_explicit, split_slots};
use serde_json::json;

fuzz_target!(|text: &str| {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" }, "text": { "type": "string" } } });
    let tools = ["Weather", "TodoBoard"].map(|name| ToolDefinition {
        name: name.to_owned(),
        description: "Shows the weather. Keeps a list.".to_owned(),
        parameters: schema.clone(),
    });
    drop(parse_explicit(text, &tools));
    let ranking = Ranking::new(tools.iter().map(ToolDefinition::described));
    drop(offer(text, &tools, &ranking.rank(&[(text, 1.0)])));
    let slots = split_slots(text);
    assert!(slots.main.len() + slots.voice.len() + slots.twin.len() <= text.len());
    if let Ok(sent) = serde_json::from_str::<serde_json::Value>(text) {
        let items = sent.as_array().map_or(0, Vec::len);
        for rule in [HistoryRule::Filtered, HistoryRule::Strict, HistoryRule::Stringified] {
            if let Ok(read) = history(Some(sent.clone()), rule) {
                assert!(read.messages.len() + read.left_out <= items);
            }
        }
    }
});
