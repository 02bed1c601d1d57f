//! What a writer sends: a closed object, read in one pass. What is wrong is looked for only when something is.

use super::shapes::Encoding;
use crate::openwop::Refusal;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use roost_host::workspace::{CONTENT_TYPE, Content};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use utoipa::ToSchema;

/// Longest content type.
const CONTENT_TYPE_CHARACTERS_MAX: usize = 255;

/// What is to become of a file.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct NewFile {
    content: String,
    #[serde(default, deserialize_with = "never_null")]
    #[schema(default = "text/markdown")]
    content_type: Option<String>,
}

/// Absent is something else than `null`.
fn never_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

impl NewFile {
    pub(crate) fn new(content: String, content_type: Option<String>) -> Self {
        Self { content, content_type }
    }

    /// Reads a body.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Refusal> {
        // A list would be read as the fields in their order.
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(Refusal::invalid("body", "the body must be a JSON object"));
        }
        serde_json::from_slice(body).map_err(|error| mistake(body, &error))
    }

    /// What is kept of it.
    pub(crate) fn into_content(self, encoding: Encoding) -> Result<Content, Refusal> {
        let content_type = self.content_type.unwrap_or_else(|| CONTENT_TYPE.to_owned());
        let is_printable = content_type.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if content_type.is_empty() || content_type.len() > CONTENT_TYPE_CHARACTERS_MAX || !is_printable {
            let message = "a content type has 1 to 255 printable ASCII characters";
            return Err(Refusal::invalid("contentType", message));
        }
        let bytes = match encoding {
            Encoding::Text => self.content.into_bytes(),
            Encoding::Base64 => {
                let decoded = STANDARD.decode(&self.content);
                decoded.map_err(|_| Refusal::invalid("content", "the content is not base64"))?
            }
        };
        Ok(Content { bytes, content_type })
    }
}

/// Says what is wrong without repeating any of it.
fn mistake(body: &[u8], error: &serde_json::Error) -> Refusal {
    #[derive(Deserialize)]
    struct ContentAlone {
        #[expect(dead_code, reason = "only whether it can be read counts")]
        content: String,
    }
    #[derive(Deserialize)]
    struct TypeAlone {
        #[expect(dead_code, reason = "only whether it can be read counts")]
        #[serde(default, rename = "contentType", deserialize_with = "never_null")]
        content_type: Option<String>,
    }
    if error.classify() != Category::Data {
        return Refusal::invalid("body", "the body is not JSON in UTF-8");
    }
    if serde_json::from_slice::<ContentAlone>(body).is_err() {
        return Refusal::invalid("content", "`content` must stand there once and be a string");
    }
    if serde_json::from_slice::<TypeAlone>(body).is_err() {
        return Refusal::invalid("contentType", "`contentType` must be a string, once, or absent");
    }
    Refusal::invalid("body", "the body has `content` and `contentType` and nothing else")
}
