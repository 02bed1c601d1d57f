//! Tells at once when a file appears in its folder. One question to the kernel serves all apps: to close one takes longer
//! than an app takes to start.

use crate::sandbox::watch;
use rustix::{
    fs::inotify::{self, CreateFlags, Reader, WatchFlags},
    io::Errno,
};
use std::{
    collections::HashMap,
    ffi::{CStr, OsString},
    io,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    io::unix::AsyncFd,
    sync::{Notify, OnceCell},
    task::JoinHandle,
};

/// Room for some tidings at once; what does not fit is read the next time.
const TIDINGS_BYTES: usize = 4 << 10;

/// The files that somebody waits for. Nothing is asked of the kernel before somebody does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arrivals(Arc<OnceCell<Listening>>);

#[derive(Debug)]
struct Listening {
    heard: Arc<Heard>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Heard {
    tidings: AsyncFd<OwnedFd>,
    folders: Mutex<HashMap<i32, Expected>>,
}

/// What is waited for in a folder.
#[derive(Debug)]
struct Expected {
    name: OsString,
    came: Arc<Notify>,
}

/// One file, looked out for as long as this lives.
#[derive(Debug)]
pub(super) struct Looking {
    heard: Arc<Heard>,
    folder: i32,
    came: Arc<Notify>,
}

impl Arrivals {
    /// Looks out for a file, in a folder in which nobody looks out for another.
    pub(super) async fn look_out_for(&self, path: &Path) -> io::Result<Looking> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidFilename.into());
        };
        let listening = self.0.get_or_try_init(|| async { Listening::begin() }).await?;
        let heard = Arc::clone(&listening.heard);
        let came = Arc::new(Notify::new());
        // Under the lock: the first tidings must find who waits for them.
        let mut folders = lock(&heard.folders);
        let number = inotify::add_watch(heard.tidings.get_ref(), folder, WatchFlags::CREATE)?;
        folders.insert(number, Expected { name: name.to_owned(), came: Arc::clone(&came) });
        drop(folders);
        Ok(Looking { heard, folder: number, came })
    }
}

impl Looking {
    /// Returns once it appeared since the last time this returned.
    pub(super) async fn it_came(&self) {
        self.came.notified().await;
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        lock(&self.heard.folders).remove(&self.folder);
        // The folder may be gone, and its watch with it.
        inotify::remove_watch(self.heard.tidings.get_ref(), self.folder).ok();
    }
}

impl Listening {
    fn begin() -> io::Result<Self> {
        let asked = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let tidings = watch(asked).map_err(|(_, error)| error)?;
        let heard = Arc::new(Heard { tidings, folders: Mutex::default() });
        let task = tokio::spawn(listen(Arc::clone(&heard)));
        Ok(Self { heard, task })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(heard: Arc<Heard>) {
    loop {
        let Ok(mut ready) = heard.tidings.readable().await else { return };
        let mut space = [MaybeUninit::uninit(); TIDINGS_BYTES];
        let mut reader = Reader::new(heard.tidings.get_ref(), &mut space);
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(CStr::to_bytes);
                    if let Some(expected) = lock(&heard.folders).get(&event.wd())
                        && name == Some(expected.name.as_bytes())
                    {
                        expected.came.notify_one();
                    }
                }
                Err(Errno::AGAIN) => break ready.clear_ready(),
                Err(error) => {
                    tracing::error!(%error, "hear of new files");
                    return;
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::Arrivals;
    use std::{fs, time::Duration};
    use tokio::time::timeout;

    /// Longer than any test waits for anything that works.
    const LONG: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn a_file_that_appears_is_told_to_whom_waits_for_it_and_to_nobody_else() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let arrivals = Arrivals::default();
        let [here, there] = [0, 1].map(|index: usize| folders[index].path().join("file"));
        let (looking_here, looking_there) =
            (arrivals.look_out_for(&here).await.unwrap(), arrivals.look_out_for(&there).await.unwrap());
        fs::write(there.with_file_name("another"), "").unwrap();
        fs::write(&here, "").unwrap();
        timeout(LONG, looking_here.it_came()).await.unwrap();
        assert!(timeout(Duration::ZERO, looking_there.it_came()).await.is_err());
        fs::write(&there, "").unwrap();
        timeout(LONG, looking_there.it_came()).await.unwrap();
    }

    #[tokio::test]
    async fn a_folder_can_be_looked_at_again_also_after_it_was_removed() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("folder");
        let arrivals = Arrivals::default();
        for _ in 0..3 {
            fs::create_dir(&folder).unwrap();
            let looking = arrivals.look_out_for(&folder.join("file")).await.unwrap();
            fs::write(folder.join("file"), "").unwrap();
            timeout(LONG, looking.it_came()).await.unwrap();
            fs::remove_dir_all(&folder).unwrap();
        }
        assert!(arrivals.look_out_for(&folder.join("file")).await.is_err());
    }
}
