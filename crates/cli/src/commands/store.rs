//! `roost store`: the catalogs that apps are found in, and what is in them.

use super::storefront::storefront;
use crate::{
    args::{SearchArguments, StoreArguments, StoreVerb},
    config::Config,
    output::{NOT_OK, Output},
};
use roost_host::catalogs::{
    Access, CATALOG_AGE_MAX, CatalogListing, EntryKind, EntryName, Filters, Freshness, HostCatalogs,
    PartKind, Position, SearchAnswer, ShownEntry, SourceState,
};
use roost_protocol::Failure;
use serde_json::json;
use std::{process::ExitCode, time::Duration};

/// Whoever waits longer wants to know what for.
const SILENT_AT_MOST: Duration = Duration::from_secs(1);

/// How much of a summary stands in a list.
const SUMMARY_CHARACTERS_MAX: usize = 160;

pub(crate) async fn store(
    config: Config,
    arguments: StoreArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    // Reads and writes files of the home only, so that no host is needed for it.
    let catalogs = HostCatalogs::open(&config.host)?;
    match arguments.verb {
        StoreVerb::List => Ok(list(&catalogs.list().await?, *output)),
        StoreVerb::Add { address, name, first } => {
            let position = if first { Position::First } else { Position::Last };
            let adding = catalogs.add(&address, name.as_deref(), position);
            let added = waiting(*output, "Fetching the catalog…", adding).await?;
            if output.json {
                output.document(&json!({ "added": added }));
            } else {
                output.line(&format!("added {}, {}", added.id, counted(&added)));
            }
            Ok(ExitCode::SUCCESS)
        }
        StoreVerb::Remove { id } => {
            catalogs.remove(&id)?;
            if output.json {
                output.document(&json!({ "removed": id }));
            } else {
                output.line(&format!("removed {id}"));
            }
            Ok(ExitCode::SUCCESS)
        }
        StoreVerb::Refresh { id } => {
            let refreshing = catalogs.refresh(id.as_deref());
            Ok(list(&waiting(*output, "Fetching the catalogs…", refreshing).await?, *output))
        }
        StoreVerb::Search(asked) => search(&catalogs, asked, *output).await,
        StoreVerb::Show { app, offline } => {
            let name = EntryName::parse(&app)?;
            let showing = catalogs.show(&name, freshness(offline));
            show(&waiting(*output, "Fetching the catalogs…", showing).await?, *output);
            Ok(ExitCode::SUCCESS)
        }
        StoreVerb::Own(verb) => storefront(config, verb, *output).await,
    }
}

async fn search(
    catalogs: &HostCatalogs,
    asked: SearchArguments,
    output: Output,
) -> Result<ExitCode, Failure> {
    let SearchArguments { query, category, tag, publisher, tier, source, limit, offline } = asked;
    let filters = Filters { category, tag, publisher, tier, source, access: None };
    let query = query.join(" ");
    let searching = catalogs.search(&query, &filters, limit, freshness(offline));
    let answer = waiting(output, "Fetching the catalogs…", searching).await?;
    if output.json {
        output.document(&answer);
    } else {
        found(&answer, output);
    }
    Ok(ExitCode::SUCCESS)
}

fn freshness(offline: bool) -> Freshness {
    if offline { Freshness::Kept } else { Freshness::AtMost(CATALOG_AGE_MAX) }
}

/// Says what is waited for once it takes longer than a moment.
async fn waiting<T>(output: Output, what: &str, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    match tokio::time::timeout(SILENT_AT_MOST, &mut work).await {
        Ok(done) => done,
        Err(_) => {
            if output.shows_progress() {
                output.note(what);
            }
            work.await
        }
    }
}

/// All sources; not ok when one of them has no catalog to look into.
fn list(sources: &[CatalogListing], output: Output) -> ExitCode {
    let failed = sources.iter().any(|source| source.state == SourceState::Failed);
    if output.json {
        output.document(&json!({ "sources": sources }));
    } else if sources.is_empty() {
        output.line("There are no catalogs. Add one with `roost store add ADDRESS`.");
    } else {
        sources.iter().for_each(|source| one_source(source, output));
    }
    ExitCode::from(if failed { NOT_OK } else { 0 })
}

