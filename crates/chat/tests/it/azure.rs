//! Azure: the deployment in the address, the key in its own header, and the machine's own identity.

use crate::asking::{ask, listen, nothing, open, secret};
use crate::server::Server;
use roost_chat::{AzureCredential, AzureSettings, ManagedIdentity, ModelProblem, ModelSettings};

fn azure(server: &Server, api_version: &str, credential: AzureCredential) -> ModelSettings {
    let azure = AzureSettings {
        endpoint: format!("{}/", server.url()),
        deployment: "my-gpt".into(),
        api_version: api_version.into(),
        credential,
    };
    ModelSettings { azure: Some(azure), ..nothing() }
}

fn key() -> AzureCredential {
    AzureCredential::Key(secret("azure-recorded-key-0002"))
}

fn machine(server: &Server) -> AzureCredential {
    AzureCredential::ManagedIdentity(ManagedIdentity {
        platform: None,
        metadata: server.url(),
        client_id: None,
    })
}

#[tokio::test]
async fn a_deployment_is_asked_with_its_key() {
    let server = Server::of(&["azure/chat"]).await;
    let (models, _folder) = open(azure(&server, "2024-10-21", key()));
    let reply = ask(&models).await.unwrap();
    server.is_done();
    assert_eq!((reply.text(), reply.model.as_str()), ("Sunny, 21 °C.", "my-gpt"));
    assert!(!format!("{models:?}").contains("azure-recorded-key"));
}

#[tokio::test]
async fn an_old_version_is_not_asked_to_count_and_its_leading_chunk_without_choices_is_skipped() {
    let server = Server::of(&["azure/stream_old_version"]).await;
    let (reply, heard) = listen(&open(azure(&server, "2024-02-01", key())).0).await;
    server.is_done();
    assert_eq!((reply.unwrap().text(), heard.concat().as_str()), ("Sunny.", "Sunny."));
}

#[tokio::test]
async fn a_machine_shows_who_it_is_once_for_many_questions() {
    let server =
        Server::of(&["azure/identity_machine", "azure/chat_as_machine", "azure/chat_as_machine"]).await;
    let (models, _folder) = open(azure(&server, "2024-10-21", machine(&server)));
    ask(&models).await.unwrap();
    ask(&models).await.unwrap();
    server.is_done();
}

#[tokio::test]
async fn a_token_that_ended_early_is_renewed_once() {
    let server = Server::of(&[
        "azure/identity_platform",
        "azure/chat_as_platform_refused",
        "azure/identity_platform_again",
        "azure/chat_as_platform",
    ])
    .await;
    let platform = Some((format!("{}/msi/token", server.url()), secret("platform-header-secret")));
    let identity = ManagedIdentity { platform, metadata: server.url(), client_id: Some("my-client".into()) };
    let settings = azure(&server, "2024-10-21", AzureCredential::ManagedIdentity(identity));
    assert_eq!(ask(&open(settings).0).await.unwrap().text(), "Sunny, 21 °C.");
    server.is_done();
}

#[tokio::test]
async fn a_machine_without_identity_is_told() {
    let server = Server::of(&["azure/identity_refused"]).await;
    let failure = ask(&open(azure(&server, "2024-10-21", machine(&server))).0).await.unwrap_err();
    assert_eq!(failure.problem, ModelProblem::Refused { status: 400 });
    assert!(failure.detail.contains("Identity not found"));
}
