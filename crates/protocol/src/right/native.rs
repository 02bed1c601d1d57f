//! Permissions of native apps, `prefix:suffix`, as rights and back.
//!
//! The native list is closed as ours is: an unknown prefix or a suffix its prefix does not have is refused. What the
//! app wrote stays with the ask, since several permissions can mean the same right.

use super::{InvalidRight, Right, invalid};
use crate::{Ask, Evidence};
use Suffixes::{Any, Only};

/// What may stand after a prefix, besides `*`.
#[derive(Debug, Clone, Copy)]
enum Suffixes {
    /// One of these.
    Only(&'static [&'static str]),
    /// Names that the prefix does not know beforehand.
    Any,
}

/// Every prefix of the native contract.
const PREFIXES: &[(&str, Suffixes)] = &[
    ("network", Any),
    ("filesystem", Only(&["read", "write"])),
    // The specification says both; taking any name refuses no app that runs elsewhere.
    ("settings", Any),
    ("capability", Only(&["register"])),
    ("memory", Only(&["read", "write"])),
    ("session", Only(&["read", "write", "create"])),
    ("context", Only(&["read"])),
    ("tool", Only(&["file", "shell", "web", "agent", "skill"])),
    ("shell", Only(&["exec"])),
    ("subagent", Only(&["spawn"])),
    ("lane", Only(&["enqueue"])),
    ("channel", Only(&["send", "receive"])),
    ("comm", Only(&["send", "receive"])),
    ("notification", Only(&["send"])),
    ("embedding", Only(&["search", "store"])),
    ("skill", Only(&["invoke"])),
    ("advisor", Only(&["consult"])),
    ("model", Only(&["chat", "embed"])),
    ("mcp", Only(&["connect"])),
    ("database", Only(&["query", "read", "write"])),
    ("storage", Only(&["read", "write"])),
    ("schedule", Only(&["create", "delete", "list"])),
    ("voice", Only(&["record"])),
    ("browser", Only(&["navigate"])),
    ("oauth", Any),
    ("user", Only(&["token", "id"])),
    ("hook", Any),
];

/// The right a native permission asks for. The ask keeps the permission as it was written.
pub fn from_native(text: &str) -> Result<Ask, InvalidRight> {
    let (prefix, suffix) =
        text.split_once(':').ok_or_else(|| invalid(text, "is not a permission: it has no `:`"))?;
    let (_, suffixes) = PREFIXES
        .iter()
        .find(|(known, _)| *known == prefix)
        .ok_or_else(|| invalid(text, "is not a permission of native apps"))?;
    let fits = match suffixes {
        _ if suffix == "*" => true,
        Only(allowed) => allowed.contains(&suffix),
        Any => !suffix.is_empty() && suffix.bytes().all(is_flexible),
    };
    if !fits {
        return Err(invalid(text, "has nothing after its `:` that native apps can ask for"));
    }
    let right = right_of(prefix, suffix)?;
    Ok(Ask { right, evidence: Evidence::Declared, line: None, original: Some(text.to_owned()) })
}

/// The native permission an ask stands for. A right that native apps cannot ask for is written as the right itself.
#[must_use]
pub fn to_native(ask: &Ask) -> String {
    let written = ask.original.as_deref().filter(|text| {
        // Whatever the original says, only a permission that means this very right may be shown for it.
        from_native(text).is_ok_and(|again| again.right == ask.right)
    });
    match written {
        Some(text) => text.to_owned(),
        None => native_of(&ask.right),
    }
}

fn right_of(prefix: &str, suffix: &str) -> Result<Right, InvalidRight> {
    let access = if suffix == "read" { "read" } else { "write" };
    match (prefix, suffix) {
        ("network", "*" | "outbound") => Ok(Right::AnyNetwork),
        // A name that is no computer's could mean anything, so it is shown as what it could mean at most.
        ("network", target) => Ok(format!("network:{target}").parse().unwrap_or(Right::AnyNetwork)),
        ("filesystem", _) => format!("files:{access}:/").parse(),
        ("memory", _) => format!("memory:{access}").parse(),
        ("shell", _) | ("tool", "shell") => Ok(Right::Subprocess),
        ("model", _) => Ok(Right::Model),
        ("schedule", _) => Ok(Right::Schedule),
        ("notification", _) => Ok(Right::Notifications),
        ("subagent", _) => "agents:call:*".parse(),
        ("hook", name) => format!("hooks:{name}").parse(),
        _ => format!("feature:{prefix}:{suffix}").parse(),
    }
}

