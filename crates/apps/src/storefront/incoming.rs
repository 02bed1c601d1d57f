//! From bytes to a submission that may wait: who submits, what the gate says, and staging.

use super::{
    StoreError, Storefront,
    document::CatalogDocument,
    issue::{self, IssueText, Wish},
    listed,
    pending::{self, Mode, Pending, PendingItem, PendingSource, SubmissionName},
};
use crate::{
    bundle::{self, Bundle, BundleError, Code, Publisher, Submission},
    catalog::{DeclaredFiles, RepositoryAddress},
    container::Files,
};
use jiff::Timestamp;
use roost_protocol::Digest;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;

/// What a submission may say beside its manifest. It decides nothing; it must only not contradict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Payload {
    /// The id it names.
    pub id: Option<String>,
    /// The version it names.
    pub version: Option<String>,
    /// The publisher it names.
    pub publisher: Option<String>,
}

impl Payload {
    pub(super) fn of_fields(fields: &Map<String, Value>) -> Result<Self, StoreError> {
        let text = |key: &str| match fields.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(StoreError::refused(Code::PayloadMismatch, format!("`{key}` is not text"))),
        };
        Ok(Self { id: text("id")?, version: text("version")?, publisher: text("publisher")? })
    }

    fn check(&self, bundle: &Bundle) -> Vec<BundleError> {
        let version = bundle.version().to_string();
        [
            ("id", &self.id, bundle.id().as_str()),
            ("version", &self.version, version.as_str()),
            ("publisher", &self.publisher, bundle.publisher().as_str()),
        ]
        .into_iter()
        .filter(|(_, said, is)| said.as_deref().is_some_and(|said| said != *is))
        .map(|(key, _, is)| {
            BundleError::new(Code::PayloadMismatch, format!("`{key}` is {is} in the manifest"))
        })
        .collect()
    }
}

/// Who submits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitter {
    account: Publisher,
    issue: Option<u64>,
    publisher_override: Option<Publisher>,
}

impl Submitter {
    /// An account that is known from a token or a maintainer's word.
    pub fn account(text: &str) -> Result<Self, StoreError> {
        Self::new(text, None, None)
    }

    pub(super) fn of_issue(
        author: &str,
        number: u64,
        publisher_override: Option<&str>,
    ) -> Result<Self, StoreError> {
        Self::new(author, Some(number), publisher_override)
    }

    fn new(text: &str, issue: Option<u64>, other: Option<&str>) -> Result<Self, StoreError> {
        let wrong = |text: &str| {
            let message = format!("`{}` is not an account", crate::catalog::shown(text));
            StoreError::refused(Code::BadSubmitter, message)
        };
        let with_mark = if text.starts_with('@') { text.to_owned() } else { format!("@{text}") };
        let account = Publisher::parse(&with_mark).ok_or_else(|| wrong(text))?;
        let other = other.map(|other| Publisher::parse(other).ok_or_else(|| wrong(other))).transpose()?;
        // Whoever names only themselves overrides nothing.
        let publisher_override = other.filter(|other| !other.is_same_account(account.as_str()));
        Ok(Self { account, issue, publisher_override })
    }

    /// What the gate is told: with an override, the publisher is compared here instead.
    fn submission(&self, payload: &Payload, catalog: &CatalogDocument) -> Submission {
        let submitter = self.publisher_override.is_none().then(|| self.account.as_str().to_owned());
        Submission { submitter, payload_id: payload.id.clone(), catalog: Some(catalog.value()) }
    }
}

/// A submission that passed the gate.
#[derive(Debug, Clone)]
pub struct Examined {
    bundle: Bundle,
    submitter: Submitter,
    source: Option<PendingSource>,
}

/// What is answered to a submission that waits now.
#[derive(Debug, Clone, Serialize)]
pub struct Received {
    /// Always true.
    pub ok: bool,
    /// What it is called here.
    pub submission: SubmissionName,
    /// Where its files will be.
    pub mode: Mode,
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Its publisher.
    pub publisher: String,
    /// One digest of all its files.
    pub digest: Digest,
    /// The entry that the store would make of it.
    pub entry: Map<String, Value>,
    /// The labels an issue gets.
    pub labels: [&'static str; 2],
    /// What an issue is answered.
    pub comment: String,
}

impl Examined {
    /// The bundle.
    #[must_use]
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Where its files will be.
    #[must_use]
    pub fn mode(&self) -> Mode {
        if self.source.is_some() { Mode::Federation } else { Mode::Bundle }
    }

