//! The keychain of the person's session, reached through the program that the system has for it.
//!
//! `secret-tool` speaks to the Secret Service on Linux, `security` to the keychain of macOS. The key goes in by
//! standard input and comes out by standard output: arguments can be read by every user of the machine.

use super::sealed::Key;
use crate::settings::HostSettings;
use roost_protocol::Failure;
use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

/// Long enough for a person to unlock it, and a program that hangs must not hold a call for ever.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// What the programs need to find the session and its keychain.
const VARIABLES: [&str; 7] =
    ["HOME", "USER", "LANG", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// Without one of these there is no session that a keychain could belong to.
const SESSION: [&str; 2] = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// Which program it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    SecretTool,
    Security,
}

/// The way to the keychain, if there is one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keychain {
    program: Option<(Kind, PathBuf)>,
    environment: BTreeMap<String, String>,
}

impl Keychain {
    /// The keychain of the session that the host runs in.
    pub(crate) fn of(settings: &HostSettings) -> Self {
        let value = |name: &&str| Some(((*name).to_owned(), settings.variables.get(name)?.clone()));
        let environment: BTreeMap<String, String> = VARIABLES.iter().filter_map(value).collect();
        let program = if cfg!(target_os = "macos") {
            let security = PathBuf::from("/usr/bin/security");
            security.is_file().then_some((Kind::Security, security))
        } else if SESSION.iter().any(|name| environment.contains_key(*name)) {
            let found = roost_runtime::find_program("secret-tool", &settings.surface.search_path);
            found.map(|program| (Kind::SecretTool, program))
        } else {
            None
        };
        Self { program, environment }
    }

    #[cfg(test)]
    pub(super) fn with_program(kind: Kind, program: PathBuf, environment: BTreeMap<String, String>) -> Self {
        Self { program: Some((kind, program)), environment }
    }

    /// Keeps the key of a vault; false when there is no keychain, or one that does not give back what it took.
    pub(super) async fn keep(&self, id: &str, key: &Key) -> bool {
        let Some((kind, _)) = &self.program else { return false };
        let (arguments, input) = match kind {
            Kind::SecretTool => {
                let label = format!("--label=Roost vault {id}");
                let arguments = vec!["store".to_owned(), label, "service".into(), "roost".into()];
                ([arguments, vec!["vault".into(), id.to_owned()]].concat(), key.text().to_owned())
            }
            Kind::Security => {
                let command = format!("add-generic-password -U -s roost -a {id} -w {}\n", key.text());
                (vec!["-i".to_owned()], command)
            }
        };
        let kept = matches!(self.run(&arguments, &input).await, Ok(Some(_)));
        kept && matches!(self.find(id).await, Ok(Some(found)) if found.text() == key.text())
    }

    /// The key of a vault; nothing when the keychain has none, or does not let it be read.
    pub(super) async fn find(&self, id: &str) -> Result<Option<Key>, Failure> {
        let Some((kind, _)) = &self.program else { return Ok(None) };
        let arguments: &[&str] = match kind {
            Kind::SecretTool => &["lookup", "service", "roost", "vault", id],
            Kind::Security => &["find-generic-password", "-s", "roost", "-a", id, "-w"],
        };
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        Ok(self.run(&arguments, "").await?.and_then(|text| Key::parse(&text)))
    }

    /// What the program printed; nothing when it did not succeed.
    async fn run(&self, arguments: &[String], input: &str) -> Result<Option<String>, Failure> {
        let Some((_, program)) = &self.program else { return Ok(None) };
        let words: Vec<OsString> = arguments.iter().map(Into::into).collect();
        let ran =
            roost_runtime::run_with_input(program, &words, &self.environment, input, ANSWER_WITHIN).await?;
        Ok(ran.succeeded.then_some(ran.stdout))
    }
}
