//! From waiting to published, and away from waiting. What was looked at once is looked at again, with the catalog as it
//! is at that moment, and nothing else can change the store meanwhile.

use super::{
    StoreError, Storefront,
    document::{self, CatalogDocument, text},
    incoming::{Examined, Payload, Submitter},
    journal::Draft,
    listed::{self, app_folder},
    live::{self, LiveApp, VERSIONS},
    pending::{self, Mode, Pending, PendingItem, SubmissionName},
    scan::scan,
    static_api,
};
use crate::{
    bundle::{self, Bundle, BundleError, Code},
    catalog::{DeclaredFiles, RepositoryAddress},
    container::{ContainerLimits, Files},
};
use jiff::Timestamp;
use roost_protocol::{Digest, Failure};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// What a maintainer says yes to, besides the submission itself.
#[derive(Debug, Clone, Default)]
pub struct Approval {
    /// The submission must still be the one with this digest.
    pub digest: Option<Digest>,
    /// Its publisher may be another than who submitted it.
    pub accepts_override: bool,
    /// What the security scan found is fine.
    pub accepts_findings: bool,
}

/// What is answered to an approval.
#[derive(Debug, Clone, Serialize)]
pub struct Promoted {
    /// Always true.
    pub ok: bool,
    /// What was approved.
    pub submission: SubmissionName,
    /// The issue it came with.
    pub issue: Option<u64>,
    /// Its id.
    pub id: String,
    /// Its publisher.
    pub publisher: String,
    /// The version that is published now.
    pub version: String,
    /// The version that was published before.
    pub replaced: Option<String>,
    /// The entry in the catalog.
    pub entry: Map<String, Value>,
    /// The label an issue gets.
    pub labels: [&'static str; 1],
    /// What an issue is answered.
    pub comment: String,
}

/// An app whose files could not be listed, and why.
#[derive(Debug, Clone, Serialize)]
pub struct IndexProblem {
    /// Its folder.
    pub folder: String,
    /// What is wrong.
    pub reason: Failure,
}

/// What is answered when the catalog was made anew.
#[derive(Debug, Clone, Serialize)]
pub struct Indexed {
    /// How many entries it has.
    pub entries: usize,
    /// Ids that are not listed any more, because their files are gone.
    pub dropped: Vec<String>,
    /// Folders that could not be listed; their entries stay as they were.
    pub problems: Vec<IndexProblem>,
}

impl Storefront {
    /// Everything that waits.
    pub fn pending(&self) -> Result<Vec<PendingItem>, Failure> {
        Ok(Pending::read(&self.ground)?.items)
    }

    /// One submission that waits; `7` means `issue-7`.
    pub fn pending_item(&self, name: &str) -> Result<PendingItem, StoreError> {
        let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let name = if is_number { format!("issue-{name}") } else { name.to_owned() };
        Pending::read(&self.ground)?.find(&name).cloned()
    }

    /// The staged files of a submission as the gate sees them now. A repository must be fetched instead.
    pub fn reexamine_staged(&self, item: &PendingItem) -> Result<Examined, StoreError> {
        let (id, _) = item.names()?;
        let folder = format!("{}/{id}", item.submission.folder());
        let missing = |why: String| StoreError::refused(Code::StagedMissing, format!("{folder}: {why}"));
        match self.ground.has_folder(&folder) {
            Ok(true) => {}
            Ok(false) => return Err(missing("there is no such folder".to_owned())),
            Err(failure) => return Err(missing(failure.message)),
        }
        let place = self.ground.place(&folder).map_err(|error| missing(error.to_string()))?;
        let files = Files::read_folder(&place, &ContainerLimits::BUNDLE).map_err(|refused| {
            StoreError::Refused(failing(Code::RevalidateFailed, &folder, bundle::refused(refused)))
        })?;
        if files.digest() != item.digest {
            let message = format!("{folder} is not what was received");
            return Err(StoreError::refused(Code::StagedChanged, message));
        }
        let zip = files.to_zip(id.as_str());
        self.examine_zip(&zip, submitter_of(item)?, &Payload::default())
            .map_err(|error| revalidated(item, error))
    }

