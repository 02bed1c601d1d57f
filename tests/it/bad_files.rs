//! Bad input: each file is listed with its own reason, and everything else keeps working.

use roost_tests::{TestHome, python_agent, python_file, typescript_agent};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    os::unix::fs::{PermissionsExt as _, symlink},
};

/// A file, its content, the reason it is listed with, and the line where it has one.
type Case = (&'static str, Vec<u8>, &'static str, Option<u64>);

fn python_class(rest: &str) -> Vec<u8> {
    format!("class BadAgent:\n    name = 'Bad'\n    metadata = {{}}\n    def perform(self, **kwargs): return ''\n{rest}")
        .into_bytes()
}

fn python_cases() -> Vec<Case> {
    vec![
        ("syntax_agent.py", b"import os\n\ndef broken(:\n".to_vec(), "syntax_error", Some(3)),
        ("encoding_agent.py", b"# gr\xfc\xdfe\n".to_vec(), "wrong_encoding", Some(1)),
        ("codec_agent.py", b"# coding: nonsense\nx = 1\n".to_vec(), "wrong_encoding", Some(1)),
        ("nul_agent.py", b"x = 1\ny = '\0'\n".to_vec(), "nul_byte", Some(2)),
        ("empty_agent.py", Vec::new(), "no_agent", None),
        ("raise_agent.py", b"\nraise RuntimeError('no')\n".to_vec(), "import_failed", Some(2)),
        ("missing_agent.py", b"import nowhere_to_be_found\n".to_vec(), "missing_module", Some(1)),
        ("exit_agent.py", b"import sys\nsys.exit(0)\n".to_vec(), "exit_at_import", Some(2)),
        ("hard_exit_agent.py", b"import os\nos._exit(0)\n".to_vec(), "exit_at_import", None),
        ("segfault_agent.py", b"import ctypes\nctypes.string_at(0)\n".to_vec(), "load_crashed", None),
        ("endless_agent.py", b"import time\ntime.sleep(600)\n".to_vec(), "load_timeout", None),
        ("busy_agent.py", b"while True: pass\n".to_vec(), "load_timeout", None),
        ("flood_agent.py", b"while True: print('x' * 1000)\n".to_vec(), "output_limit", None),
        ("text_agent.py", python_class("    metadata = 'text'\n"), "invalid_metadata", None),
        (
            "object_agent.py",
            python_class("    metadata = {'description': object()}\n"),
            "metadata_not_json",
            None,
        ),
        (
            "nan_agent.py",
            python_class("    metadata = {'description': float('nan')}\n"),
            "metadata_not_json",
            None,
        ),
        (
            "cycle_agent.py",
            python_class("    metadata['parameters'] = metadata\n"),
            "metadata_not_json",
            None,
        ),
        (
            "schema_agent.py",
            python_class("    metadata = {'parameters': {'type': 'array'}}\n"),
            "invalid_schema",
            None,
        ),
        (
            "deep_agent.py",
            python_class(
                "    deep = {'type': 'object', 'properties': {}}\n    for _ in range(60): deep = {'type': 'object', 'properties': {'a': deep}}\n    metadata = {'parameters': deep}\n",
            ),
            "invalid_schema",
            None,
        ),
        (
            "constructor_agent.py",
            python_class("    def __init__(self): raise ValueError('no')\n"),
            "constructor_failed",
            None,
        ),
        (
            "quit_agent.py",
            python_class("    def __init__(self): raise SystemExit\n"),
            "constructor_failed",
            None,
        ),
        ("name_agent.py", python_class("    name = 'two words'\n"), "invalid_name", None),
    ]
}

