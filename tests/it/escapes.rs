//! Escapes: everything an agent must not do, tried for real on every engine, as root and as an ordinary user. Each is
//! refused, and stands in the receipt and in the audit log.

mod bait; // what an agent must not reach
mod expected; // how refusals are called
mod hygiene; // what one agent sees of another
mod links; // granted places that became something else
mod lasting; // past its end, and past its room
mod packages; // what comes with an agent
mod network; // with a way out

use self::{
    bait::{Bait, DISK_MB},
    expected::{NEEDS_PERL, NOT_SEEN, NOT_TRIED, SEEN},
};
use roost_tests::{
    Engine, RunningHost, TestHome, User, find_on_path, python_file, repository_root, typescript_agent,
    until_some,
};
use serde_json::{Value, json};
use std::fs;

/// The name of the agent in the probe files.
const PROBE: &str = "SandboxProbe";

/// The probes of an engine, in its home.
struct Probes {
    user: User,
    engine: Engine,
    home: TestHome,
    file: &'static str,
}

impl Probes {
    /// `None`, and said so, when this machine does not have the engine for this user.
    fn put(user: User, engine: Engine, settings: &str) -> Option<Self> {
        let home = user.home(engine)?;
        let (file, source) = match engine {
            Engine::Python => ("probe_agent.py", "runners/python/probe_agent.py"),
            Engine::Node | Engine::Deno => ("ProbeAgent.js", "runners/typescript/probe_agent.js"),
        };
        home.write(file, fs::read(repository_root().join(source)).unwrap());
        home.settings(settings);
        Some(Self { user, engine, home, file })
    }

    fn stem(&self) -> &str {
        self.file.split('.').next().unwrap()
    }

    /// Puts the rights it asks for at the top of the file.
    fn declare(&self, rights: &[&str]) {
        let mark = if self.engine == Engine::Python { "#" } else { "//" };
        let source = fs::read_to_string(self.home.agents().join(self.file)).unwrap();
        let lines = ["/// script", "[tool.roost]", &format!("rights = {rights:?}"), "///"];
        let block: String = lines.iter().map(|line| format!("{mark} {line}\n")).collect();
        self.home.write(self.file, format!("{block}{source}"));
    }

    fn grant(&self, right: &str) {
        let ran = self.user.roost(&self.home, &["grant", self.file, right]);
        assert_eq!(ran.status, 0, "{ran:?}");
    }

    /// What the audit log says was refused to the agent, once the log has come that far.
    fn refused_in_audit(&self, host: &RunningHost) -> Vec<String> {
        let last = self.home.outside().join("the-last-one");
        attempt(host, "write_outside", &json!({ "outside_path": last }));
        until_some("the last refusal is in the audit log", || {
            let rows = self.rows_in_audit();
            mentions(&rows, &["the-last-one"]).then_some(rows)
        })
    }

    fn rows_in_audit(&self) -> Vec<String> {
        let ran = self.user.roost(&self.home, &["audit", "--app", self.file, "--limit", "10000", "--json"]);
        let rows = ran.json()["rows"].as_array().unwrap().clone();
        let refused = rows.iter().filter(|row| row["what"] == "refused");
        refused.filter_map(|row| row["detail"].as_str().map(str::to_owned)).collect()
    }
}

