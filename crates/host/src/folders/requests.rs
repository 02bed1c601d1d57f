//! Files that agents ask people for: what is pending, until a person gives a file or takes the request off the list.

use super::{tree::Tree, workspaces_of};
use crate::settings::Home;
use jiff::Timestamp;
use roost_protocol::{AppId, Failure, Reason};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

/// Requests that one app may have pending, and all of them together: a person reads them.
const OF_ONE_APP_MAX: usize = 8;
const PENDING_MAX: usize = 256;

/// Characters of a prompt and of a pattern, and patterns of one request.
const PROMPT_CHARACTERS_MAX: usize = 1000;
const PATTERN_CHARACTERS_MAX: usize = 200;
const PATTERNS_MAX: usize = 32;

/// Names in an answer.
const NAMES_MAX: usize = 256;

/// One request of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRequest {
    /// Its name.
    pub id: String,
    /// Who asks.
    pub app: AppId,
    /// The folder the files belong into.
    pub folder: PathBuf,
    /// What the agent says.
    pub prompt: String,
    /// Names that would do, with `*` and `?`; every name when empty.
    pub patterns: Vec<String>,
    /// When it was first asked.
    pub asked: Timestamp,
}

/// The requests of one home.
pub(crate) struct FileRequests {
    workspaces: PathBuf,
    path: PathBuf,
    /// Held while the list is read and changed.
    changing: Mutex<()>,
}

/// What an agent sends.
#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    prompt: String,
    #[serde(default)]
    patterns: Vec<String>,
}

impl FileRequests {
    pub(crate) fn new(home: &Home) -> Self {
        let path = home.run().join("file-requests.json");
        Self { workspaces: workspaces_of(home), path, changing: Mutex::default() }
    }

    /// Answers with the files that are there already; else notes the request for a person, and says that there are none.
    pub(crate) fn ask(&self, app: &AppId, own_name: &str, params: Value) -> Result<Value, Failure> {
        let wrong =
            |message: &str| Failure::new(Reason::BadArguments, format!("workspace.request_files: {message}"));
        let Asked { prompt, mut patterns } =
            serde_json::from_value(params).map_err(|error| wrong(&error.to_string()))?;
        if patterns.len() > PATTERNS_MAX
            || patterns.iter().any(|pattern| pattern.chars().count() > PATTERN_CHARACTERS_MAX)
        {
            return Err(wrong("too many patterns, or too long ones"));
        }
        patterns.iter_mut().for_each(|pattern| *pattern = shown(pattern));
        let folder = self.workspaces.join(own_name);
        let names = matching(&folder, &patterns);
        let prompt: String = shown(&prompt).chars().take(PROMPT_CHARACTERS_MAX).collect();
        let is_same = |request: &FileRequest| {
            request.app == *app && request.prompt == prompt && request.patterns == patterns
        };
        if !names.is_empty() {
            self.change(|requests| requests.retain(|request| !is_same(request)))?;
            return Ok(json!({ "names": names }));
        }
        self.change(|requests| {
            if requests.iter().any(is_same) {
                return;
            }
            let of_app = |request: &FileRequest| request.app == *app;
            while requests.len() >= PENDING_MAX
                || requests.iter().filter(|one| of_app(one)).count() >= OF_ONE_APP_MAX
            {
                let oldest = requests.iter().position(of_app).unwrap_or(0);
                requests.remove(oldest);
            }
            let id = uuid::Uuid::new_v4().simple().to_string();
            let (app, asked) = (app.clone(), Timestamp::now());
            let (prompt, patterns) = (prompt.clone(), patterns.clone());
            requests.push(FileRequest { id, app, folder, prompt, patterns, asked });
        })?;
        Ok(json!({ "cancelled": true }))
    }

