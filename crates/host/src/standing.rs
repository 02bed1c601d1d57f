//! What an agent file is to the gate: who it is, what it asks for, what holds of that, and what to say of a refusal.

use crate::{
    gate::{Caller, Decision, Gate, Source as GivenBy},
    library::Owner,
    settings::Home,
};
use roost_protocol::{
    Access, AgentsUse, AppId, Asks, Digest, Evidence, HostPort, Origin, Place, Refusal, Right,
};
use std::path::{Path, PathBuf};

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
    /// The standing of a file. Files of the agents and services folders go by their name, those of sources with
    /// the source before it, others by their path.
    pub(crate) fn new(file: &Path, digest: Digest, asks: Asks, home: &Home) -> Self {
        let app = app_id(file, home);
        // What a source brought, or came with an app, is another's work. Where nobody can say, it may be.
        let is_own = home.source_of(file).is_none() && home.owner_of(file) == Owner::Nobody;
        let origin = if is_own { Origin::Local } else { Origin::Catalog };
        Self { caller: Caller { app, digest, origin }, asks }
    }

    /// Asks the gate about everything the file asks for and everything it was given.
    pub(crate) fn in_force(&self, gate: &Gate, user_home: Option<&Path>) -> InForce {
        let asked = self.asks.asks.iter().map(|ask| ask.right.clone());
        // A person may have given less than was asked for.
        let given = gate.grants().list(Some(&self.caller.app)).unwrap_or_default();
        let mut candidates: Vec<Right> = asked.chain(given.into_iter().map(|grant| grant.right)).collect();
        // A policy may give the reading of what is asked for to be written.
        candidates.extend(candidates.clone().iter().filter_map(reading_of));
        candidates.sort();
        candidates.dedup();
        let mut found = InForce::default();
        for right in candidates {
            match (gate.decide(&self.caller, &self.asks, &right), &right) {
                (Decision::Allowed { .. }, Right::Files { .. })
                    if leads_elsewhere(&right, &self.caller, gate, user_home) => {}
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
    pub(crate) fn explain(&self, gate: &Gate, refused: Vec<Refusal>, around: Places<'_>) -> Vec<Refusal> {
        if refused.is_empty() {
            return refused;
        }
        let explained: Vec<Refusal> =
            refused.into_iter().map(|refusal| self.explain_one(gate, refusal, around)).collect();
        let noted = explained.iter().try_for_each(|refusal| gate.note_refusal(&self.caller, refusal));
        // At once: the person who reads of it may grant it from another process.
        if let Err(failure) = noted.and_then(|()| gate.grants().flush()) {
            tracing::error!(%failure, "record what was refused");
        }
        explained
    }

    fn explain_one(&self, gate: &Gate, refusal: Refusal, around: Places<'_>) -> Refusal {
        let Some(right) = refusal.right.as_ref().map(|right| self.wanted(right, around)) else {
            return Refusal { next: "no grant allows this".to_owned(), ..refusal };
        };
        let next = gate.would_allow(&self.caller, &self.asks, &right);
        Refusal { right: Some(right), next, ..refusal }
    }

    /// The right to name: what the file asks for where that covers what it tried, else a little more than it tried, so
    /// that one grant is enough for the next file beside it.
    fn wanted(&self, tried: &Right, around: Places<'_>) -> Right {
        let tried = match tried {
            Right::Files { access, place } => around.right_to(place, *access),
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
                Right::Files { access: *access, place: around.folder_to_name(place) }
            }
            (None, other) => (*other).clone(),
        }
    }
}

/// True when a link in the place leads to what the host keeps for itself, or to what a policy denies. Links that an agent
/// could have put there are refused once more when the place is opened for a worker.
fn leads_elsewhere(right: &Right, caller: &Caller, gate: &Gate, user_home: Option<&Path>) -> bool {
    let Right::Files { access, place } = right else { return false };
    let real = place.path(user_home.unwrap_or(Path::new("/"))).canonicalize();
    let real = real.ok().and_then(|path| Place::of_path(&path, None).ok());
    real.is_some_and(|place| {
        let right = Right::Files { access: *access, place };
        gate.is_closed(&right) || gate.policy().denies(caller.origin, &right).is_some()
    })
}

/// The narrower right to read only, for a right to write.
fn reading_of(right: &Right) -> Option<Right> {
    match right {
        Right::Files { access: Access::Write, place } => {
            Some(Right::Files { access: Access::Read, place: place.clone() })
        }
        Right::Memory(Access::Write) => Some(Right::Memory(Access::Read)),
        Right::Agents(AgentsUse::Write) => Some(Right::Agents(AgentsUse::Read)),
        _ => None,
    }
}

/// Who a file is.
pub(crate) fn app_id(file: &Path, home: &Home) -> AppId {
    let in_folder = file.parent().is_some_and(|folder| folder == home.agents() || folder == home.services());
    let name = file.file_name().and_then(|name| name.to_str());
    match (in_folder, name, home.source_of(file)) {
        (true, Some(name), _) => AppId::new(name),
        (false, Some(name), Some(source)) => AppId::new(format!("{source}/{name}")),
        _ => AppId::new(file.display().to_string()),
    }
}

/// Where things lie, for naming them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) home: &'a Home,
    pub(crate) user_home: Option<&'a Path>,
}

