//! A bundle's page in a real browser, where this machine has one: it loads, shows something, and no script of it fails.
//!
//! The page is read from a folder of its own, with an empty profile and no way to any computer. What it asks its host
//! is not answered here, so a promise that fails is no failure of the page.

use roost_apps::{Bundle, ContractCheck};
use roost_protocol::Failure;
use roost_runtime::{find_executable, run};
use std::{collections::BTreeMap, ffi::OsString, io, path::PathBuf, time::Duration};

const TEST: &str = "page_loads";

/// Names of browsers that understand the arguments below.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// For the browser to start on a slow machine, and for the page.
const WITHIN: Duration = Duration::from_secs(30);

/// What the page's clock shows when it is looked at; the time itself is skipped.
const PAGE_TIME: &str = "--virtual-time-budget=2000";

const ARGUMENTS: [&str; 12] = [
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    // No name is known and every connection goes to a port where nobody listens, those to this machine too.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--enable-logging=stderr",
    PAGE_TIME,
];

/// What came of it: a test with its outcome, or why there is none.
pub(super) enum PageLoad {
    Tried(ContractCheck),
    NotTried(&'static str),
}

/// Loads the page of a bundle; `None` when it has none.
pub(super) async fn page_loads(bundle: &Bundle, search_path: &[PathBuf]) -> Option<PageLoad> {
    let (path, _) = bundle.page()?;
    let Some(browser) = BROWSERS.iter().find_map(|name| find_executable(name, search_path)) else {
        return Some(PageLoad::NotTried("the page was not loaded: there is no Chromium on the search path"));
    };
    if rustix::process::geteuid().is_root() {
        // Another's page without the browser's own sandbox would have all rights of this machine behind one defect.
        return Some(PageLoad::NotTried(
            "the page was not loaded: as root a browser has no sandbox, so test it as an ordinary user",
        ));
    }
    let loaded = load(bundle, path, &browser).await;
    Some(PageLoad::Tried(loaded.unwrap_or_else(|failure| ContractCheck::new(TEST, false, failure.message))))
}

async fn load(bundle: &Bundle, path: &str, browser: &std::path::Path) -> Result<ContractCheck, Failure> {
    let failed = |error: io::Error| super::not_written(&error);
    let folder = tempfile::tempdir().map_err(failed)?;
    let (site, profile) = (folder.path().join("site"), folder.path().join("profile"));
    std::fs::create_dir(&site).map_err(failed)?;
    bundle.files().write_beneath(&site).map_err(failed)?;
    let mut arguments: Vec<OsString> = ARGUMENTS.iter().map(OsString::from).collect();
    let mut with_path = |option: &str, path: PathBuf| {
        let mut argument = OsString::from(option);
        argument.push(path);
        arguments.push(argument);
    };
    with_path("--user-data-dir=", profile);
    with_path("--dump-dom", PathBuf::new());
    with_path("file://", site.join(path));
    let home = folder.path().display().to_string();
    let environment = BTreeMap::from([
        ("HOME".to_owned(), home.clone()),
        ("TMPDIR".to_owned(), home),
        ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
    ]);
    let ran = run(browser, &arguments, &environment, WITHIN).await?;
    Ok(judged(ran.succeeded, &ran.stdout, &ran.stderr))
}

/// The outcome from what the browser printed: the document as it is now, and the lines of its console.
fn judged(succeeded: bool, document: &str, console: &str) -> ContractCheck {
    if !succeeded {
        let last = console.trim().lines().last().unwrap_or("no message").to_owned();
        return ContractCheck::new(TEST, false, format!("the browser did not load it: {last}"));
    }
    if let Some(error) = console.lines().find_map(uncaught) {
        return ContractCheck::new(TEST, false, error);
    }
    let body = document.find("<body").map_or(document, |start| &document[start..]);
    if text_of(body).trim().is_empty()
        && !["<img", "<svg", "<canvas", "<input"].iter().any(|tag| body.contains(tag))
    {
        return ContractCheck::new(TEST, false, "the page shows nothing");
    }
    ContractCheck::new(TEST, true, "loads, and no script of it fails")
}

/// The message of an error that no script caught.
fn uncaught(line: &str) -> Option<String> {
    let (_, message) = line.split_once(":CONSOLE")?;
    let (_, message) = message.split_once("\"Uncaught ")?;
    let (message, place) = message.split_once("\", source: ").unwrap_or((message, ""));
    if message.starts_with("(in promise)") {
        return None;
    }
    let file = place.rsplit('/').next().unwrap_or(place);
    Some(format!("{message}, {file}"))
}

/// What stands between the tags, scripts and styles left out.
fn text_of(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        let hidden = ["script", "style"].into_iter().find(|tag| rest[1..].starts_with(tag));
        let end = match hidden {
            Some(tag) => rest.find(&format!("</{tag}")).and_then(|end| Some(end + rest[end..].find('>')?)),
            None => rest.find('>'),
        };
        match end {
            Some(end) => rest = &rest[end + 1..],
            None => return text,
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::{judged, text_of, uncaught};

    #[test]
    fn only_errors_that_nobody_caught_count() {
        let line = |message: &str| {
            format!("[1:1:1116/1.1:INFO:CONSOLE:7] \"{message}\", source: file:///a/site/index.html (7)")
        };
        let error = uncaught(&line("Uncaught ReferenceError: tea is not defined")).unwrap();
        assert_eq!(error, "ReferenceError: tea is not defined, index.html (7)");
        assert_eq!(uncaught(&line("Uncaught (in promise) TypeError: Failed to fetch")), None);
        assert_eq!(uncaught(&line("a word of the page")), None);
        assert_eq!(uncaught("Uncaught outside of the console"), None);
    }

    #[test]
    fn a_page_must_show_something() {
        for (document, shows) in [
            ("<html><body><p>tea</p></body></html>", true),
            ("<html><body><canvas></canvas></body></html>", true),
            ("<html><head><title>tea</title></head><body>\n<script>tea()</script></body></html>", false),
            ("<html><body><style>p { }</style></body></html>", false),
            ("<html><body><script>", false),
        ] {
            assert_eq!(judged(true, document, "").passed, shows, "{document}");
        }
        assert!(!judged(false, "", "no such file").passed);
        assert_eq!(text_of("a<b>c</b>d<"), "acd");
    }
}