    /// The repository of a submission, at the commit that was looked at.
    pub fn pending_repository(&self, item: &PendingItem) -> Result<RepositoryAddress, StoreError> {
        let source = item.source.as_ref().filter(|source| source.is_usable());
        let source = source.ok_or_else(|| {
            StoreError::refused(Code::BadFederationSource, format!("{} names no commit", item.submission))
        })?;
        Ok(RepositoryAddress {
            repo: source.repo.clone(),
            reference: source.commit_sha.clone(),
            path: source.path.clone(),
        })
    }

    /// What was fetched again from that repository as the gate sees it now.
    pub fn reexamine_fetched(
        &self,
        item: &PendingItem,
        declared: DeclaredFiles,
    ) -> Result<Examined, StoreError> {
        let at_commit = self.pending_repository(item)?;
        let reference = item.source.as_ref().map(|source| source.reference.clone()).unwrap_or_default();
        let address = RepositoryAddress { reference, ..at_commit };
        let examined = self
            .examine_repository(&address, declared, submitter_of(item)?, &Payload::default())
            .map_err(|error| revalidated(item, error))?;
        if examined.digest() != item.digest {
            let message = format!("{} has other files at this commit than before", address.repo);
            return Err(StoreError::refused(Code::StagedChanged, message));
        }
        Ok(examined)
    }

    /// Publishes a submission. `examined` is what was just looked at again.
    pub fn promote(
        &self,
        item: &PendingItem,
        examined: &Examined,
        approval: &Approval,
        now: Timestamp,
    ) -> Result<Promoted, StoreError> {
        let mut draft = self.draft()?;
        let mut pending = Pending::read(&self.ground)?;
        let waiting = pending.find(item.submission.as_str())?;
        check_approval(waiting, item, examined, approval)?;
        let mut catalog = CatalogDocument::read(&self.ground)?;
        examined.recheck(self, &catalog).map_err(|error| revalidated(item, error))?;
        let bundle = examined.bundle();
        let (publisher, id) = (bundle.publisher().as_str(), bundle.id().as_str());
        let replaced = catalog.entry(id).map(|entry| text(entry, "version").to_owned());
        let mut entry = listed::entry(&self.facts, bundle, examined.source())?;
        let new = LiveApp { bundle: bundle.clone() };
        let live = match examined.mode() {
            Mode::Bundle => {
                let kept = self.put_files(&mut draft, bundle)?;
                if !kept.is_empty() && !bundle.is_gated() {
                    entry.insert("available_versions".to_owned(), Value::Array(kept));
                }
                Some(&new)
            }
            Mode::Federation => {
                draft.remove(&format!("{}/egg/{id}.egg", static_api::FOLDER));
                None
            }
        };
        catalog.put(entry.clone());
        draft.file(document::FILE, &catalog.bytes(&self.facts, &self.ground, now)?)?;
        let listed = static_api::index(&self.facts, catalog.entries());
        draft.file(&format!("{}/index.json", static_api::FOLDER), &listed)?;
        for (path, content) in static_api::app_files(&self.facts, &entry, live) {
            draft.file(&path, &content)?;
        }
        pending.remove(&item.submission);
        draft.file(pending::FILE, &pending.bytes()?)?;
        draft.remove(&item.submission.folder());
        draft.commit()?;
        let comment = format!("Approved. Available at {}", text(&entry, "singleton_url"));
        Ok(Promoted {
            ok: true,
            submission: item.submission.clone(),
            issue: item.issue,
            id: id.to_owned(),
            publisher: publisher.to_owned(),
            version: bundle.version().to_string(),
            replaced,
            entry,
            labels: ["promoted"],
            comment,
        })
    }

    /// Takes a submission away. What is published stays as it is.
    pub fn reject(&self, item: &PendingItem) -> Result<(), StoreError> {
        let mut draft = self.draft()?;
        let mut pending = Pending::read(&self.ground)?;
        pending.find(item.submission.as_str())?;
        pending.remove(&item.submission);
        draft.file(pending::FILE, &pending.bytes()?)?;
        draft.remove(&item.submission.folder());
        Ok(draft.commit()?)
    }