    pub(crate) fn list(&self) -> Result<Vec<FileRequest>, Failure> {
        let _held = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.read())
    }

    pub(crate) fn dismiss(&self, id: &str) -> Result<(), Failure> {
        let mut was_there = false;
        self.change(|requests| {
            let before = requests.len();
            requests.retain(|request| request.id != id);
            was_there = requests.len() < before;
        })?;
        if was_there { Ok(()) } else { Err(Failure::plain(Reason::UnknownFileRequest)) }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<FileRequest>)) -> Result<(), Failure> {
        let _held = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.read();
        let mut requests = before.clone();
        change(&mut requests);
        if requests == before {
            return Ok(());
        }
        let text = serde_json::to_vec(&requests).unwrap_or_default();
        roost_apps::replace_file(&self.path, &text)
            .map_err(|error| Failure::new(Reason::HomeUnusable, format!("{}: {error}", self.path.display())))
    }

    /// A list that cannot be read is begun anew: agents ask again.
    fn read(&self) -> Vec<FileRequest> {
        let text = std::fs::read(&self.path).ok();
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }
}

/// Without characters that change how a terminal or a page shows the rest.
fn shown(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

/// Names of the files that fit one of the patterns, by their whole name or by its last part.
fn matching(folder: &std::path::Path, patterns: &[String]) -> Vec<String> {
    let seen = Tree::open(folder).and_then(|tree| tree.look(&mut |_| {})).unwrap_or_default();
    let fits = |name: &str| {
        let leaf = name.rsplit('/').next().unwrap_or(name);
        patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, name) || matches(pattern, leaf))
    };
    seen.files
        .keys()
        .map(|path| path.as_str())
        .filter(|name| fits(name))
        .take(NAMES_MAX)
        .map(str::to_owned)
        .collect()
}

/// Whether a name fits a pattern with `*` and `?`, small and capital letters alike. One pass, whatever the pattern is.
fn matches(pattern: &str, name: &str) -> bool {
    let lower = |text: &str| text.to_lowercase().chars().collect::<Vec<_>>();
    let (pattern, name) = (lower(pattern), lower(name));
    let (mut at, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => match star {
                Some((star_at, taken)) => {
                    star = Some((star_at, taken + 1));
                    at = star_at + 1;
                    in_name = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::{FileRequests, matches};
    use crate::settings::Home;
    use roost_protocol::{AppId, Reason};
    use serde_json::json;
    use std::fs;

    #[test]
    fn patterns_fit_as_people_expect() {
        for (pattern, name, fits) in [
            ("*.csv", "a.csv", true),
            ("*.csv", "A.CSV", true),
            ("*.csv", "a.csv.txt", false),
            ("a?c*", "abcdef", true),
            ("*", "", true),
            ("", "a", false),
            ("**a**b", "xxaxxb", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn a_request_waits_until_a_file_is_there_or_a_person_dismisses_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path().to_owned(), None);
        let requests = FileRequests::new(&home);
        let app = AppId::new("books_agent.py");
        let ask = || requests.ask(&app, "books_agent", json!({ "prompt": "a list", "patterns": ["*.csv"] }));
        assert_eq!(ask().unwrap(), json!({ "cancelled": true }));
        assert_eq!(ask().unwrap(), json!({ "cancelled": true }));
        let pending = FileRequests::new(&home).list().unwrap();
        assert_eq!((pending.len(), pending[0].prompt.as_str()), (1, "a list"));
        let own = home.data().join("workspaces/books_agent/in");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("books.csv"), "a").unwrap();
        assert_eq!(ask().unwrap(), json!({ "names": ["in/books.csv"] }));
        assert!(requests.list().unwrap().is_empty());
        for number in 0..20 {
            requests
                .ask(&app, "books_agent", json!({ "prompt": number.to_string(), "patterns": ["*.pdf"] }))
                .unwrap();
        }
        let pending = requests.list().unwrap();
        assert_eq!(pending.len(), 8);
        requests.dismiss(&pending[0].id).unwrap();
        assert_eq!(requests.dismiss(&pending[0].id).unwrap_err().reason, Reason::UnknownFileRequest);
        assert_eq!(
            requests.ask(&app, "x", json!({ "patterns": 1 })).unwrap_err().reason,
            Reason::BadArguments
        );
    }
}
