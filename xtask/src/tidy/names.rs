//! Names that say nothing: a file or type is named for what it is, not for where leftovers go.

use super::{Violation, rust_text::RustText};
use crate::repository::{Repository, TextFile};

const BANNED: &[&str] = &[
    "util", "utils", "helper", "helpers", "common", "misc", "manager", "handler", "service", "types", "base",
    "impl",
];

/// The name of this package is part of the contract with agents.
const CONTRACT: &str = "runners/python/shims/utils";

const FOLDERS: &[&str] = &["crates", "tests", "xtask", "runners", "web"];
const ENDINGS: &[&str] = &["rs", "py", "mjs", "js", "ts", "svelte"];

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let code = |file: &&TextFile| file.is_below(FOLDERS) && ENDINGS.contains(&file.ending());
    let paths = repository.files().filter(code).filter_map(check_path);
    paths.chain(repository.rust().flat_map(check_declarations)).collect()
}

fn check_path(file: &TextFile) -> Option<Violation> {
    if file.path.starts_with(CONTRACT) {
        return None;
    }
    let words = file.path.split(['/', '_', '-', '.']);
    let banned = words.map(str::to_lowercase).find(|word| BANNED.contains(&word.as_str()))?;
    Some(Violation::of_file(&file.path, format!("`{banned}` says nothing; name the file for what it is")))
}

fn check_declarations(file: &TextFile) -> Vec<Violation> {
    let code = RustText::split(&file.text).code;
    let mut violations = Vec::new();
    for (index, line) in code.lines().enumerate() {
        for name in declared_names(line) {
            if let Some(word) = words_of(name).into_iter().find(|word| BANNED.contains(&word.as_str())) {
                let message = format!("`{word}` in `{name}` says nothing; name it for what it is");
                violations.push(Violation::at(&file.path, index, message));
            }
        }
    }
    violations
}

/// Names of the structs, enums, traits and modules that a line declares.
fn declared_names(line: &str) -> Vec<&str> {
    let words: Vec<&str> = line
        .split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
        .collect();
    let declares = |word: &str| matches!(word, "struct" | "enum" | "trait" | "mod");
    words.windows(2).filter(|pair| declares(pair[0])).map(|pair| pair[1]).collect()
}

/// The words of a snake-case or CamelCase name, in lower case. An acronym is one word.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let characters: Vec<char> = name.chars().collect();
    for (index, &character) in characters.iter().enumerate() {
        let after_small = index > 0 && !characters[index - 1].is_uppercase();
        let before_small = characters.get(index + 1).is_some_and(|next| next.is_lowercase());
        if character == '_' || (character.is_uppercase() && (after_small || before_small)) {
            words.push(String::new());
        }
        if let (Some(word), false) = (words.last_mut(), character == '_') {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::{check, words_of};
    use crate::tidy::tests::objections;

    fn refuses(path: &str, text: &str) -> bool {
        !objections(check, &[(path, text)]).is_empty()
    }

    #[test]
    fn file_and_folder_names_are_checked_by_whole_words() {
        for path in
            ["crates/apps/src/path_utils.rs", "crates/apps/src/util/path.rs", "runners/python/common.py"]
        {
            assert!(refuses(path, ""), "{path}");
        }
        for path in [
            "crates/apps/src/database.rs",
            "crates/apps/src/utilities_bill.rs",
            "runners/python/shims/utils/azure_file_storage.py",
            "examples/python/helper_agent.py",
        ] {
            assert!(!refuses(path, ""), "{path}");
        }
    }

    #[test]
    fn declared_types_are_checked_by_whole_words() {
        let path = "crates/apps/src/scan.rs";
        for text in [
            "pub struct AppManager;",
            "enum HTTPHandler {}",
            "trait Service: Send {}",
            "pub(crate) struct BaseAgent<T>(T);",
            "mod helpers {}",
        ] {
            assert!(refuses(path, text), "{text}");
        }
        for text in [
            "struct Based;",
            "struct Base64;",
            "// struct AppManager",
            "let manager = \"struct AppManager\";",
            "use x::Service;",
            "struct Implied;",
        ] {
            assert!(!refuses(path, text), "{text}");
        }
    }

    #[test]
    fn acronyms_are_one_word() {
        assert_eq!(words_of("HTTPHandler"), ["http", "handler"]);
        assert_eq!(words_of("FromWorker2"), ["from", "worker2"]);
        assert_eq!(words_of("snake_case"), ["snake", "case"]);
    }
}
