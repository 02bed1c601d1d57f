//! The files of an app as a person reads them before it is installed. Nothing is written and nothing is run.

use super::{AppLibrary, InstallSource, plan::Prepared, source::bring};
use roost_apps::Files;
use roost_protocol::{Digest, Failure};
use serde::{Deserialize, Serialize};

/// Text of one file. Nobody reads more of one on a screen, and a page must not be made slow by an app it only shows.
const FILE_TEXT_BYTES_MAX: usize = 256 << 10;
/// Text of all files of one app, as one answer carries it.
const ALL_TEXT_BYTES_MAX: usize = 2 << 20;

/// What an app is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppFiles {
    /// Digest of all of them: the one that installing names.
    pub digest: Digest,
    /// Every file, by path.
    pub files: Vec<ReadableFile>,
}

/// One file of an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadableFile {
    /// Its path inside the app.
    pub path: String,
    /// Its size.
    pub bytes: usize,
    /// What it says; absent where it is no text, or more of it than is shown.
    pub text: Option<String>,
}

impl AppLibrary {
    /// Every file of an app that could be installed: of the plan that was made, else brought anew.
    pub async fn read_files(&self, source: &InstallSource) -> Result<AppFiles, Failure> {
        let state = &self.inner().library;
        if let Some(plan) = state.take_plan(source) {
            let shown = readable(&plan.brought.package.files, plan.brought.package.digest());
            state.keep_plan(plan);
            return Ok(shown);
        }
        let brought = bring(&self.host, source).await?;
        let shown = readable(&brought.package.files, brought.package.digest());
        state.keep_plan(Prepared { source: source.clone(), brought });
        Ok(shown)
    }
}

fn readable(files: &Files, digest: Digest) -> AppFiles {
    let mut left = ALL_TEXT_BYTES_MAX;
    let files = files.iter().map(|(path, content)| {
        let is_shown = content.len() <= FILE_TEXT_BYTES_MAX.min(left) && !content.contains(&0);
        let text = is_shown.then(|| String::from_utf8(content.to_vec()).ok()).flatten();
        left -= text.as_ref().map_or(0, String::len);
        ReadableFile { path: path.to_owned(), bytes: content.len(), text }
    });
    AppFiles { digest, files: files.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(files: &[(&str, Vec<u8>)]) -> Vec<(String, usize, Option<String>)> {
        let contents = files.iter().map(|(path, content)| ((*path).to_owned(), content.clone()));
        let files = Files::from_contents(contents).unwrap();
        let read = readable(&files, files.digest());
        read.files.into_iter().map(|file| (file.path, file.bytes, file.text)).collect()
    }

    #[test]
    fn text_is_shown_and_everything_else_is_named_with_its_size() {
        let large = vec![b'a'; FILE_TEXT_BYTES_MAX + 1];
        let read = shown(&[
            ("a.py", b"print(1)".to_vec()),
            ("b.png", vec![0, 1, 2]),
            ("c.txt", vec![0xff, 0xfe]),
            ("d.js", large),
        ]);
        let texts: Vec<_> = read.iter().map(|(path, _, text)| (path.as_str(), text.as_deref())).collect();
        assert_eq!(texts, [("a.py", Some("print(1)")), ("b.png", None), ("c.txt", None), ("d.js", None)]);
        assert_eq!(read[3].1, FILE_TEXT_BYTES_MAX + 1);
    }

    #[test]
    fn all_text_together_has_a_limit() {
        let one = vec![b'a'; FILE_TEXT_BYTES_MAX];
        let names: Vec<String> = (0..10).map(|number| format!("{number}.txt")).collect();
        let files: Vec<(&str, Vec<u8>)> = names.iter().map(|name| (name.as_str(), one.clone())).collect();
        let told = shown(&files).into_iter().filter(|(_, _, text)| text.is_some()).count();
        assert_eq!(told, ALL_TEXT_BYTES_MAX / FILE_TEXT_BYTES_MAX);
    }
}
