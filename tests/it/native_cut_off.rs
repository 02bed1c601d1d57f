//! Native apps whose host is killed in the middle: old or new, nothing lost, and no process left behind.

use roost_tests::{TestHome, until};
use serde_json::{Value, json};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::Duration,
};

/// An id that no other test has, so that its processes can be told from theirs.
fn id() -> String {
    format!("com.example.echo{}", std::process::id())
}

/// The first moment at which something is killed; each next is half as late again, so that a slow machine has as many.
const FIRST_MOMENT: Duration = Duration::from_millis(20);

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A home that believes its own key, and the app in a version, signed.
fn signed(home: &TestHome, version: &str) -> PathBuf {
    let folder = home.outside().join(format!("echo-{version}"));
    let manifest = json!({ "id": id(), "name": "Echo", "version": version, "provides": ["tool:echo"] });
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
    fs::write(folder.join("SKILL.md"), "---\nname: echo\ndescription: Echoes.\n---\nUse it.\n").unwrap();
    fs::copy(env!("CARGO_BIN_EXE_native_app"), folder.join("binary")).unwrap();
    fs::set_permissions(folder.join("binary"), Permissions::from_mode(0o755)).unwrap();
    let napp = folder.with_extension("napp");
    home.json(&["pack", text(&folder), "-o", text(&napp)]);
    home.json(&["sign", text(&napp)]);
    napp
}

fn signing_home() -> TestHome {
    let home = TestHome::new();
    home.json(&["keys", "signing", "new", "--name", "ada"]);
    home
}

fn begin(home: &TestHome, words: &[&str]) -> Child {
    home.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// True when the process ended within this time.
fn ends_within(process: &Child, time: Duration) -> bool {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        process::{Pid, PidfdFlags, pidfd_open},
    };
    let held = pidfd_open(Pid::from_child(process), PidfdFlags::empty()).unwrap();
    let time = Timespec::try_from(time).unwrap();
    poll(&mut [PollFd::new(&held, PollFlags::IN)], Some(&time)).unwrap() > 0
}

/// Processes that run the app, wherever it was unpacked to.
fn apps_running() -> Vec<u32> {
    let told = format!("NEBO_APP_ID={}\0", id()).into_bytes();
    let is_app = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(told.len()).any(|window| window == told)
    };
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_app).collect()
}

/// Runs the command again and again, killed later each time, until it once ends by itself or is known to be done.
fn killed_at_every_moment(home: &TestHome, words: &[&str], mut is_done: impl FnMut() -> bool) {
    let (mut moments, mut moment) = (0, FIRST_MOMENT);
    loop {
        let mut process = begin(home, words);
        let ended = ends_within(&process, moment);
        if !ended {
            process.kill().unwrap();
            moments += 1;
        }
        process.wait().unwrap();
        until("nothing is left of it", || apps_running().is_empty());
        let is_done = is_done();
        if ended || is_done {
            break;
        }
        moment = moment * 3 / 2;
    }
    assert!(moments > 2, "it was killed at {moments} moments");
}

fn installed(home: &TestHome) -> Vec<Value> {
    home.json(&["apps"])["apps"].as_array().unwrap().clone()
}

fn says(home: &TestHome) -> String {
    let called = home.roost(&["call", "echo", "text=hi"]);
    assert_eq!(called.status, 0, "{called:?}");
    called.stdout.trim().to_owned()
}

#[test]
fn an_install_of_a_program_that_is_killed_at_any_moment_is_there_or_not() {
    let home = signing_home();
    let napp = signed(&home, "1.0.0");
    killed_at_every_moment(&home, &["install", text(&napp), "--yes"], || {
        match installed(&home).as_slice() {
            [] => assert!(!home.root().join("apps").join(id()).exists()),
            [app] => {
                assert_eq!(app["state"], "enabled", "{app}");
                assert_eq!(says(&home), r#"{"text":"hi"}"#);
                home.json(&["remove", &id()]);
            }
            more => panic!("{more:?}"),
        }
        false
    });
}

#[test]
fn an_update_of_a_program_that_is_killed_at_any_moment_leaves_one_whole_version_and_its_data() {
    let home = signing_home();
    let place = home.outside().join("echo.napp");
    let [old, new] = ["1.0.0", "1.1.0"].map(|version| signed(&home, version));
    fs::copy(&old, &place).unwrap();
    home.json(&["install", text(&place), "--yes"]);
    let data = home.root().join("native").join(id()).join("data/mine.txt");
    fs::write(&data, "kept").unwrap();
    fs::copy(&new, &place).unwrap();
    let version = || installed(&home).remove(0)["version"].clone();
    killed_at_every_moment(&home, &["update", &id()], || {
        assert_eq!(says(&home), r#"{"text":"hi"}"#);
        assert_eq!(fs::read_to_string(&data).unwrap(), "kept");
        let version = version();
        assert!(version == "1.0.0" || version == "1.1.0", "{version}");
        version == "1.1.0"
    });
    assert_eq!(version(), "1.1.0");
}

#[test]
fn a_host_that_is_killed_while_it_starts_its_apps_leaves_none_and_starts_them_next_time() {
    let home = signing_home();
    let napp = signed(&home, "1.0.0");
    home.json(&["install", text(&napp), "--yes"]);
    let mut moment = FIRST_MOMENT;
    for _ in 0..8 {
        let mut host = begin(&home, &["up", "--port", "0"]);
        assert!(!ends_within(&host, moment), "a host runs until it is ended");
        host.kill().unwrap();
        host.wait().unwrap();
        until("nothing is left of it", || apps_running().is_empty());
        moment = moment * 3 / 2;
    }
    // The host and its app at once.
    let host = home.up();
    host.until_known("echo");
    let apps = apps_running();
    assert!(!apps.is_empty());
    for pid in apps {
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        // Whoever is the second to be killed may be gone with the first.
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
    }
    host.kill();
    until("nothing is left of them", || apps_running().is_empty());
    assert_eq!(says(&home), r#"{"text":"hi"}"#);
}
