//! The system message: who the host is, what its agents add, which agents there are, how replies are cut into parts.

use crate::slots::{TWIN_DELIMITER, VOICE_DELIMITER};

/// Longest line about one agent.
const SENTENCE_CHARACTERS_MAX: usize = 200;

/// Longest part of one document: more would leave no room for a conversation.
const DOCUMENT_CHARACTERS_MAX: usize = 16_384;

/// Everything the system message is made from.
#[derive(Debug, Default)]
pub struct Prompt<'a> {
    /// The soul file's text.
    pub soul: &'a str,
    /// Documents that every turn begins with: name and text.
    pub documents: &'a [(String, String)],
    /// What agents add, in the order of the agents.
    pub contributions: &'a [String],
    /// Agents that are offered in this turn: name and description.
    pub agents: &'a [(&'a str, &'a str)],
    /// All agents there are.
    pub agents_total: usize,
    /// Files that did not become agents.
    pub quarantined: &'a [&'a str],
    /// Whether a spoken part is wanted.
    pub voice: bool,
    /// Whether a part for the twin is wanted.
    pub twin: bool,
}

/// Writes the system message.
#[must_use]
pub fn system_message(prompt: &Prompt<'_>) -> String {
    let mut text = prompt.soul.trim().to_owned();
    for (name, document) in prompt.documents {
        let shown: String = document.trim().chars().take(DOCUMENT_CHARACTERS_MAX).collect();
        text.push_str(&format!("\n\n## {name}\n{shown}"));
    }
    for contribution in prompt.contributions.iter().filter(|contribution| !contribution.is_empty()) {
        text.push('\n');
        text.push_str(contribution);
    }
    text.push_str("\n\n");
    text.push_str(&roster(prompt));
    if prompt.voice {
        text.push_str(&format!(
            "\n\nAfter your answer write {VOICE_DELIMITER} on a line of its own, and then the same in two or three short \
             sentences as you would say them aloud: no lists, no code, no markup."
        ));
    }
    if prompt.twin {
        text.push_str(&format!(
            "\n\nIf you noticed something about the person that their digital twin should know, end with \
             {TWIN_DELIMITER} on a line of its own and one or two sentences for the twin; otherwise leave it out."
        ));
    }
    text
}

fn roster(prompt: &Prompt<'_>) -> String {
    let mut text = format!("## Agents\nYou have exactly {} agent(s).", prompt.agents_total);
    let left_out = prompt.agents_total.saturating_sub(prompt.agents.len());
    if left_out > 0 {
        text.push_str(&format!(
            " For this message the {} that fit best are offered; {left_out} are left out.",
            prompt.agents.len()
        ));
    }
    if !prompt.agents.is_empty() {
        // Small models call something whatever they are asked, and again after its answer, unless they are told.
        text.push_str(
            " Call one only where it fits what was asked; once it has answered, say the result in your own words and do \
             not call it again. Otherwise answer without any.",
        );
    }
    for (name, description) in prompt.agents {
        text.push_str(&format!("\n- {name}: {}", first_sentence(description)));
    }
    let quarantined =
        if prompt.quarantined.is_empty() { "none".to_owned() } else { prompt.quarantined.join(", ") };
    text.push_str(&format!("\nNot loaded: {quarantined}"));
    text
}

/// The first sentence with its white space collapsed, cut at a length that keeps a long list readable: as much of a
/// description as the system message has.
#[must_use]
pub fn first_sentence(description: &str) -> String {
    let collapsed = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = match collapsed.find('.') {
        Some(end) => &collapsed[..=end],
        None => &collapsed,
    };
    sentence.chars().take(SENTENCE_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::{Prompt, system_message};

    #[test]
    fn the_message_is_put_together_in_this_order() {
        let prompt = Prompt {
            soul: "  I am Roost.\n",
            documents: &[("IDENTITY.md".to_owned(), "Be kind.\n".to_owned())],
            contributions: &["<memory>tea</memory>".to_owned(), String::new()],
            agents: &[("Weather", "Tells  the\nweather. And more."), ("Long", &"x".repeat(300))],
            agents_total: 5,
            quarantined: &["bad_agent.py"],
            voice: true,
            twin: false,
        };
        let message = system_message(&prompt).replace(&"x".repeat(200), "x200");
        insta::assert_snapshot!(message, @r"
        I am Roost.

        ## IDENTITY.md
        Be kind.
        <memory>tea</memory>

        ## Agents
        You have exactly 5 agent(s). For this message the 2 that fit best are offered; 3 are left out. Call one only where it fits what was asked; once it has answered, say the result in your own words and do not call it again. Otherwise answer without any.
        - Weather: Tells the weather.
        - Long: x200
        Not loaded: bad_agent.py

        After your answer write |||VOICE||| on a line of its own, and then the same in two or three short sentences as you would say them aloud: no lists, no code, no markup.
        ");
        let plain = system_message(&Prompt::default());
        insta::assert_snapshot!(plain.trim(), @r"
        ## Agents
        You have exactly 0 agent(s).
        Not loaded: none
        ");
    }
}
