//! Apps whose files are private: what their entry must say, which token opens them, and whether they are closed at all.
//!
//! Never asked for without a token: the answer would be a 404 that hides why.

use super::{
    entry::{Access, Entry},
    part::PartKind,
    places::Places,
    token::{FoundToken, TokenSources},
};
use reqwest::Url;
use roost_protocol::{Failure, Reason};

/// How the vault calls a token for a private repository: this and `OWNER/REPOSITORY`.
pub const GATED_SECRET_PREFIX: &str = "rapp-store/";

/// A gated entry whose addresses were checked, with the token for them.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) found: FoundToken,
    /// Every address the token may be sent to begins like this.
    pub(super) prefix: Url,
}

/// Checks what the contract asks of a gated entry; says where its files are.
pub(super) fn check(entry: &Entry, places: &Places) -> Result<Url, Failure> {
    let wrong =
        |message: String| Failure::new(Reason::EntryInvalid, format!("{}: {message}", entry.full_name()));
    let repository = entry.private_repo.as_deref();
    let repository =
        repository.ok_or_else(|| wrong("it is private and names no `private_repo`".to_owned()))?;
    let prefix = places.below(repository)?;
    for part in &entry.parts {
        let url = places.here(&part.url);
        if !url.starts_with(prefix.as_str()) {
            let key = part.kind.key();
            return Err(wrong(format!("`{key}_url` is not in the private repository {repository}")));
        }
        if part.sha256.is_none() && part.kind != PartKind::Egg {
            return Err(wrong(format!("it is private and has no `{}_sha256`", part.kind.key())));
        }
    }
    Ok(prefix)
}

/// Finds the token for a gated entry; nothing for one that everybody may fetch.
pub(super) fn open(entry: &Entry, places: &Places, tokens: TokenSources) -> Result<Option<Opened>, Failure> {
    if entry.access == Access::Public {
        return Ok(None);
    }
    let prefix = check(entry, places)?;
    match tokens.find(&places.raw_machine())? {
        Some(found) => Ok(Some(Opened { found, prefix })),
        None => {
            let repository = entry.private_repo.as_deref().unwrap_or_default();
            let mut message = format!(
                "{} is private: its files are in {repository}, and no token for it was found at the GitHub CLI, in \
                 GITHUB_TOKEN, in the netrc file or in the vault",
                entry.full_name()
            );
            if let Some(note) = &entry.access_note {
                message.push_str(&format!(". Its publisher says: {note}"));
            }
            let failure = Failure::new(Reason::GatedNoToken, message);
            let own = format!(
                "`gh auth login`, GITHUB_TOKEN, or `roost secrets set {GATED_SECRET_PREFIX}{repository}`"
            );
            Err(failure.with_next(match &entry.auth_hint {
                Some(hint) => format!("{hint} (or {own})"),
                None => own,
            }))
        }
    }
}

/// What it means that a private file was not given although a token was shown.
pub(super) fn not_opened(entry: &Entry, opened: &Opened, failure: Failure) -> Failure {
    if !matches!(failure.reason, Reason::FetchMissing | Reason::FetchDenied) {
        return failure;
    }
    let repository = entry.private_repo.as_deref().unwrap_or_default();
    let message = format!(
        "{}, with the token of {}: either this token may not read {repository}, or the file is not there",
        failure.message, opened.found.place
    );
    let next = entry.access_note.clone().or_else(|| entry.auth_hint.clone());
    let told = Failure::new(Reason::GatedNoAccess, message);
    match next {
        Some(next) => told.with_next(next),
        None => told.with_next(format!(
            "ask who owns {repository} for access, or check that the file is still there"
        )),
    }
}
