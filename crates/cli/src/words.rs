//! What follows FILE or AGENT: `key=value` words and a few options, in steps joined by `--then`.

use roost_protocol::{Failure, Reason, UserGuid};
use serde_json::{Map, Value};

/// One agent of a run with its arguments as they were written.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Step {
    /// The file or the agent's name.
    pub(crate) target: String,
    /// `key=value`.
    pub(crate) words: Vec<String>,
    /// `--args`.
    pub(crate) json: Option<Map<String, Value>>,
    /// `--agent`.
    pub(crate) agent: Option<String>,
    /// `--help`.
    pub(crate) wants_help: bool,
}

/// The whole run.
#[derive(Debug, PartialEq)]
pub(crate) struct Steps {
    pub(crate) steps: Vec<Step>,
    pub(crate) user: Option<UserGuid>,
    pub(crate) verbose: bool,
}

/// Reads the words after the first target.
pub(crate) fn steps(target: &str, words: &[String]) -> Result<Steps, Failure> {
    let wrong = |message: String| Failure::new(Reason::WrongUse, message);
    let mut run = Steps { steps: Vec::new(), user: None, verbose: false };
    let mut step = Step { target: target.to_owned(), ..Step::default() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value =
            |option: &str| words.next().cloned().ok_or_else(|| wrong(format!("{option} needs a value")));
        match word.as_str() {
            "--then" => {
                let target = value("--then")?;
                run.steps.push(std::mem::replace(&mut step, Step { target, ..Step::default() }));
            }
            "--args" => {
                let text = value("--args")?;
                let parsed = serde_json::from_str(&text);
                step.json =
                    Some(parsed.map_err(|error| wrong(format!("--args is not a JSON object: {error}")))?);
            }
            "--agent" => step.agent = Some(value("--agent")?),
            "--user" => {
                let text = value("--user")?;
                run.user = Some(UserGuid::parse(&text).map_err(|error| wrong(error.to_string()))?);
            }
            "--help" | "-h" => step.wants_help = true,
            "--verbose" | "-v" => run.verbose = true,
            // Read before, for the whole program.
            "--json" => {}
            option if option.starts_with('-') && !option.contains('=') => {
                return Err(wrong(format!("{option} is not an option here")));
            }
            _ => step.words.push(word.clone()),
        }
    }
    run.steps.push(step);
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::steps;

    fn read(words: &[&str]) -> Result<super::Steps, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        steps("first", &words).map_err(|failure| failure.message)
    }

    #[test]
    fn a_run_is_a_chain_of_steps() {
        let run =
            read(&["a=1", "--then", "second", "b=--x", "--args", r#"{"c": 2}"#, "--user", "anna"]).unwrap();
        assert_eq!(run.steps.len(), 2);
        assert_eq!(
            (run.steps[0].target.as_str(), run.steps[0].words.as_slice()),
            ("first", &["a=1".to_owned()][..])
        );
        assert_eq!(run.steps[1].json.as_ref().unwrap()["c"], 2);
        assert_eq!(run.steps[1].words, ["b=--x"]);
        assert_eq!(run.user.unwrap().as_str(), "anna");
    }

    #[test]
    fn wrong_words_are_named() {
        assert_eq!(read(&["--then"]), Err("--then needs a value".to_owned()));
        assert_eq!(read(&["--nope"]), Err("--nope is not an option here".to_owned()));
        assert!(read(&["--args", "[1]"]).unwrap_err().starts_with("--args is not a JSON object"));
        assert!(read(&["--user", "../x"]).is_err());
    }
}
