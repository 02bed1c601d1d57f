//! Programs that are killed in the middle, and several at once.

use super::{Store, left_by_apps, says, works};
use roost_tests::TestHome;
use serde_json::json;
use std::{process::Stdio, time::Duration};

/// The first moment at which an install is killed; each next is half as late again, so that a slow machine has as many.
const FIRST_MOMENT: Duration = Duration::from_millis(20);

/// True when the process ended within this time.
fn ends_within(process: &std::process::Child, time: Duration) -> bool {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        process::{Pid, PidfdFlags, pidfd_open},
    };
    let held = pidfd_open(Pid::from_child(process), PidfdFlags::empty()).unwrap();
    let time = Timespec::try_from(time).unwrap();
    poll(&mut [PollFd::new(&held, PollFlags::IN)], Some(&time)).unwrap() > 0
}

#[test]
fn an_install_that_is_killed_at_any_moment_is_there_or_not() {
    let home = TestHome::new();
    Store::of(&home).publish_tea("1.0.0", "");
    let mut moments = 0;
    let mut moment = FIRST_MOMENT;
    loop {
        let mut command = home.command(&["install", "tea", "--yes"]);
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let ended = ends_within(&process, moment);
        if !ended {
            process.kill().unwrap();
            moments += 1;
        }
        process.wait().unwrap();
        let apps = works(&home, &["apps"])["apps"].clone();
        match apps.as_array().unwrap().as_slice() {
            [] => assert!(left_by_apps(&home).is_empty(), "after {moment:?}: {:?}", left_by_apps(&home)),
            [app] => {
                assert_eq!(app["state"], "enabled", "after {moment:?}: {app}");
                assert_eq!(says(&home, "Tea"), "Tea 1.0.0 in tea");
                works(&home, &["remove", "tea"]);
            }
            _ => panic!("after {moment:?}: {apps}"),
        }
        if ended {
            break;
        }
        moment = moment * 3 / 2;
    }
    assert!(moments > 2, "it was killed at {moments} moments");
}

#[test]
fn two_installs_at_once_end_in_one_app_that_answers() {
    let home = TestHome::new();
    Store::of(&home).publish_tea("1.0.0", "");
    let start = || {
        let mut command = home.command(&["install", "tea", "--yes", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    let both = [start(), start()];
    let worked =
        both.into_iter().filter_map(|one| one.wait_with_output().ok()).filter(|one| one.status.success());
    assert!(worked.count() >= 1);
    let apps = works(&home, &["apps"])["apps"].clone();
    assert_eq!((apps.as_array().unwrap().len(), &apps[0]["state"]), (1, &json!("enabled")));
    assert_eq!(says(&home, "Tea"), "Tea 1.0.0 in tea");
}
