//! `SKILL.md`: what a model is told about an app, and when.

use super::{
    code::{NativeCode, NativeError},
    front_matter::{self, Field},
    names::is_one_line,
};
use serde::Serialize;
use serde_json::{Map, Value};

/// Longest name, trigger or tag.
const WORD_CHARACTERS_MAX: usize = 200;
/// Longest description.
const DESCRIPTION_CHARACTERS_MAX: usize = 4000;

/// A skill: its fields, and the text for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skill {
    /// Its name, unique among skills.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its version.
    pub version: String,
    /// Who wrote it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub author: String,
    /// Higher is looked at first.
    pub priority: i64,
    /// For how many turns it stays without being used.
    pub max_turns: u32,
    /// Parts of a message that call for it, whatever their case.
    pub triggers: Vec<String>,
    /// Tools it speaks of.
    pub tools: Vec<String>,
    /// Skills it speaks of.
    pub dependencies: Vec<String>,
    /// What it is about.
    pub tags: Vec<String>,
    /// Systems it is for: macos, linux, windows; none means all.
    pub platform: Vec<String>,
    /// False when its author switched it off.
    pub enabled: bool,
    /// Everything else its author says.
    pub metadata: Map<String, Value>,
    /// The text after the fields.
    #[serde(skip)]
    pub body: String,
}

impl Skill {
    /// Reads the file; `path` is where it is, for messages.
    pub fn parse(bytes: &[u8], path: &str) -> Result<Self, Vec<NativeError>> {
        let wrong = |why: String| vec![NativeError::at(NativeCode::Skill, path, why)];
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
        let (fields, body) = front_matter::split(text).map_err(wrong)?;
        let mut skill = Self::empty(body);
        let mut errors = Vec::new();
        for (key, field) in &fields {
            if !field.is_nothing()
                && let Err(why) = skill.take(key, field)
            {
                errors.push(NativeError::at(NativeCode::Skill, path, format!("`{key}` {why}")));
            }
        }
        for (key, value) in [("name", &skill.name), ("description", &skill.description)] {
            if value.is_empty() && errors.is_empty() {
                errors.push(NativeError::at(
                    NativeCode::Skill,
                    path,
                    format!("missing required field: {key}"),
                ));
            }
        }
        if errors.is_empty() { Ok(skill) } else { Err(errors) }
    }

    fn empty(body: &str) -> Self {
        Self {
            name: String::new(),
            description: String::new(),
            version: "1.0.0".to_owned(),
            author: String::new(),
            priority: 0,
            max_turns: 4,
            triggers: Vec::new(),
            tools: Vec::new(),
            dependencies: Vec::new(),
            tags: Vec::new(),
            platform: Vec::new(),
            enabled: true,
            metadata: Map::new(),
            body: body.to_owned(),
        }
    }

    /// Takes one field. Those that are not known are passed over.
    fn take(&mut self, key: &str, field: &Field) -> Result<(), &'static str> {
        match key {
            "name" => self.name = word(field)?,
            "description" => self.description = description(field)?,
            "version" => self.version = word(field)?,
            "author" => self.author = word(field)?,
            "priority" => self.priority = number(field)?,
            "max_turns" => {
                self.max_turns = u32::try_from(number(field)?).map_err(|_| "is not a number of turns")?;
            }
            "triggers" => self.triggers = words(field)?,
            "tools" => self.tools = words(field)?,
            "dependencies" => self.dependencies = words(field)?,
            "tags" => self.tags = words(field)?,
            "platform" => self.platform = words(field)?,
            "enabled" => self.enabled = truth(field)?,
            "metadata" => {
                let Field::Map(map) = field else { return Err("is not a list of names and values") };
                self.metadata = map.iter().map(|(key, field)| (key.clone(), as_json(field))).collect();
            }
            _ => {}
        }
        Ok(())
    }
}

fn text(field: &Field) -> Result<&str, &'static str> {
    match field {
        Field::Text { text, .. } => Ok(text.trim()),
        _ => Err("is not a text"),
    }
}

fn word(field: &Field) -> Result<String, &'static str> {
    let text = text(field)?;
    if is_one_line(text, WORD_CHARACTERS_MAX) { Ok(text.to_owned()) } else { Err("is not one short line") }
}