fn typescript_cases() -> Vec<Case> {
    let class = |top: &str, metadata: &str| {
        typescript_agent("Bad", top, "return '';")
            .replace(
                "description: 'Does Bad.',\n      parameters: { type: 'object', properties: {} },",
                metadata,
            )
            .into_bytes()
    };
    vec![
        ("SyntaxAgent.ts", b"const a = 1;\nconst b = (;\n".to_vec(), "syntax_error", Some(2)),
        ("EncodingAgent.ts", b"const a = 1;\n// \xfc\n".to_vec(), "wrong_encoding", Some(2)),
        ("NulAgent.ts", b"const a = 1;\nconst b = '\0';\n".to_vec(), "nul_byte", Some(2)),
        ("EmptyAgent.ts", Vec::new(), "no_agent", None),
        ("RaiseAgent.ts", b"\nthrow new Error('no');\nexport {};\n".to_vec(), "import_failed", Some(2)),
        (
            "MissingAgent.ts",
            b"import { x } from './nowhere.js';\nexport const y = x;\n".to_vec(),
            "missing_module",
            None,
        ),
        ("ExitAgent.ts", b"\nprocess.exit(0);\nexport {};\n".to_vec(), "exit_at_import", Some(2)),
        // By itself it could not even be killed: signals that a worker sends to itself do nothing.
        (
            "CrashAgent.ts",
            b"process.kill(process.pid, 'SIGKILL');\nprocess.abort();\nexport {};\n".to_vec(),
            "load_crashed",
            None,
        ),
        (
            "EndlessAgent.ts",
            b"await new Promise(() => setInterval(() => {}, 1000));\nexport {};\n".to_vec(),
            "load_timeout",
            None,
        ),
        ("BusyAgent.ts", b"for (;;) {}\nexport {};\n".to_vec(), "load_timeout", None),
        (
            "TextAgent.ts",
            typescript_agent("Bad", "", "return '';")
                .replace("super('Bad', {", "super('Bad', 'text' as never); void ({")
                .into_bytes(),
            "invalid_metadata",
            None,
        ),
        ("FunctionAgent.ts", class("", "description: (() => 1) as never,"), "metadata_not_json", None),
        (
            "CycleAgent.ts",
            class(
                "const loop: Record<string, unknown> = {}; loop.again = loop;",
                "parameters: loop as never,",
            ),
            "metadata_not_json",
            None,
        ),
        ("SchemaAgent.ts", class("", "parameters: { type: 'array' } as never,"), "invalid_schema", None),
        (
            "ConstructorAgent.ts",
            typescript_agent("Bad", "", "return '';")
                .replace("constructor() {", "constructor() {\n    if (Date.now() > 0) throw new Error('no');")
                .into_bytes(),
            "constructor_failed",
            Some(5),
        ),
        ("NameAgent.ts", typescript_agent("two words", "", "return '';").into_bytes(), "invalid_name", None),
    ]
}

fn check(cases: &[Case]) {
    let home = TestHome::new();
    home.settings("[limits]\nload_seconds = 2\n");
    for (file, content, _, _) in cases {
        home.write(file, content);
    }
    let noise = "print('noise', flush=True)\nos.write(1, b'\\xff\\x00noise')\nprint('more', file=sys.stderr)";
    home.write("healthy_agent.py", python_file("Healthy", noise, "return 'well'"));
    home.write(
        "WellAgent.ts",
        typescript_agent("Well", "console.log('noise'); console.error('more');", "return 'well';"),
    );
    let host = home.up();
    assert_eq!(host.output("Healthy", &json!({})), "well");
    let agents = host.listing();
    for (file, _, reason, line) in cases {
        let listed = agents
            .iter()
            .find(|agent| agent["file"] == *file)
            .unwrap_or_else(|| panic!("{file} is not listed"));
        let seen = (
            listed["state"].as_str(),
            listed["reason"]["reason"].as_str(),
            listed["reason"]["line"].as_u64(),
        );
        assert_eq!(seen, (Some("failed"), Some(*reason), *line), "{file}: {listed}");
        assert_eq!(listed["serving"], Value::Null, "{file}");
    }
    assert_eq!(agents.len(), cases.len() + 2);
    for name in ["Healthy", "Well"] {
        assert_eq!(host.output(name, &json!({})), "well");
    }
}

#[test]
fn every_bad_python_file_has_its_own_reason() {
    check(&python_cases());
}

#[test]
fn every_bad_typescript_file_has_its_own_reason() {
    check(&typescript_cases());
}

#[test]
fn what_is_no_readable_file_has_its_own_reason() {
    let home = TestHome::new();
    home.write("healthy_agent.py", python_agent("Healthy", "return 'well'"));
    File::create(home.agents().join("huge_agent.py")).unwrap().set_len(50 << 20).unwrap();
    File::create(home.agents().join("HugeAgent.ts")).unwrap().set_len(50 << 20).unwrap();
    for name in ["folder_agent.py", "FolderAgent.ts"] {
        fs::create_dir(home.agents().join(name)).unwrap();
    }
    for name in ["pipe_agent.py", "PipeAgent.ts"] {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, home.agents().join(name), rustix::fs::FileType::Fifo, mode, 0)
            .unwrap();
    }
    let outside = home.write_outside("secret_agent.py", python_agent("Secret", "return ''"));
    symlink(outside, home.agents().join("link_agent.py")).unwrap();
    symlink("/dev/zero", home.agents().join("device_agent.py")).unwrap();
    symlink("loop_agent.py", home.agents().join("loop_agent.py")).unwrap();
    symlink("nowhere.py", home.agents().join("dangling_agent.py")).unwrap();
    symlink("healthy_agent.py", home.agents().join("z_inside_agent.py")).unwrap();
    home.write("two words_agent.py", python_agent("Two", "return ''"));
    home.write("grün_agent.py", python_agent("Green", "return ''"));
    let agents = home.listing();
    for (file, reason) in [
        ("huge_agent.py", "file_too_large"),
        ("HugeAgent.ts", "file_too_large"),
        ("folder_agent.py", "not_a_file"),
        ("FolderAgent.ts", "not_a_file"),
        ("pipe_agent.py", "not_a_file"),
        ("PipeAgent.ts", "not_a_file"),
        ("link_agent.py", "symlink_outside"),
        ("device_agent.py", "symlink_outside"),
        ("loop_agent.py", "unreadable"),
        ("dangling_agent.py", "unreadable"),
        ("two words_agent.py", "invalid_file_name"),
        ("grün_agent.py", "invalid_file_name"),
        ("z_inside_agent.py", "shadowed"),
    ] {
        let listed = agents
            .iter()
            .find(|agent| agent["file"] == file)
            .unwrap_or_else(|| panic!("{file} is not listed"));
        assert_eq!(listed["reason"]["reason"], reason, "{listed}");
        let why = home.roost(&["why", file, "--json"]);
        assert_eq!((why.status, &why.json()["reason"]), (1, &json!(reason)), "{file}");
    }
    assert_eq!(home.roost(&["call", "Healthy"]).text(), "well");
}

