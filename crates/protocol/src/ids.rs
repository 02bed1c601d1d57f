//! Names and digests that were checked. A value of one of these types has the form its doc line states.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{fmt, sync::Arc};

/// An agent's name: 1 to 64 letters, digits, `_` or `-`, so that every model accepts it as a tool name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentName(String);

/// The text is not an agent name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a tool name: use 1 to 64 letters, digits, `_` or `-`")]
pub struct InvalidAgentName(String);

impl AgentName {
    /// Longest name that OpenAI-style providers take.
    pub const CHARACTERS_MAX: usize = 64;

    /// Checks the form.
    pub fn parse(text: &str) -> Result<Self, InvalidAgentName> {
        let fits = (1..=Self::CHARACTERS_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidAgentName(text.chars().take(80).collect())) }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AgentName {
    type Error = InvalidAgentName;
    fn try_from(text: String) -> Result<Self, InvalidAgentName> {
        Self::parse(&text)
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> String {
        name.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Longest id that is taken.
const ID_CHARACTERS_MAX: usize = 64;

/// True for a letter or digit followed by up to 63 letters, digits, `.`, `_` or `-`, all ASCII.
///
/// Such a text holds no slash, so two of them joined by one are read back in one way only.
#[must_use]
pub fn is_id_text(text: &str) -> bool {
    text.len() <= ID_CHARACTERS_MAX
        && text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// Whose rows: 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or digit. Cheap to copy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant(Arc<str>);

/// The text is not the name of a tenant or of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a name: use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or digit")]
pub struct InvalidTenant;

impl Tenant {
    /// Checks the form.
    pub fn parse(text: &str) -> Result<Self, InvalidTenant> {
        if is_id_text(text) { Ok(Self(text.into())) } else { Err(InvalidTenant) }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// SHA-256 of some bytes; written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// The text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not 64 hexadecimal digits")]
pub struct InvalidDigest;

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads the written form.
    pub fn parse(text: &str) -> Result<Self, InvalidDigest> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| InvalidDigest)?;
        Ok(Self(bytes))
    }

    /// The 32 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 32] {
        self.0
    }

    /// The first 12 digits, for people and log lines.
    #[must_use]
    pub fn short(&self) -> String {
        hex::encode(&self.0[..6])
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;
    fn try_from(text: String) -> Result<Self, InvalidDigest> {
        Self::parse(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({})", self.short())
    }
}

/// Whose memory a call uses: 1 to 64 letters, digits, `_` or `-`, so that it is one safe path component.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UserGuid(String);

/// The text is not a user guid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a user guid is 1 to 64 letters, digits, `_` or `-`")]
pub struct InvalidUserGuid;

impl UserGuid {
    /// Checks the form. The default guid of the RAPP kernels, which is no valid UUID, passes.
    pub fn parse(text: &str) -> Result<Self, InvalidUserGuid> {
        AgentName::parse(text).map(|name| Self(name.0)).map_err(|_| InvalidUserGuid)
    }

    /// The guid as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for the guid that means "nobody in particular": shared memory.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.0 == crate::DEFAULT_USER_GUID
    }
}

impl TryFrom<String> for UserGuid {
    type Error = InvalidUserGuid;
    fn try_from(text: String) -> Result<Self, InvalidUserGuid> {
        Self::parse(&text)
    }
}

impl From<UserGuid> for String {
    fn from(guid: UserGuid) -> String {
        guid.0
    }
}

/// The language an agent file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// `*_agent.py`.
    Python,
    /// `*Agent.ts`, `*Agent.js`, `*_agent.ts`, `*_agent.js`.
    TypeScript,
}

impl Language {
    /// The language a file name announces, if it is an agent's file name at all.
    #[must_use]
    pub fn of_file_name(name: &str) -> Option<Self> {
        let (stem, extension) = name.rsplit_once('.')?;
        let agent_stem = |suffix: &str| stem.len() > suffix.len() && stem.ends_with(suffix);
        match extension {
            "py" if agent_stem("_agent") && stem != "basic_agent" => Some(Self::Python),
            "ts" | "js" if stem != "BasicAgent" && (agent_stem("Agent") || agent_stem("_agent")) => {
                Some(Self::TypeScript)
            }
            _ => None,
        }
    }
}

/// What a file of code is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// It has agents.
    #[default]
    Agent,
    /// It answers requests below `/api/`.
    Service,
}

impl FileKind {
    /// True for the ordinary kind, which needs no saying.
    #[must_use]
    pub fn is_agent(&self) -> bool {
        *self == Self::Agent
    }

    /// The language a file name announces, if it is the name of such a file at all.
    #[must_use]
    pub fn language_of(self, file_name: &str) -> Option<Language> {
        match self {
            Self::Agent => Language::of_file_name(file_name),
            Self::Service => {
                let name = file_name.strip_suffix("_service.py")?;
                (!name.is_empty()).then_some(Language::Python)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentName, Digest, FileKind, Language, UserGuid};
    use proptest::prelude::*;

    #[test]
    fn agent_names_are_tool_names() {
        for good in ["Weather", "a", "my-agent_2", &"x".repeat(64)] {
            assert!(AgentName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "two words", "ünïcode", "a/b", "a.b", &"x".repeat(65)] {
            assert!(AgentName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_file_name_says_what_the_file_is_for() {
        assert_eq!(FileKind::Service.language_of("notes_service.py"), Some(Language::Python));
        for no in ["_service.py", "notes_service.ts", "notes_agent.py", "notes.py", "service.py"] {
            assert_eq!(FileKind::Service.language_of(no), None, "{no}");
        }
        assert_eq!(FileKind::Agent.language_of("notes_service.py"), None);
        assert_eq!(FileKind::Agent.language_of("notes_agent.py"), Some(Language::Python));
    }

    #[test]
    fn the_default_guid_is_accepted_and_traversal_is_not() {
        assert!(UserGuid::parse(crate::DEFAULT_USER_GUID).unwrap().is_default());
        for bad in ["..", "../x", "a/b", "", "a\0b", "x y"] {
            assert!(UserGuid::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn file_names_tell_the_language() {
        let python = Some(Language::Python);
        let typescript = Some(Language::TypeScript);
        for (name, language) in [
            ("weather_agent.py", python),
            ("basic_agent.py", None),
            ("_agent.py", None),
            ("weather.py", None),
            ("ShellAgent.ts", typescript),
            ("ShellAgent.js", typescript),
            ("shell_agent.js", typescript),
            ("BasicAgent.ts", None),
            ("types.ts", None),
            ("x_agent.py.bak", None),
        ] {
            assert_eq!(Language::of_file_name(name), language, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_digest_reads_back_as_written(bytes: Vec<u8>) {
            let digest = Digest::of(&bytes);
            prop_assert_eq!(Digest::parse(&digest.to_string()), Ok(digest));
        }

        #[test]
        fn no_text_makes_a_guid_that_leaves_its_folder(text: String) {
            if let Ok(guid) = UserGuid::parse(&text) {
                prop_assert!(!guid.as_str().contains(['/', '\\', '.', '\0']));
            }
        }
    }
}
