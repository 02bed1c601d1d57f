//! Past its end and past its room: daemons end with the call and with the host, however that ended, and the disk is not
//! filled beyond the limit.

use super::{PROBE, Probes};
use roost_tests::{Engine, TestHome, User, descendants, holders, python_file, typescript_agent, until};
use serde_json::json;
use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    thread,
};

/// Leaves a process that holds the file open, and then ends or waits.
const PYTHON: &str = "if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open(kwargs['place'], 'w') as held:
            held.write('here')
            held.flush()
            time.sleep(600)
    os._exit(0)
while not (os.path.exists(kwargs['place']) and os.path.getsize(kwargs['place'])):
    time.sleep(0.01)
if kwargs['wait']:
    time.sleep(600)
return 'left'";

const TYPESCRIPT_TOP: &str = "import { spawn } from 'node:child_process';\nimport fs from 'node:fs';";
const TYPESCRIPT: &str = "const script = 'exec 9>\"$0\"; echo here >&9; exec sleep 600';
const file = String(kwargs.place);
spawn('setsid', ['sh', '-c', script, file], { detached: true, stdio: 'ignore' }).unref();
while (!fs.existsSync(file) || fs.statSync(file).size === 0) await new Promise((done) => setTimeout(done, 10));
if (kwargs.wait) await new Promise((done) => setTimeout(done, 600000));
return 'left';";

/// An agent that leaves something behind, and a file in its own folder.
fn leaver(engine: Engine) -> Option<(TestHome, PathBuf)> {
    let home = User::Caller.home(engine)?;
    let file = if engine == Engine::Python { "leaver_agent.py" } else { "leaver_agent.ts" };
    match engine {
        Engine::Python => home.write(file, python_file("Leaver", "import subprocess", PYTHON)),
        Engine::Node | Engine::Deno => {
            home.write(file, typescript_agent("Leaver", TYPESCRIPT_TOP, TYPESCRIPT))
        }
    };
    let granted = home.roost(&["grant", file, "subprocess"]);
    assert_eq!(granted.status, 0, "{granted:?}");
    let place = home.root().join(".brainstem_data/leaver_agent/held");
    Some((home, place))
}

fn has_begun(place: &Path) -> bool {
    fs::metadata(place).is_ok_and(|found| found.len() > 0)
}

#[test]
fn a_daemon_ends_with_the_call_that_left_it() {
    for engine in Engine::ALL {
        let Some((home, place)) = leaver(engine) else { continue };
        let host = home.up();
        let outcome = host.call("Leaver", &json!({ "place": place, "wait": false })).json();
        assert_eq!(outcome["output"], "left", "{engine:?}: {outcome}");
        assert!(outcome["receipt"]["stray_processes"].as_u64().unwrap() >= 1, "{engine:?}: {outcome}");
        assert!(has_begun(&place), "{engine:?}: there was no daemon");
        until("nobody holds the daemon's file", || holders(&place).is_empty());
    }
}

#[test]
fn a_daemon_ends_with_a_host_that_was_killed() {
    for engine in Engine::ALL {
        let Some((home, place)) = leaver(engine) else { continue };
        let host = home.up();
        let client = *host;
        let arguments = json!({ "arguments": { "place": place, "wait": true } });
        let (body, length) = (arguments.to_string(), arguments.to_string().len());
        let path = "/v1/agents/Leaver/call";
        let mut stream = client.start("POST", path, &[("Content-Type", "application/json")], length).unwrap();
        std::io::Write::write_all(&mut stream, body.as_bytes()).unwrap();
        until("the daemon is there", || has_begun(&place) && !holders(&place).is_empty());
        host.kill();
        until(&format!("{engine:?}: nobody holds the daemon's file"), || holders(&place).is_empty());
    }
}

#[test]
fn the_probes_daemon_is_counted_and_gone() {
    for engine in Engine::ALL {
        for user in User::ALL {
            let Some(probes) = Probes::put(user, engine, "") else { continue };
            user.own(&probes.home);
            probes.grant("subprocess");
            let place = probes.home.root().join(format!(".brainstem_data/{}/pid", probes.stem()));
            let host = user.up(&probes.home);
            let (said, receipt) = super::attempt(&host, "daemon", &json!({ "pid_file": place }));
            let number = said["pid"].as_u64().filter(|pid| *pid > 0).unwrap_or_else(|| panic!("{said}"));
            assert!(receipt["stray_processes"].as_u64().unwrap() >= 1, "{engine:?}: {receipt}");
            let worker = receipt["worker"]["pid"].as_u64().unwrap();
            until(&format!("{engine:?} as {user:?}: the daemon is gone"), || {
                !is_in_namespace_of(worker, number)
            });
        }
    }
}

/// True while there is a process of this number in the pid namespace of that worker.
fn is_in_namespace_of(worker: u64, number: u64) -> bool {
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let Some(wanted) = namespace(&worker.to_string()) else { return false };
    let pids =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    pids.filter(|pid| namespace(pid).as_ref() == Some(&wanted)).any(|pid| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let own = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        // One that waits to be collected has ended.
        let own = own.filter(|_| !status.contains("State:\tZ"));
        own.is_some_and(|own| own.split_whitespace().last() == Some(number.to_string().as_str()))
    })
}

/// Room for one agent; a file of the probe stays below it, so that only their sum is too much.
const ROOM_MB: u64 = 32;

