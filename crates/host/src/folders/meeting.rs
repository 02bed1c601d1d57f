//! A folder and its workspace, made the same again.
//!
//! What changed on one side is brought to the other. What changed on both is kept twice: the workspace's version keeps the
//! name. Stopped anywhere, the next meeting finds what is left to do, because equal contents are never a difference.

use super::{
    changes::{Changes, find_changes},
    content_type::content_type,
    known::{Known, KnownFile, OnDisk},
    tree::{Content, Tree},
    watching::{Changed, Watching},
};
use roost_protocol::{CommittedFile, ConflictingFile, Failure, FolderReport, Reason, SkippedFile};
use roost_workspace::{
    Condition, Content as Kept, Done, File, FileInfo, FilePath, Limits, Owner, Prefix, WorkspaceError,
    Workspaces, Write, Writer,
};
use rustix::io::Errno;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Names that are tried for a file that is kept beside another.
const NAMES_TRIED: usize = 9;

/// Who meets.
pub(super) struct Parties<'a> {
    pub(super) owner: &'a Owner,
    pub(super) path: &'a Path,
    pub(super) limits: &'a Limits,
    pub(super) writer: &'a Writer,
    pub(super) watching: Option<(&'a Watching, &'a Changed)>,
}

/// What one round left to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    /// Something changed meanwhile, or was too much for one round.
    Another,
}

/// One round.
pub(super) struct Meeting<'a> {
    parties: &'a Parties<'a>,
    tree: Tree,
    known: &'a mut Known,
    changes: Changes,
    pending: Vec<Pending>,
    report: FolderReport,
    /// True when a round must follow.
    again: bool,
    /// True when something of the workspace is not in the folder yet.
    is_behind: bool,
}

/// A write, and the file it is about.
struct Pending {
    write: Write,
    on_disk: Option<OnDisk>,
}

impl<'a> Meeting<'a> {
    /// Opens the folder, made again where it was lost, and looks for changes when there may be some. The second value
    /// says whether changes are heard from now on.
    pub(super) fn begin(
        parties: &'a Parties<'a>,
        known: &'a mut Known,
        is_to_look: bool,
    ) -> Result<(Self, bool), Failure> {
        let tree = match Tree::open(parties.path) {
            // Lost, not emptied: nothing in it was removed by anybody.
            Err(Errno::NOENT) => {
                known.files.values_mut().for_each(|file| file.on_disk = None);
                Tree::make(parties.path).map_err(|error| unusable(parties.path, &error))?;
                Tree::open(parties.path)
            }
            opened => opened,
        };
        let tree = tree.map_err(|error| unusable(parties.path, &error))?;
        let mut changes = Changes { is_watched: true, ..Changes::default() };
        if is_to_look {
            changes = find_changes(&tree, known, parties.limits, parties.watching)
                .map_err(|error| unusable(parties.path, &error))?;
        }
        let is_watched = changes.is_watched;
        let again = changes.has_more;
        let report = FolderReport::default();
        let meeting =
            Self { parties, tree, known, changes, pending: Vec::new(), report, again, is_behind: false };
        Ok((meeting, is_watched))
    }

    /// True when there never was anything on this side, and still is nothing.
    pub(super) fn is_unused(&self) -> bool {
        *self.known == Known::default() && self.changes.written.is_empty()
    }

    /// Brings what is new in the workspace into the folder. Without `both`, whatever changed in the folder is left alone:
    /// somebody is at work there.
    pub(super) async fn pull(
        &mut self,
        workspaces: &Workspaces,
        sequence: i64,
        both: bool,
    ) -> Result<i64, Failure> {
        if sequence < self.known.sequence {
            // Another database, or one from before: what is known of it holds no more.
            *self.known = Known::default();
            self.look_again();
            return Ok(sequence);
        }
        let mut base = sequence;
        let mut newer = BTreeSet::new();
        if sequence != self.known.sequence {
            let listing = workspaces.list(self.parties.owner, &Prefix::default()).await.map_err(failure)?;
            base = listing.sequence;
            let listed: BTreeMap<FilePath, FileInfo> =
                listing.files.into_iter().map(|info| (info.path.clone(), info)).collect();
            let gone: Vec<FilePath> =
                self.known.files.keys().filter(|path| !listed.contains_key(*path)).cloned().collect();
            for path in gone {
                self.withdraw(workspaces, &path, both).await?;
            }
            let is_new =
                |info: &&FileInfo| self.known.files.get(&info.path).is_none_or(|file| file.etag != info.etag);
            newer = listed.values().filter(is_new).map(|info| info.path.clone()).collect();
        }
        let not_on_disk = self.known.files.iter().filter(|(_, file)| file.on_disk.is_none());
        newer.extend(not_on_disk.map(|(path, _)| path.clone()));
        for path in newer {
            self.bring(workspaces, &path, both).await?;
        }
        Ok(base)
    }

