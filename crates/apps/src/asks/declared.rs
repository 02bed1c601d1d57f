//! Rights that a file declares: `rights` of the table `[tool.roost]` in its script block.
//!
//! Whoever declares is taken at their word: nothing is added from the source, and what was forgotten is refused when
//! the agent tries it.

use crate::script_block::{Comment, ScriptBlock};
use roost_protocol::{Ask, Asks, Evidence, Failure, Reason, Right};
use toml::Value;

/// Most rights of one file: more than a person would read before granting them.
const RIGHTS_MAX: usize = 200;

/// The declared rights; nothing when the file declares none. An empty list declares that it needs nothing.
pub(super) fn declared(text: &str, comment: Comment) -> Result<Option<Asks>, Failure> {
    let Some(block) = ScriptBlock::find(text, comment, Reason::InvalidRight)? else { return Ok(None) };
    let asks = rights_of(&block).map_err(|failure| failure.at_line(block.line))?;
    Ok(asks.map(|asks| Asks { declared: true, asks }))
}

fn rights_of(block: &ScriptBlock) -> Result<Option<Vec<Ask>>, Failure> {
    let roost = match block.table.get("tool").and_then(|tool| tool.get("roost")) {
        None => return Ok(None),
        Some(Value::Table(roost)) => roost,
        Some(_) => return Err(invalid("`tool.roost` is not a table")),
    };
    if let Some(key) = roost.keys().find(|key| *key != "rights") {
        return Err(invalid(format!(
            "`[tool.roost]` has no key `{}`; it has `rights`",
            key.escape_default()
        )));
    }
    let items = match roost.get("rights") {
        None => return Ok(None),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(invalid("`rights` is not a list of texts")),
    };
    if items.len() > RIGHTS_MAX {
        return Err(invalid(format!("more than {RIGHTS_MAX} rights")));
    }
    let mut asks: Vec<Ask> = Vec::with_capacity(items.len());
    for item in items {
        let text = item.as_str().ok_or_else(|| invalid("`rights` is not a list of texts"))?;
        let right: Right =
            text.parse().map_err(|error: roost_protocol::InvalidRight| invalid(error.to_string()))?;
        if asks.iter().all(|ask| ask.right != right) {
            let line = Some(block.line_with(text));
            asks.push(Ask { right, evidence: Evidence::Declared, line, original: None });
        }
    }
    Ok(Some(asks))
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(Reason::InvalidRight, message)
}

#[cfg(test)]
mod tests {
    use super::declared;
    use crate::script_block::Comment;
    use roost_protocol::{Evidence, Reason};

    fn block(sign: &str, toml: &str) -> String {
        let lines: String = toml.lines().map(|line| format!("{sign} {line}\n")).collect();
        format!("\n{sign} /// script\n{lines}{sign} ///\nx = 1\n")
    }

    #[test]
    fn declared_rights_are_read_in_both_languages_each_once_and_in_order() {
        let toml = "dependencies = [\"requests\"]\n[tool.other]\nx = 1\n[tool.roost]\nrights = [\n  \"network:api.example.com\",\n  \"env:KEY\",\n  \"network:API.example.com\",\n  \"network:*\",\n]";
        for (sign, comment) in [("#", Comment::Hash), ("//", Comment::Slashes)] {
            let asks = declared(&block(sign, toml), comment).unwrap().unwrap();
            assert!(asks.declared);
            let found: Vec<(String, Option<u32>)> =
                asks.asks.iter().map(|ask| (ask.right.to_string(), ask.line)).collect();
            let expected = [("network:api.example.com", 8), ("env:KEY", 9), ("network:*", 11)];
            assert_eq!(found, expected.map(|(right, line)| (right.to_owned(), Some(line))));
            assert!(asks.asks.iter().all(|ask| ask.evidence == Evidence::Declared));
        }
    }

    #[test]
    fn a_file_that_declares_nothing_is_told_from_one_that_declares_no_rights() {
        for toml in ["dependencies = []", "[tool.roost]", "[tool.other]\nrights = 1", "tool = 1"] {
            assert_eq!(declared(&block("#", toml), Comment::Hash).unwrap(), None, "{toml}");
        }
        assert_eq!(declared(&block("#", "[tool.roost]\nrights = []"), Comment::Slashes).unwrap(), None);
        let asks = declared(&block("#", "[tool.roost]\nrights = []"), Comment::Hash).unwrap().unwrap();
        assert!(asks.declared && asks.asks.is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_refused_at_the_line_of_the_block() {
        let many = format!("[tool.roost]\nrights = [{}]", "\"model\",".repeat(201));
        for (toml, message) in [
            ("[tool.roost]\nright = []", "has no key `right`"),
            ("[tool.roost]\nrights = \"model\"", "not a list of texts"),
            ("[tool.roost]\nrights = [1]", "not a list of texts"),
            ("[tool.roost.rights]\nmodel = true", "not a list of texts"),
            ("[tool]\nroost = 1", "not a table"),
            ("[tool.roost]\nrights = [\"root\"]", "`root` is not a right"),
            ("[tool.roost]\nrights = [\"network:ex\u{202e}a.com\"]", "cannot be seen"),
            ("[tool.roost", "not TOML"),
            (&many, "more than 200 rights"),
        ] {
            let failure = declared(&block("#", toml), Comment::Hash).unwrap_err();
            assert_eq!((failure.reason, failure.line), (Reason::InvalidRight, Some(2)), "{toml}");
            assert!(failure.message.contains(message), "{}", failure.message);
        }
        let two = block("//", "x = 1").repeat(2);
        assert_eq!(declared(&two, Comment::Slashes).unwrap_err().reason, Reason::InvalidRight);
    }
}
