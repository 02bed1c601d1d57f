//! The `[policy]` table as a person wrote it, and what is wrong with it.

use super::super::shown_text::shown;
use super::rules::Rules;
use roost_protocol::{Failure, Host, HostPort, Reason, Right};
use serde::{Deserialize, de::DeserializeOwned};

pub(super) const COMMON: &str = "policy";
pub(super) const LOCAL: &str = "policy.local";
pub(super) const CATALOG: &str = "policy.catalog";
pub(super) const GENERATED: &str = "policy.generated";
pub(super) const PAGE: &str = "policy.page";

/// More rules than a person keeps in view; a generated list above it would slow every start.
const RULES_MAX: usize = 10_000;

/// How much of a wrong entry a message repeats: enough to find it.
const ENTRY_CHARACTERS_MAX: usize = 120;

/// Everything that was written, each entry a right.
#[derive(Debug)]
pub(super) struct WrittenPolicy {
    pub(super) common: Lists,
    pub(super) local: WrittenOrigin,
    pub(super) catalog: WrittenOrigin,
    pub(super) generated: WrittenOrigin,
    pub(super) page: WrittenOrigin,
}

#[derive(Debug)]
pub(super) struct Lists {
    pub(super) allow: Option<Vec<Right>>,
    pub(super) deny: Vec<Right>,
}

#[derive(Debug)]
pub(super) struct WrittenOrigin {
    pub(super) lists: Lists,
    pub(super) keep_always_grants: Option<bool>,
    pub(super) ask: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyTable {
    allow: Option<Vec<toml::Value>>,
    deny: Option<Vec<toml::Value>>,
    local: Option<toml::Value>,
    catalog: Option<toml::Value>,
    generated: Option<toml::Value>,
    page: Option<toml::Value>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct OriginPolicyTable {
    allow: Option<Vec<toml::Value>>,
    deny: Option<Vec<toml::Value>>,
    keep_always_grants: Option<bool>,
    ask: Option<bool>,
}

impl WrittenPolicy {
    pub(super) fn read(table: toml::Table) -> Result<Self, Failure> {
        let policy: PolicyTable = shape(COMMON, toml::Value::Table(table))?;
        let mut left = RULES_MAX;
        let common = lists(COMMON, policy.allow, policy.deny, &mut left)?;
        let mut origin = |name, value: Option<toml::Value>| {
            let table: OriginPolicyTable =
                value.map_or(Ok(OriginPolicyTable::default()), |value| shape(name, value))?;
            let lists = lists(name, table.allow, table.deny, &mut left)?;
            let OriginPolicyTable { keep_always_grants, ask, .. } = table;
            Ok::<_, Failure>(WrittenOrigin { lists, keep_always_grants, ask })
        };
        Ok(Self {
            common,
            local: origin(LOCAL, policy.local)?,
            catalog: origin(CATALOG, policy.catalog)?,
            generated: origin(GENERATED, policy.generated)?,
            page: origin(PAGE, policy.page)?,
        })
    }
}

/// An entry of `allow` that a `deny` makes void was meant to have an effect and has none.
pub(super) fn refuse_dead_entries(
    table: &str,
    allow: &[Right],
    deny: &Rules,
    deny_table: &str,
) -> Result<(), Failure> {
    for right in allow {
        let Some(entry) = deny.covering(right) else { continue };
        let entry = shown(entry, ENTRY_CHARACTERS_MAX);
        let right = shown(&right.to_string(), ENTRY_CHARACTERS_MAX);
        let problem = if right == entry && table == deny_table {
            format!("`{right}` stands in `allow` and in `deny`; remove one of them")
        } else {
            format!(
                "`{right}` in `allow` has no effect, because `{entry}` in `deny` of [{deny_table}] covers it"
            )
        };
        return Err(wrong(table, &problem));
    }
    Ok(())
}

fn shape<T: DeserializeOwned>(table: &str, value: toml::Value) -> Result<T, Failure> {
    value.try_into().map_err(|error: toml::de::Error| wrong(table, error.message()))
}

fn lists(
    table: &str,
    allow: Option<Vec<toml::Value>>,
    deny: Option<Vec<toml::Value>>,
    left: &mut usize,
) -> Result<Lists, Failure> {
    let mut read = |list: &str, entries: Vec<toml::Value>, parse: fn(&str) -> Result<Right, String>| {
        *left = left.checked_sub(entries.len()).ok_or_else(|| {
            wrong(table, &format!("`{list}` brings the policy above {RULES_MAX} entries; use wider ones"))
        })?;
        let one = |(position, entry): (usize, &toml::Value)| {
            let number = position + 1;
            let text = entry.as_str().ok_or_else(|| {
                wrong(table, &format!("entry {number} of `{list}`, `{entry}`, is not text"))
            })?;
            parse(text).map_err(|error| wrong(table, &format!("entry {number} of `{list}`: {error}")))
        };
        entries.iter().enumerate().map(one).collect::<Result<Vec<_>, Failure>>()
    };
    let allow = allow.map(|entries| read("allow", entries, parse_allowed)).transpose()?;
    let deny = read("deny", deny.unwrap_or_default(), parse_denied)?;
    Ok(Lists { allow, deny })
}

fn parse_allowed(text: &str) -> Result<Right, String> {
    text.parse::<Right>().map_err(|error| error.to_string())
}

/// Also takes `network:*.internal`: far too much to grant, and just right to deny.
fn parse_denied(text: &str) -> Result<Right, String> {
    text.parse::<Right>().or_else(|error| below_one_label(text).ok_or_else(|| error.to_string()))
}

fn below_one_label(text: &str) -> Option<Right> {
    let target = HostPort::parse(text.strip_prefix("network:*.")?).ok()?;
    match target.host {
        Host::Name(name) => Some(Right::Network(HostPort { host: Host::Below(name), port: target.port })),
        Host::Below(_) | Host::Address(_) => None,
    }
}

fn wrong(table: &str, problem: &str) -> Failure {
    /// Room for two entries and the sentence around them.
    const MESSAGE_CHARACTERS_MAX: usize = 600;
    let message = format!("roost.toml: [{table}]: {}", shown(problem, MESSAGE_CHARACTERS_MAX));
    Failure::new(Reason::InvalidSettings, message).with_next(format!("fix [{table}] in roost.toml"))
}