fn native_of(right: &Right) -> String {
    let text = right.to_string();
    let (kind, rest) = text.split_once(':').unwrap_or((&text, ""));
    let native = match (kind, rest) {
        ("files", "read:/") => "filesystem:read".to_owned(),
        ("files", "write:/") => "filesystem:write".to_owned(),
        ("subprocess", _) => "shell:exec".to_owned(),
        ("model", _) => "model:chat".to_owned(),
        ("schedule", _) => "schedule:*".to_owned(),
        ("notifications", _) => "notification:send".to_owned(),
        ("agents", "call:*") => "subagent:spawn".to_owned(),
        ("hooks", name) => format!("hook:{name}"),
        ("feature", rest) => rest.to_owned(),
        _ => text.clone(),
    };
    // Only what reads back as the same right is a permission for it; `network:[::1]:80`, for one, is not.
    if from_native(&native).is_ok_and(|ask| ask.right == *right) { native } else { text }
}

fn is_flexible(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-:_".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::{Any, Only, PREFIXES, from_native, to_native};
    use crate::{Ask, Evidence, Right};
    use proptest::prelude::*;

    #[test]
    fn every_permission_has_its_right() {
        for (native, right) in [
            ("network:example.com:443", "network:example.com:443"),
            ("network:example.com", "network:example.com"),
            ("network:*", "network:*"),
            ("network:outbound", "network:*"),
            ("network:a..b", "network:*"),
            ("filesystem:read", "files:read:/"),
            ("filesystem:write", "files:write:/"),
            ("filesystem:*", "files:write:/"),
            ("settings:read", "feature:settings:read"),
            ("memory:read", "memory:read"),
            ("memory:*", "memory:write"),
            ("session:create", "feature:session:create"),
            ("tool:shell", "subprocess"),
            ("tool:web", "feature:tool:web"),
            ("shell:exec", "subprocess"),
            ("channel:send", "feature:channel:send"),
            ("comm:send", "feature:comm:send"),
            ("model:chat", "model"),
            ("user:token", "feature:user:token"),
            ("database:read", "feature:database:read"),
            ("schedule:create", "schedule"),
            ("oauth:google", "feature:oauth:google"),
            ("hook:tool.pre_execute", "hooks:tool.pre_execute"),
            ("hook:*", "hooks:*"),
            ("notification:send", "notifications"),
            ("subagent:spawn", "agents:call:*"),
            ("storage:*", "feature:storage:*"),
        ] {
            let ask = from_native(native).unwrap();
            assert_eq!(ask.right.to_string(), right, "{native}");
            assert_eq!((ask.evidence, ask.original.as_deref()), (Evidence::Declared, Some(native)));
        }
    }

    #[test]
    fn what_the_native_contract_refuses_is_refused() {
        for text in [
            "bogus:foo",
            "admin:root",
            "",
            "noprefixhere",
            "memory:banana",
            "shell:rm",
            "network:",
            "settings:",
            "network:Example.com",
            "network:a/b",
            "network:exa\u{202e}mple.com",
            "hook:two words",
            "memory:read ",
            ":read",
        ] {
            assert!(from_native(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_right_without_a_native_origin_is_written_in_the_nearest_native_form() {
        for (right, native) in [
            ("subprocess", "shell:exec"),
            ("model", "model:chat"),
            ("schedule", "schedule:*"),
            ("files:write:/", "filesystem:write"),
            ("agents:call:*", "subagent:spawn"),
            ("network:example.com:8443", "network:example.com:8443"),
            ("network:[::1]:80", "network:[::1]:80"),
            ("feature:user:id", "user:id"),
            ("files:read:~/notes", "files:read:~/notes"),
            ("clipboard", "clipboard"),
        ] {
            let right: Right = right.parse().unwrap();
            let ask = Ask { right, evidence: Evidence::Declared, line: None, original: None };
            assert_eq!(to_native(&ask), native);
        }
    }

    #[test]
    fn an_original_that_means_something_else_is_not_shown() {
        let mut ask = from_native("network:*").unwrap();
        ask.original = Some("memory:read".to_owned());
        assert_eq!(to_native(&ask), "network:*");
    }

    fn any_permission() -> impl Strategy<Value = String> {
        (prop::sample::select(PREFIXES), "[a-z0-9.:_-]{1,24}", any::<prop::sample::Index>(), 0..4_u8)
            .prop_map(|((prefix, suffixes), name, index, star)| match suffixes {
                _ if star == 0 => format!("{prefix}:*"),
                Any => format!("{prefix}:{name}"),
                Only(allowed) => format!("{prefix}:{}", index.get(allowed)),
            })
    }

    proptest! {
        #[test]
        fn every_valid_permission_goes_there_and_back_unchanged(native in any_permission()) {
            let ask = from_native(&native).unwrap();
            prop_assert_eq!(to_native(&ask), native);
            prop_assert_eq!(ask.right.to_string().parse::<Right>(), Ok(ask.right));
        }

        #[test]
        fn no_text_breaks_the_translation(text in ".{0,40}") {
            if let Ok(ask) = from_native(&text) {
                prop_assert_eq!(to_native(&ask), text);
            }
        }
    }
}
