//! What the app's page asks of it, as HTTP.

use crate::{
    App,
    contract::{
        Empty, HealthCheckRequest, HealthCheckResponse, HttpRequest, HttpResponse, SettingsMap,
        ui_service_server::UiService,
    },
};
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
        App::configure(self, request.into_inner());
        Ok(Response::new(Empty {}))
    }

    async fn handle_request(&self, request: Request<HttpRequest>) -> Result<Response<HttpResponse>, Status> {
        let HttpRequest { method, path, body, .. } = request.into_inner();
        let (status_code, text) = match (method.as_str(), path.as_str()) {
            ("GET", "/") => (200, "POST /greet with a name".to_owned()),
            ("POST", "/greet") => (200, self.greet(String::from_utf8_lossy(&body).trim())),
            _ => (404, "there is nothing here".to_owned()),
        };
        let headers = [("content-type".to_owned(), "text/plain; charset=utf-8".to_owned())];
        Ok(Response::new(HttpResponse { status_code, headers: headers.into(), body: text.into_bytes() }))
    }
}
