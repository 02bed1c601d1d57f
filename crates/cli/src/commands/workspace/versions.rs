//! What files were: versions, differences, going back.

use super::{
    desk::Desk,
    table::{aligned, rows, size, time, word},
};
use roost_protocol::{Failure, Reason};
use serde_json::{Value, json};
use std::io::{self, IsTerminal as _};

pub(super) async fn log(desk: &Desk, path: &str) -> Result<(), Failure> {
    let history = desk.get("history", &[("path", path)]).await?;
    desk.say(&history, |history| {
        let row = |row: &Value| {
            let author = &row["author"];
            let bytes = if row["removed"] == true {
                "removed".to_owned()
            } else {
                size(row["bytes"].as_i64().unwrap_or_default())
            };
            let by =
                [&author["principal"], &author["node"]].map(word).into_iter().filter(|word| !word.is_empty());
            let run = author["run"].as_str().map(|run| format!("run {run}"));
            let why = run.into_iter().chain(author["reason"].as_str().map(str::to_owned));
            vec![
                format!("v{}", row["version"]),
                time(&row["updatedAt"]),
                bytes,
                by.collect::<Vec<_>>().join(" "),
                why.collect::<Vec<_>>().join(", "),
            ]
        };
        aligned(&rows(&history["versions"]).iter().map(row).collect::<Vec<_>>())
    });
    Ok(())
}

pub(super) async fn diff(desk: &Desk, path: &str, from: Option<i64>, to: Option<i64>) -> Result<(), Failure> {
    let (from, to) = match from {
        Some(from) => (from, to),
        None => newest_two(desk, path).await?,
    };
    let (from, to) = (from.to_string(), to.map(|to| to.to_string()));
    let mut query = vec![("path", path), ("from", from.as_str())];
    query.extend(to.as_deref().map(|to| ("to", to)));
    let answer = desk.get("diff", &query).await?;
    desk.say(&answer, difference);
    Ok(())
}

/// The newest version that can be read and the one before it.
async fn newest_two(desk: &Desk, path: &str) -> Result<(i64, Option<i64>), Failure> {
    let history = desk.get("history", &[("path", path)]).await?;
    let readable = rows(&history["versions"]).iter().filter(|row| row["removed"] == false);
    let versions: Vec<i64> = readable.filter_map(|row| row["version"].as_i64()).take(2).collect();
    match versions[..] {
        [newest, before, ..] => Ok((before, Some(newest))),
        _ => Err(Failure::new(Reason::UnknownFile, "only one version of this file is kept")
            .with_next(format!("print it with `roost workspace cat {path}`"))),
    }
}

/// The lines of a difference, in colours where somebody looks.
pub(super) fn difference(answer: &Value) -> Vec<String> {
    match answer["diff"].as_str() {
        Some("same") => vec!["They are the same.".to_owned()],
        Some("binary") => vec!["They differ, and one of them is not text.".to_owned()],
        Some("too_large") => vec!["They differ, and are too large to compare line by line.".to_owned()],
        _ => {
            let colours = io::stdout().is_terminal();
            let text = answer["text"].as_str().unwrap_or_default();
            text.lines().map(|line| if colours { coloured(line) } else { line.to_owned() }).collect()
        }
    }
}

fn coloured(line: &str) -> String {
    let colour = match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "1",
        [b'+', ..] => "32",
        [b'-', ..] => "31",
        [b'@', b'@', ..] => "36",
        _ => return line.to_owned(),
    };
    format!("\u{1b}[{colour}m{line}\u{1b}[0m")
}

pub(super) async fn restore(desk: &Desk, path: &str, version: i64) -> Result<(), Failure> {
    let answer = desk.post("restore", &json!({ "path": path, "version": version })).await?;
    desk.say(&answer, |answer| {
        vec![format!("{path} is as in version {version}, as version {}", answer["version"])]
    });
    Ok(())
}

pub(super) async fn undelete(desk: &Desk, path: &str) -> Result<(), Failure> {
    let answer = desk.post("undelete", &json!({ "path": path })).await?;
    desk.say(&answer, |answer| vec![format!("{path} is back, as version {}", answer["version"])]);
    Ok(())
}

pub(super) async fn purge(desk: &Desk, path: &str) -> Result<(), Failure> {
    let answer = desk.post("purge", &json!({ "path": path })).await?;
    desk.say(&answer, |answer| {
        vec![format!("{} versions of {path} are gone for good", answer["versionsPurged"])]
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::coloured;

    #[test]
    fn added_and_removed_lines_have_their_colours() {
        for (line, colour) in
            [("+++ a", "1"), ("+a", "32"), ("--- a", "1"), ("-a", "31"), ("@@ -1 +1 @@", "36")]
        {
            assert_eq!(coloured(line), format!("\u{1b}[{colour}m{line}\u{1b}[0m"));
        }
        assert_eq!(coloured(" a"), " a");
    }
}
