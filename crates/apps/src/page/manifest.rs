//! What a page says of itself: `manifest.json`. Every wrong field is told with its reason; one of them is enough to
//! refuse the page, and none of them hides another page.

use super::{
    fields::{Fields, flag, moment, shown, text},
    id::PageId,
    unique_json,
};
use roost_protocol::{AgentName, Ask, Asks, Evidence, Right, from_page};
use serde::Serialize;
use serde_json::{Map, Value};

/// Largest manifest; real ones have a few hundred bytes.
const MANIFEST_BYTES_MAX: usize = 64 << 10;

const NAME_CHARACTERS_MAX: usize = 80;
const DESCRIPTION_CHARACTERS_MAX: usize = 1000;
const PATH_CHARACTERS_MAX: usize = 200;

/// Most that a page may ask to keep: what a browser gives to an origin without asking.
const STORAGE_BYTES_MAX: u64 = 10 << 20;

/// One thing that is wrong with a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageProblem {
    /// The field of the manifest, or the file.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

impl PageProblem {
    pub(super) fn new(field: &str, message: impl Into<String>) -> Self {
        Self { field: field.to_owned(), message: message.into() }
    }
}

/// A manifest in which everything is as it must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageManifest {
    /// Its id, equal to its folder.
    pub id: PageId,
    /// What people call it; always shown beside the id.
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// The HTML file it begins with.
    pub entry: String,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who made it, as it says itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// A picture among its files; shown as a picture only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    /// Milliseconds since 1970, as it says itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<i64>,
    /// The same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<i64>,
    /// What it asks for.
    #[serde(skip)]
    pub asks: Asks,
    /// The agent behind it, for pages that speak the cartridge protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Whether a native app answers what the page asks for at `api/`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub native: bool,
    /// How it would like to be shown.
    pub display: PageDisplay,
    /// Whether it would like to be mounted when the host page opens.
    pub auto_mount: bool,
    /// Keys that mean nothing here.
    pub unknown_keys: Vec<String>,
}

/// How a page would like to be shown; the host page decides.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct PageDisplay {
    /// A number with `px`, `%`, `vw` or `vh`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<String>,
    /// The same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<String>,
    /// Whether a person may change its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resizable: Option<bool>,
    /// Where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<PagePosition>,
}

/// Where a page would like to stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum PagePosition {
    Center,
    Top,
    Bottom,
    Left,
    Right,
    TopLeft,
    TopRight,
    BottomLeft,
    BottomRight,
}

impl PageManifest {
    /// Reads a manifest that lies in a folder of this name.
    pub fn read(bytes: &[u8], folder: &str) -> Result<Self, Vec<PageProblem>> {
        let whole = |why: String| vec![PageProblem::new("manifest.json", why)];
        if bytes.len() > MANIFEST_BYTES_MAX {
            return Err(whole(format!("has {} bytes; at most {MANIFEST_BYTES_MAX}", bytes.len())));
        }
        let Value::Object(object) = unique_json::parse(bytes).map_err(whole)? else {
            return Err(whole("is not an object".to_owned()));
        };
        let mut fields = Fields::new(object);
        let id = fields.required("id", |value| read_id(value, folder));
        let name = fields.required("name", |value| text(value, NAME_CHARACTERS_MAX));
        let version = fields.required("version", read_version);
        let entry = fields.required("entry", read_entry);
        let description = fields.optional("description", |value| text(value, DESCRIPTION_CHARACTERS_MAX));
        let author = fields.optional("author", |value| text(value, NAME_CHARACTERS_MAX));
        let icon = fields.optional("icon", read_path);
        let created = fields.optional("created", moment);
        let updated = fields.optional("updated", moment);
        let asks = fields.optional("permissions", read_permissions).unwrap_or_default();
        let agent = fields.optional("agent", read_agent);
        let display = read_display(&mut fields);
        let auto_mount = fields.optional("autoMount", flag).unwrap_or_default();
        let mut asks = asks.asks;
        if auto_mount {
            // To run unseen when a person opens something else is a thing to be asked for.
            let original = Some("autoMount: true".to_owned());
            asks.push(Ask { right: Right::Schedule, evidence: Evidence::Declared, line: None, original });
        }
        if let Some(right) = agent.as_ref().and_then(calling) {
            let original = agent.as_ref().map(|agent| format!("agent: {agent}"));
            asks.push(Ask { right, evidence: Evidence::Declared, line: None, original });
        }
        let (unknown_keys, problems) = fields.finish();
        match (id, name, version, entry) {
            (Some(id), Some(name), Some(version), Some(entry)) if problems.is_empty() => Ok(Self {
                id,
                name,
                version,
                entry,
                description,
                author,
                icon,
                created,
                updated,
                asks: Asks { declared: true, asks },
                agent,
                native: false,
                display,
                auto_mount,
                unknown_keys,
            }),
            _ => Err(problems),
        }
    }
}

/// The right to call the agent behind a page.
pub(super) fn calling(agent: &AgentName) -> Option<Right> {
    format!("agents:call:{agent}").parse().ok()
}

fn read_id(value: &Value, folder: &str) -> Result<PageId, String> {
    let id = PageId::parse(value.as_str().unwrap_or_default())
        .map_err(|error| format!("{error}: {}", shown(value)))?;
    if id.as_str() == folder { Ok(id) } else { Err(format!("is `{id}`, and its folder is `{folder}`")) }
}