/// The names of all probes, from the agent's own parameters.
fn names(host: &RunningHost) -> Vec<String> {
    let listing = host.listing();
    let agent = listing.iter().find(|agent| agent["name"] == PROBE).unwrap();
    let names = agent["parameters"]["properties"]["probe"]["enum"].as_array().unwrap();
    names.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// One probe, in a call of its own: what it says, and the receipt.
fn attempt(host: &RunningHost, probe: &str, targets: &Value) -> (Value, Value) {
    let mut outcome = host.call(PROBE, &json!({ "probe": probe, "targets": targets })).json();
    let said = outcome["output"].as_str().and_then(|text| serde_json::from_str(text).ok());
    let is_ended = probe == "fill_disk" && outcome["error"]["reason"] == "disk_limit";
    let said = said.or_else(|| is_ended.then(|| json!({ "probe": probe, "escaped": false })));
    let said = said.unwrap_or_else(|| panic!("{probe}: {outcome}"));
    (said, outcome["receipt"].take())
}

/// The descriptions of what was refused.
fn refused(receipt: &Value) -> Vec<String> {
    let refusals = receipt["refused"].as_array().unwrap_or_else(|| panic!("no receipt: {receipt}"));
    refusals.iter().map(|refusal| refusal["what"].as_str().unwrap().to_owned()).collect()
}

fn mentions(lines: &[String], words: &[&str]) -> bool {
    lines.iter().any(|line| words.iter().any(|word| line.contains(word)))
}

/// All probes one by one, first without any grant and then with the one to start programs.
fn check(engine: Engine, user: User) {
    if find_on_path("perl").is_none() {
        return eprintln!("skipped: no Perl, which makes shared memory, and system calls for Node and Deno");
    }
    let Some(probes) = Probes::put(user, engine, &format!("[limits]\ndisk_mb = {DISK_MB}\n")) else { return };
    let bait = Bait::lay(&probes.home);
    user.own(&probes.home);
    let host = user.up(&probes.home);
    let targets = bait.targets(&host, probes.stem());
    let names = names(&host);
    assert!(names.len() >= 50, "{names:?}");
    let mut wrong = Vec::new();
    for with_programs in [false, true] {
        if with_programs {
            probes.grant("subprocess");
        }
        for name in &names {
            let (said, receipt) = attempt(&host, name, &targets);
            wrong.extend(mistakes(&probes, name, with_programs, &said, &receipt));
        }
    }
    let rows = probes.refused_in_audit(&host);
    for (name, words) in SEEN.iter().filter(|(name, _)| names.iter().any(|one| one == name)) {
        let is_exempt = NOT_SEEN.iter().any(|one| one.probe == *name && one.engines.contains(&engine));
        if !is_exempt && !mentions(&rows, words) {
            wrong.push(format!("{name}: the audit log has no row with {words:?}"));
        }
    }
    assert!(wrong.is_empty(), "{engine:?} as {user:?}:\n{}", wrong.join("\n"));
    bait.assert_untouched();
}

/// What is wrong with the outcome of one probe.
fn mistakes(probes: &Probes, name: &str, with_programs: bool, said: &Value, receipt: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut object = |what: String| wrong.push(format!("{name} (programs: {with_programs}): {what}"));
    if said["escaped"] == true {
        object(format!("escaped: {said}"));
    }
    let enforcement = &receipt["enforcement"];
    if enforcement["level"] != "full" || enforcement["network"] != "none" {
        object(format!("confined as {enforcement}"));
    }
    if let Some(why) = said["skipped"].as_str() {
        let is_known = NOT_TRIED.contains(&(name, why));
        let is_for_want_of_a_program = !with_programs && why.starts_with(NEEDS_PERL);
        if !is_known && !is_for_want_of_a_program {
            object(format!("not tried: {why}"));
        }
        return wrong;
    }
    let Some((_, words)) = SEEN.iter().find(|(one, _)| *one == name) else { return wrong };
    let lines = refused(receipt);
    let is_exempt = NOT_SEEN.iter().any(|one| {
        one.probe == name
            && one.engines.contains(&probes.engine)
            && (with_programs || !one.only_with_programs)
    });
    match (mentions(&lines, words), is_exempt) {
        (true, true) => object(format!("is seen by now, take it from NOT_SEEN: {lines:?}")),
        (false, false) => object(format!("the receipt has nothing of {words:?}: {lines:?}; it said {said}")),
        _ => {}
    }
    wrong
}

#[test]
fn no_probe_escapes_from_python() {
    check(Engine::Python, User::Caller);
}

#[test]
fn no_probe_escapes_from_python_as_an_ordinary_user() {
    check(Engine::Python, User::Ordinary);
}

#[test]
fn no_probe_escapes_from_node() {
    check(Engine::Node, User::Caller);
}

#[test]
fn no_probe_escapes_from_node_as_an_ordinary_user() {
    check(Engine::Node, User::Ordinary);
}

#[test]
fn no_probe_escapes_from_deno() {
    check(Engine::Deno, User::Caller);
}

#[test]
fn no_probe_escapes_from_deno_as_an_ordinary_user() {
    check(Engine::Deno, User::Ordinary);
}

/// Probes that need no more than an open door: each gets through where there is no sandbox.
const THROUGH_OPEN_DOORS: &[&str] = &[
    "ssh_folder",
    "host_database",
    "other_agent_folder",
    "symlink_out",
    "hard_link_out",
    "rename_in",
    "write_outside",
    "write_home",
    "kill_host",
    "proc_others",
    "host_socket_path",
    "host_socket_abstract",
    "datagram_socketpair",
    "udp_send",
    "tcp_connect",
    "ip_literal",
    "dropped_binary",
    "memfd_exec",
    "shared_memory",
];

#[test]
fn without_a_sandbox_the_same_probes_get_through() {
    let settings =
        "[sandbox]\nrequire = \"process-only\"\nleave_out = [\"landlock\", \"seccomp\", \"namespaces\"]\n";
    for (engine, user) in Engine::ALL.into_iter().flat_map(|engine| User::ALL.map(|user| (engine, user))) {
        let Some(probes) = Probes::put(user, engine, settings) else { continue };
        let bait = Bait::lay(&probes.home);
        user.own(&probes.home);
        probes.grant("subprocess");
        let host = user.up(&probes.home);
        let targets = bait.targets(&host, probes.stem());
        let mut held = Vec::new();
        for probe in THROUGH_OPEN_DOORS {
            let (said, receipt) = attempt(&host, probe, &targets);
            assert_eq!(receipt["enforcement"]["level"], "process-only", "{receipt}");
            if said["escaped"] != true {
                held.push(said.to_string());
            }
        }
        // Deno has doors of its own, so that what stands behind them is met by the programs it starts.
        if engine != Engine::Deno {
            assert!(
                held.is_empty(),
                "{engine:?} as {user:?}: no proof that a sandbox holds these:\n{}",
                held.join("\n")
            );
        }
    }
}

/// What a program tries in place of the agent: it says `through` and what of everything that works.
const PROGRAM: &str = r#"
cd "$1"
for file in .ssh/id_ed25519 secret.txt movable.txt ../home/roost.db ../home/.brainstem_data/other_agent/note.txt; do
  cat "$file" >/dev/null 2>&1 && echo "through read $file"
  ln -s "$1/$file" "$TMPDIR/link" && cat "$TMPDIR/link" >/dev/null 2>&1 && echo "through link $file"
  ln "$file" "$TMPDIR/hard" 2>/dev/null && echo "through hard link $file"
  rm -f "$TMPDIR/link" "$TMPDIR/hard"
done
mv movable.txt "$TMPDIR/moved" 2>/dev/null && echo "through move"
(echo made > new.txt) 2>/dev/null && echo "through write"
kill -0 "$2" 2>/dev/null && [ ! -e "/proc/$2" ] && echo "through signal"
cat "/proc/$2/environ" >/dev/null 2>&1 && echo "through environ"
cp /bin/true "$TMPDIR/true" && "$TMPDIR/true" 2>/dev/null && echo "through dropped"
echo ended
"#;

/// An agent that does nothing but start that program.
fn starter(home: &TestHome, engine: Engine) -> &'static str {
    let python = "return subprocess.run(['sh', '-c', kwargs['script'], 'sh', kwargs['place'], kwargs['host']], \
        capture_output=True, text=True).stdout";
    let typescript = "const given = ['-c', kwargs.script, 'sh', kwargs.place, kwargs.host].map(String);\n\
        return String(spawnSync('sh', given).stdout);";
    if engine == Engine::Python {
        home.write("starter_agent.py", python_file("Starter", "import subprocess", python));
        return "starter_agent.py";
    }
    let top = "import { spawnSync } from 'node:child_process';";
    home.write("starter_agent.ts", typescript_agent("Starter", top, typescript));
    "starter_agent.ts"
}

