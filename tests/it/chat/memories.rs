//! Memory under many turns at once: nothing is lost, and nobody sees another's.

use super::{Stage, chat};
use roost_tests::KeepAlive;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};

const CLIENTS: usize = 16;
const TURNS: usize = 100;

#[test]
fn sixteen_clients_store_a_hundred_memories_each_and_all_are_kept() {
    let stage = Stage::new();
    for name in ["manage_memory_agent.py", "context_memory_agent.py"] {
        fs::copy(roost_tests::repository_root().join("agents").join(name), stage.home.agents().join(name))
            .unwrap();
    }
    let host = stage.up();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let port = host.port();
    runtime.block_on(async {
        let clients: Vec<_> = (0..CLIENTS).map(|client| tokio::spawn(store(port, client))).collect();
        for client in clients {
            client.await.unwrap();
        }
    });
    let data = stage.home.root().join(".brainstem_data");
    for user in ["anna", "bert"] {
        let kept = messages(&data.join("memory").join(user).join("user_memory.json"));
        let expected: BTreeSet<String> = (0..CLIENTS)
            .filter(|client| user_of(*client) == Some(user))
            .flat_map(|client| (0..TURNS).map(move |turn| memory(client, turn)))
            .collect();
        assert_eq!(kept, expected, "{user}");
    }
    let shared = messages(&data.join("shared_memories/memory.json"));
    assert_eq!(shared.len(), CLIENTS / 4 * TURNS);
    let shown = |user: &str| {
        let body = json!({ "user_input": "show system", "user_guid": user });
        chat(&host, &body)["response"].as_str().unwrap().to_owned()
    };
    let (anna, bert) = (shown("anna"), shown("bert"));
    assert!(anna.contains("of client 0,") || anna.contains("of client 4,"), "{anna}");
    for (mine, others) in [(&anna, "bert's secret"), (&bert, "anna's secret")] {
        assert!(!mine.contains(others), "{mine}");
    }
    let recalled = chat(
        &host,
        &json!({ "user_input": "call ContextMemory {\"user_guid\": \"anna\"}", "user_guid": "bert" }),
    );
    assert!(!recalled["response"].as_str().unwrap().contains("anna's secret"));
}

async fn store(port: u16, client: usize) {
    let mut connection = KeepAlive::connect(port).await.unwrap();
    for turn in 0..TURNS {
        let arguments = json!({ "memory_type": "fact", "content": memory(client, turn) });
        let mut body = json!({ "user_input": format!("call ManageMemory {arguments}") });
        if let Some(user) = user_of(client) {
            body["user_guid"] = json!(user);
        }
        let (status, answer) = connection.post("/chat", &body).await.unwrap();
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&answer));
    }
}

/// Every fourth client is nobody in particular.
fn user_of(client: usize) -> Option<&'static str> {
    match client % 4 {
        0 | 1 => Some("anna"),
        2 => Some("bert"),
        _ => None,
    }
}

fn memory(client: usize, turn: usize) -> String {
    let whose = user_of(client).map_or("shared".to_owned(), |user| format!("{user}'s secret"));
    format!("{whose} of client {client}, number {turn}")
}

fn messages(path: &std::path::Path) -> BTreeSet<String> {
    let stored: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    stored
        .as_object()
        .unwrap()
        .values()
        .map(|record| record["message"].as_str().unwrap().to_owned())
        .collect()
}
