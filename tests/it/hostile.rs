//! Hostile agents beside a healthy one, on every runtime: they end with their own reason, it does not notice.

use roost_tests::{
    Engine, RunningHost, TestHome, descendants, is_alive, python_agent, python_file, typescript_agent, until,
};
use serde_json::{Value, json};
use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// What the healthy agent may take, also while everything else goes wrong.
const HEALTHY_P99_MAX: Duration = Duration::from_millis(50);

/// Calls of the healthy agent, spread over at least this time.
const CALLS_MIN: usize = 300;
const MEASURE_FOR: Duration = Duration::from_secs(3);

/// Hostile calls that run at any moment, the healthy one besides.
const HOSTILE_AT_ONCE: usize = 6;

/// Rounds to measure at most.
const ROUNDS_MAX: usize = 6;

/// Small, so that every limit is met several times while the healthy agent is measured.
const SETTINGS: &str = "[limits]\nwall_seconds = 2\ncpu_seconds = 1\noutput_mb = 1\nresult_mb = 1\n";

/// Those that start programs may: what is not even started does no harm.
const POLICY: &str = "[policy]\nallow = [\"subprocess\"]\n";

/// A hostile agent: its name, its `perform`, and how a call of it may end.
type Hostile = (&'static str, &'static str, &'static [&'static str]);

const PYTHON_TOP: &str = "import ctypes, signal, stat, struct, subprocess, threading\n\
    def sockets():\n    return [fd for fd in range(3, 64) if os.path.exists(f'/proc/self/fd/{fd}') and stat.S_ISSOCK(os.fstat(fd).st_mode)]\n\
    def frame(value):\n    text = json.dumps(value).encode()\n    return struct.pack('>I', len(text)) + text\n\
    def send(data):\n    for fd in sockets():\n        os.write(fd, data)\n    time.sleep(600)\n";

const PYTHON: &[Hostile] = &[
    ("Hangs", "time.sleep(600)", &["time_limit"]),
    (
        "IgnoresSignals",
        "for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)\nwhile True: time.sleep(600)",
        &["time_limit"],
    ),
    ("Spins", "while True: pass", &["cpu_limit", "time_limit"]),
    ("Floods", "while True: print('x' * 1000)", &["output_limit"]),
    ("FloodsStderr", "while True: os.write(2, b'x' * 100000)", &["output_limit"]),
    (
        "Forks",
        "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
        &["cpu_limit", "time_limit"],
    ),
    (
        "Daemons",
        "for _ in range(5):\n    subprocess.Popen(['sleep', '600'], start_new_session=True)\nos._exit(0)",
        &["agent_exited"],
    ),
    (
        "Threads",
        "try:\n    while True: threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\nexcept RuntimeError:\n    time.sleep(600)",
        &["time_limit"],
    ),
    ("Exits", "sys.exit(3)", &["agent_exited"]),
    ("ExitsHard", "os._exit(3)", &["agent_exited"]),
    ("Crashes", "ctypes.string_at(0)", &["agent_crashed"]),
    (
        "Kills",
        "for pid in (-1, 0, os.getppid(), os.getpid()):\n    try: os.kill(pid, signal.SIGKILL)\n    except OSError: pass\nos.abort()",
        &["agent_crashed"],
    ),
    ("Raises", "raise KeyboardInterrupt", &["agent_raised"]),
    ("Garbage", "send(b'garbage' * 100)", &["protocol_violation"]),
    ("Forges", "send(frame({'op': 'result', 'id': 999, 'output': 'forged'}))", &["protocol_violation"]),
    ("WrongTypes", "send(frame({'op': 'result', 'id': 'one', 'output': 5}))", &["protocol_violation"]),
    ("Reloads", "send(frame({'op': 'loaded', 'agents': []}))", &["protocol_violation"]),
    (
        "Deep",
        "send(frame({'op': 'result', 'id': 1, 'output': ''})[:4] + b'[' * 100000)",
        &["protocol_violation", "time_limit"],
    ),
    (
        "Closes",
        "for fd in sockets(): os.close(fd)\ntime.sleep(600)",
        &["agent_exited", "agent_crashed", "protocol_violation", "time_limit"],
    ),
    ("Huge", "return 'x' * (2 << 20)", &["result_too_large"]),
    ("Hungry", "x = bytearray(1 << 30)\nreturn str(len(x))", &["memory_limit"]),
];

