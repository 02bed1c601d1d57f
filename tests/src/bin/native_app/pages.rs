//! What the app answers a browser: what it was asked, unless its name says otherwise.

use crate::{
    App,
    contract::{
        Empty, HealthCheckRequest, HealthCheckResponse, HttpRequest, HttpResponse, SettingsMap,
        ui_service_server::UiService,
    },
};
use serde_json::json;
use std::collections::HashMap;
use tonic::{Request, Response, Status};

#[tonic::async_trait]
impl UiService for App {
    async fn health_check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(self.health()))
    }

    async fn configure(&self, request: Request<SettingsMap>) -> Result<Response<Empty>, Status> {
        self.configured("ui", request.into_inner());
        Ok(Response::new(Empty {}))
    }

    async fn handle_request(&self, request: Request<HttpRequest>) -> Result<Response<HttpResponse>, Status> {
        let HttpRequest { method, path, query, headers, body } = request.into_inner();
        let answer = |status_code: i32, headers: &[(&str, &str)], body: String| HttpResponse {
            status_code,
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            body: body.into_bytes(),
        };
        let told = json!({
            "method": method, "path": path, "query": query, "body": String::from_utf8_lossy(&body),
            "headers": headers.into_iter().collect::<HashMap<_, _>>(),
        });
        Ok(Response::new(match path.as_str() {
            "/status" => answer(299, &[], String::new()),
            "/bad-status" => answer(7, &[], String::new()),
            "/large" => answer(200, &[], "x".repeat(5 << 20)),
            "/settings" => answer(200, &[("content-type", "application/json")], self.settings()),
            "/die" => std::process::abort(),
            "/headers" => answer(
                200,
                &[
                    ("content-type", "text/html"),
                    ("set-cookie", "owner=me"),
                    ("access-control-allow-origin", "*"),
                    ("content-security-policy", "default-src *"),
                    ("x-own", "1"),
                    ("bad name", "1"),
                ],
                "<script>alert(1)</script>".to_owned(),
            ),
            _ => answer(200, &[("content-type", "application/json")], told.to_string()),
        }))
    }
}
