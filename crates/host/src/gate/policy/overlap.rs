//! Rights that share something: having both, an app could do at least one thing by either of them.

use roost_protocol::{AgentsUse, Host, HostPort, Pattern, Right};

/// True when the two allow one thing in common. Writing counts with the reading that comes with it.
pub(super) fn overlaps(one: &Right, other: &Right) -> bool {
    one.covers(other) || other.covers(one) || crosses(one, other)
}

/// True for two that share something although neither covers the other.
fn crosses(one: &Right, other: &Right) -> bool {
    match (one, other) {
        (Right::Network(one), Right::Network(other)) => targets_meet(one, other),
        (Right::Files { place: one, .. }, Right::Files { place: other, .. }) => {
            one.covers(other) || other.covers(one)
        }
        // Whoever denies a secret denies it encrypted or not.
        (
            Right::Secret { name, host, header, .. },
            Right::Secret { name: other_name, host: other_host, header: other_header, .. },
        ) => name == other_name && header == other_header && targets_meet(host, other_host),
        (Right::Agents(AgentsUse::Call(one)), Right::Agents(AgentsUse::Call(other)))
        | (Right::Hooks(one), Right::Hooks(other))
        | (Right::Workspace { pattern: one, .. }, Right::Workspace { pattern: other, .. }) => {
            patterns_meet(one, other)
        }
        (
            Right::Events { direction, pattern },
            Right::Events { direction: other_direction, pattern: other_pattern },
        ) => direction == other_direction && patterns_meet(pattern, other_pattern),
        _ => false,
    }
}

fn targets_meet(one: &HostPort, other: &HostPort) -> bool {
    let on_any_port = |host: &Host| HostPort { host: host.clone(), port: None };
    let hosts_meet = one.host.covers(&other.host) || other.host.covers(&one.host);
    // Ports are the web's two or exactly one, so that two sets of them are apart or one holds the other.
    let with_ports_of = |target: &HostPort| HostPort { port: target.port, ..on_any_port(&one.host) };
    let (ours, theirs) = (with_ports_of(one), with_ports_of(other));
    hosts_meet && (ours.covers(&theirs) || theirs.covers(&ours))
}

/// True when some name fits both. Between two patterns that each have a `*`, only their ends can be in the way: a name
/// of the longer beginning, the middles of both and the longer end fits them.
fn patterns_meet(one: &Pattern, other: &Pattern) -> bool {
    let has_star = |pattern: &Pattern| pattern.as_str().contains('*');
    if !has_star(one) || !has_star(other) {
        return one.covers(other) || other.covers(one);
    }
    let begin = |pattern: &Pattern| pattern.as_str().split('*').next().unwrap_or_default().to_owned();
    let end = |pattern: &Pattern| pattern.as_str().rsplit('*').next().unwrap_or_default().to_owned();
    let (our_begin, their_begin) = (begin(one), begin(other));
    let (our_end, their_end) = (end(one), end(other));
    (our_begin.starts_with(&their_begin) || their_begin.starts_with(&our_begin))
        && (our_end.ends_with(&their_end) || their_end.ends_with(&our_end))
}

#[cfg(test)]
mod tests {
    use super::overlaps;

    fn check(one: &str, other: &str, expected: bool) {
        let (one, other) = (one.parse().unwrap(), other.parse().unwrap());
        assert_eq!(overlaps(&one, &other), expected, "{one} {other}");
        assert_eq!(overlaps(&other, &one), expected, "{other} {one}");
    }

    #[test]
    fn rights_overlap_when_one_thing_is_allowed_by_both() {
        check("files:read:~/.ssh", "files:write:~/.ssh/id", true);
        check("files:write:~", "files:read:~/.ssh", true);
        check("network:*", "network:a.example.com", true);
        check("network:*.example.com:443", "network:a.example.com", true);
        check("network:a.example.com:8080", "network:*.example.com:8080", true);
        check("workspace:read:a*", "workspace:write:*b", true);
        check("agents:call:*", "agents:call:Shell", true);
        check("secret:K@*.example.com:x-key", "secret:K@a.example.com:x-key", true);
    }

    #[test]
    fn rights_apart_do_not_overlap() {
        check("files:read:~/a", "files:read:~/ab", false);
        check("network:a.example.com:8080", "network:a.example.com", false);
        check("network:*.example.com", "network:example.com", false);
        check("workspace:read:a*", "workspace:read:b*", false);
        check("workspace:read:*a", "workspace:read:x*b", false);
        check("agents:call:Shell*", "agents:call:Weather", false);
        check("events:watch:*", "events:emit:*", false);
        check("env:A", "env:B", false);
        check("memory:write", "model", false);
    }
}