fn words(field: &Field) -> Result<Vec<String>, &'static str> {
    match field {
        Field::List(list) => list.iter().map(word).collect(),
        // One word where a list is meant.
        Field::Text { .. } => word(field).map(|word| vec![word]),
        Field::Map(_) => Err("is not a list"),
    }
}

fn description(field: &Field) -> Result<String, &'static str> {
    let text = text(field)?;
    let fits = text.chars().count() <= DESCRIPTION_CHARACTERS_MAX
        && !text.chars().any(|character| character.is_control() && character != '\n');
    if fits { Ok(text.to_owned()) } else { Err("is too long, or has control characters") }
}

fn number(field: &Field) -> Result<i64, &'static str> {
    text(field)?.parse().map_err(|_| "is not a whole number")
}

fn truth(field: &Field) -> Result<bool, &'static str> {
    match text(field)?.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        _ => Err("is neither true nor false"),
    }
}

fn as_json(field: &Field) -> Value {
    match field {
        field if field.is_nothing() => Value::Null,
        Field::Text { text, is_plain: true } => match text.as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            other => other.parse::<i64>().map_or_else(|_| Value::from(other), Value::from),
        },
        Field::Text { text, .. } => Value::from(text.as_str()),
        Field::List(list) => list.iter().map(as_json).collect(),
        Field::Map(map) => map.iter().map(|(key, field)| (key.clone(), as_json(field))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::Skill;
    use serde_json::json;

    fn parse(text: &str) -> Result<Skill, String> {
        Skill::parse(text.as_bytes(), "SKILL.md")
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn every_field_is_read_and_the_text_is_kept() {
        let skill = parse(
            "---\nname: calculator\ndescription: >\n  Adds\n  numbers.\nversion: 2.0\nauthor: Ada\npriority: 10\n\
             max_turns: 6\ntriggers:\n  - add\n  - \"what is\"\ntools: [calculator]\ntags: maths\nplatform: [linux]\n\
             enabled: no\nmetadata:\n  nebo:\n    emoji: \"+\"\n    order: 3\nunknown: [1]\n---\n\nUse it.\n",
        )
        .unwrap();
        assert_eq!((skill.name.as_str(), skill.description.as_str()), ("calculator", "Adds numbers."));
        assert_eq!((skill.version.as_str(), skill.author.as_str()), ("2.0", "Ada"));
        assert_eq!((skill.priority, skill.max_turns, skill.enabled), (10, 6, false));
        assert_eq!(
            (skill.triggers, skill.tags),
            (vec!["add".to_owned(), "what is".to_owned()], vec!["maths".to_owned()])
        );
        assert_eq!((skill.tools, skill.platform), (vec!["calculator".to_owned()], vec!["linux".to_owned()]));
        assert_eq!(serde_json::Value::Object(skill.metadata), json!({"nebo": {"emoji": "+", "order": 3}}));
        assert_eq!(skill.body, "\nUse it.\n");
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let skill = parse("---\nname: x\ndescription: y\ntriggers:\n---\n").unwrap();
        assert_eq!(
            (skill.version.as_str(), skill.priority, skill.max_turns, skill.enabled),
            ("1.0.0", 0, 4, true)
        );
        assert!(skill.triggers.is_empty() && skill.metadata.is_empty());
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, words) in [
            ("no front matter", "does not begin"),
            ("---\nname: x\n---\n", "missing required field: description"),
            ("---\ndescription: x\n---\n", "missing required field: name"),
            ("---\nname: x\ndescription: y\nmax_turns: -1\n---\n", "`max_turns`"),
            ("---\nname: x\ndescription: y\npriority: high\n---\n", "`priority`"),
            ("---\nname: x\ndescription: y\nenabled: maybe\n---\n", "`enabled`"),
            ("---\nname: [x]\ndescription: y\n---\n", "`name`"),
            ("---\nname: x\ndescription: y\ntriggers: {a: b}\n---\n", "`triggers`"),
        ] {
            assert!(parse(text).is_err_and(|why| why.contains(words)), "{text}");
        }
        assert!(Skill::parse(b"---\nname: \xff\n---\n", "SKILL.md").is_err());
    }
}
