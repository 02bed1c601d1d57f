//! What an agent file is to the gate: who it is, what it asks for, what holds of that, and what to say of a refusal.

use crate::{
    gate::{Caller, Decision, Gate, Source as GivenBy},
    settings::Home,
};
use roost_protocol::{
    AppId, Asks, Digest, Evidence, HostPort, Origin, Place, Refusal, Right,
};
use std::path::Path;

/// One content of an agent file, as the gate knows it.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    pub(crate) caller: Caller,
    pub(crate) asks: Asks,
}

/// What holds for one content at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct InForce {
    pub(crate) rights: Vec<Right>,
    /// Those of them that a person gave.
    pub(crate) granted: Vec<Right>,
    /// Variables that are asked for and not granted.
    pub(crate) withheld: Vec<String>,
}

impl Standing {
    /// The standing of a file. Files of the agents folder go by their name, others by their path.
    pub(crate) fn new(file: &Path, digest: Digest, asks: Asks, home: &Home) -> Self {
        let app = app_id(file, home);
        Self { caller: Caller { app, digest, origin: Origin::Local }, asks }
    }

    /// Asks the gate about everything the file asks for and everything it was given.
    pub(crate) fn in_force(&self, gate: &Gate) -> InForce {
        let asked = self.asks.asks.iter().map(|ask| ask.right.clone());
        // A person may have given less than was asked for.
        let given = gate.grants().list(Some(&self.caller.app)).unwrap_or_default();
        let mut candidates: Vec<Right> = asked.chain(given.into_iter().map(|grant| grant.right)).collect();
        candidates.sort();
        candidates.dedup();
        let mut found = InForce::default();
        for right in candidates {
            match (gate.decide(&self.caller, &self.asks, &right), &right) {
                (Decision::Allowed { by }, _) => {
                    if matches!(by, GivenBy::Grant(_)) {
                        found.granted.push(right.clone());
                    }
                    found.rights.push(right);
                }
                (Decision::Denied { .. }, Right::Environment(name)) => {
                    found.withheld.push(name.as_str().to_owned());
                }
                (Decision::Denied { .. }, _) => {}
            }
        }
        found
    }

    /// Completes what a worker or the proxy said of a refusal: the right in the words the file would be granted it
    /// by, and the command that does so. Each becomes a row of the audit log.
    pub(crate) fn explain(&self, gate: &Gate, refused: Vec<Refusal>, user_home: Option<&Path>) -> Vec<Refusal> {
        let explained: Vec<Refusal> =
            refused.into_iter().map(|refusal| self.explain_one(gate, refusal, user_home)).collect();
        for refusal in &explained {
            if let Err(failure) = gate.note_refusal(&self.caller, refusal) {
                tracing::error!(%failure, "record what was refused");
            }
        }
        explained
    }

    fn explain_one(&self, gate: &Gate, refusal: Refusal, user_home: Option<&Path>) -> Refusal {
        let Some(right) = refusal.right.as_ref().map(|right| self.wanted(right, user_home)) else {
            return Refusal { next: "no grant allows this".to_owned(), ..refusal };
        };
        let next = gate.would_allow(&self.caller, &self.asks, &right);
        Refusal { right: Some(right), next, ..refusal }
    }

    /// The right to name: what the file asks for where that covers what it tried, else a little more than it tried, so
    /// that one grant is enough for the next file beside it.
    fn wanted(&self, tried: &Right, user_home: Option<&Path>) -> Right {
        let tried = match tried {
            Right::Files { access, place } => Right::Files { access: *access, place: from_home(place, user_home) },
            other => other.clone(),
        };
        let asked = self.asks.asks.iter().filter(|ask| ask.evidence != Evidence::Tried).map(|ask| &ask.right);
        let covering = asked.clone().find(|right| right.covers(&tried) && **right != Right::AnyNetwork);
        match (covering, &tried) {
            (Some(covering), _) => covering.clone(),
            // Which computer it was going to is not known; what its source names is the best guess.
            (None, Right::AnyNetwork) => {
                asked.clone().find(|right| matches!(right, Right::Network(_))).unwrap_or(&tried).clone()
            }
            (None, Right::Network(target)) => Right::Network(web_ports_together(target)),
            (None, Right::Files { access, place }) => {
                let place = folder_of(place).unwrap_or_else(|| place.clone());
                Right::Files { access: *access, place }
            }
            (None, other) => (*other).clone(),
        }
    }
}

/// Who a file is.
pub(crate) fn app_id(file: &Path, home: &Home) -> AppId {
    let in_folder = file.parent() == Some(home.agents());
    let name = file.file_name().and_then(|name| name.to_str());
    match (in_folder, name) {
        (true, Some(name)) => AppId::new(name),
        _ => AppId::new(file.display().to_string()),
    }
}

fn from_home(place: &Place, user_home: Option<&Path>) -> Place {
    let path = place.path(user_home.unwrap_or(Path::new("/")));
    Place::of_path(&path, user_home).unwrap_or_else(|_| place.clone())
}

/// The folder of a file, unless that is the home folder, the root or a folder of the system.
fn folder_of(place: &Place) -> Option<Place> {
    let text = place.to_string();
    let (folder, _) = text.rsplit_once('/')?;
    let depth_min = if folder.starts_with('~') { 1 } else { 2 };
    (folder.matches('/').count() >= depth_min).then(|| Place::parse(folder).ok()).flatten()
}

/// A name without a port stands for both ports of the web.
fn web_ports_together(target: &HostPort) -> HostPort {
    let plain = HostPort { host: target.host.clone(), port: None };
    if plain.covers(target) { plain } else { target.clone() }
}

#[cfg(test)]
mod tests {
    use super::Standing;
    use crate::settings::Home;
    use roost_protocol::{Ask, Asks, Digest, Evidence, Right};
    use std::path::Path;

    fn check(asks: &[&str], tried: &str, expected: &str) {
        let ask = |text: &&str| Ask {
            right: text.parse().unwrap(),
            evidence: Evidence::Source,
            line: None,
            original: None,
        };
        let asks = Asks { declared: false, asks: asks.iter().map(ask).collect() };
        let home = Home::new("/home/me/.roost".into(), None);
        let standing = Standing::new(Path::new("/x/a_agent.py"), Digest::of(b""), asks, &home);
        let wanted = standing.wanted(&tried.parse::<Right>().unwrap(), Some(Path::new("/home/me")));
        assert_eq!(wanted.to_string(), expected, "{tried}");
    }

    #[test]
    fn a_refusal_names_what_the_source_asks_for() {
        check(&["files:write:~/.notes"], "files:write:/home/me/.notes/a/b.json", "files:write:~/.notes");
        check(&["network:api.example.com"], "network:api.example.com:443", "network:api.example.com");
        check(&["network:api.example.com"], "network:*", "network:api.example.com");
        check(&["network:*"], "network:other.example:443", "network:other.example");
    }

    #[test]
    fn a_refusal_that_nothing_announced_names_the_folder_not_the_home() {
        check(&[], "files:read:/home/me/Documents/a.txt", "files:read:~/Documents");
        check(&[], "files:write:/home/me/a.txt", "files:write:~/a.txt");
        check(&[], "files:read:/etc/shadow", "files:read:/etc/shadow");
        check(&[], "files:read:/srv/data/x", "files:read:/srv/data");
        check(&[], "network:host.example:8080", "network:host.example:8080");
    }
}
