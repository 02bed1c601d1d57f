//! Names that stand for one text, for the home folder, or for the folder of the file.

use super::words::{Kind, Word};
use std::collections::{HashMap, HashSet};

/// How many words of a value are looked at: `path.dirname(fileURLToPath(import.meta.url))` has fewer.
const VALUE_WORDS_MAX: usize = 16;

/// Longest text that is copied wherever its name stands.
pub(super) const TEXT_BYTES_MAX: usize = 4096;

/// Longest name that is looked for in a template.
const NAME_BYTES_MAX: usize = 64;

/// What the names of a file stand for.
#[derive(Default)]
pub(super) struct Constants<'w> {
    /// Nothing for names that get more than one text.
    texts: HashMap<&'w str, Option<&'w str>>,
    homes: HashSet<&'w str>,
    own_folders: HashSet<&'w str>,
}

impl<'w> Constants<'w> {
    pub(super) fn of(words: &'w [Word<'w>]) -> Self {
        let mut constants = Self::default();
        for (index, word) in words.iter().enumerate() {
            if let Kind::Name(name) = word.kind
                && let Some(value) = assigned(&words[index + 1..])
            {
                constants.learn(name, value);
            }
        }
        constants
    }

    fn learn(&mut self, name: &'w str, value: &'w [Word<'w>]) {
        let text = match value {
            [Word { kind: Kind::Text { value, .. }, .. }] if value.len() <= TEXT_BYTES_MAX => {
                Some(value.as_str())
            }
            _ => None,
        };
        self.texts.entry(name).and_modify(|known| *known = None).or_insert(text);
        if self.words_are_home(value) {
            self.homes.insert(name);
        }
        let is_own = |word: &Word<'_>| matches!(word.kind, Kind::Name("__dirname" | "__filename" | "meta"));
        if value.iter().any(is_own) {
            self.own_folders.insert(name);
        }
    }

    /// The text a name stands for.
    pub(super) fn text(&self, name: &str) -> Option<&'w str> {
        self.texts.get(name).copied().flatten()
    }

    /// The text of a template with the constants in it filled in, each once.
    pub(super) fn filled_in(&self, template: &str) -> String {
        let mut filled = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let end = after.bytes().take(NAME_BYTES_MAX).position(|byte| byte == b'}');
            match end.and_then(|end| Some((self.text(&after[..end])?, end))) {
                // Nothing that long is an address; more of it would only fill the memory.
                Some((text, end)) if filled.len() <= TEXT_BYTES_MAX => {
                    filled.push_str(text);
                    rest = &after[end + 1..];
                }
                _ => {
                    filled.push('{');
                    rest = after;
                }
            }
        }
        filled.push_str(rest);
        filled
    }

    /// True when the name stands for the home folder.
    pub(super) fn is_home(&self, name: &str) -> bool {
        self.homes.contains(name)
    }

    /// True when the name leads to the folder of the file.
    pub(super) fn is_own_folder(&self, name: &str) -> bool {
        matches!(name, "__dirname" | "meta") || self.own_folders.contains(name)
    }

    /// `os.homedir()`, `process.env.HOME` or a name for one of them, and nothing after it.
    pub(super) fn words_are_home(&self, words: &[Word<'_>]) -> bool {
        match words {
            [.., name, open, close] if is_sign(open, '(') && is_sign(close, ')') => is_name(name, "homedir"),
            [process, _, env, _, home] => {
                is_name(process, "process") && is_name(env, "env") && is_name(home, "HOME")
            }
            [Word { kind: Kind::Name(name), .. }] => self.is_home(name),
            _ => false,
        }
    }
}

/// The words of the value in `= value;`, of the words after a name; a type may stand between them.
fn assigned<'w>(after: &'w [Word<'w>]) -> Option<&'w [Word<'w>]> {
    let after = match after {
        [colon, Word { kind: Kind::Name(_), .. }, rest @ ..] if is_sign(colon, ':') => rest,
        all => all,
    };
    let (equals, value) = after.split_first()?;
    if !is_sign(equals, '=') || value.first().is_some_and(|next| is_sign(next, '=') || is_sign(next, '>')) {
        return None;
    }
    let is_statement = |word: &Word<'_>| {
        is_sign(word, ';')
            || matches!(
                word.kind,
                Kind::Name("const" | "let" | "var" | "class" | "function" | "export" | "import")
            )
    };
    let limited = &value[..value.len().min(VALUE_WORDS_MAX)];
    let end = (1..limited.len()).find(|index| {
        // `import.meta` goes on; an import begins a statement.
        is_statement(&limited[*index]) && !limited.get(index + 1).is_some_and(|next| is_sign(next, '.'))
    });
    match end {
        Some(end) => Some(&limited[..end]),
        // Without a semicolon one text is still one text: what follows begins a new statement.
        None => match limited {
            [Word { kind: Kind::Text { .. }, .. }, next, ..]
                if !matches!(next.kind, Kind::Sign('+' | '.' | '[')) =>
            {
                Some(&limited[..1])
            }
            all => Some(all),
        },
    }
}

fn is_sign(word: &Word<'_>, sign: char) -> bool {
    word.kind == Kind::Sign(sign)
}

fn is_name(word: &Word<'_>, name: &str) -> bool {
    matches!(word.kind, Kind::Name(other) if other == name)
}
