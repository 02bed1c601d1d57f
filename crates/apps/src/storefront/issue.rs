//! A submission as the text of an issue: `[RAPP]` in its title, a block of JSON, and for a bundle its zip in base64.

use super::{
    StoreError,
    incoming::{Payload, Submitter},
};
use crate::{
    bundle::{self, Bundle, Code},
    catalog::RepositoryAddress,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

/// Largest body: the largest zip in base64, with its JSON and lines.
pub(super) const BODY_BYTES_MAX: usize = 8 << 20;

/// Most blocks that are looked at; a submission has two.
const BLOCKS_MAX: usize = 1000;

/// What every title of a submission begins with.
const MARK: &str = "[RAPP]";

/// How a title names another publisher than who writes the issue.
const OVERRIDE: &str = "publisher-override:";

/// An issue as it arrived.
#[derive(Debug, Clone)]
pub struct IssueText<'a> {
    /// Its number.
    pub number: u64,
    /// Its title.
    pub title: &'a str,
    /// Who wrote it, with or without the `@`.
    pub author: &'a str,
    /// Its body.
    pub body: &'a [u8],
}

/// What an issue asks for.
#[derive(Debug)]
pub(super) enum Wish {
    Bundle { zip: Vec<u8>, payload: Payload },
    Repository { address: RepositoryAddress, payload: Payload },
}

/// Reads an issue. Nothing in it is used as a path.
pub(super) fn read(issue: &IssueText<'_>) -> Result<(Wish, Submitter), StoreError> {
    let refused = |code, message: &str| StoreError::refused(code, message);
    if !issue.title.trim_start().starts_with(MARK) {
        return Err(refused(Code::NotASubmission, "the title does not begin with [RAPP]"));
    }
    let submitter = Submitter::of_issue(issue.author, issue.number, override_in(issue.title))?;
    if issue.body.len() > BODY_BYTES_MAX {
        let message = format!("the issue has more than {BODY_BYTES_MAX} bytes");
        return Err(refused(Code::BundleTooLarge, &message));
    }
    let Ok(body) = std::str::from_utf8(issue.body) else {
        return Err(refused(Code::NoPayload, "the issue is not text"));
    };
    let blocks = blocks(body);
    let block = |tag: &str| blocks.iter().find(|(found, _)| *found == tag).map(|(_, text)| text.as_str());
    let text = block("json").ok_or_else(|| refused(Code::NoPayload, "there is no block ```json"))?;
    let fields = match bundle::parse_json(text.as_bytes()) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return Err(refused(Code::BadPayloadJson, "it is not an object")),
        Err(why) => return Err(refused(Code::BadPayloadJson, &why)),
    };
    let payload = Payload::of_fields(&fields)?;
    match fields.get("submission_type").and_then(Value::as_str) {
        Some("bundle") => {
            let text =
                block("bundle").ok_or_else(|| refused(Code::NoBundle, "there is no block ```bundle"))?;
            Ok((Wish::Bundle { zip: decoded(text)?, payload }, submitter))
        }
        Some("federation") => Ok((Wish::Repository { address: repository(&fields)?, payload }, submitter)),
        _ => Err(refused(Code::UnknownSubmissionType, "`submission_type` is neither bundle nor federation")),
    }
}

/// The issue that submits a bundle, or a repository: title and body.
#[must_use]
pub fn write_issue(bundle: &Bundle, repository: Option<&RepositoryAddress>) -> (String, String) {
    let (id, publisher, version) = (bundle.id(), bundle.publisher(), bundle.version().to_string());
    let manifest = bundle.manifest();
    let mut payload = json!({
        "submission_type": if repository.is_some() { "federation" } else { "bundle" },
        "id": id.as_str(),
        "version": version,
        "publisher": publisher.as_str(),
        "name": manifest.get("name"),
        "category": manifest.get("category"),
        "tags": manifest.get("tags"),
    });
    if let Some(RepositoryAddress { repo, reference, path }) = repository {
        payload["source"] = json!({ "repo": repo, "ref": reference, "path": path });
    }
    let payload = serde_json::to_string_pretty(&payload).unwrap_or_default();
    let mut body = format!("```json\n{payload}\n```\n");
    if repository.is_none() {
        let encoded = STANDARD.encode(bundle.to_zip());
        body.push_str("\n```bundle\n");
        for line in encoded.as_bytes().chunks(76) {
            body.push_str(std::str::from_utf8(line).unwrap_or_default());
            body.push('\n');
        }
        body.push_str("```\n");
    }
    (format!("{MARK} {publisher}/{id} v{version}"), body)
}

/// Every fenced block with its tag, in order. A block that is not closed is none.
fn blocks(body: &str) -> Vec<(&str, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, String)> = None;
    for line in body.lines() {
        let fence = line.trim_end().strip_prefix("```");
        open = match (open, fence) {
            (None, Some(tag)) => Some((tag.trim(), String::new())),
            (None, None) => None,
            (Some(block), Some("")) => {
                blocks.push(block);
                None
            }
            (Some((tag, mut text)), _) => {
                text.push_str(line);
                text.push('\n');
                Some((tag, text))
            }
        };
        if blocks.len() >= BLOCKS_MAX {
            break;
        }
    }
    blocks
}

