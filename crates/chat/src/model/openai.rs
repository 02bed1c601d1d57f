//! OpenAI itself: its address, and the part of its long list of models that can hold a conversation.

use super::compatible::{Compatible, entries};
use super::provider::ModelEntry;
use super::wire::Wire;
use super::{BUILT_IN, ModelFailure};

/// OpenAI's address, used when only a key is given.
pub(crate) const ADDRESS: &str = "https://api.openai.com/v1";

/// Parts of ids at OpenAI that make something else than conversation. The list does not say what a model is for.
const NO_CHAT: &[&str] = &[
    "audio",
    "babbage",
    "codex",
    "computer-use",
    "dall-e",
    "davinci",
    "embedding",
    "image",
    "instruct",
    "moderation",
    "realtime",
    "search",
    "sora",
    "transcribe",
    "tts",
    "whisper",
];

/// The models that can be asked: everything a compatible server has, and at OpenAI those that converse.
pub(super) async fn list(server: &Compatible, wire: &Wire) -> Result<Vec<ModelEntry>, ModelFailure> {
    let ids = server.ids(wire).await?;
    let is_openai = server.is_below("https://api.openai.com");
    Ok(entries(if is_openai { that_converse(ids) } else { ids }))
}

/// OpenAI's list has no order of its own, so the well-known ones come first: the first is used when none is named.
fn that_converse(mut ids: Vec<String>) -> Vec<String> {
    ids.retain(|id| !NO_CHAT.iter().any(|part| id.contains(part)));
    let rank = |id: &String| BUILT_IN.iter().position(|known| known == id).unwrap_or(BUILT_IN.len());
    ids.sort_by_key(rank);
    ids
}

#[cfg(test)]
mod tests {
    use super::that_converse;

    #[test]
    fn of_openais_list_those_that_converse_are_kept_and_known_ones_come_first() {
        let ids =
            ["text-embedding-3-small", "o3-mini", "tts-1", "gpt-4o", "gpt-4o-realtime-preview", "gpt-4.1"];
        let ids = that_converse(ids.map(str::to_owned).to_vec());
        assert_eq!(ids, ["gpt-4.1", "gpt-4o", "o3-mini"]);
    }
}