/// `send` puts its data where an answer of the runner belongs: Deno does not let it write to the descriptor itself.
const TYPESCRIPT_TOP: &str = "import { writeSync } from 'node:fs';\nimport { spawn } from 'node:child_process';\nimport { Socket } from 'node:net';\nimport { Buffer } from 'node:buffer';\nimport process from 'node:process';\n\
    const forever = () => new Promise(() => setInterval(() => {}, 1000));\n\
    function start(count: number, detached: boolean) {\n  let started = 0;\n  for (let i = 0; i < count; i++) { try { const child = spawn('sleep', ['600'], { stdio: 'ignore', detached }).on('error', () => {}); child.unref(); if (child.pid) started++; } catch {} }\n  if (!started) throw new Error('nothing was started');\n}\n\
    function frame(value: unknown) { const text = Buffer.from(JSON.stringify(value)); const head = Buffer.alloc(4); head.writeUInt32BE(text.length); return Buffer.concat([head, text]); }\n\
    function send(data: Uint8Array) {\n  try { writeSync(3, data); return forever(); } catch {}\n  const write = Socket.prototype.write;\n  Socket.prototype.write = function () { return write.call(this, data); };\n}";

const TYPESCRIPT: &[Hostile] = &[
    ("Hangs", "await forever();", &["time_limit"]),
    ("Spins", "for (;;) {}", &["cpu_limit", "time_limit"]),
    // Node keeps what it prints in memory while the agent never waits, so another limit may be met first.
    (
        "Floods",
        "for (;;) console.log('x'.repeat(1000));",
        &["output_limit", "memory_limit", "agent_crashed", "cpu_limit", "time_limit"],
    ),
    (
        "FloodsOn",
        "for (;;) { console.log('x'.repeat(10000)); await new Promise((resolve) => setTimeout(resolve, 0)); }",
        &["output_limit"],
    ),
    ("Forks", "start(100, false);\nawait forever();", &["time_limit", "agent_exited", "agent_crashed"]),
    ("Daemons", "start(5, true);\nprocess.abort();", &["agent_crashed"]),
    ("Exits", "process.exit(3);", &["agent_exited"]),
    ("Crashes", "process.abort();", &["agent_crashed"]),
    (
        "Kills",
        "for (const pid of [-1, 0, process.ppid, process.pid]) { try { process.kill(pid, 'SIGKILL'); } catch {} }\nprocess.abort();",
        &["agent_crashed"],
    ),
    ("Raises", "throw new Error('no');", &["agent_raised"]),
    ("RaisesNothing", "throw undefined;", &["agent_raised"]),
    ("Rejects", "setTimeout(() => Promise.reject(new Error('later')), 0); await forever();", &["time_limit"]),
    ("Garbage", "await send(Buffer.from('garbage'.repeat(100)));", &["protocol_violation"]),
    ("Forges", "await send(frame({ op: 'result', id: 999, output: 'forged' }));", &["protocol_violation"]),
    ("WrongTypes", "await send(frame({ op: 'result', id: 'one', output: 5 }));", &["protocol_violation"]),
    (
        "GarbageCalls",
        "new Socket({ fd: 4, readable: false, writable: true }).write('garbage'.repeat(100)); await forever();",
        &["protocol_violation", "time_limit"],
    ),
    ("Huge", "return 'x'.repeat(2 << 20);", &["result_too_large"]),
    (
        "Hungry",
        "const all: unknown[] = []; for (;;) all.push(new Array(100000).fill(all.length));",
        &["memory_limit", "agent_crashed", "cpu_limit", "time_limit"],
    ),
];

