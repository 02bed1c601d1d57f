//! From a repository to its bytes: the manifest says which files the app has, and all of them are of one commit.

use super::{
    entry::{is_id, is_inner_path, is_publisher, is_version},
    fetched::{FetchOrigin, FetchedApp, FetchedFile},
    fetcher::{Fetcher, content_of},
    file_name::FileName,
    part::PartKind,
    repository_address::RepositoryAddress,
    web::Wanted,
    web_address::Reach,
};
use roost_protocol::{Digest, Failure, Reason};
use serde_json::{Map, Value};

const MANIFEST: &str = "manifest.json";

/// What a repository declares, of one commit.
#[derive(Debug, Clone)]
pub struct DeclaredFiles {
    /// The commit all of it is of.
    pub commit: String,
    /// Paths from where its manifest is, and bytes.
    pub files: Vec<(String, Vec<u8>)>,
}

/// A file that the manifest names, or that is usual.
struct Named {
    kind: PartKind,
    path: String,
    /// False for one that is looked for where the manifest names none.
    is_declared: bool,
}

impl Fetcher {
    /// Fetches an app from a repository: its commit, then the manifest, the agent, the service and the page. An address
    /// of one agent file brings that file alone.
    pub async fn fetch_repository(&self, address: &RepositoryAddress) -> Result<FetchedApp, Failure> {
        let RepositoryAddress { repo, reference, path } = address;
        let commit = self.resolve_commit(&format!("the commit of {repo}"), repo, reference).await?;
        let origin = FetchOrigin::Repository {
            repo: repo.clone(),
            reference: reference.clone(),
            path: path.clone(),
            commit: commit.clone(),
        };
        let app = |id: String, publisher, version, files| FetchedApp {
            id,
            publisher,
            version,
            origin: origin.clone(),
            entry: None,
            files,
            left_out: Vec::new(),
        };
        if address.names_a_file() {
            let file = self.fetch_of_commit(repo, &commit, path, PartKind::Agent).await?;
            let stem = file.file_name.as_str().rsplit_once('.').map_or("", |(stem, _)| stem).to_owned();
            return Ok(app(stem, None, None, vec![file]));
        }
        let inside = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        let manifest = self.fetch_of_commit(repo, &commit, &inside(MANIFEST), PartKind::Manifest).await?;
        let fields = fields_of(repo, &manifest.bytes)?;
        let id =
            checked(repo, &fields, "id", is_id)?.ok_or_else(|| wrong(repo, "`id` is missing".to_owned()))?;
        let publisher = checked(repo, &fields, "publisher", is_publisher)?;
        let version = checked(repo, &fields, "version", is_version)?;
        let mut files = vec![manifest];
        for named in named_files(repo, &fields, &id)? {
            match self.fetch_of_commit(repo, &commit, &inside(&named.path), named.kind).await {
                Ok(file) => files.push(file),
                Err(failure) if !named.is_declared && failure.reason == Reason::FetchMissing => {}
                Err(failure) => return Err(failure),
            }
        }
        if !files.iter().any(|file| matches!(file.kind, PartKind::Agent | PartKind::Service)) {
            return Err(wrong(repo, "it has neither an agent nor a service".to_owned()));
        }
        Ok(app(id, publisher, version, files))
    }

