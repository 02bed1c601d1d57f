//! Names that arrive, files that are replaced, and files that leave.

use super::{TRASH_ENTRIES_MAX, Trash, arrival_name};
use crate::folder::AgentsFolder;
use proptest::prelude::*;
use roost_protocol::{Language, Reason};
use std::{fs, os::unix::fs::symlink, path::Path};

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .map(|entries| entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
        .unwrap_or_default();
    names.sort();
    names
}

#[test]
fn names_get_the_ending_of_an_agent_and_lose_their_folders() {
    for (sent, name) in [
        ("weather_agent.py", "weather_agent.py"),
        ("weather.py", "weather_agent.py"),
        ("../../etc/weather.py", "weather_agent.py"),
        ("C:\\x\\two words.py", "two_words_agent.py"),
        ("..weather.py", "weather_agent.py"),
        ("ShellAgent.ts", "ShellAgent.ts"),
        ("shell_agent.js", "shell_agent.js"),
    ] {
        assert_eq!(arrival_name(sent).as_deref(), Ok(name), "{sent}");
    }
    let long = format!("{}.py", "x".repeat(200));
    for sent in ["", ".py", "basic_agent.py", "basic.py", "x.txt", "x", "types.ts", "a.py/", "a.pyc", &long] {
        assert_eq!(arrival_name(sent).unwrap_err().reason, Reason::InvalidFileName, "{sent}");
    }
}

proptest! {
    #[test]
    fn whatever_is_sent_the_name_is_an_agents_and_stays_in_the_folder(sent: String) {
        for sent in [sent.clone(), format!("{sent}.py"), format!("{sent}Agent.ts")] {
            if let Ok(name) = arrival_name(&sent) {
                prop_assert!(Language::of_file_name(&name).is_some());
                prop_assert!(!name.contains(['/', '\\', '\0']) && !name.starts_with('.'));
            }
        }
    }
}

#[test]
fn what_was_replaced_or_removed_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let folder = AgentsFolder::new(home.path().join("agents"));
    let trash = Trash::new(home.path().join("trash"));
    assert_eq!(folder.put("a_agent.py", b"one", &trash, "1").unwrap(), None);
    assert_eq!(folder.put("a_agent.py", b"one", &trash, "1").unwrap(), None);
    let kept = folder.put("a_agent.py", b"two", &trash, "1").unwrap().unwrap();
    assert_eq!(
        (fs::read(&kept).unwrap(), kept.file_name().unwrap()),
        (b"one".to_vec(), "1-a_agent.py".as_ref())
    );
    let kept = folder.take_out("a_agent.py", &trash, "1").unwrap();
    assert_eq!(
        (fs::read(&kept).unwrap(), kept.file_name().unwrap()),
        (b"two".to_vec(), "1-2-a_agent.py".as_ref())
    );
    assert!(names_in(folder.path()).is_empty());
    assert_eq!(folder.take_out("a_agent.py", &trash, "1").unwrap_err().reason, Reason::UnknownAgent);
}

#[test]
fn a_link_is_removed_and_what_it_leads_to_stays() {
    let home = tempfile::tempdir().unwrap();
    let folder = AgentsFolder::new(home.path().join("agents"));
    fs::create_dir(folder.path()).unwrap();
    fs::write(home.path().join("other"), "mine").unwrap();
    symlink("../other", folder.path().join("a_agent.py")).unwrap();
    let trash = Trash::new(home.path().join("trash"));
    let kept = folder.put("a_agent.py", b"new", &trash, "1").unwrap().unwrap();
    assert!(kept.is_symlink() && fs::read(&kept).unwrap() == b"mine");
    assert_eq!(fs::read(home.path().join("other")).unwrap(), b"mine");
    assert_eq!(fs::read(folder.path().join("a_agent.py")).unwrap(), b"new");
}

#[test]
fn names_that_lead_elsewhere_are_nobodys() {
    let home = tempfile::tempdir().unwrap();
    let folder = AgentsFolder::new(home.path().join("agents"));
    fs::create_dir_all(folder.path().join("dir_agent.py")).unwrap();
    fs::write(home.path().join("x_agent.py"), "mine").unwrap();
    let trash = Trash::new(home.path().join("trash"));
    for name in ["../x_agent.py", "", ".", "..", "a/b_agent.py", "x\0_agent.py", "dir_agent.py", "soul.md"] {
        assert_eq!(folder.take_out(name, &trash, "1").unwrap_err().reason, Reason::UnknownAgent, "{name}");
    }
    assert_eq!(folder.take_out("basic_agent.py", &trash, "1").unwrap_err().reason, Reason::BadRequest);
    assert_eq!(folder.put("dir_agent.py", b"", &trash, "1").unwrap_err().reason, Reason::NotAFile);
    assert!(folder.put("../x_agent.py", b"", &trash, "1").is_err());
    assert_eq!(names_in(home.path()), ["agents", "x_agent.py"]);
}

#[test]
fn the_trash_has_a_limit_and_the_oldest_goes() {
    let home = tempfile::tempdir().unwrap();
    let folder = AgentsFolder::new(home.path().join("agents"));
    let trash = home.path().join("trash");
    fs::create_dir(&trash).unwrap();
    for number in 0..TRASH_ENTRIES_MAX {
        fs::write(trash.join(format!("2020-{number:04}-x_agent.py")), "").unwrap();
    }
    let trash = Trash::new(trash);
    folder.put("a_agent.py", b"one", &trash, "2021").unwrap();
    folder.take_out("a_agent.py", &trash, "2021").unwrap();
    let names = names_in(&home.path().join("trash"));
    assert_eq!((names.len(), names[0].as_str()), (TRASH_ENTRIES_MAX, "2020-0001-x_agent.py"));
    assert_eq!(names.last().unwrap(), "2021-a_agent.py");
}
