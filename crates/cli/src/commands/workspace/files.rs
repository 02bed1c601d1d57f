//! Files as they are: listing, printing, writing, removing, renaming, searching.

use super::{
    desk::{Desk, address, document, file},
    table::{aligned, rows, size, time, word},
};
use crate::{args::WorkspaceVerb, partner::Method};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use roost_protocol::{Failure, Reason};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    io::{self, Read as _, Write as _},
    path::Path,
};

/// More than a workspace takes by default: whatever is longer is refused for its size, and an endless input ends.
const INPUT_BYTES_MAX: u64 = 512 << 20;

/// What a person can get wrong without any host.
pub(super) fn checked(verb: WorkspaceVerb) -> Result<WorkspaceVerb, Failure> {
    match &verb {
        WorkspaceVerb::Purge { yes: false, path } => {
            let next = format!("`roost workspace purge {path} --yes` does it");
            Err(Failure::new(Reason::WrongUse, "this forgets every version for good").with_next(next))
        }
        WorkspaceVerb::Export { file, force: false, .. } if file.exists() => {
            let message = format!("{} is there already", file.display());
            Err(Failure::new(Reason::AlreadyExists, message)
                .with_next("choose another name, or replace it with --force"))
        }
        _ => Ok(verb),
    }
}

pub(super) async fn list(desk: &Desk, prefix: Option<&str>) -> Result<(), Failure> {
    let query: Vec<(&str, &str)> = prefix.map(|prefix| ("prefix", prefix)).into_iter().collect();
    let mut listed = desk.get("files", &query).await?;
    let usage = desk.get("usage", &[("perFile", "true")]).await?;
    let sizes: HashMap<&str, i64> = rows(&usage["perFile"])
        .iter()
        .filter_map(|row| Some((row["path"].as_str()?, row["bytes"].as_i64()?)))
        .collect();
    for row in listed["files"].as_array_mut().into_iter().flatten() {
        let bytes = row["path"].as_str().and_then(|path| sizes.get(path)).copied();
        row["bytes"] = json!(bytes);
    }
    desk.say(&listed, |listed| {
        let files = rows(&listed["files"]);
        if files.is_empty() {
            return vec![match prefix {
                Some(_) => "No file begins so. See all with `roost workspace ls`.".to_owned(),
                None => {
                    "The workspace is empty. Write a file with `roost workspace put PATH FILE`.".to_owned()
                }
            }];
        }
        let row = |row: &Value| {
            let bytes = row["bytes"].as_i64().map(size).unwrap_or_default();
            vec![
                word(&row["path"]),
                format!("v{}", row["version"]),
                bytes,
                time(&row["updatedAt"]),
                word(&row["contentType"]),
            ]
        };
        aligned(&files.iter().map(row).collect::<Vec<_>>())
    });
    Ok(())
}

/// Prints the bytes of a file as they are.
pub(super) async fn print(desk: &Desk, path: &str, version: Option<i64>) -> Result<(), Failure> {
    let version = version.map(|version| version.to_string());
    let mut query = vec![("encoding", "base64")];
    query.extend(version.as_deref().map(|version| ("version", version)));
    let mut found = desk.get(&file(path), &query).await?;
    let content = BASE64_STANDARD.decode(found["content"].as_str().unwrap_or_default());
    let content = content.map_err(|error| Failure::new(Reason::HostUnreachable, error.to_string()))?;
    if desk.output.json {
        match String::from_utf8(content) {
            Ok(text) => found["content"] = json!(text),
            Err(_) => found["encoding"] = json!("base64"),
        }
        desk.output.document(&found);
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    // A reader that left wants no more of it.
    stdout.write_all(&content).and_then(|()| stdout.flush()).ok();
    Ok(())
}

pub(super) async fn put(
    desk: &Desk,
    path: &str,
    from: &Path,
    if_match: Option<String>,
    content_type: Option<String>,
) -> Result<(), Failure> {
    let bytes = read_input(from)?;
    let headers: Vec<(&'static str, String)> = if_match.map(|etag| ("if-match", etag)).into_iter().collect();
    let content_type = content_type.unwrap_or_else(|| usual_type(path, &bytes).to_owned());
    let (query, content): (&[(&str, &str)], String) = match String::from_utf8(bytes) {
        Ok(text) => (&[], text),
        Err(binary) => (&[("encoding", "base64")], BASE64_STANDARD.encode(binary.into_bytes())),
    };
    let body = json!({ "content": content, "contentType": content_type });
    let answer = desk.tell(Method::Put, &address(&file(path), query), &headers, &body).await?;
    let mut answer = document(&answer)?;
    if let Some(answer) = answer.as_object_mut() {
        answer.remove("content");
    }
    desk.say(&answer, |answer| {
        vec![format!(
            "{} is version {}, etag {}",
            word(&answer["path"]),
            answer["version"],
            word(&answer["etag"])
        )]
    });
    Ok(())
}

/// What a file is by the ending of its name, as far as it matters to a person who looks at it.
fn usual_type(path: &str, bytes: &[u8]) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("md" | "markdown") => "text/markdown",
        Some("json") => "application/json",
        Some("html" | "htm") => "text/html",
        Some("csv") => "text/csv",
        Some("yaml" | "yml") => "application/yaml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("pdf") => "application/pdf",
        _ if std::str::from_utf8(bytes).is_ok() => "text/plain",
        _ => "application/octet-stream",
    }
}