/// Base64 with white space in it. Anything else in it means that it was damaged on the way.
fn decoded(text: &str) -> Result<Vec<u8>, StoreError> {
    let packed: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let wrong = |why: String| StoreError::refused(Code::BadBundleBase64, why);
    if packed.is_empty() {
        return Err(wrong("the block is empty".to_owned()));
    }
    STANDARD.decode(packed).map_err(|error| wrong(error.to_string()))
}

/// The repository that a federation names.
pub(super) fn repository(fields: &Map<String, Value>) -> Result<RepositoryAddress, StoreError> {
    let source = fields.get("source").and_then(Value::as_object);
    let text = |key: &str| source.and_then(|source| source.get(key)).and_then(Value::as_str);
    let repo = text("repo").filter(|repo| !repo.is_empty());
    let repo = repo.ok_or_else(|| StoreError::refused(Code::BadSource, "`source.repo` is missing"))?;
    RepositoryAddress::of_parts(
        repo,
        text("ref").filter(|reference| !reference.is_empty()).unwrap_or("main"),
        text("path").unwrap_or_default().trim_matches('/'),
    )
    .ok_or_else(|| StoreError::refused(Code::BadRepo, "`source` is not a place in a repository"))
}

fn override_in(title: &str) -> Option<&str> {
    let (_, rest) = title.split_once(OVERRIDE)?;
    rest.split_whitespace().next().map(|word| word.trim_end_matches([']', ')', ',']))
}

#[cfg(test)]
mod tests {
    use super::{IssueText, Wish, blocks, override_in, read};
    use crate::storefront::StoreError;

    fn code(body: &str) -> &'static str {
        let issue = IssueText { number: 1, title: "[RAPP] @a/b v1.0.0", author: "a", body: body.as_bytes() };
        match read(&issue) {
            Err(StoreError::Refused(errors)) => errors[0].code.as_str(),
            Err(StoreError::Failed(failure)) => failure.reason.code(),
            Ok(_) => "ok",
        }
    }

    #[test]
    fn every_wrong_body_has_its_code() {
        let deep = format!("```json\n{}\n```", "[".repeat(100_000));
        for (body, expected) in [
            ("", "E_NO_PAYLOAD"),
            ("```json\n{}", "E_NO_PAYLOAD"),
            ("```js\n{}\n```", "E_NO_PAYLOAD"),
            ("```json\n{\n```", "E_BAD_PAYLOAD_JSON"),
            ("```json\n[1]\n```", "E_BAD_PAYLOAD_JSON"),
            (deep.as_str(), "E_BAD_PAYLOAD_JSON"),
            ("```json\n{}\n```", "E_UNKNOWN_SUBMISSION_TYPE"),
            ("```json\n{\"submission_type\": [\"bundle\"]}\n```", "E_UNKNOWN_SUBMISSION_TYPE"),
            ("```json\n{\"submission_type\": \"bundle\"}\n```", "E_NO_BUNDLE"),
            ("```json\n{\"submission_type\": \"bundle\"}\n```\n```bundle\n%%%%\n```", "E_BAD_BUNDLE_BASE64"),
            ("```json\n{\"submission_type\": \"bundle\"}\n```\n```bundle\n\n```", "E_BAD_BUNDLE_BASE64"),
            ("```json\n{\"submission_type\": \"bundle\"}\n```\n```bundle\nUEsF\n```", "ok"),
            ("```json\n{\"submission_type\": \"federation\"}\n```", "E_BAD_SOURCE"),
            (
                "```json\n{\"submission_type\": \"federation\", \"source\": {\"repo\": \"../x\"}}\n```",
                "E_BAD_REPO",
            ),
            (
                "```json\n{\"submission_type\": \"federation\", \"source\": {\"repo\": \"a/b\", \"path\": \"../c\"}}\n```",
                "E_BAD_REPO",
            ),
            ("```json\n{\"submission_type\": \"federation\", \"source\": {\"repo\": \"a/b\"}}\n```", "ok"),
        ] {
            assert_eq!(code(body), expected, "{}", body.chars().take(100).collect::<String>());
        }
        assert_eq!(code(&"x".repeat(50 << 20)), "E_BUNDLE_TOO_LARGE");
    }

    #[test]
    fn the_first_block_of_a_tag_wins_and_none_hides_in_another() {
        let body = "```json\n{\"submission_type\":\"bundle\",\"id\":\"one\"}\n```\n```json\n{\"id\":\"two\"}\n```\n```bundle\nAA==\n```\n```bundle\nBB==\n```";
        let issue = IssueText { number: 1, title: "[RAPP] x", author: "@a", body: body.as_bytes() };
        let (Wish::Bundle { zip, payload }, _) = read(&issue).unwrap() else { panic!("a bundle") };
        assert_eq!((zip, payload.id.as_deref()), (vec![0], Some("one")));
        assert_eq!(blocks("```text\n```json\n{}\n```\n").len(), 1);
        assert_eq!(blocks("```text\n```json\n{}\n```\n")[0].0, "text");
        let wrong = IssueText { title: "hello", ..issue };
        assert!(read(&wrong).is_err());
    }

    #[test]
    fn a_title_can_name_another_publisher() {
        assert_eq!(override_in("[RAPP] @a/b v1 (publisher-override: @rapp)"), Some("@rapp"));
        assert_eq!(override_in("[RAPP] @a/b v1"), None);
    }
}
