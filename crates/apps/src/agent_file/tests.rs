//! Reading one file, whatever stands at its path.

use super::{AGENT_FILE_BYTES_MAX, AgentFile, check_file_name, read_limited};
use roost_protocol::{Digest, FileKind, Language, Reason};
use rustix::fs::{CWD, FileType, Mode};
use std::{fs, io, path::Path};

fn refused(path: &Path) -> Reason {
    AgentFile::read(path).unwrap_err().reason
}

#[test]
fn a_file_is_read_with_its_digest_language_and_stamp() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("weather_agent.py"), "x = 1\n").unwrap();
    let file = AgentFile::read_in(folder.path(), FileKind::Agent, "weather_agent.py").unwrap();
    assert_eq!(&*file.bytes, b"x = 1\n");
    assert_eq!(file.digest, Digest::of(b"x = 1\n"));
    assert_eq!(file.language, Language::Python);
    assert_eq!(file.stamp.size, 6);
    assert!(file.path.is_absolute() && file.path.ends_with("weather_agent.py"));
}

#[test]
fn a_person_may_name_any_script_but_the_folder_takes_agent_names_only() {
    let folder = tempfile::tempdir().unwrap();
    for (name, language) in [("tool.py", Language::Python), ("tool.ts", Language::TypeScript)] {
        fs::write(folder.path().join(name), "").unwrap();
        assert_eq!(AgentFile::read(&folder.path().join(name)).unwrap().language, language);
        assert_eq!(
            AgentFile::read_in(folder.path(), FileKind::Agent, name).unwrap_err().reason,
            Reason::InvalidFileName
        );
    }
    fs::write(folder.path().join("notes.txt"), "").unwrap();
    assert_eq!(refused(&folder.path().join("notes.txt")), Reason::InvalidFileName);
}

#[test]
fn a_bad_name_is_refused_with_the_repaired_name() {
    for (name, repaired) in [
        ("my cool_agent.py", "my_cool_agent.py"),
        ("wëather_agent.py", "w_ather_agent.py"),
        ("a  &  b_agent.py", "a_b_agent.py"),
        ("../../etc_agent.py", ".._.._etc_agent.py"),
    ] {
        let failure = check_file_name(name).unwrap_err();
        assert_eq!(failure.reason, Reason::InvalidFileName);
        assert!(failure.message.contains(&format!("`{repaired}`")), "{}", failure.message);
        assert!(check_file_name(repaired).is_ok());
    }
    assert!(check_file_name("").is_err());
}

#[test]
fn no_file_name_leads_out_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["../x_agent.py", "/etc/x_agent.py", "a/b_agent.py", "..", ""] {
        assert_eq!(
            AgentFile::read_in(folder.path(), FileKind::Agent, name).unwrap_err().reason,
            Reason::InvalidFileName,
            "{name}"
        );
    }
}

#[test]
fn what_is_not_a_regular_file_is_refused_without_blocking() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("dir_agent.py")).unwrap();
    rustix::fs::mknodat(CWD, at("pipe_agent.py"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket_agent.py")).unwrap();
    for name in ["dir_agent.py", "pipe_agent.py", "socket_agent.py"] {
        assert_eq!(refused(&at(name)), Reason::NotAFile, "{name}");
    }
    std::os::unix::fs::symlink("/dev/zero", at("zero_agent.py")).unwrap();
    assert_eq!(refused(&at("zero_agent.py")), Reason::NotAFile);
    assert_eq!(refused(Path::new("/")), Reason::NotAFile);
}

#[test]
fn a_missing_file_is_unreadable() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(refused(&folder.path().join("none_agent.py")), Reason::Unreadable);
    assert_eq!(refused(&folder.path().join("none/none_agent.py")), Reason::Unreadable);
}

#[test]
fn the_limit_is_a_size_that_is_still_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big_agent.py");
    let file = fs::File::create(&path).unwrap();
    file.set_len(AGENT_FILE_BYTES_MAX).unwrap();
    assert_eq!(AgentFile::read(&path).unwrap().bytes.len() as u64, AGENT_FILE_BYTES_MAX);
    file.set_len(AGENT_FILE_BYTES_MAX + 1).unwrap();
    assert_eq!(refused(&path), Reason::FileTooLarge);
}

#[test]
fn a_file_that_grows_while_it_is_read_is_cut_off() {
    assert_eq!(read_limited(io::repeat(b'x'), 10).unwrap_err().reason, Reason::FileTooLarge);
}

#[test]
fn short_reads_are_put_together() {
    struct OneByteAtATime<'a>(&'a [u8]);
    impl io::Read for OneByteAtATime<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            buffer[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }
    assert_eq!(read_limited(OneByteAtATime(b"import os"), 3).unwrap(), b"import os");
}