/// A file of this machine, or standard input.
pub(super) fn read_input(from: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = if from == Path::new("-") {
        io::stdin().lock().take(INPUT_BYTES_MAX).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(from).and_then(|file| file.take(INPUT_BYTES_MAX).read_to_end(&mut bytes))
    };
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Failure::new(Reason::WrongUse, format!("read {}: {error}", from.display()))
            .with_next("name a file that can be read, or `-` for standard input")),
    }
}

pub(super) async fn remove(desk: &Desk, path: &str) -> Result<(), Failure> {
    desk.send(Method::Delete, &address(&file(path), &[]), &[], Vec::new()).await?;
    desk.say(&json!({ "removed": path }), |_| {
        vec![format!("removed {path}; `roost workspace undelete {path}` brings it back")]
    });
    Ok(())
}

pub(super) async fn rename(desk: &Desk, from: &str, to: &str) -> Result<(), Failure> {
    let answer = desk.post("move", &json!({ "from": from, "to": to })).await?;
    desk.say(&answer, |answer| vec![format!("{from} is {to} now, version {}", answer["version"])]);
    Ok(())
}

pub(super) async fn search(
    desk: &Desk,
    text: &str,
    flags: &[(&str, bool)],
    prefix: Option<&str>,
    limit: u32,
) -> Result<(), Failure> {
    let limit = limit.to_string();
    let mut query = vec![("q", text), ("limit", &limit)];
    query.extend(flags.iter().filter(|(_, set)| *set).map(|(name, _)| (*name, "true")));
    query.extend(prefix.map(|prefix| ("prefix", prefix)));
    let found = desk.get("search", &query).await?;
    desk.say(&found, |found| {
        let lines = rows(&found["files"]).iter().flat_map(|file| {
            let place = |place: &Value| {
                format!(
                    "{}:{}:{}: {}",
                    word(&file["path"]),
                    place["line"],
                    place["column"],
                    word(&place["text"])
                )
            };
            rows(&file["matches"]).iter().map(place).collect::<Vec<_>>()
        });
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() { vec!["Nothing was found.".to_owned()] } else { lines }
    });
    if !desk.output.json && found["truncated"] == true {
        desk.output.note("There may be more; --limit shows more, --prefix looks in fewer files.");
    }
    Ok(())
}

pub(super) async fn usage(desk: &Desk) -> Result<(), Failure> {
    let usage = desk.get("usage", &[]).await?;
    desk.say(&usage, |usage| {
        let limits = &usage["limits"];
        let bytes = |value: &Value| size(value.as_i64().unwrap_or_default());
        let row = |name: &str, value: String, of: String| vec![name.to_owned(), value, of];
        aligned(&[
            row("files", word(&usage["files"]), format!("of {}", limits["maxFiles"])),
            row("size", bytes(&usage["bytes"]), format!("of {}", bytes(&limits["maxWorkspaceBytes"]))),
            row("versions", word(&usage["versions"]), format!("{} of each file", limits["maxVersions"])),
            row("with history", bytes(&usage["historyBytes"]), String::new()),
            row("largest file", bytes(&limits["maxFileBytes"]), "at most".to_owned()),
        ])
    });
    Ok(())
}