    /// One digest of all its files.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.bundle.files().digest()
    }

    pub(super) fn source(&self) -> Option<&PendingSource> {
        self.source.as_ref()
    }

    /// Looks at it again, with the catalog as it is now.
    pub(super) fn recheck(&self, store: &Storefront, catalog: &CatalogDocument) -> Result<(), StoreError> {
        let submission = self.submitter.submission(&Payload::default(), catalog);
        let files = self.bundle.files().clone();
        let again = match self.mode() {
            Mode::Bundle => Bundle::from_files(files, self.bundle.id().as_str(), &submission),
            Mode::Federation => Bundle::from_repository(files, &submission),
        };
        again.map_err(StoreError::Refused)?;
        let errors = store.own_errors(&self.bundle, &self.submitter, catalog);
        if errors.is_empty() { Ok(()) } else { Err(StoreError::Refused(errors)) }
    }
}

impl Storefront {
    /// A zip as the gate sees it.
    pub fn examine_zip(
        &self,
        zip: &[u8],
        submitter: Submitter,
        payload: &Payload,
    ) -> Result<Examined, StoreError> {
        let catalog = CatalogDocument::read(&self.ground)?;
        let submission = submitter.submission(payload, &catalog);
        let bundle = Bundle::from_zip(zip, &submission).map_err(StoreError::Refused)?;
        self.examined(bundle, submitter, payload, &catalog)
    }

    /// A folder as the gate sees it.
    pub fn examine_folder(&self, folder: &Path, submitter: Submitter) -> Result<Examined, StoreError> {
        let catalog = CatalogDocument::read(&self.ground)?;
        let payload = Payload::default();
        let submission = submitter.submission(&payload, &catalog);
        let bundle = Bundle::from_folder(folder, &submission).map_err(StoreError::Refused)?;
        self.examined(bundle, submitter, &payload, &catalog)
    }

    /// What was fetched from a repository as the gate sees it.
    pub fn examine_repository(
        &self,
        address: &RepositoryAddress,
        declared: DeclaredFiles,
        submitter: Submitter,
        payload: &Payload,
    ) -> Result<Examined, StoreError> {
        let catalog = CatalogDocument::read(&self.ground)?;
        let submission = submitter.submission(payload, &catalog);
        let files = Files::from_contents(declared.files)
            .map_err(|refused| StoreError::Refused(bundle::refused(refused)))?;
        let bundle = Bundle::from_repository(files, &submission).map_err(StoreError::Refused)?;
        if bundle.is_gated() {
            let message =
                "its manifest says that it is private: submit it as a bundle of manifest, entry and README";
            return Err(StoreError::refused(Code::BadSource, message));
        }
        let mut errors = payload.check(&bundle);
        errors.extend(self.own_errors(&bundle, &submitter, &catalog));
        if !errors.is_empty() {
            return Err(StoreError::Refused(errors));
        }
        let source = PendingSource {
            repo: address.repo.clone(),
            reference: address.reference.clone(),
            path: address.path.clone(),
            commit_sha: declared.commit,
        };
        Ok(Examined { bundle, submitter, source: Some(source) })
    }

    /// What an issue asks for: the zip it holds, or the repository it names.
    pub fn read_issue(&self, issue: &IssueText<'_>) -> Result<IssueWish, StoreError> {
        let (wish, submitter) = issue::read(issue)?;
        match wish {
            Wish::Bundle { zip, payload } => {
                Ok(IssueWish::Bundle(Box::new(self.examine_zip(&zip, submitter, &payload)?)))
            }
            Wish::Repository { address, payload } => {
                Ok(IssueWish::Repository { address, payload, submitter })
            }
        }
    }

