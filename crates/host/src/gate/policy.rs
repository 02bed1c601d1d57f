//! What the operator allows and denies beforehand: the `[policy]` table of roost.toml.
//!
//! A denied right is never given, whatever was granted. An allowed one is given to apps that ask for it, without a
//! person. Names of computers are not looked up and links are not followed here: whoever asks names what is used.

mod overlap; // rights that share something
mod prefix_map; // entries by how a text begins
mod rules; // many rights, found quickly
mod written; // the table as text

use self::{
    rules::Rules,
    written::{WrittenOrigin, WrittenPolicy},
};
use roost_protocol::{Access, Failure, Origin, Place, Right};
use std::path::{Path, PathBuf};

/// What an origin's table holds where nothing is written.
struct Defaults {
    allow: &'static [&'static str],
    keep_always_grants: bool,
}

/// Files a person put there get what stays on this computer and can be undone, or is shown.
const LOCAL: Defaults = Defaults {
    allow: &["memory:write", "model", "agents:read", "workspace:write:*", "events:watch:*", "notifications"],
    keep_always_grants: true,
};

/// What a catalog brought is another's work: its next version asks again.
const CATALOG: Defaults = Defaults { allow: &["model", "workspace:write:*"], keep_always_grants: false };

/// What another agent wrote, nobody has read yet.
const GENERATED: Defaults = Defaults { allow: &["workspace:write:*"], keep_always_grants: false };

/// What a page does happens in a browser, unseen: it gets what a person gives it, and its next content asks again.
const PAGE: Defaults = Defaults { allow: &[], keep_always_grants: false };

/// The policy of one home.
#[derive(Debug)]
pub struct Policy {
    common: Table,
    local: OriginTable,
    catalog: OriginTable,
    generated: OriginTable,
    page: OriginTable,
    user_home: Option<PathBuf>,
}

/// Places that nobody can grant, whatever a policy says.
#[derive(Debug)]
pub(crate) struct Closed(Rules);

impl Closed {
    /// True when the right reaches into one of the places, or a place lies in what it reaches.
    pub(crate) fn overlaps(&self, right: &Right) -> bool {
        matches!(right, Right::Files { .. }) && self.0.overlapping(right).is_some()
    }
}

#[derive(Debug)]
struct Table {
    name: &'static str,
    allow: Rules,
    deny: Rules,
}

#[derive(Debug)]
struct OriginTable {
    rules: Table,
    keep_always_grants: bool,
    ask: bool,
}

impl Policy {
    /// Reads the `[policy]` table. `user_home` is what `~` stands for, so that a place is the same place however it is
    /// written. A mistake is refused with its table and entry.
    pub fn from_table(table: toml::Table, user_home: Option<&Path>) -> Result<Self, Failure> {
        let written = WrittenPolicy::read(table)?;
        let common_deny = Rules::new(&written.common.deny, user_home);
        let origin = |name: &'static str, table: WrittenOrigin, defaults: Defaults| {
            let deny = Rules::new(&table.lists.deny, user_home);
            let allow = match table.lists.allow {
                Some(allow) => {
                    written::refuse_dead_entries(name, &allow, &deny, name)?;
                    written::refuse_dead_entries(name, &allow, &common_deny, written::COMMON)?;
                    allow
                }
                None => built_in(defaults.allow),
            };
            let rules = Table { name, allow: Rules::new(&allow, user_home), deny };
            let keep_always_grants = table.keep_always_grants.unwrap_or(defaults.keep_always_grants);
            Ok::<_, Failure>(OriginTable { rules, keep_always_grants, ask: table.ask.unwrap_or(true) })
        };
        let local = origin(written::LOCAL, written.local, LOCAL)?;
        let catalog = origin(written::CATALOG, written.catalog, CATALOG)?;
        let generated = origin(written::GENERATED, written.generated, GENERATED)?;
        let page = origin(written::PAGE, written.page, PAGE)?;
        let common_allow = written.common.allow.unwrap_or_default();
        written::refuse_dead_entries(written::COMMON, &common_allow, &common_deny, written::COMMON)?;
        let common =
            Table { name: written::COMMON, allow: Rules::new(&common_allow, user_home), deny: common_deny };
        let user_home = user_home.map(Path::to_owned);
        Ok(Self { common, local, catalog, generated, page, user_home })
    }

    /// The policy of a home without a `[policy]` table.
    #[must_use]
    pub fn standard(user_home: Option<&Path>) -> Self {
        Self::from_table(toml::Table::new(), user_home).expect("an empty table has no mistake")
    }

    /// These places, as something that rights can be held against.
    pub(crate) fn closed(&self, places: &[PathBuf]) -> Closed {
        let read = |path: &PathBuf| {
            let place = Place::of_path(path, None).ok()?;
            Some(Right::Files { access: Access::Read, place })
        };
        let rights: Vec<Right> = places.iter().filter_map(read).collect();
        Closed(Rules::new(&rights, self.user_home.as_deref()))
    }

    /// True when apps of this origin get the right as soon as they ask for it.
    #[must_use]
    pub fn allows(&self, origin: Origin, right: &Right) -> bool {
        self.tables(origin).into_iter().any(|table| table.allow.covering(right).is_some())
    }

    /// The entry that forbids to use the right, and its table, as a sentence. A right that shares anything with a
    /// denied one is denied as a whole: whoever reads all of the home folder reads the keys in it too.
    #[must_use]
    pub fn denies(&self, origin: Origin, right: &Right) -> Option<String> {
        self.tables(origin)
            .into_iter()
            .find_map(|table| Some(in_words(table, table.deny.overlapping(right)?)))
    }

    /// The entry that makes granting the right pointless, as a sentence. What is decided at each use, such as a call of
    /// another agent, may be granted around a denied part; what is given to the sandbox as a whole may not.
    #[must_use]
    pub fn denies_granting(&self, origin: Origin, right: &Right) -> Option<String> {
        if matches!(right, Right::Files { .. } | Right::AnyNetwork) {
            return self.denies(origin, right);
        }
        self.tables(origin).into_iter().find_map(|table| Some(in_words(table, table.deny.covering(right)?)))
    }

    /// True when a grant made for always holds for a later content that asks for the same.
    #[must_use]
    pub fn keep_always_grants(&self, origin: Origin) -> bool {
        self.origin(origin).keep_always_grants
    }

    /// True when interactive surfaces may ask a person; otherwise only commands grant.
    #[must_use]
    pub fn ask(&self, origin: Origin) -> bool {
        self.origin(origin).ask
    }

    fn origin(&self, origin: Origin) -> &OriginTable {
        match origin {
            Origin::Local => &self.local,
            Origin::Catalog => &self.catalog,
            Origin::Generated => &self.generated,
            Origin::Page => &self.page,
        }
    }

    fn tables(&self, origin: Origin) -> [&Table; 2] {
        [&self.common, &self.origin(origin).rules]
    }
}

fn in_words(table: &Table, entry: &str) -> String {
    format!("`{entry}` stands in `deny` of [{}] in roost.toml", table.name)
}

fn built_in(texts: &[&str]) -> Vec<Right> {
    texts.iter().map(|text| text.parse().expect("the built-in policy is made of rights")).collect()
}

#[cfg(test)]
mod tests;
