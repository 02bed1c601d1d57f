//! Programs that are killed in the middle, and several at once.

use super::{Store, left_by_apps, says, works};
use roost_tests::TestHome;
use serde_json::json;
use std::{
    process::Stdio,
    time::{Duration, Instant},
};

/// How far apart the moments are at which an install is killed.
const STEP: Duration = Duration::from_millis(40);

#[test]
fn an_install_that_is_killed_at_any_moment_is_there_or_not() {
    let home = TestHome::new();
    Store::of(&home).publish_tea("1.0.0", "");
    let mut moments = 0;
    for count in 1_u32.. {
        let mut command = home.command(&["install", "tea", "--yes"]);
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let until = Instant::now() + STEP * count;
        let ended = loop {
            match process.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if Instant::now() > until => break None,
                None => std::thread::yield_now(),
            }
        };
        if ended.is_none() {
            process.kill().unwrap();
            process.wait().unwrap();
            moments += 1;
        }
        let apps = works(&home, &["apps"])["apps"].clone();
        match apps.as_array().unwrap().as_slice() {
            [] => assert!(left_by_apps(&home).is_empty(), "moment {count}: {:?}", left_by_apps(&home)),
            [app] => {
                assert_eq!(app["state"], "enabled", "moment {count}: {app}");
                assert_eq!(says(&home, "Tea"), "Tea 1.0.0 in tea");
                works(&home, &["remove", "tea"]);
            }
            _ => panic!("moment {count}: {apps}"),
        }
        if ended.is_some() {
            break;
        }
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
