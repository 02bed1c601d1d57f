//! The whole answer of every profile, as goldens.

use super::{Stage, chat, steady};
use roost_protocol::DEFAULT_USER_GUID;
use roost_tests::{Answer, RunningHost};
use serde_json::{Value, json};

const QUESTION: &str = "call Echo {\"text\": \"hi\"}\ncall Nobody {}";

#[track_caller]
fn in_profile(host: &RunningHost, profile: &str, body: &Value) -> Answer {
    let headers = [("Content-Type", "application/json"), ("X-Roost-Profile", profile)];
    host.send("POST", "/chat", &headers, body.to_string().as_bytes())
}

#[test]
fn the_default_answer_has_every_key_that_some_client_reads() {
    let stage = Stage::new();
    let host = stage.up();
    let answer = chat(&host, &json!({ "user_input": QUESTION, "user_guid": "anna", "session_id": 7 }));
    insta::assert_json_snapshot!(steady(answer));
}

#[test]
fn slots_are_cut_out_of_the_text_in_any_order() {
    let stage = Stage::new();
    let host = stage.up();
    let said =
        "say <main>Read me</main> |||TWIN||| <twin>for the twin</twin> |||VOICE||| <voice>Hear me</voice>";
    let answer = chat(&host, &json!({ "user_input": said }));
    let parts =
        ["response", "assistant_response", "voice_response", "twin_response"].map(|key| answer[key].clone());
    assert_eq!(parts, ["Read me", "Read me", "Hear me", "for the twin"]);
    let plain = chat(&host, &json!({ "user_input": "say plain" }));
    assert_eq!((&plain["voice_response"], &plain["twin_response"]), (&json!(""), &json!("")));
}

#[test]
fn identity_and_session_are_echoed_or_made() {
    let stage = Stage::new();
    let host = stage.up();
    let fresh = chat(&host, &json!({ "user_input": "say x" }));
    assert_eq!(fresh["user_guid"], DEFAULT_USER_GUID);
    assert_eq!(DEFAULT_USER_GUID, "c0p110t0-aaaa-bbbb-cccc-123456789abc");
    assert_eq!(fresh["session_id"].as_str().unwrap().len(), 36);
    for session in [json!("any text at all"), json!(5), json!({ "a": 1 }), json!([1])] {
        let answer = chat(&host, &json!({ "user_input": "say x", "session_id": session }));
        assert_eq!(answer["session_id"], session);
    }
    for nothing in [json!(null), json!(""), json!(0), json!(false), json!([]), json!({})] {
        let answer =
            chat(&host, &json!({ "user_input": "say x", "session_id": nothing, "user_guid": nothing }));
        assert_eq!(
            (answer["session_id"].as_str().unwrap().len(), &answer["user_guid"]),
            (36, &json!(DEFAULT_USER_GUID))
        );
    }
}

#[test]
fn the_0_6_kernels_clients_get_their_keys_and_no_others() {
    let stage = Stage::new();
    let host = stage.up();
    let answer = in_profile(&host, "grail", &json!({ "user_input": QUESTION, "user_guid": "../../x" }));
    assert_eq!(answer.status, 200, "a 0.6 kernel never read the guid");
    insta::assert_json_snapshot!(steady(answer.json()));
    let marked = json!({ "user_input": "say text |||VOICE||| spoken |||TWIN||| twin" });
    let quiet = in_profile(&host, "grail", &marked).json();
    assert_eq!(quiet["response"], "text |||VOICE||| spoken |||TWIN||| twin");
    assert_eq!(host.post("/voice/toggle", &json!({ "enabled": true })).json()["voice_mode"], true);
    let spoken = in_profile(&host, "grail", &marked).json();
    assert_eq!(
        (&spoken["response"], &spoken["voice_response"]),
        (&json!("text"), &json!("spoken |||TWIN||| twin"))
    );
}

#[test]
fn openrappter_gets_no_second_reply_key_and_its_own_lines() {
    let stage = Stage::new();
    let host = stage.up();
    let body = json!({ "message": QUESTION, "sessionId": "s-1", "history": [] });
    insta::assert_json_snapshot!(steady(in_profile(&host, "openrappter", &body).json()));
    let both = json!({ "user_input": "say one", "message": "say two" });
    assert_eq!(in_profile(&host, "openrappter", &both).json()["response"], "one");
    let refused = in_profile(&host, "openrappter", &json!({ "message": "" }));
    assert_eq!(refused.status, 400);
    let body = refused.json();
    assert_eq!((&body["schema"], &body["status"]), (&json!("rapp-chat/1.0"), &json!("error")));
    let strict = json!({ "message": "x", "history": [{ "role": "system", "content": "x" }] });
    assert_eq!(
        in_profile(&host, "openrappter", &strict).json()["error"],
        "conversation_history[0].role is invalid"
    );
}

