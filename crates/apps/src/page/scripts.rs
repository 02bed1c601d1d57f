//! Whether all scripts of a page can be named by their hash: then nothing else runs in it, and what browsers cannot close
//! by headers can be taken away before the first of them.
//!
//! A page is taken apart only as far as it is plain. Whatever is unusual leaves it as it was, in the ordinary tier; what
//! is overlooked here does not run there, because its hash is not named.

use super::content::PageContent;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use roost_protocol::Digest;

/// Takes away what sends packets past every policy, before any script of the page.
const PRELUDE: &str = "(()=>{for(const name of ['RTCPeerConnection','webkitRTCPeerConnection','RTCDataChannel',\
'RTCSessionDescription','RTCIceCandidate','WebTransport'])Object.defineProperty(window,name,{value:undefined,\
writable:false,configurable:false});})();";

/// Words of scripts that need what hashes and Trusted Types forbid, or storage that an opaque frame does not have.
const NEEDS_MORE: [&str; 24] = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "Function(",
    "srcdoc",
    "DOMParser",
    "createContextualFragment",
    "setTimeout('",
    "setTimeout(\"",
    "setTimeout(`",
    "setInterval('",
    "setInterval(\"",
    "import(",
    "import ",
    "Worker",
    "localStorage",
    "sessionStorage",
    "indexedDB",
    "document.cookie",
    "caches",
    "createElement('script",
    "createElement(\"script",
];

/// Pieces of HTML that are not looked into.
const UNUSUAL: [&str; 5] = ["<!--", "<base", "javascript:", "<noscript", "<template"];

/// A page whose scripts all have a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictPage {
    /// Its entry, with every script in place.
    pub html: String,
    /// Sources for `script-src`.
    pub hashes: Vec<String>,
}

impl StrictPage {
    /// The page in this form, where its scripts allow it. `given` are scripts of the host that it loads by `../_sdk/`.
    #[must_use]
    pub fn of(page: &PageContent, given: impl Fn(&str) -> Option<&'static str>) -> Option<Self> {
        let html = std::str::from_utf8(page.files().get(&page.manifest().entry)?).ok()?;
        let lower = html.to_ascii_lowercase();
        if UNUSUAL.iter().any(|piece| lower.contains(piece)) || page.manifest().entry.contains('/') {
            return None;
        }
        let (mut strict, mut hashes) = (String::with_capacity(html.len() + 4096), Vec::new());
        let mut add = |strict: &mut String, script: &str| {
            strict.push_str("<script>");
            strict.push_str(script);
            strict.push_str("</script>");
            hashes.push(format!("'sha256-{}'", STANDARD.encode(Digest::of(script.as_bytes()).to_bytes())));
        };
        let head = lower.find("<head").and_then(|at| lower[at..].find('>').map(|end| at + end + 1))?;
        if has_handlers(&lower[..head]) {
            return None;
        }
        strict.push_str(&html[..head]);
        add(&mut strict, PRELUDE);
        let mut at = head;
        while let Some(start) = lower[at..].find("<script").map(|found| at + found) {
            let open_end = lower[start..].find('>').map(|end| start + end + 1)?;
            let close = lower[open_end..].find("</script>").map(|end| open_end + end)?;
            if has_handlers(&lower[at..start]) {
                return None;
            }
            strict.push_str(&html[at..start]);
            let inline = &html[open_end..close];
            match source(&html[start + "<script".len()..open_end - 1])? {
                None if is_plain(inline) => add(&mut strict, inline),
                Some(path) if inline.trim().is_empty() => match path.strip_prefix("../_sdk/") {
                    Some(name) => add(&mut strict, given(name)?),
                    None => {
                        let script = std::str::from_utf8(page.files().get(path)?).ok()?;
                        is_plain(script).then_some(())?;
                        add(&mut strict, script);
                    }
                },
                _ => return None,
            }
            at = close + "</script>".len();
        }
        if has_handlers(&lower[at..]) {
            return None;
        }
        strict.push_str(&html[at..]);
        Some(Self { html: strict, hashes })
    }
}

