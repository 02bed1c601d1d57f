//! The kernel's sandbox (Landlock) around this process, put on before a byte of the model is read.
//!
//! A model file is third-party input to a parser in C++. Behind this the process can read that one file and nothing
//! else, write nothing, and open no TCP connection. Its listening socket is bound before and stays.

use std::path::Path;

/// What could not be applied, in words for the log. Empty when everything holds.
pub(crate) type Gaps = Vec<String>;

/// The sandbox could not be put on at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("open the model file {path}")]
    Model {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[cfg(target_os = "linux")]
    #[error("apply the sandbox")]
    Landlock(#[from] landlock::RulesetError),
}

/// Confines this thread and all that it starts to reading `model`. Must come before any other thread.
#[cfg(target_os = "linux")]
pub(crate) fn confine_to(model: &Path) -> Result<Gaps, Error> {
    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
        RulesetCreatedAttr, Scope,
    };
    let newest = ABI::V6;
    let file = std::fs::File::open(model)
        .map_err(|source| Error::Model { path: model.display().to_string(), source })?;
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(newest))?
        .handle_access(AccessNet::from_all(newest))?
        .scope(Scope::from_all(newest))?
        .create()?
        .add_rule(PathBeneath::new(file, AccessFs::ReadFile))?
        .restrict_self()?;
    Ok(gaps(&status))
}

/// Other systems have no Landlock.
#[cfg(not(target_os = "linux"))]
pub(crate) fn confine_to(_model: &Path) -> Result<Gaps, Error> {
    Ok(vec!["files, network and signals (this system has no Landlock)".to_owned()])
}

#[cfg(target_os = "linux")]
fn gaps(status: &landlock::RestrictionStatus) -> Gaps {
    use landlock::{ABI, LandlockStatus};
    // Which version of the kernel's interface brought which restriction.
    const RESTRICTIONS: [(ABI, &str); 6] = [
        (ABI::V1, "reading and writing files"),
        (ABI::V2, "moving files between folders"),
        (ABI::V3, "truncating files"),
        (ABI::V4, "TCP connections"),
        (ABI::V5, "commands to devices"),
        (ABI::V6, "signals and abstract sockets"),
    ];
    let have = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi,
        _ => ABI::Unsupported,
    };
    let missing = RESTRICTIONS.into_iter().filter(|(needed, _)| *needed > have);
    let mut gaps: Gaps = missing.map(|(_, what)| what.to_owned()).collect();
    if !status.no_new_privs {
        gaps.push("gaining privileges".to_owned());
    }
    gaps
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn confined_thread_reads_the_model_and_reaches_nothing_else() {
        let model = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let other = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // The sandbox is the thread's, so that the other tests stay free.
        let confined = std::thread::spawn(move || {
            let gaps = confine_to(model).unwrap();
            let read = std::fs::read(model).map(drop);
            let refused = [
                std::fs::read(other).map(drop),
                std::fs::read_dir("/").map(drop),
                std::fs::OpenOptions::new().append(true).open(model).map(drop),
                std::net::TcpStream::connect(address).map(drop),
                std::net::TcpListener::bind("127.0.0.1:0").map(drop),
            ];
            (gaps, read, refused)
        });
        let (gaps, read, refused) = confined.join().unwrap();
        if !gaps.is_empty() {
            return eprintln!("SKIPPED: the kernel of this computer does not restrict {}", gaps.join(", "));
        }
        read.unwrap();
        for result in refused {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::PermissionDenied);
        }
    }
}
