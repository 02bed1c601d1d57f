//! Another model of the same provider answers, visibly, when the one that was asked cannot.

use crate::asking::{ask, github, listen, open};
use crate::server::Server;
use roost_chat::ModelProblem;
use std::time::Duration;

#[tokio::test]
async fn on_every_status_that_another_model_may_not_share_gpt_4o_answers_first() {
    for status in ["400", "429", "500", "502", "503"] {
        let refused = format!("copilot/haiku_{status}");
        let server = Server::of(&["copilot/exchange", "copilot/models", &refused, "copilot/chat"]).await;
        let reply = ask(&open(github(&server, None)).0).await.unwrap();
        server.is_done();
        assert_eq!(
            (reply.requested_model.as_str(), reply.model.as_str()),
            ("claude-haiku-4.5", "gpt-4o"),
            "{status}"
        );
    }
}

#[tokio::test]
async fn other_statuses_are_final() {
    let server = Server::of(&["copilot/exchange", "copilot/models", "copilot/haiku_404"]).await;
    let failure = ask(&open(github(&server, None)).0).await.unwrap_err();
    server.is_done();
    assert_eq!(failure.problem, ModelProblem::Refused { status: 404 });
}

#[tokio::test]
async fn at_most_three_others_are_tried_and_the_first_failure_is_told() {
    let server = Server::of(&[
        "copilot/exchange",
        "copilot/models",
        "copilot/haiku_429",
        "copilot/gpt_4o_500",
        "copilot/gpt_4_1_500",
        "copilot/sonnet_500",
    ])
    .await;
    let failure = ask(&open(github(&server, None)).0).await.unwrap_err();
    // `claude-3.5-haiku` is available too, and would be the fourth.
    server.is_done();
    assert_eq!(failure.problem, ModelProblem::Limited { retry_after: Some(Duration::from_secs(30)) });
    assert_eq!(failure.model, "claude-haiku-4.5");
}

#[tokio::test]
async fn nobody_goes_on_where_another_began_to_speak() {
    let server = Server::of(&["copilot/exchange", "copilot/models", "copilot/haiku_stream_breaks"]).await;
    let (reply, heard) = listen(&open(github(&server, None)).0).await;
    server.is_done();
    assert_eq!(reply.unwrap_err().problem, ModelProblem::Refused { status: 503 });
    assert_eq!(heard, ["Sun"]);
}

#[tokio::test]
async fn a_stream_that_never_began_is_begun_by_another() {
    let server =
        Server::of(&["copilot/exchange", "copilot/models", "copilot/haiku_stream_503", "copilot/stream"])
            .await;
    let (reply, heard) = listen(&open(github(&server, None)).0).await;
    server.is_done();
    let reply = reply.unwrap();
    assert_eq!((reply.text(), reply.model.as_str()), ("Sunny.", "gpt-4o"));
    assert_eq!(heard, ["Sunny", "."]);
}