#[test]
fn programs_that_an_agent_starts_are_held_like_itself() {
    for (engine, user) in Engine::ALL.into_iter().flat_map(|engine| User::ALL.map(|user| (engine, user))) {
        let Some(home) = user.home(engine) else { continue };
        let bait = Bait::lay(&home);
        let file = starter(&home, engine);
        user.own(&home);
        let granted = user.roost(&home, &["grant", file, "subprocess"]);
        assert_eq!(granted.status, 0, "{granted:?}");
        let host = user.up(&home);
        let place = home.outside().display().to_string();
        let arguments = json!({ "script": PROGRAM, "place": place, "host": host.pid().to_string() });
        let outcome = host.call("Starter", &arguments).json();
        assert_eq!(outcome["output"], "ended\n", "{engine:?} as {user:?}: {outcome}");
        assert_eq!(outcome["receipt"]["enforcement"]["level"], "full", "{outcome}");
        bait.assert_untouched();
    }
}

#[test]
fn what_the_host_keeps_cannot_be_read_or_reached() {
    for engine in Engine::ALL {
        let Some(probes) = Probes::put(User::Caller, engine, "") else { continue };
        let bait = Bait::lay(&probes.home);
        fs::write(probes.home.root().join(".env"), "KEY=value\n").unwrap();
        let host = probes.user.up(&probes.home);
        let targets = json!({ "socket_path": "/nowhere" });
        // The first call makes the store and the log.
        attempt(&host, "host_socket_path", &targets);
        probes.grant("subprocess");
        let files = bait.files_of_the_host();
        assert_eq!(files.len(), 6, "{files:?}");
        for file in files {
            let place = file.display().to_string();
            let (said, receipt) = attempt(&host, "host_database", &json!({ "database": place }));
            assert_eq!(said["escaped"], false, "{engine:?}: {said}");
            assert!(mentions(&refused(&receipt), &[&place]), "{engine:?} {place}: {receipt}");
        }
        let address = format!("127.0.0.1:{}", host.port());
        let (said, receipt) = attempt(&host, "tcp_connect", &json!({ "tcp_address": address }));
        assert_eq!(said["escaped"], false, "{engine:?}: {said}");
        assert!(mentions(&refused(&receipt), &[&address]), "{engine:?}: {receipt}");
    }
}

