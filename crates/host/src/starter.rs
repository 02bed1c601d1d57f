//! What a new home gets, and what a new agent file looks like.

use crate::settings::Home;
use roost_protocol::{AgentName, Failure, Language, Reason};
use std::{
    fs::{DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

/// Agents every home starts with.
const AGENTS: &[(&str, &str)] = &[
    ("manage_memory_agent.py", include_str!("../../../agents/manage_memory_agent.py")),
    ("context_memory_agent.py", include_str!("../../../agents/context_memory_agent.py")),
    ("calculator_agent.py", include_str!("../../../agents/calculator_agent.py")),
];

const SOUL: &str = include_str!("starter/soul.md");
const PYTHON: &str = include_str!("starter/agent.py.template");
const TYPESCRIPT: &str = include_str!("starter/agent.ts.template");

/// Makes the folders of a home. A home whose agents folder is new gets the shipped agents; an existing one is left
/// as its owner made it.
pub fn create_home(home: &Home) -> Result<(), Failure> {
    let unusable = |path: &Path, error: io::Error| {
        Failure::new(Reason::HomeUnusable, format!("{}: {error}", path.display()))
    };
    let is_new = !home.agents().exists();
    // What agents remember is nobody else's business.
    let made = DirBuilder::new().recursive(true).mode(0o700).create(home.root());
    made.map_err(|error| unusable(home.root(), error))?;
    for folder in [home.agents(), &home.data(), &home.logs(), &home.run()] {
        std::fs::create_dir_all(folder).map_err(|error| unusable(folder, error))?;
    }
    if is_new {
        for (name, text) in AGENTS {
            let path = home.agents().join(name);
            write_new(&path, text).map_err(|error| unusable(&path, error))?;
        }
    }
    let soul = home.soul();
    match write_new(soul, SOUL) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(unusable(soul, error)),
        _ => Ok(()),
    }
}

/// An agent file to be made.
#[derive(Debug)]
pub struct NewAgent {
    /// The agent's name.
    pub name: AgentName,
    /// The language of the file.
    pub language: Language,
    /// What it does, in one sentence.
    pub description: String,
}

/// Writes a new agent file that works as it is, and says where.
pub fn new_agent(folder: &Path, agent: &NewAgent) -> Result<PathBuf, Failure> {
    let template = match agent.language {
        Language::Python => PYTHON,
        Language::TypeScript => TYPESCRIPT,
    };
    // Written as a JSON string, which both languages read as their own.
    let description = serde_json::to_string(&agent.description).unwrap_or_default();
    let text = template
        .replace("{{name}}", agent.name.as_str())
        .replace("{{class}}", &class_name(&agent.name))
        .replace("{{description}}", &description);
    write_agent(folder, &file_name_of(&agent.name, agent.language), &text)
}

/// The class of an agent of this name.
pub(crate) fn class_name(name: &AgentName) -> String {
    words_of(name.as_str()).iter().map(|word| capitalised(word)).collect()
}

/// The file of an agent of this name.
pub(crate) fn file_name_of(name: &AgentName, language: Language) -> String {
    match language {
        Language::Python => format!("{}_agent.py", words_of(name.as_str()).join("_").to_lowercase()),
        Language::TypeScript => format!("{}Agent.ts", class_name(name)),
    }
}

/// Writes a new file, never over another.
pub(crate) fn write_agent(folder: &Path, file_name: &str, text: &str) -> Result<PathBuf, Failure> {
    let path = folder.join(file_name);
    let written = std::fs::create_dir_all(folder).and_then(|()| write_new(&path, text));
    match written {
        Ok(()) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Failure::new(Reason::AlreadyExists, format!("{} exists", path.display())))
        }
        Err(error) => Err(Failure::new(Reason::Unreadable, format!("write {}: {error}", path.display()))),
    }
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

/// The words of `WeatherPoet`, `weather-poet` or `weather_poet`.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut starts_word = true;
    for character in name.chars() {
        if character == '_' || character == '-' {
            starts_word = true;
            continue;
        }
        let after_lower =
            words.last().and_then(|word| word.chars().last()).is_some_and(|last| !last.is_uppercase());
        if starts_word || (character.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        starts_word = false;
        if let Some(word) = words.last_mut() {
            word.push(character);
        }
    }
    if words.is_empty() { vec!["new".to_owned()] } else { words }
}

fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{NewAgent, create_home, new_agent, words_of};
    use crate::settings::Home;
    use roost_protocol::{AgentName, Language, Reason};
    use std::fs;

    #[test]
    fn names_become_file_and_class_names() {
        for (name, words) in [
            ("WeatherPoet", "Weather Poet"),
            ("weather-poet", "weather poet"),
            ("HTTPProbe", "HTTPProbe"),
            ("a_b", "a b"),
            ("--", "new"),
        ] {
            assert_eq!(words_of(name).join(" "), words, "{name}");
        }
    }

    #[test]
    fn a_new_file_never_replaces_one() {
        let folder = tempfile::tempdir().unwrap();
        let agent = NewAgent {
            name: AgentName::parse("WeatherPoet").unwrap(),
            language: Language::Python,
            description: "Says \"hello\"\nto you".to_owned(),
        };
        let path = new_agent(folder.path(), &agent).unwrap();
        assert_eq!(path.file_name().unwrap(), "weather_poet_agent.py");
        assert_eq!(new_agent(folder.path(), &agent).unwrap_err().reason, Reason::AlreadyExists);
    }

    #[test]
    fn an_owner_who_removed_a_shipped_agent_does_not_get_it_back() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path().join("home"), None);
        create_home(&home).unwrap();
        let shipped = home.agents().join("calculator_agent.py");
        fs::remove_file(&shipped).unwrap();
        fs::write(home.soul(), "mine").unwrap();
        create_home(&home).unwrap();
        assert!(!shipped.exists());
        assert_eq!(fs::read_to_string(home.soul()).unwrap(), "mine");
    }
}
