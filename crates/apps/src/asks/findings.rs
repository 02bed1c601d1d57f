//! What was found in a source so far, and what follows from all of it together.
//!
//! Both languages report here, so that the same evidence leads to the same rights. Some of it can only be judged at the
//! end: a library that reaches the network asks for any computer only if no computer is named anywhere, and a
//! folder is asked for writing if anything is written anywhere.

use super::urls;
use roost_protocol::{Ask, Asks, Evidence, Right};
use std::collections::HashMap;

/// Variables every agent gets. They need no right.
const BASE_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "AGENTS_PATH",
    "SOUL_PATH",
    "BRAINSTEM_HOME",
    "RAPP_HOME",
    "ROOST_HOME",
    "PORT",
    "XDG_CACHE_HOME",
];

/// Places every agent may use as far as it is good for it, with what is below them.
const FREE_PLACES: &[&str] = &[
    "/tmp",
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/etc/ssl",
    "/proc",
    "/sys",
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
];

/// Most rights of one file: a person reads none of them when there are more.
const RIGHTS_MAX: usize = 1000;

/// Most mentions of a path in one file, the same path counted each time.
const PLACES_MAX: usize = 10_000;

/// The rights a source shows, with their lines, in the order of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Found(Vec<(Right, u32)>);

impl Found {
    pub(super) fn asks(&self) -> Asks {
        let ask = |(right, line): &(Right, u32)| Ask {
            right: right.clone(),
            evidence: Evidence::Source,
            line: Some(*line),
            original: None,
        };
        Asks { declared: false, asks: self.0.iter().map(ask).collect() }
    }
}

/// Evidence, collected in any order. Offsets are bytes from the start of the text.
#[derive(Default)]
pub(super) struct Findings {
    /// Each with the first place that shows it.
    rights: HashMap<Right, usize>,
    /// Paths from the root or from `~`.
    places: Vec<(usize, String)>,
    /// Uses of a network library, and the computer it talks to when nobody says otherwise.
    libraries: Vec<(usize, Option<&'static str>)>,
    /// Where the folder of the agents is used.
    agents: Option<usize>,
    writes: bool,
}

impl Findings {
    /// The text under this name is read from the environment.
    pub(super) fn environment(&mut self, at: usize, name: &str) {
        if name == "AGENTS_PATH" {
            self.agents(at);
        }
        if !BASE_VARIABLES.contains(&name) {
            self.right(at, &format!("env:{name}"));
        }
    }

    /// A text of the source, which may hold addresses.
    pub(super) fn text(&mut self, at: usize, text: &str) {
        urls::networks(text, |right| self.push(at, right));
    }

