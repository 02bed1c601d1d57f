//! What agents and apps print: rotated files, and a count that stops floods.

use std::{
    collections::HashMap,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::{net::unix::pipe, sync::Notify};

/// When a log is put aside, and how many such are kept.
#[derive(Debug, Clone, Copy)]
struct Rotation {
    bytes_max: u64,
    kept: usize,
}

/// Enough to understand a failure, small enough for hundreds of agents.
const OF_AGENTS: Rotation = Rotation { bytes_max: 1 << 20, kept: 2 };

/// As the native contract has it.
const OF_APPS: Rotation = Rotation { bytes_max: 2 << 20, kept: 1 };

/// Copied at once: as much as a pipe holds, so that a flood costs the host little.
const PIECE_BYTES: usize = 64 << 10;

/// Longest line that is held back until it is whole.
const LINE_BYTES_MAX: usize = 16 << 10;

/// One of the two streams that a native app prints to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NativeStream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

/// What may be kept of something that an agent printed. Nothing means all of it, and that there is nothing to look for.
pub type Clear = Arc<dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync>;

/// All agents' logs; clones share them.
#[derive(Clone)]
pub(crate) struct Logs {
    folder: Arc<Path>,
    clear: Clear,
    open: Arc<Mutex<HashMap<String, Arc<Mutex<Log>>>>>,
}

impl Logs {
    pub(crate) fn new(folder: PathBuf, clear: Clear) -> Self {
        Self { folder: folder.into(), clear, open: Arc::default() }
    }

    /// Where the log of an agent file is.
    pub(crate) fn path(&self, file: &Path) -> PathBuf {
        self.folder.join(format!("{}.log", file.file_name().unwrap_or_default().to_string_lossy()))
    }

    /// Where what a native app prints is.
    pub(crate) fn native_path(&self, id: &str, stream: NativeStream) -> PathBuf {
        let name = match stream {
            NativeStream::Output => "stdout.log",
            NativeStream::Errors => "stderr.log",
        };
        self.folder.join("native").join(id).join(name)
    }

    /// Copies everything from the pipe into the file's log until the last writer is gone.
    pub(crate) fn follow(&self, file: &Path, pipe: pipe::Receiver, printed: Arc<Printed>) {
        self.copy_into(self.path(file), OF_AGENTS, pipe, Some(printed));
    }

    /// Where a native app prints to: what arrives there goes into its logs, for as long as it runs.
    pub(crate) fn of_native(&self, id: &str) -> io::Result<(OwnedFd, OwnedFd)> {
        let writer = |stream: NativeStream| -> io::Result<OwnedFd> {
            let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
            let reader = pipe::Receiver::from_owned_fd(reader)?;
            self.copy_into(self.native_path(id, stream), OF_APPS, reader, None);
            Ok(writer)
        };
        Ok((writer(NativeStream::Output)?, writer(NativeStream::Errors)?))
    }

    fn copy_into(
        &self,
        path: PathBuf,
        rotation: Rotation,
        pipe: pipe::Receiver,
        printed: Option<Arc<Printed>>,
    ) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let log = open
            .entry(path.to_string_lossy().into_owned())
            .or_insert_with(|| Arc::new(Mutex::new(Log { path, rotation, file: None, length: 0 })));
        // Ends by itself when the worker and its children are gone; they are killed before the host ends.
        drop(tokio::spawn(copy(pipe, Arc::clone(log), printed, Arc::clone(&self.clear))));
    }
}

/// Counts what one worker prints and tells when it is too much.
#[derive(Debug)]
pub(crate) struct Printed {
    bytes: AtomicU64,
    bytes_max: u64,
    exceeded: Notify,
}

impl Printed {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { bytes: AtomicU64::new(0), bytes_max, exceeded: Notify::new() }
    }

    /// Starts a new count, at the beginning of a call.
    pub(crate) fn reset(&self) {
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// Resolves once the count is over its limit.
    pub(crate) async fn exceeded(&self) {
        self.exceeded.notified().await;
    }

    fn add(&self, bytes: usize) {
        let before = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if before <= self.bytes_max && before + bytes as u64 > self.bytes_max {
            self.exceeded.notify_one();
        }
    }
}

