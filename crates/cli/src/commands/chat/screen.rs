//! What a person sees of a turn: words as they are written, and a line for each agent that works.

use crate::output::Output;
use serde_json::Value;
use std::io::{self, IsTerminal as _, Write as _};

/// Longest argument shown beside an agent's name.
const ARGUMENT_CHARACTERS_MAX: usize = 40;

/// One turn on the screen. Words go to standard output, everything else beside them.
pub(super) struct Screen {
    output: Output,
    /// Whether agents are shown while they work.
    shows_tools: bool,
    colours: bool,
    in_line: bool,
    has_words: bool,
}

impl Screen {
    /// Where only the answer counts, and a person may look at the rest.
    pub(super) fn for_one_answer(output: Output) -> Self {
        let shows_tools = io::stderr().is_terminal() || output.verbose;
        Self { output, shows_tools, colours: io::stderr().is_terminal(), in_line: false, has_words: false }
    }

    pub(super) fn for_conversation(output: Output) -> Self {
        Self {
            output,
            shows_tools: true,
            colours: io::stderr().is_terminal(),
            in_line: false,
            has_words: false,
        }
    }

    pub(super) fn words(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut stdout = io::stdout().lock();
        write!(stdout, "{}", visible(text)).and_then(|()| stdout.flush()).ok();
        self.in_line = !text.ends_with('\n');
        self.has_words = true;
    }

    pub(super) fn tool(&mut self, event: &Value) {
        if !self.shows_tools {
            return;
        }
        self.end_line();
        let name = visible(event["name"].as_str().unwrap_or("?"));
        let line = if event["state"] == "started" {
            format!("  … {name} {}", arguments(&event["args"]))
        } else {
            finished(&name, event)
        };
        self.aside(&line);
    }

    /// The end of an answer: what it cost, for those who ask.
    pub(super) fn finish(&mut self, answer: &Value) {
        if !self.has_words {
            self.words(answer["response"].as_str().unwrap_or_default());
        }
        self.end_line();
        let left_out = answer["tools_left_out"].as_u64().unwrap_or_default();
        if left_out > 0 && self.shows_tools {
            self.aside(&format!("  {left_out} agents were not offered to the model for this message"));
        }
        if self.output.verbose {
            let usage = &answer["usage"];
            self.aside(&format!(
                "  {}: {} tokens read, {} written, {} completions",
                answer["model"].as_str().unwrap_or("no model"),
                usage["prompt_tokens"],
                usage["completion_tokens"],
                usage["completions"]
            ));
        }
    }

    /// The turn did not come to its end.
    pub(super) fn break_off(&mut self) {
        self.end_line();
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.in_line) {
            self.output.line("");
        }
    }

    fn aside(&self, line: &str) {
        if self.colours {
            self.output.note(&format!("\u{1b}[2m{line}\u{1b}[0m"));
        } else {
            self.output.note(line);
        }
    }
}

fn finished(name: &str, event: &Value) -> String {
    let milliseconds = event["duration_us"].as_f64().map(|micros| format!(" {:.1} ms", micros / 1000.0));
    let milliseconds = milliseconds.unwrap_or_default();
    let level = event["receipt"]["enforcement"]["level"].as_str();
    let level = level.map(|level| format!(", sandbox {level}")).unwrap_or_default();
    let refused = event["receipt"]["refused"].as_array().map_or(0, Vec::len);
    let refused = if refused > 0 { format!(", {refused} refused") } else { String::new() };
    match event["error"].as_str() {
        None => format!("  ✓ {name}{milliseconds}{level}{refused}"),
        Some(error) => {
            let next = event["next"].as_str().map(|next| format!("\n    next: {}", visible(next)));
            format!(
                "  ✗ {name}{milliseconds}{level}{refused}: {}{}",
                visible(error),
                next.unwrap_or_default()
            )
        }
    }
}

fn arguments(arguments: &Value) -> String {
    let Some(arguments) = arguments.as_object() else { return String::new() };
    let shown = arguments.iter().map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut short: String = text.chars().take(ARGUMENT_CHARACTERS_MAX).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        format!("{}={}", visible(name), visible(&short).replace('\n', " "))
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// The text without what a terminal would obey: models and agents write what they like.
fn visible(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' | '\t' => character,
            other if other.is_control() => '\u{fffd}',
            other => other,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{arguments, finished, visible};
    use serde_json::json;

    #[test]
    fn an_agents_line_says_how_long_how_confined_and_what_next() {
        let receipt = json!({ "enforcement": { "level": "full" }, "refused": [] });
        let event = json!({ "duration_us": 1234, "receipt": receipt });
        assert_eq!(finished("Weather", &event), "  ✓ Weather 1.2 ms, sandbox full");
        let event = json!({ "error": "not allowed", "next": "roost grant x y" });
        assert_eq!(finished("Weather", &event), "  ✗ Weather: not allowed\n    next: roost grant x y");
    }

    #[test]
    fn nothing_a_terminal_would_obey_is_printed() {
        assert_eq!(visible("a\u{1b}[2Jb\r\u{7}\nc"), "a\u{fffd}[2Jb\u{fffd}\u{fffd}\nc");
        let long = json!({ "text": "x".repeat(50), "n": 3 });
        assert_eq!(arguments(&long), format!("text={}… n=3", "x".repeat(40)));
    }
}