    /// Commits what changed in the folder, in one write.
    pub(super) async fn commit(&mut self, workspaces: &Workspaces, base: i64) -> Result<(), Failure> {
        let mut pending = std::mem::take(&mut self.pending);
        let changes = std::mem::take(&mut self.changes);
        for path in &changes.removed {
            if let Some(file) = self.known.files.get(path) {
                let condition = Condition::unchanged(&file.etag);
                pending.push(Pending {
                    write: Write { path: path.clone(), condition, content: None },
                    on_disk: None,
                });
            }
        }
        for (path, content) in changes.written {
            let known = self.known.files.get(&path);
            let condition =
                known.map_or_else(Condition::create_only, |file| Condition::unchanged(&file.etag));
            pending.push(written(path, content, condition));
        }
        let made = if pending.is_empty() { 0 } else { self.write(workspaces, pending).await? };
        if !self.again {
            self.changes.skipped = changes.skipped;
            self.tell_skipped();
        }
        if !self.is_behind {
            self.known.sequence = base + made;
        }
        Ok(())
    }

    /// Says what stays out of the workspace.
    pub(super) fn tell_skipped(&mut self) {
        let skipped = std::mem::take(&mut self.changes.skipped);
        self.report.skipped.extend(skipped.into_iter().map(|(path, why)| SkippedFile { path, why }));
    }

    /// What was done and what is left.
    pub(super) fn end(self) -> (FolderReport, Left) {
        let mut report = FolderReport::default();
        report.add(self.report);
        (report, if self.again { Left::Another } else { Left::Nothing })
    }

    /// A file that has a newer version in the workspace than the folder.
    async fn bring(&mut self, workspaces: &Workspaces, path: &FilePath, both: bool) -> Result<(), Failure> {
        let File { info, content } = match workspaces.get(self.parties.owner, path, None).await {
            Err(WorkspaceError::NotFound) => {
                self.again = both;
                self.is_behind = true;
                return Ok(());
            }
            file => file.map_err(failure)?,
        };
        let changed = self.changes.written.remove(path);
        if let Some(changed) = changed.as_ref().filter(|changed| changed.bytes == content) {
            let on_disk = OnDisk::new(changed.stamp, &content);
            self.known.files.insert(path.clone(), KnownFile::new(&info, Some(on_disk)));
            return Ok(());
        }
        let is_removed = self.changes.removed.remove(path);
        if changed.is_some() || self.changes.too_large.contains(path) {
            if !self.keep_aside(path, changed) {
                return Ok(());
            }
        } else if !is_removed && !self.is_as_known(path, both) {
            return Ok(());
        }
        let on_disk = self.put(path, &content);
        self.known.files.insert(path.clone(), KnownFile::new(&info, on_disk));
        Ok(())
    }

    /// A file that was removed in the workspace.
    async fn withdraw(
        &mut self,
        workspaces: &Workspaces,
        path: &FilePath,
        both: bool,
    ) -> Result<(), Failure> {
        match workspaces.history(self.parties.owner, path).await {
            // The workspace never had it, so nobody removed it there: it is a new file.
            Err(WorkspaceError::NotFound) => {
                self.known.files.remove(path);
                self.look_again();
                return Ok(());
            }
            history => history.map_err(failure)?,
        };
        if self.changes.removed.remove(path) || self.changes.too_large.contains(path) {
            self.known.files.remove(path);
            return Ok(());
        }
        if let Some(changed) = self.changes.written.remove(path) {
            if self.keep_aside(path, Some(changed)) {
                self.known.files.remove(path);
            }
        } else if self.is_as_known(path, both) {
            match self.tree.remove(path) {
                Ok(()) => drop(self.known.files.remove(path)),
                Err(error) => {
                    self.skip(path, &format!("removed in the workspace, not in the folder: {error}"))
                }
            }
        }
        Ok(())
    }

    /// True when the file is as it was at the last meeting. When it is not, somebody has to look first.
    fn is_as_known(&mut self, path: &FilePath, both: bool) -> bool {
        let expected = self.known.files.get(path).and_then(|file| file.on_disk.as_ref());
        if self.tree.stamp(path) == expected.map(|on_disk| on_disk.stamp) {
            return true;
        }
        self.is_behind = true;
        if both {
            self.look_again();
        }
        false
    }

    /// Gives the folder's version another name, under which it becomes part of the workspace too.
    fn keep_aside(&mut self, path: &FilePath, content: Option<Content>) -> bool {
        let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        for number in 1..=NAMES_TRIED {
            let more = if number == 1 { String::new() } else { format!("-{number}") };
            let Ok(aside) = FilePath::of_folder(&format!("{path}.conflict-{time}{more}")) else { break };
            match self.tree.rename(path, &aside) {
                Ok(()) => {
                    let kept_as = aside.as_str().to_owned();
                    self.report.conflicts.push(ConflictingFile { path: path.as_str().to_owned(), kept_as });
                    if let (Some(content), Some(stamp)) = (content, self.tree.stamp(&aside)) {
                        let content = Content { stamp, ..content };
                        self.pending.push(written(aside, content, Condition::create_only()));
                    }
                    return true;
                }
                Err(Errno::EXIST) => {}
                Err(_) => break,
            }
        }
        self.is_behind = true;
        self.skip(path, "changed in the folder and in the workspace, and cannot be kept beside it");
        false
    }

