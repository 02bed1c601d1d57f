//! Many rights, found quickly: each stands under how it begins and how it ends, and what it covers or overlaps begins
//! and ends like it.

use super::{overlap::overlaps, prefix_map::PrefixMap};
use roost_protocol::{Access, AgentsUse, Direction, Host, Pattern, Place, Right};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// One list of rights.
#[derive(Debug)]
pub(super) struct Rules {
    user_home: Option<PathBuf>,
    branches: BTreeMap<Kind, Branch>,
}

/// Rights of different kinds never cover each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Network,
    Subprocess,
    Files,
    Environment,
    Secret,
    Agents,
    Memory,
    Model,
    Workspace,
    Events,
    Hooks,
    Schedule,
    Notifications,
    Clipboard,
    Storage,
    Feature,
}

/// By beginning, then by ending. Invariant: when a rule covers a right, each of its two keys begins the right's; when
/// the two overlap, one begins the other.
type Branch = PrefixMap<PrefixMap<Vec<Rule>>>;

/// Where a right stands.
struct Position {
    kind: Kind,
    beginning: String,
    /// From the last character to the first; empty where the beginning says all.
    ending: String,
}

#[derive(Debug)]
struct Rule {
    right: Right,
    text: String,
}

impl Rules {
    pub(super) fn new(rights: &[Right], user_home: Option<&Path>) -> Self {
        let mut rules = Self { user_home: user_home.map(Path::to_owned), branches: BTreeMap::new() };
        for right in rights {
            let text = right.to_string();
            let right = rules.absolute(right);
            let Position { kind, beginning, ending } = Position::of(&right);
            let branch = rules.branches.entry(kind).or_default();
            branch.entry(beginning).entry(ending).push(Rule { right, text });
        }
        rules
    }

    /// The entry that covers the right, as it was written.
    pub(super) fn covering(&self, right: &Right) -> Option<&str> {
        if self.branches.is_empty() {
            return None;
        }
        let right = self.absolute(right);
        let position = Position::of(&right);
        let groups = self.branches.get(&position.kind)?.above(&position.beginning);
        let mut candidates = groups.flat_map(|group| group.above(&position.ending)).flatten();
        Some(&candidates.find(|rule| rule.right.covers(&right))?.text)
    }

    /// The entry that shares something with the right, as it was written.
    pub(super) fn overlapping(&self, right: &Right) -> Option<&str> {
        if self.branches.is_empty() {
            return None;
        }
        let right = self.absolute(right);
        let position = Position::of(&right);
        let groups = self.branches.get(&position.kind)?.around(&position.beginning);
        let mut candidates = groups.flat_map(|group| group.around(&position.ending)).flatten();
        Some(&candidates.find(|rule| overlaps(&rule.right, &right))?.text)
    }

    /// The same right with its place written from the root: `~/.ssh` and `/home/me/.ssh` are one folder.
    fn absolute(&self, right: &Right) -> Right {
        let Right::Files { access, place } = right else { return right.clone() };
        // A home that is not known still lies somewhere below `/`.
        let home = self.user_home.as_deref().unwrap_or(Path::new("/~"));
        let place = Place::of_path(&place.path(home), None).unwrap_or_else(|_| place.clone());
        Right::Files { access: *access, place }
    }
}

impl Position {
    fn of(right: &Right) -> Self {
        let single = |kind| Self { kind, beginning: String::new(), ending: String::new() };
        let named = |kind, beginning: String| Self { kind, beginning, ending: String::new() };
        match right {
            Right::AnyNetwork => single(Kind::Network),
            Right::Network(target) => named(Kind::Network, host_key(&target.host)),
            Right::Subprocess => single(Kind::Subprocess),
            Right::Files { place, .. } => {
                named(Kind::Files, format!("{}/", place.to_string().trim_end_matches('/')))
            }
            Right::Environment(name) => named(Kind::Environment, name.as_str().to_owned()),
            Right::Secret { name, .. } => named(Kind::Secret, name.as_str().to_owned()),
            Right::Agents(AgentsUse::Read | AgentsUse::Write) => named(Kind::Agents, "source".to_owned()),
            Right::Agents(AgentsUse::Call(pattern)) => Self::of_pattern(Kind::Agents, "call:", pattern),
            Right::Memory(Access::Read | Access::Write) => single(Kind::Memory),
            Right::Model => single(Kind::Model),
            Right::Workspace { pattern, .. } => Self::of_pattern(Kind::Workspace, "", pattern),
            Right::Events { direction: Direction::Watch, pattern } => {
                Self::of_pattern(Kind::Events, "watch:", pattern)
            }
            Right::Events { direction: Direction::Emit, pattern } => {
                Self::of_pattern(Kind::Events, "emit:", pattern)
            }
            Right::Hooks(pattern) => Self::of_pattern(Kind::Hooks, "", pattern),
            Right::Schedule => single(Kind::Schedule),
            Right::Notifications => single(Kind::Notifications),
            Right::Clipboard => single(Kind::Clipboard),
            Right::Storage(_) => single(Kind::Storage),
            Right::Feature(feature) => {
                named(Kind::Feature, feature.to_string().trim_end_matches('*').to_owned())
            }
        }
    }

    /// What every name that fits begins and ends with.
    fn of_pattern(kind: Kind, before: &str, pattern: &Pattern) -> Self {
        let beginning = pattern.as_str().split('*').next().unwrap_or_default();
        let ending = pattern.as_str().rsplit('*').next().unwrap_or_default();
        Self { kind, beginning: format!("{before}{beginning}"), ending: ending.chars().rev().collect() }
    }
}

/// The labels from the last to the first, each with a dot behind it, so that a domain begins the names below it.
fn host_key(host: &Host) -> String {
    match host {
        Host::Name(name) | Host::Below(name) => {
            name.rsplit('.').fold(String::with_capacity(name.len() + 1), |key, label| key + label + ".")
        }
        Host::Address(address) => format!("={address}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Rules, overlaps};
    use proptest::prelude::*;
    use roost_protocol::Right;

    fn any_right() -> impl Strategy<Value = Right> {
        let text = prop_oneof![
            "network:(\\*\\.)?(a\\.|b\\.)?(c|d)\\.e(:80|:443|:81)?",
            Just("network:*".to_owned()),
            "files:(read|write):(/|~|~/a|~/a/b|/home/me/a|/home|/home/me/ab)",
            "workspace:(read|write):[ab*/]{1,4}",
            "agents:(read|write|call:[ab*]{1,3})",
            "events:(watch|emit):[ab*]{1,3}",
            "hooks:[ab*]{1,3}",
            "memory:(read|write)",
            "storage:[1-3]",
            "feature:(session|tool):(\\*|a|ab)",
            "secret:(K|L)@(\\*\\.)?(c|d)\\.e:x",
            "env:[AB]",
        ];
        text.prop_filter_map("is no right", |text| text.parse().ok())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn the_index_finds_what_a_look_at_every_rule_finds(
            rights in proptest::collection::vec(any_right(), 0..12), right in any_right(),
        ) {
            let home = std::path::Path::new("/home/me");
            let rules = Rules::new(&rights, Some(home));
            let right = rules.absolute(&right);
            let all: Vec<Right> = rights.iter().map(|rule| rules.absolute(rule)).collect();
            prop_assert_eq!(rules.covering(&right).is_some(), all.iter().any(|rule| rule.covers(&right)));
            prop_assert_eq!(rules.overlapping(&right).is_some(), all.iter().any(|rule| overlaps(rule, &right)));
        }
    }
}
