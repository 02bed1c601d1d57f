//! Whether the host is there, for people, balancers and monitors.

use super::assert_failed;
use roost_tests::{TestHome, python_agent};
use serde_json::json;

#[test]
fn the_public_answer_tells_nothing_about_what_is_in_the_host() {
    let home = TestHome::new();
    home.write("secret_plan_agent.py", python_agent("SecretPlan", "return ''"));
    let host = home.up();
    let version = host.get("/version").json()["version"].clone();
    assert_eq!(host.get("/health/public").json(), json!({ "status": "ok", "version": version }));
}

#[test]
fn the_checks_say_what_works() {
    let home = TestHome::new();
    home.write("good_agent.py", python_agent("Good", "return ''"));
    let host = home.up();
    assert_eq!(host.listing().len(), 1);
    let mut answer = host.get("/api/health").json();
    assert!(
        answer["response_time_ms"].as_f64().unwrap() >= 0.0
            && answer["timestamp"].as_str().unwrap().ends_with('Z')
    );
    for key in ["response_time_ms", "timestamp", "version"] {
        answer[key] = "…".into();
    }
    insta::assert_json_snapshot!(answer, @r#"
    {
      "status": "healthy",
      "timestamp": "…",
      "version": "…",
      "checks": {
        "agents": {
          "status": "healthy",
          "message": "1 of 1 can be called"
        },
        "storage": {
          "status": "healthy",
          "message": "decisions are recorded"
        }
      },
      "response_time_ms": "…"
    }
    "#);
    home.write("bad_agent.py", "x = (\n");
    assert_eq!(host.listing().len(), 2);
    let answer = host.get("/api/health");
    assert_eq!((answer.status, &answer.json()["status"]), (200, &json!("degraded")));
    let deep = host.get("/api/health?deep=true").json();
    assert!(deep["checks"].as_object().unwrap().len() > 5, "{deep}");
    assert_failed(&host.get("/api/health?deep=maybe"), 400, "bad_request");
}