    fn put(&mut self, path: &FilePath, content: &[u8]) -> Option<OnDisk> {
        match self.tree.put(path, content) {
            Ok(stamp) => Some(OnDisk::new(stamp, content)),
            Err(error) => {
                self.skip(path, &format!("cannot be put into the folder: {error}"));
                None
            }
        }
    }

    /// Makes all writes at once; one by one where the workspace does not take all of them. How many were made.
    async fn write(&mut self, workspaces: &Workspaces, pending: Vec<Pending>) -> Result<i64, Failure> {
        let Parties { owner, writer, .. } = *self.parties;
        let writes = pending.iter().map(|pending| pending.write.clone()).collect();
        let mut made = 0;
        match workspaces.write(owner, writer, writes, None).await {
            Ok(done) => {
                for (pending, done) in pending.into_iter().zip(done.value) {
                    made += self.done(workspaces, pending, done).await?;
                }
            }
            Err(WorkspaceError::Conflict { .. }) => self.compare_again(),
            Err(WorkspaceError::Storage(error)) => return Err(error.into()),
            Err(_) => {
                for pending in pending {
                    made += self.write_alone(workspaces, pending).await?;
                }
            }
        }
        Ok(made)
    }

    async fn write_alone(&mut self, workspaces: &Workspaces, pending: Pending) -> Result<i64, Failure> {
        let Parties { owner, writer, .. } = *self.parties;
        let path = pending.write.path.clone();
        match workspaces.write_one(owner, writer, pending.write.clone(), None).await {
            Ok(done) => return self.done(workspaces, pending, done.value).await,
            Err(WorkspaceError::Conflict { .. } | WorkspaceError::NotFound) => self.compare_again(),
            Err(WorkspaceError::Storage(error)) => return Err(error.into()),
            Err(WorkspaceError::ReadOnlyForAgents) => {
                self.skip(&path, "agents may only read this file; it was put back");
                self.put_back(workspaces, &path).await?;
            }
            Err(error) => self.skip(&path, &error.to_string()),
        }
        Ok(0)
    }

    /// Notes what became of a write; 1 when it was made.
    async fn done(&mut self, workspaces: &Workspaces, pending: Pending, done: Done) -> Result<i64, Failure> {
        let Write { path, content, .. } = pending.write;
        match done {
            Done::Made(info) => {
                let removed = content.is_none();
                let version = info.version;
                self.report.committed.push(CommittedFile {
                    path: path.as_str().to_owned(),
                    version,
                    removed,
                });
                if removed {
                    self.known.files.remove(&path);
                } else {
                    self.known.files.insert(path, KnownFile::new(&info, pending.on_disk));
                }
                Ok(1)
            }
            Done::Proposed(number) => {
                self.skip(&path, &format!("waits for a person as proposal {number}; the file was put back"));
                self.put_back(workspaces, &path).await?;
                Ok(0)
            }
        }
    }

    /// Makes a file of the folder what it is in the workspace.
    async fn put_back(&mut self, workspaces: &Workspaces, path: &FilePath) -> Result<(), Failure> {
        match workspaces.get(self.parties.owner, path, None).await {
            Ok(File { info, content }) => {
                let on_disk = self.put(path, &content);
                self.known.files.insert(path.clone(), KnownFile::new(&info, on_disk));
            }
            Err(WorkspaceError::NotFound) => {
                self.known.files.remove(path);
                if let Err(error) = self.tree.remove(path) {
                    self.skip(path, &format!("cannot be removed from the folder: {error}"));
                }
            }
            Err(error) => return Err(failure(error)),
        }
        Ok(())
    }

    fn skip(&mut self, path: &FilePath, why: &str) {
        self.report.skipped.push(SkippedFile { path: path.as_str().to_owned(), why: why.to_owned() });
    }

    /// The workspace changed meanwhile: both sides are to be compared anew.
    fn compare_again(&mut self) {
        self.known.sequence = -1;
        self.is_behind = true;
        self.look_again();
    }

    fn look_again(&mut self) {
        self.again = true;
        self.is_behind = true;
    }
}

fn written(path: FilePath, content: Content, condition: Condition) -> Pending {
    let Content { bytes, stamp } = content;
    let on_disk = OnDisk::new(stamp, &bytes);
    let content_type = content_type(&path, &bytes);
    let write = Write { path, condition, content: Some(Kept { bytes, content_type }) };
    Pending { write, on_disk: Some(on_disk) }
}

fn failure(error: WorkspaceError) -> Failure {
    match error {
        WorkspaceError::Storage(error) => error.into(),
        other => Failure::new(Reason::Internal, other.to_string()),
    }
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Reason::HomeUnusable, format!("{}: {error}", path.display()))
}