fn read_version(value: &Value) -> Result<String, String> {
    let text = value.as_str().filter(|text| is_semantic_version(text));
    text.map(str::to_owned)
        .ok_or_else(|| format!("is not a semantic version such as 1.0.0: {}", shown(value)))
}

/// `1.2.3`, with `-pre.release` and `+build` behind it.
fn is_semantic_version(text: &str) -> bool {
    let (rest, build) = text.split_once('+').map_or((text, None), |(rest, build)| (rest, Some(build)));
    let (core, pre) = rest.split_once('-').map_or((rest, None), |(core, pre)| (core, Some(pre)));
    let is_number = |part: &str| {
        !part.is_empty()
            && part.len() <= 10
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let are_words = |words: &str| {
        words.split('.').all(|word| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        })
    };
    text.len() <= 64
        && core.split('.').count() == 3
        && core.split('.').all(is_number)
        && pre.is_none_or(|pre| {
            let has_zero_in_front =
                |word: &str| word.bytes().all(|byte| byte.is_ascii_digit()) && !is_number(word);
            are_words(pre) && !pre.split('.').any(has_zero_in_front)
        })
        && build.is_none_or(are_words)
}

/// A path inside the page's folder that means the same everywhere, also in an address.
fn read_path(value: &Value) -> Result<String, String> {
    let path = value.as_str().ok_or_else(|| format!("is not text: {}", shown(value)))?;
    let is_plain = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-' | '/' | ' ' | '@')
    };
    let is_name = |segment: &str| !segment.is_empty() && segment != "." && segment != "..";
    let fits = path.len() <= PATH_CHARACTERS_MAX
        && path.chars().all(is_plain)
        && path.split('/').all(is_name)
        && path.trim() == path;
    if fits { Ok(path.to_owned()) } else { Err(format!("is not a path inside its folder: {}", shown(value))) }
}

fn read_entry(value: &Value) -> Result<String, String> {
    let path = read_path(value)?;
    let is_page = [".html", ".htm"].iter().any(|ending| path.to_ascii_lowercase().ends_with(ending));
    if is_page { Ok(path) } else { Err(format!("is not an HTML file: {}", shown(value))) }
}

fn read_permissions(value: &Value) -> Result<Asks, String> {
    let object = value.as_object().ok_or_else(|| format!("is not an object: {}", shown(value)))?;
    let asks = from_page(object).map_err(|error| error.to_string())?;
    let too_much =
        asks.iter().any(|ask| matches!(ask.right, Right::Storage(bytes) if bytes > STORAGE_BYTES_MAX));
    if too_much {
        return Err(format!("`storage` is more than {} MB", STORAGE_BYTES_MAX >> 20));
    }
    Ok(Asks { declared: true, asks })
}

fn read_agent(value: &Value) -> Result<AgentName, String> {
    AgentName::parse(value.as_str().unwrap_or_default()).map_err(|error| error.to_string())
}

fn read_display(fields: &mut Fields) -> PageDisplay {
    let Some(value) = fields.take("display") else { return PageDisplay::default() };
    let Value::Object(object) = value else {
        fields.note("display", format!("is not an object: {}", shown(&value)));
        return PageDisplay::default();
    };
    let mut inner = Fields::new(object);
    let display = PageDisplay {
        width: inner.optional("width", read_length),
        height: inner.optional("height", read_length),
        resizable: inner.optional("resizable", flag),
        position: inner.optional("position", read_position),
    };
    for problem in inner.finish().1 {
        fields.note(&format!("display.{}", problem.field), problem.message);
    }
    display
}

/// A number and a unit: what is put into a style must be nothing else.
fn read_length(value: &Value) -> Result<String, String> {
    let refuse = || format!("is not a length in px, %, vw or vh: {}", shown(value));
    let text = value.as_str().ok_or_else(refuse)?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let most = match unit {
        "px" => 10_000,
        "%" | "vw" | "vh" => 100,
        _ => return Err(refuse()),
    };
    number.parse::<u32>().ok().filter(|number| (1..=most).contains(number)).ok_or_else(refuse)?;
    Ok(text.to_owned())
}

fn read_position(value: &Value) -> Result<PagePosition, String> {
    Ok(match value.as_str().unwrap_or_default() {
        "center" => PagePosition::Center,
        "top" => PagePosition::Top,
        "bottom" => PagePosition::Bottom,
        "left" => PagePosition::Left,
        "right" => PagePosition::Right,
        "top-left" => PagePosition::TopLeft,
        "top-right" => PagePosition::TopRight,
        "bottom-left" => PagePosition::BottomLeft,
        "bottom-right" => PagePosition::BottomRight,
        _ => return Err(format!("is not a position such as center or top-left: {}", shown(value))),
    })
}

/// A manifest with the fields that every page needs, for whoever makes one.
impl PageManifest {
    /// The smallest manifest of a page.
    #[must_use]
    pub fn smallest(id: &PageId, name: &str) -> Map<String, Value> {
        let fields = [("id", id.as_str()), ("name", name), ("version", "1.0.0"), ("entry", "index.html")];
        fields.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect()
    }
}

#[cfg(test)]
mod tests;