    /// Lets a submission wait for review, in place of an older one that it replaces.
    pub fn stage(&self, examined: &Examined, now: Timestamp) -> Result<Received, StoreError> {
        let mut draft = self.draft()?;
        examined.recheck(self, &CatalogDocument::read(&self.ground)?)?;
        let Examined { bundle, submitter, source } = examined;
        let (digest, entry) = (examined.digest(), listed::entry(&self.facts, bundle, source.as_ref())?);
        let submission = match submitter.issue {
            Some(number) => SubmissionName::of_issue(number),
            None => SubmissionName::of_content(bundle.id(), bundle.version(), &digest),
        };
        let folder = submission.folder();
        let staged_dir = source.is_none().then(|| format!("{folder}/{}", bundle.id()));
        let item = PendingItem {
            submission: submission.clone(),
            issue: submitter.issue,
            submitter: submitter.account.as_str().to_owned(),
            mode: if source.is_some() { "federation" } else { "bundle" }.to_owned(),
            id: bundle.id().as_str().to_owned(),
            version: bundle.version().to_string(),
            publisher: bundle.publisher().as_str().to_owned(),
            digest,
            received_at: now,
            publisher_override: submitter.publisher_override.as_ref().map(|other| other.as_str().to_owned()),
            staged_dir: staged_dir.clone(),
            source: source.clone(),
            entry: entry.clone(),
        };
        let mut pending = Pending::read(&self.ground)?;
        for replaced in pending.add(item)? {
            draft.remove(&replaced.folder());
        }
        match staged_dir {
            Some(_) => {
                let below =
                    |(path, content): (&str, &[u8])| (format!("{}/{path}", bundle.id()), content.to_vec());
                let files = Files::from_contents(bundle.files().iter().map(below))
                    .map_err(|refused| StoreError::Refused(bundle::refused(refused)))?;
                draft.folder(&folder, &files)?;
            }
            // An issue that held a bundle before may name a repository now.
            None => draft.remove(&folder),
        }
        draft.file(pending::FILE, &pending.bytes()?)?;
        draft.commit()?;
        Ok(Received {
            ok: true,
            submission,
            mode: examined.mode(),
            id: bundle.id().as_str().to_owned(),
            version: bundle.version().to_string(),
            publisher: bundle.publisher().as_str().to_owned(),
            digest,
            entry,
            labels: ["pending-review", "rapplication-submission"],
            comment: "Validated. Awaiting maintainer approval.".to_owned(),
        })
    }

    fn examined(
        &self,
        bundle: Bundle,
        submitter: Submitter,
        payload: &Payload,
        catalog: &CatalogDocument,
    ) -> Result<Examined, StoreError> {
        let bundle = without_what_is_not_published(bundle, &submitter.submission(payload, catalog))?;
        let mut errors = payload.check(&bundle);
        errors.extend(self.own_errors(&bundle, &submitter, catalog));
        if !errors.is_empty() {
            return Err(StoreError::Refused(errors));
        }
        listed::entry(&self.facts, &bundle, None)?;
        Ok(Examined { bundle, submitter, source: None })
    }

    /// What only a store can know: whose names are taken in which spelling, and who may speak for whom.
    fn own_errors(
        &self,
        bundle: &Bundle,
        submitter: &Submitter,
        catalog: &CatalogDocument,
    ) -> Vec<BundleError> {
        let mut errors = Vec::new();
        let publisher = bundle.publisher();
        if let Some(other) = &submitter.publisher_override
            && !other.is_same_account(publisher.as_str())
        {
            let message = format!("the title names {other}, and the manifest {publisher}");
            errors.push(BundleError::new(Code::PublisherMismatch, message));
        }
        // Two spellings of one account would be one folder on some file systems and two on others.
        let spelled = catalog.publishers().find(|known| publisher.is_same_account(known));
        if let Some(spelled) = spelled.filter(|spelled| *spelled != publisher.as_str()) {
            let message = format!("the store knows this account as {}", crate::catalog::shown(spelled));
            errors.push(BundleError::new(Code::PublisherMismatch, message));
        }
        errors
    }
}

/// What an issue asks for.
#[derive(Debug)]
pub enum IssueWish {
    /// A bundle that passed the gate.
    Bundle(Box<Examined>),
    /// A repository that must be fetched first.
    Repository {
        /// Which.
        address: RepositoryAddress,
        /// What the issue says about it.
        payload: Payload,
        /// Who wrote the issue.
        submitter: Submitter,
    },
}

/// Hidden files stay with their author, and older versions are what the store itself kept of them.
fn without_what_is_not_published(bundle: Bundle, submission: &Submission) -> Result<Bundle, StoreError> {
    let is_published =
        |path: &str| !path.starts_with("versions/") && path.split('/').all(|part| !part.starts_with('.'));
    if bundle.files().iter().all(|(path, _)| is_published(path)) {
        return Ok(bundle);
    }
    let kept = bundle.files().iter().filter(|(path, _)| is_published(path));
    let files = Files::from_contents(kept.map(|(path, content)| (path.to_owned(), content.to_vec())))
        .map_err(|refused| StoreError::Refused(bundle::refused(refused)))?;
    Bundle::from_files(files, bundle.id().as_str(), submission).map_err(StoreError::Refused)
}