#[test]
fn the_facade_owns_the_transcript_and_repeats_what_it_answered() {
    let stage = Stage::new();
    let host = stage.up();
    let first = in_profile(&host, "rev5", &json!({ "user_input": QUESTION }));
    let answer = first.json();
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["response", "agent_logs", "session_id"]);
    assert!(answer["agent_logs"].is_array());
    let session = answer["session_id"].clone();
    let told = json!({ "user_input": "show messages", "session_id": session, "conversation_history": [{ "role": "user", "content": "not mine" }] });
    let shown = in_profile(&host, "rev5", &told).json()["response"].to_string();
    assert!(shown.contains("call Echo") && !shown.contains("not mine"), "{shown}");
    let keyed = json!({ "user_input": "call Echo {\"n\": 1}", "idempotency_key": "k-1" });
    let once = in_profile(&host, "rev5", &keyed);
    let asked = stage.model.requests().len();
    let twice = in_profile(&host, "rev5", &keyed);
    assert_eq!((once.body, stage.model.requests().len()), (twice.body, asked));
    for (body, code) in [
        (json!({ "user_input": "x", "session_id": "nobody" }), "unknown_session"),
        (
            json!({ "user_input": "x", "session_id": "00000000-0000-4000-8000-000000000000" }),
            "unknown_session",
        ),
        (json!({ "user_input": 5 }), "invalid_request"),
        (json!([]), "invalid_request"),
        (json!({ "user_input": "x".repeat(1 << 20) }), "request_too_large"),
    ] {
        let refused = in_profile(&host, "rev5", &body);
        assert_eq!(
            (refused.status, refused.json()),
            (422, json!({ "error": { "code": code, "step": null } }))
        );
    }
}

#[test]
fn the_azure_lineage_finds_its_route_and_its_keys() {
    let stage = Stage::new();
    let host = stage.up();
    let post = |body: Value| host.post("/api/businessinsightbot_function", &body);
    insta::assert_json_snapshot!(steady(post(json!({ "user_input": QUESTION, "user_guid": "anna" })).json()));
    let spoken = post(json!({ "user_input": "say **First** one. Second one." })).json();
    assert_eq!(spoken["voice_response"], "First one.");
    let guid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
    let greeting = post(json!({ "user_input": guid })).json();
    assert_eq!(greeting["user_guid"], guid);
    let known =
        post(json!({ "user_input": "say x", "conversation_history": [{ "role": "user", "content": guid }] }))
            .json();
    assert_eq!(known["user_guid"], guid);
    assert_eq!(post(json!({ "user_input": " " })).status, 400);
    let triggered = host
        .post(
            "/api/trigger/copilot-studio",
            &json!({ "agent": "Echo", "action": "greet", "parameters": { "n": 1 } }),
        )
        .json();
    let heard: Value = serde_json::from_str(triggered["response"].as_str().unwrap()).unwrap();
    assert_eq!((&triggered["status"], heard), (&json!("success"), json!({ "n": 1, "action": "greet" })));
    for (body, status) in
        [(json!({}), 400), (json!({ "agent": "Nobody" }), 404), (json!({ "agent": "Fails" }), 500)]
    {
        assert_eq!(host.post("/api/trigger/copilot-studio", &body).status, status, "{body}");
    }
}

#[test]
fn a_listener_can_have_a_profile_of_its_own_and_an_unknown_one_is_refused() {
    let stage = Stage::new();
    stage.home.settings("[[listeners]]\nport = 0\nprofile = \"rev5\"\n");
    let host = stage.up();
    let record = std::fs::read(stage.home.root().join("run/host.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["listeners"][0]["profile"], "rev5");
    let port = record["listeners"][0]["port"].as_u64().unwrap();
    let other = roost_tests::Client::on(u16::try_from(port).unwrap());
    let answer = other.post("/chat", &json!({ "user_input": "say x" })).json();
    assert!(answer.get("assistant_response").is_none() && answer["agent_logs"].is_array(), "{answer}");
    assert!(host.post("/chat", &json!({ "user_input": "say x" })).json().get("assistant_response").is_some());
    let refused = in_profile(&host, "nonsense", &json!({ "user_input": "x" }));
    assert_eq!((refused.status, refused.json()["reason"].clone()), (400, json!("bad_request")));
}