/// The address in a script's attributes, if there is one; nothing at all for attributes that change how it runs.
fn source(attributes: &str) -> Option<Option<&str>> {
    let attributes = attributes.trim();
    if attributes.is_empty() {
        return Some(None);
    }
    let value = attributes.strip_prefix("src=")?;
    let value = match value.as_bytes().first()? {
        b'"' => value.strip_prefix('"')?.strip_suffix('"')?,
        b'\'' => value.strip_prefix('\'')?.strip_suffix('\'')?,
        _ => value,
    };
    let is_path = |character: char| character.is_ascii_alphanumeric() || "._-/".contains(character);
    value.chars().all(is_path).then_some(Some(value))
}

fn is_plain(script: &str) -> bool {
    let closes = script.to_ascii_lowercase().contains("</script") || script.contains("<!--");
    !closes && !NEEDS_MORE.iter().any(|word| script.contains(word))
}

/// True where an attribute such as `onclick=` may stand.
fn has_handlers(lower: &str) -> bool {
    let bytes = lower.as_bytes();
    lower.match_indices("on").any(|(at, _)| {
        let begins =
            at > 0 && matches!(bytes[at - 1], b' ' | b'\n' | b'\t' | b'\r' | b'/' | b'"' | b'\'' | 0x0c);
        let word = bytes[at + 2..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        let after = lower[at + 2 + word..].trim_start();
        begins && word > 0 && after.starts_with('=')
    })
}

#[cfg(test)]
mod tests {
    use super::{PRELUDE, StrictPage};
    use crate::PageContent;
    use serde_json::json;

    fn strict(html: &str, script: &str) -> Option<StrictPage> {
        let manifest = json!({"id": "a", "name": "A", "version": "1.0.0", "entry": "index.html"}).to_string();
        let files = [("manifest.json", manifest.as_str()), ("index.html", html), ("app.js", script)];
        let page = PageContent::from_contents(
            "a",
            files.map(|(path, content)| (path.to_owned(), content.as_bytes().to_vec())),
        );
        StrictPage::of(&page.unwrap(), |name| (name == "sdk.js").then_some("let sdk;"))
    }

    #[test]
    fn every_script_of_a_plain_page_has_its_hash() {
        let html = "<!doctype html><head><title>x</title><script src=\"../_sdk/sdk.js\"></script></head>\
            <body><p>on = x</p><script>let b = 1;</script><script src='app.js'></script></body>";
        let page = strict(html, "let a;").unwrap();
        assert_eq!(page.hashes.len(), 4);
        let expected = format!(
            "<!doctype html><head><script>{PRELUDE}</script><title>x</title><script>let sdk;</script></head>\
            <body><p>on = x</p><script>let b = 1;</script><script>let a;</script></body>"
        );
        assert_eq!(page.html, expected);
    }

    #[test]
    fn what_needs_more_stays_as_it_is() {
        for html in [
            "<head></head><script type=\"module\" src=\"app.js\"></script>",
            "<head></head><script defer src=\"app.js\"></script>",
            "<head></head><script src=\"https://x.example/a.js\"></script>",
            "<head></head><script src=\"missing.js\"></script>",
            "<head></head><p onclick=\"a()\">",
            "<head></head><p class=\"x\"onclick = 'a()'>",
            "<head></head><!-- <script>a</script> -->",
            "<head></head><script>document.body.innerHTML = 1</script>",
            "<head></head><script>x",
            "<script>no head</script>",
            "<head></head><a href=\"javascript:a()\">",
        ] {
            assert_eq!(strict(html, "let a;"), None, "{html}");
        }
        assert_eq!(strict("<head></head><script src=app.js></script>", "x = '</script>'"), None);
        assert!(strict("<head></head><script src=app.js></script>", "let a;").is_some());
    }
}