    /// A connection to a computer by name.
    pub(super) fn host(&mut self, at: usize, host: &str, port: Option<u16>) {
        let target = match port {
            Some(port) if host.contains(':') => format!("[{host}]:{port}"),
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        if let Some(right) = urls::network(&target) {
            self.push(at, right);
        }
    }

    /// A library that reaches the network is used.
    pub(super) fn network_library(&mut self, at: usize, host: Option<&'static str>) {
        self.libraries.push((at, host));
    }

    /// A path below the root or below `~` is used.
    pub(super) fn place(&mut self, at: usize, path: &str) {
        if self.places.len() < PLACES_MAX {
            self.places.push((at, path.to_owned()));
        }
    }

    /// The folder of the agents is used.
    pub(super) fn agents(&mut self, at: usize) {
        self.agents = Some(self.agents.map_or(at, |known| known.min(at)));
    }

    /// Something is written to files.
    pub(super) fn writes(&mut self) {
        self.writes = true;
    }

    /// A right written as text; text that is none is passed over.
    pub(super) fn right(&mut self, at: usize, text: &str) {
        if let Ok(right) = text.parse() {
            self.push(at, right);
        }
    }

    /// Everything that follows, each right once, at the first place that shows it.
    pub(super) fn conclude(mut self, line_of: impl Fn(usize) -> u32) -> Found {
        self.conclude_network();
        self.conclude_places();
        if let Some(at) = self.agents {
            self.right(at, if self.writes { "agents:write" } else { "agents:read" });
        }
        let mut rights: Vec<(usize, Right)> =
            self.rights.into_iter().map(|(right, at)| (at, right)).collect();
        rights.sort();
        Found(rights.into_iter().map(|(at, right)| (right, line_of(at))).collect())
    }

    /// A library's own host counts when the source names no other; any host at all only when there is none.
    fn conclude_network(&mut self) {
        if self.rights.keys().any(|right| matches!(right, Right::Network(_))) {
            return;
        }
        let libraries = std::mem::take(&mut self.libraries);
        let known: Vec<(usize, &str)> =
            libraries.iter().filter_map(|(at, host)| host.map(|host| (*at, host))).collect();
        for (at, host) in &known {
            self.host(*at, host, None);
        }
        if known.is_empty()
            && let Some(at) = libraries.iter().map(|(at, _)| *at).min()
        {
            self.push(at, Right::AnyNetwork);
        }
    }

    fn conclude_places(&mut self) {
        let access = if self.writes { "write" } else { "read" };
        let mut places: Vec<(usize, String)> = std::mem::take(&mut self.places)
            .into_iter()
            .filter_map(|(at, path)| asked_place(&path, self.writes).map(|place| (at, place)))
            .collect();
        // `Path("/srv") / "data"` is found twice, as a whole and as its beginning; the whole says more.
        places.sort();
        places.dedup_by(|longer, shorter| {
            let is_beginning = longer.0 == shorter.0 && longer.1.starts_with(shorter.1.as_str());
            if is_beginning {
                std::mem::swap(longer, shorter);
            }
            is_beginning
        });
        // The whole home is asked for only by those who name nothing in it.
        if places.iter().any(|(_, place)| place.starts_with("~/")) {
            places.retain(|(_, place)| place != "~");
        }
        for (at, place) in places {
            self.right(at, &format!("files:{access}:{place}"));
        }
    }

    fn push(&mut self, at: usize, right: Right) {
        if let Some(first) = self.rights.get_mut(&right) {
            *first = at.min(*first);
        } else if self.rights.len() < RIGHTS_MAX {
            self.rights.insert(right, at);
        }
    }
}

/// The place to ask for when this path is used: below home its first folder, elsewhere the path itself. A file that
/// is written needs its folder, where it may have to be made.
fn asked_place(path: &str, writes: bool) -> Option<String> {
    let mut segments: Vec<&str> =
        path.split('/').filter(|segment| !segment.is_empty() && *segment != ".").collect();
    if segments.contains(&"..") {
        return None;
    }
    if segments.first() == Some(&"~") {
        // A pattern names no folder.
        let first = segments.get(1).filter(|first| !first.contains(['*', '?', '{', '%', '[']));
        return Some(first.map_or_else(|| "~".to_owned(), |first| format!("~/{first}")));
    }
    if !path.starts_with('/') {
        return None;
    }
    if let Some(pattern) = segments.iter().position(|segment| segment.contains(['*', '?', '{', '%', '['])) {
        segments.truncate(pattern);
    }
    let is_file = |name: &&str| name.trim_start_matches('.').contains('.');
    if writes && segments.len() > 1 && segments.last().is_some_and(is_file) {
        segments.pop();
    }
    let place = format!("/{}", segments.join("/"));
    let is_below =
        |free: &&str| place.strip_prefix(*free).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    (!FREE_PLACES.iter().any(is_below)).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::asked_place;

    #[test]
    fn a_path_leads_to_the_place_to_ask_for() {
        for (path, writes, place) in [
            ("~", false, Some("~")),
            ("~/", false, Some("~")),
            ("~/.agent/a/b.json", true, Some("~/.agent")),
            ("~/*.txt", false, Some("~")),
            ("/srv/data", true, Some("/srv/data")),
            ("/srv/data/x.json", false, Some("/srv/data/x.json")),
            ("/srv/data/x.json", true, Some("/srv/data")),
            ("/srv/{day}/x", false, Some("/srv")),
            ("/x.json", true, Some("/x.json")),
            ("/", false, Some("/")),
            ("/tmp/x", true, None),
            ("/tmpfiles", false, Some("/tmpfiles")),
            ("/dev/null", true, None),
            ("/etc/ssl/certs", false, None),
            ("/etc/passwd", false, Some("/etc/passwd")),
            ("/srv/../etc", false, None),
            ("notes.txt", false, None),
        ] {
            assert_eq!(asked_place(path, writes).as_deref(), place, "{path}");
        }
    }
}
