//! Tools of an app.

use super::{
    connection::{Channel, MESSAGE_BYTES_MAX},
    contract::{Empty, ExecuteRequest, tool_service_client::ToolServiceClient},
    launch::NativeApp,
};
use roost_protocol::Failure;
use std::time::Duration;

/// How long an app may take to describe a tool.
const DESCRIBE_WITHIN: Duration = Duration::from_secs(5);

/// A tool as an app describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDescription {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// A JSON schema, as the app wrote it.
    pub schema: Vec<u8>,
    /// True when a person has to be asked first.
    pub requires_approval: bool,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// The text.
    pub content: String,
    /// True when the tool says that it failed.
    pub is_error: bool,
}

impl NativeApp {
    /// What the app's tool says it is.
    pub async fn describe_tool(&self) -> Result<ToolDescription, Failure> {
        let mut tool = client(self.channel()?);
        let name = self.ask(DESCRIBE_WITHIN, "ToolService.Name", tool.name(Empty {})).await?.name;
        let asked = tool.description(Empty {});
        let description = self.ask(DESCRIBE_WITHIN, "ToolService.Description", asked).await?.description;
        let schema = self.ask(DESCRIBE_WITHIN, "ToolService.Schema", tool.schema(Empty {})).await?.schema;
        let asked = tool.requires_approval(Empty {});
        let approval = self.ask(DESCRIBE_WITHIN, "ToolService.RequiresApproval", asked).await?;
        Ok(ToolDescription { name, description, schema, requires_approval: approval.requires_approval })
    }

    /// Runs the app's tool with this JSON.
    pub async fn execute(&self, input: Vec<u8>) -> Result<ToolAnswer, Failure> {
        let mut tool = client(self.channel()?);
        let asked = tool.execute(ExecuteRequest { input });
        let answer = self.ask(self.wall(), "ToolService.Execute", asked).await?;
        Ok(ToolAnswer { content: answer.content, is_error: answer.is_error })
    }
}

fn client(channel: Channel) -> ToolServiceClient<Channel> {
    ToolServiceClient::new(channel)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
}
