//! What a broken disk does: a clear error, nothing changed, and everything works again when the disk does.

use roost_protocol::{Reason, Tenant};
use roost_storage::{Change, Database, Engine, Faults, Location, StorageError, Transaction};
use roost_tests::{ENGINES, Sql, TestDatabase, dump, file_path, owner, removal, text, until};
use roost_workspace::{Condition, Done, Limits, MIGRATIONS, WorkspaceError, Workspaces, Writer};
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::{Mutex, mpsc},
};

fn acme() -> Tenant {
    Tenant::parse("acme").unwrap()
}

async fn open(path: &Path) -> Result<Database, StorageError> {
    Database::open(Location::File(path.to_owned()), MIGRATIONS, Faults::default()).await
}

async fn put(workspaces: &Workspaces, path: &str, content: &str) -> Result<i64, WorkspaceError> {
    let write = text(path, Condition::none(), content);
    let done = workspaces.write_one(&owner("acme", "main"), &Writer::person("anna"), write, None).await?;
    match done.value {
        Done::Made(info) => Ok(info.version),
        Done::Proposed(_) => panic!("a person does not propose"),
    }
}

#[tokio::test]
async fn what_is_no_database_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("roost.db");
    let garbage = b"this is a letter to my aunt, and it is long enough to be looked at\n".repeat(100);
    fs::write(&path, &garbage).unwrap();
    let refused = open(&path).await.unwrap_err();
    assert!(matches!(refused, StorageError::Corrupt { .. }), "{refused:?}");
    assert_eq!(refused.reason(), Reason::StorageDamaged);
    assert_eq!(fs::read(&path).unwrap(), garbage);
}

#[tokio::test]
async fn a_folder_or_a_missing_place_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("missing/roost.db")] {
        let refused = open(&path).await.unwrap_err();
        assert!(matches!(refused, StorageError::ReadOnly { .. }), "{refused:?}");
        assert_eq!(refused.reason(), Reason::StorageUnavailable);
    }
}

#[tokio::test]
async fn a_database_that_was_cut_short_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("roost.db");
    let workspaces = Workspaces::new(open(&path).await.unwrap(), Limits::default());
    for number in 0..40 {
        put(&workspaces, &format!("{number}.md"), &"x".repeat(8000)).await.unwrap();
    }
    // The last one to leave carries the log over into the file.
    drop(workspaces);
    let whole = fs::metadata(&path).unwrap().len();
    for part in [1, 2, 3] {
        let cut = folder.path().join(format!("{part}.db"));
        fs::copy(&path, &cut).unwrap();
        fs::File::options().write(true).open(&cut).unwrap().set_len(whole * part / 4).unwrap();
        let error = match open(&cut).await {
            Err(error) => error,
            Ok(database) => match database.check().await {
                Err(error) => error,
                Ok(found) => StorageError::Corrupt { message: found.into_iter().next().unwrap() },
            },
        };
        assert_eq!(error.reason(), Reason::StorageDamaged, "{error:?}");
    }
}