#[derive(Default)]
struct Round {
    /// Durations of the healthy agent's calls, shortest first.
    taken: Vec<Duration>,
    /// Hostile calls that ended in a way they should not.
    wrong: Vec<String>,
    hostile_calls: usize,
}

impl Round {
    fn at(&self, percent: usize) -> Duration {
        self.taken[(self.taken.len() * percent / 100).min(self.taken.len() - 1)]
    }
}

/// Calls some hostile agents in turn, each at least once, until told to stop.
fn torment(host: &RunningHost, gang: &[Hostile], stop: &AtomicBool) -> (usize, Vec<String>) {
    let mut wrong = Vec::new();
    let mut calls = 0;
    for (name, _, allowed) in gang.iter().cycle() {
        let outcome = host.call(name, &json!({})).json();
        let reason = outcome["error"]["reason"].as_str().or(outcome["reason"].as_str()).unwrap_or("none");
        if !allowed.contains(&reason) {
            wrong.push(format!("{name} ended with {reason}: {}", outcome["error"]));
        }
        calls += 1;
        if calls >= gang.len() && stop.load(Ordering::Relaxed) {
            break;
        }
    }
    (calls, wrong)
}

/// Calls the healthy agent while all hostile ones run.
fn round(host: &RunningHost, hostile: &[Hostile]) -> Round {
    let stop = AtomicBool::new(false);
    let mut gangs = vec![Vec::new(); HOSTILE_AT_ONCE];
    for (index, one) in hostile.iter().enumerate() {
        gangs[index % HOSTILE_AT_ONCE].push(*one);
    }
    thread::scope(|scope| {
        let running: Vec<_> = gangs.iter().map(|gang| scope.spawn(|| torment(host, gang, &stop))).collect();
        let end = Instant::now() + MEASURE_FOR;
        let mut round = Round::default();
        while round.taken.len() < CALLS_MIN || Instant::now() < end {
            let started = Instant::now();
            assert_eq!(host.output("Healthy", &json!({})), "well");
            round.taken.push(started.elapsed());
            // tidy: sleep because a caller without a pause would compete with the host it measures
            thread::sleep(Duration::from_millis(2));
        }
        stop.store(true, Ordering::Relaxed);
        for one in running {
            let (calls, wrong) = one.join().unwrap();
            round.hostile_calls += calls;
            round.wrong.extend(wrong);
        }
        round.taken.sort_unstable();
        round
    })
}

/// Rounds until the healthy agent is as quick as promised. One is enough, unless other tests or another program want
/// the same processors; a host that holds it up does so in every round.
fn measure(host: &RunningHost, engine: Engine, hostile: &[Hostile]) {
    let mut seen = Vec::new();
    for _ in 0..ROUNDS_MAX {
        let round = round(host, hostile);
        let (p50, p99, max) = (round.at(50), round.at(99), round.at(100));
        eprintln!(
            "hostile: {} healthy p50 {p50:.1?} p99 {p99:.1?} max {max:.1?} over {} calls, beside {} calls of {} hostile agents",
            engine.label(),
            round.taken.len(),
            round.hostile_calls,
            hostile.len()
        );
        assert_eq!(round.wrong, Vec::<String>::new());
        if p99 < HEALTHY_P99_MAX {
            return;
        }
        seen.push(p99);
    }
    panic!("the p99 of the healthy agent on {} was {seen:.1?}", engine.label());
}

