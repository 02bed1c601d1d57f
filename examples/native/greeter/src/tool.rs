//! The tool that a model gets to see.

use crate::{
    App,
    contract::{
        ApprovalResponse, DescriptionResponse, Empty, ExecuteRequest, ExecuteResponse, HealthCheckRequest,
        HealthCheckResponse, NameResponse, SchemaResponse, SettingsMap, tool_service_server::ToolService,
    },
};
use serde_json::{Value, json};
use tonic::{Request, Response, Status};

#[tonic::async_trait]
impl ToolService for App {
    async fn health_check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(self.health()))
    }

    async fn name(&self, _: Request<Empty>) -> Result<Response<NameResponse>, Status> {
        Ok(Response::new(NameResponse { name: "greeter".to_owned() }))
    }

    async fn description(&self, _: Request<Empty>) -> Result<Response<DescriptionResponse>, Status> {
        Ok(Response::new(DescriptionResponse { description: "Greets somebody by name.".to_owned() }))
    }

    async fn schema(&self, _: Request<Empty>) -> Result<Response<SchemaResponse>, Status> {
        let schema = json!({
            "type": "object",
            "properties": { "who": { "type": "string", "description": "Whom to greet" } },
            "required": ["who"],
        });
        Ok(Response::new(SchemaResponse { schema: schema.to_string().into_bytes() }))
    }

    async fn execute(&self, request: Request<ExecuteRequest>) -> Result<Response<ExecuteResponse>, Status> {
        let input: Value = serde_json::from_slice(&request.into_inner().input).unwrap_or_default();
        // What is wrong with the input is for the model to read, so it is an answer and no status.
        let answer = match input["who"].as_str() {
            Some(who) => ExecuteResponse { content: self.greet(who), is_error: false },
            None => ExecuteResponse { content: "`who` is missing".to_owned(), is_error: true },
        };
        Ok(Response::new(answer))
    }

    async fn requires_approval(&self, _: Request<Empty>) -> Result<Response<ApprovalResponse>, Status> {
        Ok(Response::new(ApprovalResponse { requires_approval: false }))
    }

    async fn configure(&self, request: Request<SettingsMap>) -> Result<Response<Empty>, Status> {
        App::configure(self, request.into_inner());
        Ok(Response::new(Empty {}))
    }
}