/// A small file system in memory, which only root can have. It goes with this value.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    fn new() -> Option<Self> {
        let disk = Self { folder: tempfile::tempdir().unwrap() };
        let made = disk.mount(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"]);
        if !made {
            eprintln!("skipped: only root can have a small disk");
        }
        made.then_some(disk)
    }

    #[expect(clippy::disallowed_methods, reason = "tests make the disk that they fill")]
    fn mount(&self, arguments: &[&str]) -> bool {
        let mut command = Command::new("mount");
        command.args(arguments).arg(self.folder.path()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for SmallDisk {
    #[expect(clippy::disallowed_methods, reason = "tests take away the disk that they made")]
    fn drop(&mut self) {
        Command::new("umount").arg("--lazy").arg(self.folder.path()).status().ok();
    }
}

#[tokio::test]
async fn a_full_disk_refuses_and_works_again_when_there_is_room() {
    let Some(disk) = SmallDisk::new() else { return };
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![0; 200_000]).unwrap();
    let database = open(&disk.path().join("roost.db")).await.unwrap();
    let workspaces = Workspaces::new(database.clone(), Limits::default());
    let mut written = 0;
    let refused = loop {
        let before = dump(&database, &acme()).await;
        match put(&workspaces, &format!("{written}.md"), &"x".repeat(20_000)).await {
            Ok(_) => written += 1,
            Err(error) => {
                assert_eq!(dump(&database, &acme()).await, before, "nothing changed");
                break error;
            }
        }
    };
    assert_eq!(refused, WorkspaceError::Storage(StorageError::Full));
    assert!(written > 0);
    for number in 0..written {
        let path = file_path(&format!("{number}.md"));
        let file = workspaces.get(&owner("acme", "main"), &path, None).await.unwrap();
        assert_eq!(file.content.len(), 20_000);
    }
    fs::remove_file(&ballast).unwrap();
    assert_eq!(put(&workspaces, "after.md", "there is room again").await.unwrap(), 1);
    assert!(database.check().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_disk_that_cannot_be_written_is_said() {
    let Some(disk) = SmallDisk::new() else { return };
    let path = disk.path().join("roost.db");
    let workspaces = Workspaces::new(open(&path).await.unwrap(), Limits::default());
    put(&workspaces, "a.md", "before").await.unwrap();
    drop(workspaces);
    // The writer closes its files on a thread of its own.
    until("the disk is let go", || disk.mount(&["-o", "remount,ro"]));
    match open(&path).await {
        Err(refused) => assert_eq!(refused.reason(), Reason::StorageUnavailable, "{refused:?}"),
        Ok(database) => {
            let refused = put(&Workspaces::new(database, Limits::default()), "a.md", "x").await;
            let expected = matches!(refused, Err(WorkspaceError::Storage(StorageError::ReadOnly { .. })));
            assert!(expected, "{refused:?}");
        }
    }
    assert!(disk.mount(&["-o", "remount,rw"]));
    let workspaces = Workspaces::new(open(&path).await.unwrap(), Limits::default());
    assert_eq!(put(&workspaces, "a.md", "after").await.unwrap(), 2);
}

/// Holds the database until it is told to let go, as another program might.
struct Holds {
    begun: Mutex<mpsc::Sender<()>>,
    end: Mutex<mpsc::Receiver<()>>,
}

impl Change for Holds {
    type Output = ();
    type Error = StorageError;

    async fn apply(&self, _: &mut Transaction) -> Result<(), StorageError> {
        self.begun.lock().unwrap().send(()).unwrap();
        self.end.lock().unwrap().recv().unwrap();
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_another_program_holds_is_said_to_be_unavailable() {
    let place = TestDatabase::new(Engine::Sqlite, MIGRATIONS).await;
    let workspaces = place.workspaces(Limits::default());
    put(&workspaces, "a.md", "before").await.unwrap();
    let other = Database::open(place.location.clone(), MIGRATIONS, Faults::default()).await.unwrap();
    let ((begun, has_begun), (let_go, end)) = (mpsc::channel(), mpsc::channel());
    let holds = Holds { begun: Mutex::new(begun), end: Mutex::new(end) };
    let holding = tokio::spawn(async move { other.write(&acme(), holds).await });
    tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
    let refused = put(&workspaces, "a.md", "x").await;
    let expected = matches!(refused, Err(WorkspaceError::Storage(StorageError::Unavailable { .. })));
    assert!(expected, "{refused:?}");
    let file = workspaces.get(&owner("acme", "main"), &file_path("a.md"), None).await.unwrap();
    assert_eq!(file.content, b"before", "readers are not kept waiting");
    let_go.send(()).unwrap();
    holding.await.unwrap().unwrap();
    assert_eq!(put(&workspaces, "a.md", "after").await.unwrap(), 2);
}

#[tokio::test]
async fn a_clock_that_is_set_back_makes_no_version_older() {
    for engine in ENGINES {
        let place = TestDatabase::new(engine, MIGRATIONS).await;
        let workspaces = place.workspaces(Limits::default());
        put(&workspaces, "a.md", "one").await.unwrap();
        let future = 9_000_000_000_000;
        for table in ["files", "versions"] {
            let set = Sql::made(format!("UPDATE {table} SET updated_at = {future}"));
            place.database.write(&acme(), set).await.unwrap();
        }
        put(&workspaces, "a.md", "two").await.unwrap();
        let owner = owner("acme", "main");
        workspaces
            .write_one(&owner, &Writer::person("anna"), removal("a.md", Condition::none()), None)
            .await
            .unwrap();
        let history = workspaces.history(&owner, &file_path("a.md")).await.unwrap();
        let times: Vec<i64> = history.iter().map(|revision| revision.updated_at).collect();
        assert_eq!(times, [future; 3], "{engine:?}");
    }
}
