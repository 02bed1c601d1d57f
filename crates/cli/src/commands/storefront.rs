//! The maintainer's verbs of `roost store`: a catalog of one's own, from its first file to serving it.

use super::{open, up::stop_signal, validate::show};
use crate::{
    args::{StoreTokenVerb, StorefrontVerb},
    config::Config,
    moments::coming_moment,
    output::{NOT_OK, Output},
};
use roost_apps::{Arrival, Bundle, BundleReport, Submission, look_at, read_at_most};
use roost_host::{
    catalogs::RepositoryAddress,
    storefront::{
        Approval, HostStorefront, Payload, PendingItem, Received, Review, StoreError, StoreFacts,
        StoreTokenListing, Storefront, Submitter,
    },
};
use roost_protocol::{Digest, Failure, Reason};
use serde_json::json;
use std::{
    io::Read as _,
    net::IpAddr,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// More than the largest issue that is taken: whatever is longer is refused for its size.
const BODY_BYTES_MAX: u64 = 9 << 20;

pub(crate) async fn storefront(
    config: Config,
    verb: StorefrontVerb,
    output: Output,
) -> Result<ExitCode, Failure> {
    match verb {
        StorefrontVerb::Init { store, name, raw_base } => init(&store, name, raw_base, output),
        StorefrontVerb::Submit { store, what, submitter } => {
            let store = HostStorefront::open(&store, &config.host)?;
            Ok(received(submitted(&store, &what, submitter.as_deref()).await, output)?)
        }
        StorefrontVerb::Receive { store, number, title, author, body } => {
            let store = HostStorefront::open(&store, &config.host)?;
            let body = issue_body(body.as_deref())?;
            Ok(received(store.receive(number, title, author, body).await, output)?)
        }
        StorefrontVerb::Review { store, submission: None, .. } => {
            let store = HostStorefront::open(&store, &config.host)?;
            list_pending(&store.store().pending()?, output);
            Ok(ExitCode::SUCCESS)
        }
        StorefrontVerb::Review { store, submission: Some(name), no_test } => {
            let store = HostStorefront::open(&store, &config.host)?;
            let host = if no_test { None } else { Some(open(config).await?) };
            answered(store.review(&name, host.as_ref()).await, output, |review| tell_review(&review, output))
        }
        StorefrontVerb::Approve { store, submission, digest, accept_override, accept_findings } => {
            let store = HostStorefront::open(&store, &config.host)?;
            let digest = digest.as_deref().map(digest_of).transpose()?;
            let approval =
                Approval { digest, accepts_override: accept_override, accepts_findings: accept_findings };
            answered(store.approve(&submission, approval).await, output, |promoted| {
                tell(
                    output,
                    &promoted,
                    &format!("published {}/{} {}", promoted.publisher, promoted.id, promoted.version),
                );
            })
        }
        StorefrontVerb::Reject { store, submission, reason } => {
            let store = HostStorefront::open(&store, &config.host)?;
            answered(store.reject(&submission).await, output, |item| {
                let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                let answer = json!({
                    "ok": true, "submission": item.submission, "issue": item.issue, "labels": ["rejected"],
                    "comment": format!("Not approved{why}"),
                });
                tell(output, &answer, &format!("rejected {}", item.submission));
            })
        }
        StorefrontVerb::Index { store } => index(&store, output),
        StorefrontVerb::Serve { store, port, bind } => serve(config, &store, bind, port, output).await,
        StorefrontVerb::Native { store, verb } => {
            super::store_native::store_native(&config, &Storefront::open(&store)?, verb, output)
        }
        StorefrontVerb::Token { store, verb } => tokens(&Storefront::open(&store)?, verb, output),
    }
}

/// Who submits what to a store in a folder.
pub(crate) async fn submitted(
    store: &HostStorefront,
    what: &str,
    submitter: Option<&str>,
) -> Result<Received, StoreError> {
    if what.contains("://") {
        let address = RepositoryAddress::parse(what)?;
        // Whoever owns a repository is known by its name.
        let owner = address.repo.split('/').next().unwrap_or_default().to_owned();
        let submitter = Submitter::account(submitter.unwrap_or(&owner))?;
        return store.submit_repository(address, submitter, Payload::default()).await;
    }
    let path = PathBuf::from(what);
    let declared = |bundle: Result<Bundle, _>| match submitter {
        Some(account) => Submitter::account(account),
        None => Submitter::account(bundle.map_err(StoreError::Refused)?.publisher().as_str()),
    };
    match look_at(&path)? {
        Arrival::Folder => {
            let submitter = declared(Bundle::from_folder(&path, &Submission::default()))?;
            store.submit_folder(path, submitter).await
        }
        Arrival::Zip(zip) => {
            let submitter = declared(Bundle::from_zip(&zip, &Submission::default()))?;
            store.submit_zip(zip, submitter, Payload::default()).await
        }
        Arrival::File => {
            Err(Failure::new(Reason::WrongUse, format!("{} is neither a folder nor a zip", path.display()))
                .into())
        }
    }
}

/// Prints what became of a submission.
pub(crate) fn received(result: Result<Received, StoreError>, output: Output) -> Result<ExitCode, Failure> {
    answered(result, output, |received| {
        let line = format!(
            "{}: {}/{} {} waits for review",
            received.submission, received.publisher, received.id, received.version
        );
        tell(output, &received, &line);
    })
}

/// What is wrong with a submission is an answer; what is wrong with the store is a failure.
fn answered<T>(
    result: Result<T, StoreError>,
    output: Output,
    tell: impl FnOnce(T),
) -> Result<ExitCode, Failure> {
    match result {
        Ok(answer) => {
            tell(answer);
            Ok(ExitCode::SUCCESS)
        }
        Err(StoreError::Failed(failure)) => Err(failure),
        Err(StoreError::Refused(errors)) if output.json => {
            let comment: Vec<String> = errors.iter().map(|error| format!("- {error}")).collect();
            output.document(&json!({
                "ok": false, "errors": errors, "labels": ["failed", "rapplication-submission"],
                "comment": comment.join("\n"),
            }));
            Ok(ExitCode::from(NOT_OK))
        }
        Err(StoreError::Refused(errors)) => {
            show(&BundleReport::refused(errors), &output);
            Ok(ExitCode::from(NOT_OK))
        }
    }
}

fn tell(output: Output, document: &impl serde::Serialize, line: &str) {
    if output.json { output.document(document) } else { output.line(line) }
}

fn init(
    store: &Path,
    name: Option<String>,
    raw_base: Option<String>,
    output: Output,
) -> Result<ExitCode, Failure> {
    let folder_name = store.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.or(folder_name).unwrap_or_else(|| "store".to_owned());
    let mut facts = StoreFacts::new(&name);
    facts.raw_base = raw_base;
    let made = Storefront::init(store, &facts, jiff::Timestamp::now())?;
    let folder = made.folder().display().to_string();
    tell(output, &json!({ "store": folder, "name": name }), &format!("made the store {name} in {folder}"));
    Ok(ExitCode::SUCCESS)
}

fn index(store: &Path, output: Output) -> Result<ExitCode, Failure> {
    let indexed = Storefront::open(store)?.rebuild(jiff::Timestamp::now())?;
    tell(output, &indexed, &format!("listed {}", indexed.entries));
    if !output.json {
        for id in &indexed.dropped {
            output.line(&format!("{id}: its files are gone, so it is not listed any more"));
        }
        for problem in &indexed.problems {
            output.line(&format!("{}: {}", problem.folder, problem.reason.message));
        }
    }
    Ok(ExitCode::from(if indexed.problems.is_empty() { 0 } else { NOT_OK }))
}

async fn serve(
    mut config: Config,
    store: &Path,
    bind: IpAddr,
    port: u16,
    output: Output,
) -> Result<ExitCode, Failure> {
    let store = HostStorefront::open(store, &config.host)?;
    let listening = roost_server::listen_at(bind, port).await?;
    let shown = if bind.is_ipv6() { format!("[{bind}]") } else { bind.to_string() };
    let address = format!("http://{shown}:{}", listening.port());
    if output.json {
        output.document(&json!({ "address": address, "pid": std::process::id() }));
    } else {
        output.line(&format!("listening on {address}"));
    }
    if !bind.is_loopback() {
        output.note("others can reach this address: BRAINSTEM_ALLOWED_HOSTS names the hosts they may use");
    }
    let neighbours = std::mem::take(&mut config.neighbours);
    listening.serve_store(store, neighbours, stop_signal()?).await.map(|()| ExitCode::SUCCESS)
}

fn tokens(store: &Storefront, verb: StoreTokenVerb, output: Output) -> Result<ExitCode, Failure> {
    match verb {
        StoreTokenVerb::Create { account, expires, note } => {
            let expires = expires.as_deref().map(coming_moment).transpose()?;
            answered(store.create_token(&account, expires, &note, jiff::Timestamp::now()), output, |made| {
                tell(output, &made, &made.token);
                if !output.json {
                    output.note(&format!(
                        "{}: {}. It is not shown again.",
                        made.listing.id, made.listing.publisher
                    ));
                }
            })
        }
        StoreTokenVerb::List => {
            let listed = store.tokens()?;
            if output.json {
                output.document(&json!({ "tokens": listed }));
            } else {
                listed.iter().for_each(|token| output.line(&token_line(token)));
            }
            Ok(ExitCode::SUCCESS)
        }
        StoreTokenVerb::Revoke { id } => {
            let revoked = store.revoke_token(&id, jiff::Timestamp::now())?;
            tell(output, &revoked, &format!("took {id} back"));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn token_line(token: &StoreTokenListing) -> String {
    let until = match (token.revoked, token.expires) {
        (Some(revoked), _) => format!(", taken back {revoked}"),
        (None, Some(expires)) => format!(", until {expires}"),
        (None, None) => String::new(),
    };
    let note = if token.note.is_empty() { String::new() } else { format!("  ({})", token.note) };
    format!("{}  {}{until}{note}", token.id, token.publisher)
}

fn list_pending(items: &[PendingItem], output: Output) {
    if output.json {
        output.document(&json!({ "items": items }));
    } else if items.is_empty() {
        output.line("Nothing waits for review.");
    }
    for item in items.iter().filter(|_| !output.json) {
        let other = item.publisher_override.as_ref().map(|_| "  another publisher").unwrap_or_default();
        output.line(&format!(
            "{}  {}/{} {}  from {}{other}",
            item.submission, item.publisher, item.id, item.version, item.submitter
        ));
    }
}

fn tell_review(review: &Review, output: Output) {
    if output.json {
        output.document(review);
        return;
    }
    let item = &review.submission;
    output.line(&format!("{}/{} {}  from {}", item.publisher, item.id, item.version, item.submitter));
    output.line(&format!("digest    {}", item.digest));
    output.line(&format!("published {}", review.live_version.as_deref().unwrap_or("nothing yet")));
    if let Some(other) = &item.publisher_override {
        output.line(&format!("publisher {other}, not who submits it: approve with --accept-override"));
    }
    for right in &review.rights.asked {
        let mark = if review.rights.added.contains(right) { "new right" } else { "right    " };
        output.line(&format!("{mark} {right}"));
    }
    for right in &review.rights.removed {
        output.line(&format!("gone      {right}"));
    }
    for finding in &review.scan.fatal {
        output
            .line(&format!("FOUND     {}:{} {}: {}", finding.path, finding.line, finding.rule, finding.text));
    }
    for capability in &review.scan.capabilities {
        output.line(&format!("uses      {capability}"));
    }
    for test in review.tests.iter().flat_map(|tests| &tests.tests) {
        output.line(&format!(
            "{}      {}: {}",
            if test.passed { "pass" } else { "FAIL" },
            test.test,
            test.message
        ));
    }
    if let Some(failure) = &review.untested {
        output.line(&format!("untested  {}", failure.message));
    }
    for file in &review.files {
        output.line(&format!("{:<9} {}", file.change, file.path));
        if let Some(diff) = &file.diff {
            output.line(diff.trim_end());
        }
    }
}

fn issue_body(file: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let unreadable =
        |error: std::io::Error| Failure::new(Reason::Unreadable, format!("the issue's body: {error}"));
    match file {
        Some(file) => read_at_most(file, BODY_BYTES_MAX).map_err(unreadable),
        None => {
            let mut body = Vec::new();
            std::io::stdin().lock().take(BODY_BYTES_MAX).read_to_end(&mut body).map_err(unreadable)?;
            Ok(body)
        }
    }
}

fn digest_of(text: &str) -> Result<Digest, Failure> {
    Digest::parse(text).map_err(|_| Failure::new(Reason::WrongUse, "--digest: not a SHA-256"))
}