fn one_source(source: &CatalogListing, output: Output) {
    output.line(&format!("{}  {}  {}", source.id, counted(source), source.address));
    if let Some(failure) = &source.reason {
        output.line(&format!("    {} [{}]", failure.message, failure.reason.code()));
        output.line(&format!("    next: {}", failure.next_step()));
    }
    for problem in &source.problems {
        let id = problem.id.as_deref().unwrap_or("?");
        output.line(&format!("    entry {} ({id}): {}", problem.index, problem.reason.message));
    }
}

/// How many apps and senses, and how old the list of them is.
fn counted(source: &CatalogListing) -> String {
    let some = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let apps = match (source.entries, source.senses) {
        (apps, 0) => some(apps, "app"),
        (0, senses) => some(senses, "sense"),
        (apps, senses) => format!("{}, {}", some(apps, "app"), some(senses, "sense")),
    };
    let bad = match source.bad_entries {
        0 => String::new(),
        count => format!(", {count} that cannot be used"),
    };
    let age = source.age_seconds.map(|seconds| format!(", fetched {}", ago(seconds))).unwrap_or_default();
    match source.state {
        SourceState::Ready => format!("{apps}{bad}{age}"),
        SourceState::Stale => format!("{apps}{bad}{age}, could not be fetched since"),
        SourceState::Failed => "failed".to_owned(),
        SourceState::Unfetched => "not fetched yet".to_owned(),
    }
}

fn ago(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

fn found(answer: &SearchAnswer, output: Output) {
    for entry in &answer.found {
        let publisher =
            entry.publisher.as_deref().map(|publisher| format!("{publisher}/")).unwrap_or_default();
        let agent = if entry.kind == EntryKind::Agent { "  agent" } else { "" };
        let private = if entry.access == Access::Private { "  private" } else { "" };
        let shadowed = entry.shadowed_by.as_ref().map(|by| format!("  shadowed by {by}")).unwrap_or_default();
        let (id, version, name) = (&entry.id, &entry.version, &entry.name);
        output.line(&format!("{publisher}{id}  {version}  {name}{agent}{private}{shadowed}"));
        output.line(&format!("    {}", shortened(&entry.summary)));
    }
    match (answer.total, answer.found.len()) {
        (0, _) => output.line("Nothing was found."),
        (total, shown) if total > shown => output.line(&format!("{} more; see --limit", total - shown)),
        _ => {}
    }
    for source in answer.sources.iter().filter(|source| source.state != SourceState::Ready) {
        let reason =
            source.reason.as_ref().map(|failure| format!(": {}", failure.message)).unwrap_or_default();
        output.note(&format!("{}: {}{reason}", source.id, counted(source)));
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SUMMARY_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn show(shown: &ShownEntry, output: Output) {
    if output.json {
        output.document(shown);
        return;
    }
    let found = &shown.found;
    let line = |label: &str, text: &str| {
        if !text.is_empty() {
            output.line(&format!("{label:<12}{text}"));
        }
    };
    output.line(&format!("{} {}", found.name, shown.wanted_version));
    line("id", &found.id);
    line("publisher", found.publisher.as_deref().unwrap_or("nobody is named"));
    line("does", &found.summary);
    line("category", &found.category);
    line("tags", &found.tags.join(", "));
    line("licence", &shown.license);
    line("tier", &found.quality_tier);
    line("versions", &shown.versions.join(", "));
    let age = shown.age_seconds.map(|seconds| format!(", fetched {}", ago(seconds))).unwrap_or_default();
    line("catalog", &format!("{}{age}", found.source));
    if let Some(by) = &found.shadowed_by {
        line("shadowed", &format!("{by} has the same id and comes first"));
    }
    if let Some(federation) = &shown.federation {
        let commit = federation.commit_sha.as_deref().unwrap_or("the commit is looked up");
        line("from", &format!("{} at {} ({commit})", federation.repo, federation.reference));
    }
    if let Some(repository) = &shown.private_repo {
        line("private", &format!("its files are in {repository}, and need a token that may read it"));
    }
    line("sign in", shown.auth_hint.as_deref().unwrap_or_default());
    line("access", shown.access_note.as_deref().unwrap_or_default());
    for file in &shown.files {
        let checked = match (&file.sha256, file.kind) {
            (Some(digest), _) => format!("sha256 {:.12}…", digest.to_string()),
            (None, PartKind::Egg) => "no digest".to_owned(),
            (None, _) => "no digest: what arrives cannot be checked".to_owned(),
        };
        line(file.kind.word(), &format!("{}  {checked}", file.file_name));
    }
}