impl Places<'_> {
    fn path(self, place: &Place) -> PathBuf {
        place.path(self.user_home.unwrap_or(Path::new("/")))
    }

    /// The right to something at this place: agents have a right of their own, and what is below the person's home is
    /// named from there.
    fn right_to(self, place: &Place, access: Access) -> Right {
        let path = self.path(place);
        if path.starts_with(self.home.agents()) {
            let use_of_agents = if access == Access::Read { AgentsUse::Read } else { AgentsUse::Write };
            return Right::Agents(use_of_agents);
        }
        let place = Place::of_path(&path, self.user_home).unwrap_or_else(|_| place.clone());
        Right::Files { access, place }
    }

    /// The folder to name instead of a file in it: the one it lies in, unless that is the person's home, a folder of
    /// the system, or the host's. What agents keep is told apart by the first folder below the data folder.
    fn folder_to_name(self, place: &Place) -> Place {
        let path = self.path(place);
        let data = self.home.data();
        if let Ok(below) = path.strip_prefix(&data) {
            let first = below.iter().next().map(|first| data.join(first));
            return first
                .and_then(|path| Place::of_path(&path, self.user_home).ok())
                .unwrap_or_else(|| place.clone());
        }
        if path.starts_with(self.home.root()) {
            return place.clone();
        }
        let text = place.to_string();
        let Some((folder, _)) = text.rsplit_once('/') else { return place.clone() };
        let depth_min = if folder.starts_with('~') { 1 } else { 2 };
        let holds_the_home = self.home.root().starts_with(path.parent().unwrap_or(&path));
        if folder.matches('/').count() < depth_min || holds_the_home {
            return place.clone();
        }
        Place::parse(folder).unwrap_or_else(|_| place.clone())
    }
}

/// A name without a port stands for both ports of the web.
fn web_ports_together(target: &HostPort) -> HostPort {
    let plain = HostPort { host: target.host.clone(), port: None };
    if plain.covers(target) { plain } else { target.clone() }
}

#[cfg(test)]
mod tests {
    use super::{Places, Standing};
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
        let around = Places { home: &home, user_home: Some(Path::new("/home/me")) };
        let wanted = standing.wanted(&tried.parse::<Right>().unwrap(), around);
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

    #[test]
    fn a_refusal_near_the_host_never_names_the_host() {
        check(&[], "files:read:/home/me/.roost/agents/other_agent.py", "agents:read");
        check(&[], "files:write:/home/me/.roost/agents/new_agent.py", "agents:write");
        check(
            &[],
            "files:write:/home/me/.roost/.brainstem_data/notes/a/b.txt",
            "files:write:~/.roost/.brainstem_data/notes",
        );
        check(&[], "files:read:/home/me/.roost/roost.toml", "files:read:~/.roost/roost.toml");
        check(&[], "files:write:/home/me/.roost", "files:write:~/.roost");
    }
}
