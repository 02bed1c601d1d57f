//! Operators' rules, and a sandbox with less than all of its layers: said on every call, and refused where more is
//! demanded.

use super::{ONE_KEY, done, keys, keys_home, reason};
use serde_json::Value;

#[test]
fn a_denial_wins_over_every_grant() {
    let home = keys_home();
    done(&home.roost(&["grant", "keys_agent.py", "env:ONE_KEY"]));
    assert_eq!(keys(&home), ONE_KEY.1);
    for policy in ["[policy]\ndeny = [\"env:ONE_KEY\"]", "[policy.local]\ndeny = [\"env:ONE_KEY\"]"] {
        home.settings(policy);
        assert_eq!(keys(&home), "nothing", "{policy}");
        assert_eq!(reason(&home, &["grant", "keys_agent.py", "env:ONE_KEY"]), "denied_by_policy");
        let rights = home.json(&["rights", "keys_agent.py"]);
        assert_eq!(rights["rights"][0]["state"], "forbidden", "{rights}");
        let outcome = home.json(&["run", "agents/keys_agent.py"]);
        let next = outcome["receipt"]["refused"][0]["next"].as_str().unwrap_or_else(|| panic!("{outcome}"));
        assert!(next.contains("`env:ONE_KEY` stands in `deny`") && !next.contains("roost grant"), "{next}");
    }
    home.settings("[policy.catalog]\ndeny = [\"env:ONE_KEY\"]");
    assert_eq!(keys(&home), ONE_KEY.1, "a rule for another origin");
}

#[test]
fn an_allowed_right_is_given_to_who_asks_without_a_person() {
    let home = keys_home();
    for policy in ["[policy]\nallow = [\"env:ONE_KEY\"]", "[policy.local]\nallow = [\"env:ONE_KEY\"]"] {
        home.settings(policy);
        assert_eq!(keys(&home), ONE_KEY.1, "{policy}");
        assert_eq!(home.json(&["rights", "keys_agent.py"])["rights"][0]["state"], "policy");
    }
    home.settings("[policy.generated]\nallow = [\"env:ONE_KEY\"]");
    assert_eq!(keys(&home), "nothing", "a rule for another origin");
    // It does not ask for this one, and having it allowed does not make it ask.
    home.settings("[policy]\nallow = [\"subprocess\"]");
    let receipt = home.json(&["run", "agents/keys_agent.py"])["receipt"].take();
    assert!(!receipt["rights"].as_array().unwrap().iter().any(|right| right == "subprocess"), "{receipt}");
}

/// Leaves out one layer and looks at every surface.
fn check(layer: &str, level: &str, missing: &[&str]) {
    let home = keys_home();
    let leave_out =
        |require: &str| home.settings(&format!("[sandbox]\n{require}leave_out = [\"{layer}\"]\n"));
    leave_out("");
    let refused = home.json(&["run", "agents/keys_agent.py"]);
    assert_eq!(refused["error"]["reason"], "sandbox_unavailable", "{layer}: {refused}");
    let step = format!("set `require = \"{level}\"` under `[sandbox]` in roost.toml");
    assert!(refused["error"]["next"].as_str().unwrap().contains(&step), "{layer}: {refused}");
    let doctor = home.roost(&["doctor"]);
    assert!(doctor.status == 1 && doctor.stdout.contains(&step), "{layer}: {doctor:?}");

    // As the step says.
    leave_out(&format!("require = \"{level}\"\n"));
    let outcome = home.json(&["run", "agents/keys_agent.py"]);
    assert_eq!(outcome["output"], "nothing", "{layer}: {outcome}");
    let enforcement = &outcome["receipt"]["enforcement"];
    assert_eq!(enforcement["level"], level, "{layer}: {enforcement}");
    let told: Vec<&str> =
        enforcement["missing"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(missing.iter().all(|one| told.contains(one)), "{layer}: {enforcement}");
    let verbose = home.roost(&["run", "-v", "agents/keys_agent.py"]);
    assert!(verbose.stderr.contains(&format!("sandbox {level}:")), "{layer}: {verbose:?}");
    let doctor = home.json(&["doctor"]);
    let findings = doctor["findings"].as_array().unwrap();
    let said: Vec<&Value> = findings.iter().filter(|finding| finding["name"] == "sandbox").collect();
    assert!(
        said.iter().any(|finding| finding["state"] == "limited" && !finding["cost"].is_null()),
        "{layer}: {doctor}"
    );
    let calls = home.up().call("Keys", &serde_json::json!({})).json();
    assert_eq!(calls["receipt"]["enforcement"]["level"], level, "{layer}: the running host too: {calls}");
}

#[test]
fn without_landlock_the_level_is_process_only_and_is_refused_by_default() {
    check("landlock", "process-only", &["files"]);
}

#[test]
fn without_seccomp_the_level_is_process_only_and_is_refused_by_default() {
    check("seccomp", "process-only", &["system_calls"]);
}

#[test]
fn without_namespaces_the_level_is_light_and_is_refused_by_default() {
    check("namespaces", "light", &["own_network", "own_processes", "own_identity"]);
}

#[test]
fn a_demand_that_can_be_met_is_no_reason_to_refuse() {
    let home = keys_home();
    home.settings("[sandbox]\nrequire = \"light\"\n");
    let outcome = home.json(&["run", "agents/keys_agent.py"]);
    assert_eq!(outcome["receipt"]["enforcement"]["level"], "full", "{outcome}");
    for wrong in ["require = \"none\"", "leave_out = [\"everything\"]", "requires = \"full\""] {
        home.settings(&format!("[sandbox]\n{wrong}\n"));
        assert_eq!(reason(&home, &["run", "agents/keys_agent.py"]), "invalid_settings", "{wrong}");
    }
}
