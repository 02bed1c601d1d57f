//! What a source text should not have: the registry's security scan, over the agent and the service of a bundle.
//!
//! It reads text, comments included, and proves nothing: the sandbox is what confines an app. A maintainer sees here what
//! to look at first.

use crate::bundle::Bundle;
use regex::Regex;
use serde::Serialize;
use std::collections::BTreeSet;

/// Rules of which each finding stops an approval until a maintainer accepts it.
const FATAL: [(&str, &str); 3] = [
    ("calls os.system", r"\bos\.system\s*\("),
    ("opens a file of the system or of secrets", r"\bopen\s*\(.*(/etc|/proc|\.env|\.ssh|passwd)"),
    ("has a secret in its text", r#"(api[_-]?key|secret|password|token)\s*=\s*["'][^"']{8,}"#),
];

/// Rules that only say what an app can do.
const CAPABILITIES: [(&str, &str); 4] = [
    ("compile_exec", r#"\bcompile\s*\(.*["']exec["']"#),
    ("dynamic_import", r"\b__import__\s*\("),
    ("eval", r"\beval\s*\("),
    ("exec", r"\bexec\s*\("),
];

/// Longest line that is shown.
const SHOWN_CHARACTERS_MAX: usize = 160;

/// Most findings of one rule in one file that are told.
const FINDINGS_MAX: usize = 20;

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which rule.
    pub rule: &'static str,
    /// The file.
    pub path: String,
    /// The line in it.
    pub line: usize,
    /// What stands there; a secret is not shown.
    pub text: String,
}

/// All that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Scan {
    /// What stops an approval until it is accepted.
    pub fatal: Vec<Finding>,
    /// What the text can do, sorted.
    pub capabilities: BTreeSet<&'static str>,
    /// True when text becomes code at run time.
    pub uses_exec: bool,
}

/// Scans the agent and the service of a bundle.
#[must_use]
pub fn scan(bundle: &Bundle) -> Scan {
    let files = [bundle.agent(), bundle.http_module()].into_iter().flatten();
    let mut found = Scan { fatal: Vec::new(), capabilities: BTreeSet::new(), uses_exec: false };
    let fatal = compiled(&FATAL);
    let capabilities = compiled(&CAPABILITIES);
    for (path, bytes) in files {
        let source = String::from_utf8_lossy(bytes);
        for (rule, pattern) in &fatal {
            // A secret may stand on the line after its name.
            let findings = pattern.find_iter(&source).take(FINDINGS_MAX).map(|hit| {
                let line = source[..hit.start()].matches('\n').count();
                let text = if pattern.as_str().starts_with('(') {
                    "…".to_owned()
                } else {
                    shown(source.lines().nth(line).unwrap_or_default())
                };
                Finding { rule, path: path.to_owned(), line: line + 1, text }
            });
            found.fatal.extend(findings);
        }
        let has = capabilities.iter().filter(|(_, pattern)| pattern.is_match(&source));
        found.capabilities.extend(has.map(|(name, _)| *name));
    }
    found.uses_exec = found.capabilities.contains("exec");
    found
}

fn compiled(rules: &[(&'static str, &str)]) -> Vec<(&'static str, Regex)> {
    rules.iter().filter_map(|(name, pattern)| Some((*name, Regex::new(pattern).ok()?))).collect()
}

fn shown(line: &str) -> String {
    crate::catalog::shown(line).trim().chars().take(SHOWN_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::{CAPABILITIES, FATAL, compiled};

    #[test]
    fn every_rule_can_be_read_and_finds_what_the_registry_finds() {
        let (fatal, capabilities) = (compiled(&FATAL), compiled(&CAPABILITIES));
        assert_eq!((fatal.len(), capabilities.len()), (FATAL.len(), CAPABILITIES.len()));
        let hit = |text: &str| fatal.iter().position(|(_, pattern)| pattern.is_match(text));
        for (text, expected) in [
            ("os.system('x')", Some(0)),
            ("# os.system ('x')", Some(0)),
            ("pos.system('x')", None),
            ("open('/etc/hosts')", Some(1)),
            ("open(home + '/.ssh/id')", Some(1)),
            ("open('data.txt')\n# /etc", None),
            ("token = 'abcdefgh'", Some(2)),
            ("my_api-key=\"12345678\"", Some(2)),
            ("API_KEY = '12345678'", None),
            ("token = 'short'", None),
            ("subprocess.run(['ls'])", None),
        ] {
            assert_eq!(hit(text), expected, "{text}");
        }
        let names = |text: &str| -> Vec<&str> {
            capabilities.iter().filter(|(_, rule)| rule.is_match(text)).map(|(name, _)| *name).collect()
        };
        assert_eq!(names("eval(x); exec(y); __import__('z')"), ["dynamic_import", "eval", "exec"]);
        assert_eq!(names("compile(s, 'f', 'exec')"), ["compile_exec"]);
        assert!(names("re.compile('x'); executor(1)").is_empty());
    }
}