fn check(engine: Engine, hostile: &[Hostile], file_and_source: impl Fn(&str, &str) -> (String, String)) {
    let Some(search_path) = engine.search_path() else { return };
    let home = TestHome::alone().with_variable("PATH", search_path);
    // Deno does not start with less than 600 MB: it reserves addresses that the kernel counts as data.
    let memory_mb = if engine == Engine::Deno { 1024 } else { 256 };
    // Without a control group the kernel counts all tasks of the user, those of the other engines included.
    let is_counted_alone = engine == Engine::Python || rustix::process::geteuid().is_root();
    let processes = if is_counted_alone { 24 } else { 300 };
    home.settings(&format!("{SETTINGS}memory_mb = {memory_mb}\nprocesses = {processes}\n{POLICY}"));
    let (healthy, source) =
        file_and_source("Healthy", if engine == Engine::Python { "return 'well'" } else { "return 'well';" });
    home.write(&healthy, source);
    let files: Vec<String> = hostile
        .iter()
        .map(|(name, perform, _)| {
            let (file, source) = file_and_source(name, perform);
            home.write(&file, source);
            file
        })
        .collect();
    let host = home.up();
    let listing = host.listing();
    let refused: Vec<&Value> = listing.iter().filter(|agent| agent["state"] != "ready").collect();
    assert!(refused.is_empty(), "{} of {}: {}", refused.len(), listing.len(), refused[0]);
    let outcome = host.call("Healthy", &json!({})).json();
    assert!(
        outcome["receipt"]["worker"]["runtime"].as_str().unwrap().starts_with(engine.label()),
        "{outcome}"
    );

    measure(&host, engine, hostile);

    // What is left once nobody can call them: the healthy worker, and the zygote it was forked from with the worker it
    // keeps ready or, of an engine, the process that waits for it outside its world.
    let left_max = if engine == Engine::Python { 3 } else { 2 };
    for file in files {
        fs::remove_file(home.agents().join(file)).unwrap();
    }
    until("the processes of hostile agents are gone", || {
        host.listing().len() == 1 && descendants(host.pid()).len() <= left_max
    });
    let left = descendants(host.pid());
    assert_eq!(host.terminate(), 0);
    until("everything ends with the host", || !left.iter().any(|pid| is_alive(*pid)));
}

fn typescript(name: &str, perform: &str) -> (String, String) {
    (format!("{name}Agent.ts"), typescript_agent(name, TYPESCRIPT_TOP, perform))
}

#[test]
fn a_healthy_agent_does_not_notice_hostile_ones_on_python() {
    check(Engine::Python, PYTHON, |name, perform| {
        (format!("{}_agent.py", name.to_lowercase()), python_file(name, PYTHON_TOP, perform))
    });
}

#[test]
fn a_healthy_agent_does_not_notice_hostile_ones_on_node() {
    check(Engine::Node, TYPESCRIPT, typescript);
}

#[test]
fn a_healthy_agent_does_not_notice_hostile_ones_on_deno() {
    check(Engine::Deno, TYPESCRIPT, typescript);
}

#[test]
fn an_agent_that_forges_an_answer_to_its_own_call_harms_only_itself() {
    let home = TestHome::new();
    let perform = "import socket, stat, struct\n\
        text = json.dumps({'op': 'result', 'id': 1, 'output': 'forged'}).encode()\n\
        fd = min(fd for fd in range(3, 64) if os.path.exists(f'/proc/self/fd/{fd}') and stat.S_ISSOCK(os.fstat(fd).st_mode))\n\
        os.write(fd, struct.pack('>I', len(text)) + text)\nreturn 'real'";
    home.write("forge_agent.py", python_agent("Forge", perform));
    home.write("other_agent.py", python_agent("Other", "return 'well'"));
    let host = home.up();
    for _ in 0..4 {
        let outcome = host.call("Forge", &json!({})).json();
        let is_own = ["forged", "real"].iter().any(|text| outcome["output"] == *text);
        assert!(is_own || outcome["error"]["reason"] == "protocol_violation", "{outcome}");
        assert_eq!(host.output("Other", &json!({})), "well");
    }
}
