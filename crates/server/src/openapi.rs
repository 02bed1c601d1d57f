//! All routes, described for programs: `/openapi.json`, and the same text in docs/openapi.json.

use crate::{
    error::ErrorBody,
    openwop::{RefusalBody, is_contract},
    router::described_routes,
};
use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use utoipa::{
    OpenApi,
    openapi::{
        self as document, Ref, RefOr,
        content::ContentBuilder,
        path::Operation,
        response::{Response as DescribedResponse, ResponseBuilder},
    },
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Roost",
        description = "A host for agent apps. Every failure has the shape of ErrorBody, with the codes of docs/reasons.md; that of the workspace contract has the shape of RefusalBody: docs/workspace.md."
    ),
    components(schemas(ErrorBody, RefusalBody)),
    tags(
        (name = "host", description = "Is it there, and how is it"),
        (name = "chat", description = "The wire"),
        (name = "models", description = "Who answers, and signing in"),
        (name = "agents", description = "Listing, calling, importing and removing agents"),
        (name = "rights", description = "What apps may do, and the record of every decision; for the owner only"),
        (name = "catalogs", description = "Where apps are found; for the owner only"),
        (name = "secrets", description = "Values that agents were granted; for the owner only"),
        (name = "runs", description = "What happened, and going through it again"),
        (name = "schedules", description = "Things that are done at set times; for the owner only"),
        (name = "apps", description = "Installed apps, and what native ones are asked; for the owner only"),
        (name = "tokens", description = "Who may use a workspace; for the owner only"),
        (name = "workspace", description = "Files with history, by the OpenWOP contract"),
        (name = "pages", description = "Page apps, mounting them, and what they may do; for the owner only"),
        (name = "native", description = "Native apps, as their published clients ask for them; failures are `{code, message}`: docs/native-apps.md"),
        (name = "services", description = "What services of the home answer"),
        (name = "modes", description = "How answers are given"),
        (name = "workspace", description = "Files with history; failures have the shape of RefusalBody"),
        (name = "diagnostics", description = "What happened lately"),
    )
)]
struct Opening;

/// The document before any route is in it.
pub(crate) fn opening() -> document::OpenApi {
    Opening::openapi()
}

/// The whole document, as it is served and as it stands in docs/openapi.json.
#[must_use]
pub fn openapi_document() -> String {
    let mut api = described_routes().into_openapi();
    for (path, item) in &mut api.paths.paths {
        let operations = [
            ("get", &mut item.get),
            ("put", &mut item.put),
            ("post", &mut item.post),
            ("delete", &mut item.delete),
            ("patch", &mut item.patch),
        ];
        for (method, operation) in operations {
            operation.iter_mut().for_each(|operation| complete(operation, method, path));
        }
    }
    let mut text = serde_json::to_string_pretty(&api).expect("a document of text and numbers can be written");
    text.push('\n');
    text
}

/// Adds what is the same for all operations, so that none has to say it.
fn complete(operation: &mut Operation, method: &str, path: &str) {
    let words =
        path.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    // By address, because functions of two files may have one name and an id may stand once only.
    let id = words.fold(method.to_owned(), |id, word| format!("{id}_{word}"));
    let is_root = path.len() > 1 && path.ends_with('/');
    operation.operation_id = Some(if is_root { format!("{id}_root") } else { id });
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(response) = response
            && response.description.is_empty()
        {
            response.description = "It worked".to_owned();
        }
    }
    let shape = if is_contract(path) { "RefusalBody" } else { "ErrorBody" };
    let failure: DescribedResponse = ResponseBuilder::new()
        .description("What is wrong, why, and what to do")
        .content("application/json", ContentBuilder::new().schema(Some(Ref::from_schema_name(shape))).build())
        .build();
    operation.responses.responses.insert("default".to_owned(), RefOr::T(failure));
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "host", responses((status = 200, description = "This document", body = Object)))]
pub(crate) async fn show() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], openapi_document()).into_response()
}

/// This document, where clients of the OpenWOP contract look for it.
#[utoipa::path(get, path = "/v1/openapi.json", tag = "host", responses((status = 200, description = "This document", body = Object)))]
pub(crate) async fn show_v1() -> Response {
    show().await
}

#[cfg(test)]
mod tests {
    use super::openapi_document;
    use serde_json::Value;
    use std::collections::BTreeSet;

    #[test]
    fn the_committed_document_is_fresh() {
        let committed = include_str!("../../../docs/openapi.json");
        assert!(committed == openapi_document(), "docs/openapi.json is stale; run `cargo xtask codegen`");
    }

    /// A route that is registered past the description would be missing in the document.
    #[test]
    fn every_route_is_registered_with_its_description() {
        let source = include_str!("router.rs");
        for way_past in [".route(", ".route_service(", ".nest_service("] {
            assert!(!source.contains(way_past), "use `.routes(routes!(…))` instead of `{way_past}…)`");
        }
    }

    #[test]
    fn every_operation_says_what_it_does_and_how_it_fails() {
        let document: Value = serde_json::from_str(&openapi_document()).unwrap();
        let mut ids = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                assert!(operation["summary"].is_string(), "{method} {path} has no summary");
                assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{method} {path}");
                assert!(operation["tags"].is_array(), "{method} {path} has no tag");
                assert!(operation["responses"]["default"].is_object(), "{method} {path}");
            }
        }
    }
}