#[test]
fn a_refusal_in_the_home_of_the_host_names_no_grant_that_opens_it() {
    for engine in Engine::ALL {
        let Some(probes) = Probes::put(User::Caller, engine, "") else { continue };
        let bait = Bait::lay(&probes.home);
        let host = probes.user.up(&probes.home);
        attempt(&host, "random_state", &json!({}));
        for file in bait.files_of_the_host() {
            let (_, receipt) = attempt(&host, "host_database", &json!({ "database": file }));
            // A person who pastes what is named must not give away the store of grants.
            let named = receipt["refused"].to_string();
            assert!(!named.contains("roost grant"), "{engine:?} {}: {named}", file.display());
        }
    }
}

#[test]
fn a_grant_of_a_place_around_the_home_does_not_open_what_the_host_keeps() {
    for engine in Engine::ALL {
        let Some(probes) = Probes::put(User::Caller, engine, "") else { continue };
        let bait = Bait::lay(&probes.home);
        let around = format!("files:write:{}", probes.home.root().parent().unwrap().display());
        let home = format!("files:write:{}", probes.home.root().display());
        probes.declare(&[&around, &home, "subprocess"]);
        probes.grant("subprocess");
        for right in [&around, &home] {
            // Whether a person or a policy may give it at all is another matter.
            eprintln!("{:?}", probes.user.roost(&probes.home, &["grant", probes.file, right]));
        }
        probes.home.settings(&format!("[policy]\nallow = [{around:?}, {home:?}]\n"));
        let host = probes.user.up(&probes.home);
        attempt(&host, "random_state", &json!({}));
        for name in ["grants.json", "audit/audit-000001.jsonl", "audit/head.json"] {
            let file = probes.home.root().join(name);
            let (said, _) = attempt(&host, "host_database", &json!({ "database": file }));
            assert_eq!(said["escaped"], false, "{engine:?}: {said}");
            let (said, _) = attempt(&host, "rename_in", &json!({ "movable_file": file }));
            assert_eq!(said["escaped"], false, "{engine:?}: {said}");
            assert!(file.is_file(), "{engine:?}: {name} is gone");
        }
        let verified = probes.user.roost(&probes.home, &["audit", "verify"]);
        assert_eq!(verified.status, 0, "{engine:?}: {verified:?}");
        bait.assert_untouched();
    }
}

/// So often that a notice which comes a moment late is late at least once.
const REPEATED: usize = 100;

#[test]
fn what_the_filter_refused_is_in_the_receipt_of_that_call_and_not_of_the_next() {
    for engine in [Engine::Python, Engine::Node] {
        let Some(probes) = Probes::put(User::Caller, engine, "") else { continue };
        let host = probes.user.up(&probes.home);
        for _ in 0..REPEATED {
            let (_, receipt) = attempt(&host, "udp_send", &json!({}));
            assert_eq!(refused(&receipt), ["send datagrams (UDP, DNS)"], "{engine:?}");
            let (_, receipt) = attempt(&host, "random_state", &json!({}));
            assert_eq!(refused(&receipt), Vec::<String>::new(), "{engine:?}");
        }
    }
}

#[test]
fn pushing_into_a_terminal_is_refused_even_when_terminals_are_granted() {
    let Some(probes) = Probes::put(User::Caller, Engine::Python, "") else { return };
    probes.declare(&["files:write:/dev"]);
    probes.grant("files:write:/dev");
    let host = probes.home.up();
    let (said, receipt) = attempt(&host, "tiocsti", &json!({}));
    assert_eq!(said["escaped"], false, "{said}");
    assert!(said["saw"].as_str().unwrap().starts_with("EPERM"), "the filter refuses, not the files: {said}");
    assert!(mentions(&refused(&receipt), &["terminal"]), "{receipt}");
    assert!(mentions(&probes.refused_in_audit(&host), &["terminal"]));
}