#[test]
fn the_same_files_named_on_the_command_line_have_the_same_reasons() {
    let home = TestHome::new();
    home.settings("[limits]\nload_seconds = 1\n");
    for (file, content, reason, line) in python_cases().into_iter().chain(typescript_cases()) {
        let path = home.write_outside(file, content);
        let ran = home.roost(&["run", &path.display().to_string(), "--json"]);
        let error = &ran.json()["error"];
        assert_eq!(
            (ran.status, &error["reason"], error["line"].as_u64()),
            (1, &json!(reason), line),
            "{file}: {error}"
        );
    }
}

#[test]
fn a_mistake_in_the_settings_stops_every_command_with_its_line() {
    let home = TestHome::new();
    home.write("healthy_agent.py", python_agent("Healthy", "return 'well'"));
    for (text, line) in [
        ("prot = 1\n", Some(1)),
        ("\nport = \"x\"\n", Some(2)),
        ("port = \n", Some(1)),
        ("[limits]\nwall_second = 1\n", None),
        ("[limits]\nwall_seconds = -1\n", None),
        ("[agents.Healthy]\nenabld = true\n", Some(2)),
        ("\u{0}", Some(1)),
    ] {
        home.settings(text);
        for verb in [&["agents"][..], &["call", "Healthy"], &["up", "--port", "0"], &["doctor"]] {
            let words: Vec<&str> = verb.iter().copied().chain(["--json"]).collect();
            let ran = home.roost(&words);
            let error = &ran.json()["error"];
            assert_eq!(
                (ran.status, &error["reason"]),
                (3, &json!("invalid_settings")),
                "{text:?} {verb:?}: {error}"
            );
            if line.is_some() {
                assert_eq!(error["line"].as_u64(), line, "{text:?}: {error}");
            }
        }
    }
    fs::remove_file(home.root().join("roost.toml")).unwrap();
    fs::create_dir(home.root().join("roost.toml")).unwrap();
    assert_eq!(home.json(&["agents"])["error"]["reason"], "invalid_settings");
}

#[test]
fn a_home_that_cannot_be_used_is_said_so() {
    let home = TestHome::new();
    let file = home.write_outside("a_file", "");
    let below = file.join("below");
    for place in [file.as_path(), &below, "/proc/roost".as_ref()] {
        let ran = home.roost(&["--home", &place.display().to_string(), "agents", "--json"]);
        assert_eq!(
            (ran.status, &ran.json()["error"]["reason"]),
            (3, &json!("home_unusable")),
            "{}",
            place.display()
        );
    }
    fs::remove_dir(home.agents()).unwrap();
    fs::write(home.agents(), "not a folder").unwrap();
    let ran = home.roost(&["agents", "--json"]);
    assert_eq!((ran.status, &ran.json()["error"]["reason"]), (3, &json!("home_unusable")), "{ran:?}");
}

#[test]
fn a_home_without_the_right_to_write_is_said_so() {
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: root may write everywhere");
        return;
    }
    let home = TestHome::untouched();
    fs::set_permissions(home.root(), fs::Permissions::from_mode(0o500)).unwrap();
    let ran = home.roost(&["agents", "--json"]);
    fs::set_permissions(home.root(), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!((ran.status, &ran.json()["error"]["reason"]), (3, &json!("home_unusable")));
}

#[test]
fn damaged_caches_are_the_same_as_none() {
    let home = TestHome::new();
    home.write("healthy_agent.py", python_agent("Healthy", "return 'well'"));
    assert_eq!(home.roost(&["call", "Healthy"]).text(), "well");
    for file in ["cache/descriptions.json", "cache/programs.json", "run/host.json"] {
        for damage in [&b"{ half"[..], b"", b"\0\0\0", b"[]"] {
            fs::write(home.root().join(file), damage).unwrap();
            assert_eq!(home.roost(&["call", "Healthy"]).text(), "well", "{file}");
        }
    }
    fs::remove_dir_all(home.root().join("cache")).unwrap();
    assert_eq!(home.roost(&["call", "Healthy"]).text(), "well");
}