    /// Fetches what a repository would be listed with: its manifest, and the files that this declares, of one commit.
    /// A declared file that is not there is left out, for the gate to miss it.
    pub async fn fetch_declared(&self, address: &RepositoryAddress) -> Result<DeclaredFiles, Failure> {
        let RepositoryAddress { repo, reference, path } = address;
        let commit = self.resolve_commit(&format!("the commit of {repo}"), repo, reference).await?;
        let inside = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        let manifest =
            self.fetch_of_commit(repo, &commit, &inside(MANIFEST), PartKind::Manifest).await?.bytes;
        let fields = crate::bundle::parse_json(&manifest).ok();
        let declared = |key: &str| {
            let path = fields.as_ref()?.get(key)?.as_str()?;
            is_inner_path(path).then(|| path.to_owned())
        };
        let mut files = Vec::new();
        for (key, kind) in
            [("agent", PartKind::Agent), ("service", PartKind::Service), ("ui", PartKind::Page)]
        {
            let Some(path) = declared(key).filter(|path| path != MANIFEST) else { continue };
            match self.fetch_of_commit(repo, &commit, &inside(&path), kind).await {
                Ok(file) => files.push((path, file.bytes)),
                Err(failure) if failure.reason == Reason::FetchMissing => {}
                Err(failure) => return Err(failure),
            }
        }
        // The same file declared twice is one file.
        files.sort();
        files.dedup_by(|left, right| left.0 == right.0);
        files.push((MANIFEST.to_owned(), manifest));
        Ok(DeclaredFiles { commit, files })
    }

    async fn fetch_of_commit(
        &self,
        repo: &str,
        commit: &str,
        path: &str,
        kind: PartKind,
    ) -> Result<FetchedFile, Failure> {
        let what = format!("the {} of {repo}", kind.word());
        let url = self.places.raw_file(repo, commit, path);
        let name = path.rsplit('/').next().unwrap_or_default();
        let file_name = FileName::parse(name)
            .map_err(|_| wrong(repo, format!("`{name}` is not the name of one file")))?;
        let wanted = Wanted {
            what: &what,
            url: &url,
            reach: self.places.reach_of(&url, Reach::Elsewhere),
            content: content_of(kind),
            bytes_max: kind.bytes_max(),
            guarded: None,
            etag: None,
        };
        let bytes = self.bytes(&wanted).await?;
        Ok(FetchedFile { kind, file_name, digest: Digest::of(&bytes), bytes, url, is_verified: false })
    }
}

fn fields_of(repo: &str, bytes: &[u8]) -> Result<Map<String, Value>, Failure> {
    serde_json::from_slice(bytes).map_err(|error| wrong(repo, format!("not a JSON object: {error}")))
}

/// The files of a manifest. As lenient as catalogs are: `singleton` means the agent, and usual places count.
fn named_files(repo: &str, fields: &Map<String, Value>, id: &str) -> Result<Vec<Named>, Failure> {
    let declared = |keys: &[&str]| -> Result<Option<String>, Failure> {
        let named =
            keys.iter().find_map(|key| Some((*key, fields.get(*key).filter(|value| !value.is_null())?)));
        match named {
            None => Ok(None),
            Some((_, Value::String(path))) if is_inner_path(path) => Ok(Some(path.clone())),
            Some((key, _)) => Err(wrong(repo, format!("`{key}` is not a path in the app"))),
        }
    };
    let agent = declared(&["agent", "singleton"])?;
    let service = declared(&["service"])?;
    let page = declared(&["ui"])?;
    let named = |kind, path: Option<String>, usual: Option<String>| {
        let is_declared = path.is_some();
        path.or(usual).map(|path| Named { kind, path, is_declared })
    };
    let all = [
        named(PartKind::Agent, agent, Some(format!("singleton/{id}_agent.py"))),
        named(PartKind::Service, service, None),
        named(PartKind::Page, page, Some("ui/index.html".to_owned())),
    ];
    Ok(all.into_iter().flatten().collect())
}

fn checked(
    repo: &str,
    fields: &Map<String, Value>,
    key: &str,
    fits: fn(&str) -> bool,
) -> Result<Option<String>, Failure> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if fits(text) => Ok(Some(text.clone())),
        Some(_) => Err(wrong(repo, format!("`{key}` is not one"))),
    }
}

fn wrong(repo: &str, message: String) -> Failure {
    Failure::new(Reason::EntryInvalid, format!("the manifest of {repo}: {message}"))
        .with_next("ask its publisher to correct manifest.json")
}