    /// Makes the catalog and the static API anew from the files of the store. The same files make the same bytes.
    pub fn rebuild(&self, now: Timestamp) -> Result<Indexed, Failure> {
        let mut draft = self.draft()?;
        let mut catalog = CatalogDocument::read(&self.ground)?;
        let (mut problems, mut dropped) = (Vec::new(), Vec::new());
        let mut folders = self.app_folders()?;
        let mut entries: Vec<(Map<String, Value>, Option<LiveApp>)> = Vec::new();
        let known: Vec<Map<String, Value>> = catalog.entries().cloned().collect();
        for old in known {
            let (publisher, id) = (text(&old, "publisher").to_owned(), text(&old, "id").to_owned());
            folders.retain(|(_, folder)| *folder != id);
            match LiveApp::read(&self.ground, &publisher, &id) {
                Ok(live) if is_elsewhere(&old) => {
                    entries.push((old, live.filter(|live| live.bundle.is_gated())))
                }
                Ok(None) => dropped.push(id),
                Ok(Some(live)) => entries.push((self.fresh_entry(&live, Some(&old))?, Some(live))),
                Err(reason) => {
                    problems.push(IndexProblem { folder: app_folder(&publisher, &id), reason });
                    entries.push((old, None));
                }
            }
        }
        for (publisher, id) in folders {
            match LiveApp::read(&self.ground, &publisher, &id) {
                Ok(Some(live)) if !entries.iter().any(|(entry, _)| text(entry, "id") == id) => {
                    entries.push((self.fresh_entry(&live, None)?, Some(live)));
                }
                Ok(_) => {}
                Err(reason) => problems.push(IndexProblem { folder: app_folder(&publisher, &id), reason }),
            }
        }
        catalog.set(entries.iter().map(|(entry, _)| Value::Object(entry.clone())).collect());
        draft.file(document::FILE, &catalog.bytes(&self.facts, &self.ground, now)?)?;
        self.put_static_api(&mut draft, &entries)?;
        draft.commit()?;
        Ok(Indexed { entries: entries.len(), dropped, problems })
    }

    /// Puts the files of a bundle where they are published, and keeps what was there. Says what is kept in all.
    fn put_files(&self, draft: &mut Draft<'_>, bundle: &Bundle) -> Result<Vec<Value>, StoreError> {
        let (publisher, id) = (bundle.publisher().as_str(), bundle.id().as_str());
        let folder = app_folder(publisher, id);
        let live = LiveApp::read(&self.ground, publisher, id)?;
        let mut kept = live::kept_versions(&self.ground, publisher, id)?;
        draft.folder(&folder, bundle.files())?;
        draft.carry(&format!("{folder}/{VERSIONS}"));
        if let Some(live) = live
            && live.version() != bundle.version()
            // What was kept once is never written over.
            && !kept.iter().any(|(version, _)| *version == live.version())
        {
            let files = live.archive()?;
            draft.folder(&format!("{folder}/{VERSIONS}/{}", live.version()), &files)?;
            kept.push((live.version(), live::kept_version(live.version(), &files)));
            kept.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
        }
        Ok(kept.into_iter().map(|(_, listed)| listed).collect())
    }