/// More than the room and less than any disk: how far a writer may get before it is noticed.
const OVERSHOOT_MB: u64 = 256;

/// Fills the agent's folder in many files, and says how far it came.
fn fill(engine: Engine, user: User) {
    let Some(probes) = Probes::put(user, engine, &format!("[limits]\ndisk_mb = {ROOM_MB}\n")) else { return };
    user.own(&probes.home);
    let host = user.up(&probes.home);
    let targets = json!({ "limit_megabytes": ROOM_MB, "megabytes": OVERSHOOT_MB * 4 });
    let call = thread::scope(|scope| {
        let call =
            scope.spawn(|| host.call(PROBE, &json!({ "probe": "fill_disk", "targets": targets })).json());
        let mut most = 0;
        until("the call ends", || {
            most = most.max(megabytes(&probes.home.root()));
            call.is_finished()
        });
        assert!(
            most <= ROOM_MB + OVERSHOOT_MB,
            "{engine:?} as {user:?}: {most} MB at once, {ROOM_MB} are allowed"
        );
        call.join().unwrap()
    });
    assert_eq!(call["error"]["reason"], "disk_limit", "{engine:?} as {user:?}: {call}");
    assert!(call["error"]["next"].as_str().unwrap().contains("disk_mb"), "{call}");
    let refused = call["receipt"]["refused"].to_string();
    assert!(refused.contains("MB on disk"), "{engine:?} as {user:?}: {refused}");
    until("what it left fits again", || megabytes(&probes.home.root().join("cache/scratch")) <= ROOM_MB);
    let again = host.call(PROBE, &json!({ "probe": "random_state" })).json();
    assert_eq!(again["error"], json!(null), "the next call has room: {again}");
}

fn megabytes(folder: &Path) -> u64 {
    fn bytes(folder: &Path) -> u64 {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let sizes = entries.filter_map(|entry| {
            let found = entry.metadata().ok()?;
            Some(if found.is_dir() { bytes(&entry.path()) } else { found.blocks() * 512 })
        });
        sizes.sum()
    }
    bytes(folder) >> 20
}

#[test]
fn the_disk_is_not_filled_beyond_the_room_of_an_agent_in_python() {
    User::ALL.into_iter().for_each(|user| fill(Engine::Python, user));
}

#[test]
fn the_disk_is_not_filled_beyond_the_room_of_an_agent_in_node() {
    User::ALL.into_iter().for_each(|user| fill(Engine::Node, user));
}

#[test]
fn the_disk_is_not_filled_beyond_the_room_of_an_agent_in_deno() {
    User::ALL.into_iter().for_each(|user| fill(Engine::Deno, user));
}

/// Makes a process by a system call of its own, which no hook of the language hears of, and lets it run for ever.
const RAW_FORK: &str = "import ctypes, os\nlibc = ctypes.CDLL(None)\n\
    pid = libc.fork()\nif pid == 0:\n    while True: pass\n";

#[test]
fn a_process_that_was_made_behind_the_runners_back_ends_with_the_call() {
    let home = TestHome::new();
    home.write("forker_agent.py", python_file("Forker", "", &format!("{RAW_FORK}return 'left'")));
    let host = home.up();
    let outcome = host.call("Forker", &json!({})).json();
    assert_eq!(outcome["output"], "left", "{outcome}");
    assert_eq!(outcome["receipt"]["stray_processes"], 1, "{outcome}");
    let worker = u32::try_from(outcome["receipt"]["worker"]["pid"].as_u64().unwrap()).unwrap();
    until("nothing is left below the worker", || descendants(worker).is_empty());
}

#[test]
fn cpu_time_of_what_a_call_started_counts_against_it() {
    let home = TestHome::new();
    home.settings("[limits]\ncpu_seconds = 1\nwall_seconds = 60\n");
    home.write(
        "forker_agent.py",
        python_file("Forker", "", &format!("{RAW_FORK}import time\ntime.sleep(600)")),
    );
    let outcome = home.up().call("Forker", &json!({})).json();
    assert_eq!(outcome["error"]["reason"], "cpu_limit", "{outcome}");
}

#[test]
fn files_without_a_name_count_as_room() {
    let home = TestHome::new();
    home.settings("[limits]\ndisk_mb = 8\nwall_seconds = 60\n");
    let fill = "import os, tempfile, time\nkept = []\nfor _ in range(16):\n    \
        file = tempfile.TemporaryFile()\n    file.write(bytes(4 << 20))\n    file.flush()\n    \
        kept.append(file)\ntime.sleep(600)";
    let map = "import mmap, os, tempfile, time\nfile = tempfile.NamedTemporaryFile()\n\
        files = [open(file.name + str(i), 'w+b') for i in range(4)]\nfor one in files:\n    \
        one.truncate(4 << 20)\n    view = mmap.mmap(one.fileno(), 4 << 20)\n    \
        view[:] = b'x' * (4 << 20)\n    view.flush()\ntime.sleep(600)";
    home.write("filler_agent.py", python_file("Filler", "", fill));
    home.write("mapper_agent.py", python_file("Mapper", "", map));
    let host = home.up();
    for agent in ["Filler", "Mapper"] {
        let outcome = host.call(agent, &json!({})).json();
        assert_eq!(outcome["error"]["reason"], "disk_limit", "{agent}: {outcome}");
    }
}