async fn copy(pipe: pipe::Receiver, log: Arc<Mutex<Log>>, printed: Option<Arc<Printed>>, clear: Clear) {
    let mut cleared = Cleared { clear, held: Vec::new() };
    let write = |bytes: &[u8]| {
        let written = log.lock().unwrap_or_else(PoisonError::into_inner).append(bytes);
        if let Err(error) = written {
            tracing::warn!(%error, "write an agent's log");
        }
    };
    // Idle workers hold no buffer: there may be hundreds of them. One that prints gets one for this piece.
    while pipe.readable().await.is_ok() {
        let mut buffer = Vec::with_capacity(PIECE_BYTES);
        match pipe.try_read_buf(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Ok(0) | Err(_) => break,
            Ok(read) => {
                if let Some(printed) = &printed {
                    printed.add(read);
                }
            }
        }
        write(&cleared.pass(buffer));
    }
    write(&cleared.finish());
}

/// What an agent prints, line by line without what must not be kept: a secret may arrive in two pieces.
struct Cleared {
    clear: Clear,
    held: Vec<u8>,
}

impl Cleared {
    fn pass(&mut self, piece: Vec<u8>) -> Vec<u8> {
        if self.held.is_empty() && (self.clear)(&[]).is_none() {
            return piece;
        }
        self.held.extend_from_slice(&piece);
        let end = self.held.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let end = if self.held.len() - end > LINE_BYTES_MAX { self.held.len() } else { end };
        let whole: Vec<u8> = self.held.drain(..end).collect();
        (self.clear)(&whole).unwrap_or(whole)
    }

    fn finish(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        (self.clear)(&rest).unwrap_or(rest)
    }
}

#[derive(Debug)]
struct Log {
    path: PathBuf,
    rotation: Rotation,
    file: Option<File>,
    length: u64,
}

impl Log {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.file.is_none() {
            if let Some(folder) = self.path.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            let file = self.open()?;
            self.length = file.metadata()?.len();
            self.file = Some(file);
        }
        if self.length + bytes.len() as u64 > self.rotation.bytes_max && self.length > 0 {
            self.rotate()?;
        }
        if let Some(file) = &mut self.file {
            file.write_all(bytes)?;
            self.length += bytes.len() as u64;
        }
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let numbered = |number: usize| {
            if number == 0 { self.path.clone() } else { self.path.with_extension(format!("log.{number}")) }
        };
        for number in (0..self.rotation.kept).rev() {
            match fs::rename(numbered(number), numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.file = Some(self.open()?);
        self.length = 0;
        Ok(())
    }

    /// What is printed is nobody else's to read.
    fn open(&self) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::{Cleared, Log, OF_AGENTS, OF_APPS, Printed};
    use std::{fs, os::unix::fs::PermissionsExt as _, sync::Arc, time::Duration};

    #[test]
    fn what_must_not_be_kept_is_found_however_it_arrives() {
        let text = "one tea-secret\ntwo tea-secret three";
        for size in 1..text.len() {
            let clear = |bytes: &[u8]| {
                let text = String::from_utf8_lossy(bytes).replace("tea-secret", "*");
                Some(text.into_bytes())
            };
            let mut cleared = Cleared { clear: Arc::new(clear), held: Vec::new() };
            let mut kept = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                kept.extend(cleared.pass(piece.to_vec()));
            }
            kept.extend(cleared.finish());
            assert_eq!(String::from_utf8(kept).unwrap(), "one *\ntwo * three", "pieces of {size}");
        }
    }

    #[test]
    fn a_log_never_takes_more_than_its_share_of_the_disk_and_is_nobody_else_s() {
        for rotation in [OF_AGENTS, OF_APPS] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("new/x.log");
            let mut log = Log { path: path.clone(), rotation, file: None, length: 0 };
            for _ in 0..100 {
                log.append(&[b'x'; 100_000]).unwrap();
            }
            let files: Vec<fs::Metadata> = fs::read_dir(path.parent().unwrap())
                .unwrap()
                .map(|entry| entry.unwrap().metadata().unwrap())
                .collect();
            assert_eq!(files.len(), rotation.kept + 1);
            for file in files {
                assert!(file.len() <= rotation.bytes_max);
                assert_eq!(file.permissions().mode() & 0o777, 0o600);
            }
        }
    }

    #[tokio::test]
    async fn printing_over_the_limit_is_noticed_even_by_a_late_listener() {
        let printed = Printed::new(10);
        printed.add(10);
        printed.add(1);
        tokio::time::timeout(Duration::from_secs(1), printed.exceeded()).await.unwrap();
    }
}
