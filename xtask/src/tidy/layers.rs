//! Which crate may use which: arrows point downwards only.
//!
//! Read from the manifests, all kinds of dependencies alike: a test that needs the layer above belongs there.

use super::Violation;
use crate::repository::{Repository, TextFile};

/// Each folder of `crates/` with the crates it may use. `cli` joins everything and is not held back.
const LAYERS: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("storage", &["protocol"]),
    ("apps", &["storage", "protocol"]),
    ("workspace", &["storage", "protocol"]),
    ("chat", &["storage", "protocol"]),
    ("runtime", &["protocol"]),
    ("host", &["apps", "workspace", "runtime", "chat", "storage", "protocol"]),
    ("server", &["host", "protocol"]),
    ("cli", &["server", "host", "apps", "workspace", "runtime", "chat", "storage", "protocol"]),
];

/// The only crate below `crates/` that may answer with an error nobody can match on.
const ANYHOW_CRATE: &str = "cli";

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let crate_of = |file: &TextFile| {
        let folder = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?.to_owned();
        (!folder.contains('/')).then_some(folder)
    };
    let manifests = repository.files().filter_map(|file| Some((crate_of(file)?, file)));
    manifests.flat_map(|(folder, file)| check_manifest(&folder, file)).collect()
}

fn check_manifest(folder: &str, file: &TextFile) -> Vec<Violation> {
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == folder) else {
        return vec![Violation::of_file(
            &file.path,
            "a new crate needs a decision record and a row in the layer table",
        )];
    };
    let manifest: toml::Table = match file.text.parse() {
        Ok(manifest) => manifest,
        Err(error) => {
            return vec![Violation::of_file(&file.path, format!("not valid TOML: {}", error.message()))];
        }
    };
    let mut violations = Vec::new();
    for name in dependencies(&manifest) {
        let internal = name.strip_prefix("roost-");
        if let Some(other) = internal.filter(|other| !allowed.contains(other)) {
            let message = format!("`{folder}` may not use `{other}`; see the layers in ARCHITECTURE.md");
            violations.push(Violation::of_file(&file.path, message));
        }
        if name == "anyhow" && folder != ANYHOW_CRATE {
            violations
                .push(Violation::of_file(&file.path, "a library has an error enum of its own, not anyhow"));
        }
    }
    violations
}

/// Package names of all dependencies: normal, build and dev, for every target.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let tables = targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
    let sections = tables.chain([manifest]).flat_map(|table| {
        ["dependencies", "build-dependencies", "dev-dependencies"]
            .into_iter()
            .filter_map(|section| table.get(section)?.as_table())
    });
    let package = |(key, value): (&String, &toml::Value)| {
        // A renamed dependency names its package.
        value.get("package").and_then(toml::Value::as_str).unwrap_or(key).to_owned()
    };
    sections.flat_map(|section| section.iter().map(package)).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tests::objections;

    fn refuses(folder: &str, manifest: &str) -> bool {
        !objections(check, &[(&format!("crates/{folder}/Cargo.toml"), manifest)]).is_empty()
    }

    #[test]
    fn arrows_point_downwards() {
        assert!(!refuses("host", "[dependencies]\nroost-apps.workspace = true\nserde = \"1\"\n"));
        assert!(refuses("apps", "[dependencies]\nroost-host.workspace = true\n"));
        assert!(refuses("apps", "[dependencies]\nroost-runtime.workspace = true\n"));
        assert!(refuses("runtime", "[dependencies]\nroost-storage.workspace = true\n"));
        assert!(refuses("server", "[dev-dependencies]\nroost-apps.workspace = true\n"));
        assert!(refuses("protocol", "[target.'cfg(unix)'.dependencies]\nroost-storage.workspace = true\n"));
        assert!(refuses("apps", "[dependencies]\nboss = { package = \"roost-host\", path = \"../host\" }\n"));
    }

    #[test]
    fn a_new_crate_and_a_broken_manifest_are_seen() {
        assert!(refuses("plumbing", "[dependencies]\n"));
        assert!(refuses("apps", "[dependencies\n"));
    }

    #[test]
    fn only_the_binary_has_errors_without_a_type() {
        assert!(refuses("host", "[dependencies]\nanyhow.workspace = true\n"));
        assert!(!refuses("cli", "[dependencies]\nanyhow.workspace = true\n"));
    }
}