    /// The entry of an app from its files. The tier is what a maintainer made it, and so are fields that no file makes.
    fn fresh_entry(
        &self,
        live: &LiveApp,
        old: Option<&Map<String, Value>>,
    ) -> Result<Map<String, Value>, Failure> {
        let bundle = &live.bundle;
        let mut entry = listed::entry(&self.facts, bundle, None).map_err(|error| match error {
            StoreError::Failed(failure) => failure,
            StoreError::Refused(_) => Failure::new(roost_protocol::Reason::StoreUnusable, error.to_string()),
        })?;
        if let Some(tier) = old.and_then(|old| old.get("quality_tier")) {
            entry.insert("quality_tier".to_owned(), tier.clone());
        }
        let is_made = |key: &str| {
            ["singleton_", "service_", "ui_", "egg_", "organ_", "tools_"]
                .iter()
                .any(|start| key.starts_with(start))
                || key == "available_versions"
        };
        for (key, value) in old.into_iter().flatten().filter(|(key, _)| !is_made(key)) {
            entry.entry(key.clone()).or_insert_with(|| value.clone());
        }
        let kept = live::kept_versions(&self.ground, bundle.publisher().as_str(), bundle.id().as_str())?;
        let kept: Vec<Value> = kept
            .into_iter()
            .filter(|(version, _)| *version != bundle.version())
            .map(|(_, listed)| listed)
            .collect();
        if !kept.is_empty() {
            entry.insert("available_versions".to_owned(), json!(kept));
        }
        Ok(entry)
    }

    /// Every file of the static API, and none that belongs to nobody.
    fn put_static_api(
        &self,
        draft: &mut Draft<'_>,
        entries: &[(Map<String, Value>, Option<LiveApp>)],
    ) -> Result<(), Failure> {
        let listed = static_api::index(&self.facts, entries.iter().map(|(entry, _)| entry));
        let mut files = vec![(format!("{}/index.json", static_api::FOLDER), listed)];
        for (entry, live) in entries {
            files.extend(static_api::app_files(&self.facts, entry, live.as_ref()));
        }
        for part in static_api::PARTS {
            let folder = format!("{}/{part}", static_api::FOLDER);
            for name in self.ground.files(&folder)? {
                let path = format!("{folder}/{name}");
                if !files.iter().any(|(known, _)| *known == path) {
                    draft.remove(&path);
                }
            }
        }
        for (path, content) in files {
            draft.file(&path, &content)?;
        }
        Ok(())
    }
}

fn check_approval(
    waiting: &PendingItem,
    item: &PendingItem,
    examined: &Examined,
    approval: &Approval,
) -> Result<(), StoreError> {
    let digest = examined.digest();
    let is_same = waiting.digest == item.digest && item.digest == digest && waiting.version == item.version;
    if !is_same || approval.digest.is_some_and(|wanted| wanted != digest) {
        let message = format!("{} is {digest} now: look at it again", item.submission);
        return Err(StoreError::refused(Code::StagedChanged, message));
    }
    if let Some(other) = waiting.publisher_override.as_ref().filter(|_| !approval.accepts_override) {
        let message = format!("{} wants to publish as {other}", waiting.submitter);
        return Err(StoreError::refused(Code::OverrideNotApproved, message));
    }
    let findings = scan(examined.bundle());
    if !approval.accepts_findings && !findings.fatal.is_empty() {
        let errors = findings.fatal.iter().map(|finding| {
            let place = format!("{}:{}", finding.path, finding.line);
            BundleError::at(Code::FindingsNotAccepted, place, finding.rule.to_owned())
        });
        return Err(StoreError::Refused(errors.collect()));
    }
    Ok(())
}

/// True for an entry whose files are not the store's.
fn is_elsewhere(entry: &Map<String, Value>) -> bool {
    text(entry, "access") == "private"
        || entry.get("source").is_some_and(|source| source["type"] == "federation")
}

fn submitter_of(item: &PendingItem) -> Result<Submitter, StoreError> {
    match item.issue {
        Some(number) => Submitter::of_issue(&item.submitter, number, item.publisher_override.as_deref()),
        None => Submitter::account(&item.submitter),
    }
}

/// What was fine when it arrived is not fine any more.
fn revalidated(item: &PendingItem, error: StoreError) -> StoreError {
    match error {
        StoreError::Refused(errors) => {
            StoreError::Refused(failing(Code::RevalidateFailed, item.submission.as_str(), errors))
        }
        failed @ StoreError::Failed(_) => failed,
    }
}

fn failing(code: Code, what: &str, errors: Vec<BundleError>) -> Vec<BundleError> {
    let mut all = vec![BundleError::new(code, format!("{what} does not pass the gate any more"))];
    all.extend(errors);
    all
}
