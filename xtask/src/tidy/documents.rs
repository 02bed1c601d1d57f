//! Prose that can be checked: the changelog has a place for the next change, and local links lead somewhere.

use super::Violation;
use crate::repository::{Repository, TextFile};

const CHANGELOG: &str = "CHANGELOG.md";

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let documents = repository.files().filter(|file| file.ending() == "md");
    documents.flat_map(|file| check_links(repository, file)).chain(check_changelog(repository)).collect()
}

fn check_changelog(repository: &Repository) -> Option<Violation> {
    let has_section = |file: &TextFile| {
        file.text.lines().any(|line| matches!(line.trim_end(), "## Unreleased" | "## [Unreleased]"))
    };
    let missing = !repository.file(CHANGELOG).is_some_and(has_section);
    missing.then(|| Violation::of_file(CHANGELOG, "has no section `## Unreleased`"))
}

fn check_links(repository: &Repository, file: &TextFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut in_fence = false;
    for (index, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        let targets = if in_fence { Vec::new() } else { link_targets(&without_code(line)) };
        for target in targets.iter().filter(|target| is_local(target)) {
            let path = resolve(&file.path, target);
            if !path.is_some_and(|path| repository.has(&path)) {
                violations.push(Violation::at(
                    &file.path,
                    index,
                    format!("link to `{target}` leads nowhere"),
                ));
            }
        }
    }
    violations
}

/// The line with its code spans left out: what stands in them is quoted.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Targets of `[text](target)` and `[name]: target`.
fn link_targets(line: &str) -> Vec<String> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    let definition =
        line.starts_with('[').then(|| line.split_once("]: ")).flatten().map(|(_, target)| target);
    // A title may follow the target.
    inline
        .chain(definition)
        .filter_map(|target| target.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

fn is_local(target: &str) -> bool {
    !target.starts_with('#') && !target.contains("://") && !target.starts_with("mailto:")
}

/// Path from the root of the repository; nothing for a target outside of it.
fn resolve(document: &str, target: &str) -> Option<String> {
    let path = target.split('#').next().unwrap_or(target);
    let mut folders: Vec<&str> = document.split('/').collect();
    folders.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(folders.pop()?),
            name => folders.push(name),
        }
    }
    Some(folders.join("/"))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tests::objections;

    const CHANGELOG: (&str, &str) = ("CHANGELOG.md", "# Changelog\n\n## Unreleased\n");

    #[test]
    fn local_links_lead_somewhere() {
        let text = "\
            [a](docs/words.md) [b](docs/words.md#top) [c](docs) [d](#here) [e](https://example.org)\n\
            [lost](docs/nothing.md)\n\
            `[quoted](nowhere.md)`\n\
            ```\n\
            [fenced](nowhere.md)\n\
            ```\n\
            [outside](../other.md)\n\
            [name]: gone.md\n";
        let files = [CHANGELOG, ("README.md", text), ("docs/words.md", "[up](../README.md \"title\")\n")];
        assert_eq!(objections(check, &files), ["README.md:2", "README.md:7", "README.md:8"]);
    }

    #[test]
    fn the_changelog_has_a_place_for_the_next_change() {
        assert_eq!(objections(check, &[("CHANGELOG.md", "# Changelog\n\n## 0.1.0\n")]), ["CHANGELOG.md"]);
        assert_eq!(objections(check, &[]), ["CHANGELOG.md"]);
        assert!(objections(check, &[CHANGELOG]).is_empty());
    }
}
