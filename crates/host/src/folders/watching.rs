//! Hears what changes in folders, so that a folder in which nothing changed need not be looked at.
//!
//! The kernel has queued an event before the system call that caused it returns, so whatever an agent did is in the queue
//! when its answer arrives. One queue serves all folders: a person may have few of them open, and many folders.

use rustix::{
    fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init},
    io::Errno,
};
use std::{
    collections::HashMap,
    io,
    mem::MaybeUninit,
    os::fd::{AsRawFd as _, BorrowedFd, OwnedFd},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

/// Set when something changed in a folder.
pub(super) type Changed = Arc<AtomicBool>;

/// Events read at once before everything is taken as changed: an agent may make them faster than they are read.
const EVENTS_MAX: usize = 1 << 16;

/// Room for some hundred events.
const BUFFER_BYTES: usize = 16 << 10;

pub(super) struct Watching {
    queue: OwnedFd,
    folders: Mutex<HashMap<i32, Weak<AtomicBool>>>,
}

impl Watching {
    pub(super) fn new() -> io::Result<Self> {
        let queue = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        Ok(Self { queue, folders: Mutex::default() })
    }

    /// Hears of one directory from now on. It is named by its descriptor: its path may lead elsewhere by now.
    pub(super) fn add(&self, directory: BorrowedFd<'_>, changed: &Changed) -> io::Result<()> {
        let what = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            // What was written through memory is only heard of when the file is closed.
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
        // Locked before: an event must find its folder.
        let mut folders = self.lock();
        let number = add_watch(&self.queue, path, what)?;
        folders.insert(number, Arc::downgrade(changed));
        Ok(())
    }

    /// Marks every folder in which something changed since the last time.
    pub(super) fn take_in(&self) {
        let mut folders = self.lock();
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut reader = Reader::new(&self.queue, &mut buffer);
        for _ in 0..EVENTS_MAX {
            match reader.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => break,
                Ok(event) => {
                    let is_over = event.events().contains(ReadFlags::IGNORED);
                    let number = event.wd();
                    let folder =
                        if is_over { folders.remove(&number) } else { folders.get(&number).cloned() };
                    mark(folder.as_ref());
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(error) => {
                    tracing::error!(%error, "hear what changes in agents' folders");
                    break;
                }
            }
        }
        // Something was lost, so anything may have changed.
        folders.values().for_each(|folder| mark(Some(folder)));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i32, Weak<AtomicBool>>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn mark(folder: Option<&Weak<AtomicBool>>) {
    if let Some(changed) = folder.and_then(Weak::upgrade) {
        changed.store(true, Ordering::Release);
    }
}
