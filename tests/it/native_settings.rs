//! Settings of native apps: checked against what the app says, sealed, masked, and told as a whole.

use crate::native_pages::Story;
use serde_json::{Value, json};
use std::fs;

const ID: &str = "com.example.Board";
const MASK: &str = "••••••••";

fn schema() -> Value {
    json!({ "settings": [
        { "key": "name", "title": "Name", "required": true },
        { "key": "key", "type": "password" },
        { "key": "tone", "type": "select", "options": [{ "label": "Dry", "value": "dry" }, { "value": "wet" }], "default": "dry" },
        { "key": "count", "type": "number" },
    ] })
}

impl Story {
    /// What the app was told, as it tells itself.
    fn told(&self) -> Value {
        self.host.get(&format!("/api/v1/apps/{ID}/api/settings")).json()
    }

    fn set(&self, change: &Value) -> Value {
        self.owner("PUT", &format!("/v1/native-apps/{ID}/settings"), change).json()
    }

    fn setting(&self, key: &str) -> Value {
        let shown = self.owner("GET", &format!("/v1/native-apps/{ID}/settings"), &Value::Null).json();
        let settings = shown["settings"].as_array().unwrap();
        settings.iter().find(|setting| setting["key"] == key).cloned().unwrap_or_default()
    }
}

#[test]
fn settings_are_checked_sealed_masked_and_told_as_a_whole() {
    let story = Story::new("Board", &schema());
    // At its start it is told what holds when nobody set anything.
    assert_eq!(story.told(), json!({ "part": "ui", "settings": { "tone": "dry" } }));
    let set = story.set(&json!({ "settings": { "name": "Ada", "key": "tr0ub4dor" } }));
    assert_eq!((&set["told"], &set["missing"]), (&json!(true), &json!([])), "{set}");
    let whole = json!({ "name": "Ada", "key": "tr0ub4dor", "tone": "dry" });
    assert_eq!(story.told()["settings"], whole);
    assert_eq!(story.setting("key")["value"], MASK);
    assert_eq!(story.setting("name")["value"], "Ada");

    // One that is wrong changes none of them.
    for wrong in [
        json!({ "settings": { "name": "Eve", "tone": "damp" } }),
        json!({ "settings": { "count": "many" } }),
        json!({ "settings": { "other": "x" } }),
        json!({ "settings": { "oauth:google:access_token": "x" } }),
        json!({ "settings": { "name": "" } }),
        json!({ "unset": ["other"] }),
    ] {
        assert_eq!(story.set(&wrong)["reason"], "setting_refused", "{wrong}");
    }
    assert_eq!(story.told()["settings"], whole);

    // A client that sends the mask back changes nothing.
    let path = format!("/api/v1/plugins/{ID}");
    let plugin = story.owner("GET", &path, &Value::Null).json()["plugin"].clone();
    assert_eq!(plugin["settings"], json!({ "name": "Ada", "key": MASK }));
    assert_eq!((&plugin["connectionStatus"], &plugin["pluginType"]), (&json!("connected"), &json!("ui")));
    let mut settings = plugin["settings"].clone();
    settings["name"] = json!("Grace");
    let put = story.owner(
        "PUT",
        &format!("{path}/settings"),
        &json!({ "settings": settings, "secrets": { "name": true } }),
    );
    assert_eq!(put.json()["plugin"]["settings"], json!({ "name": MASK, "key": MASK }));
    assert_eq!(story.told()["settings"], json!({ "name": "Grace", "key": "tr0ub4dor", "tone": "dry" }));
    let refused = story.owner("PUT", &format!("{path}/settings"), &json!({ "settings": { "count": "x" } }));
    assert_eq!((refused.status, &refused.json()["code"]), (400, &json!(400)));
    assert!(refused.json().as_object().unwrap().len() == 2, "{}", refused.body);
    let toggled = story.owner("PUT", &format!("{path}/toggle"), &json!({ "isEnabled": false })).json();
    assert_eq!(toggled["plugin"]["isEnabled"], false);

    // On disk nobody reads it.
    for file in ["keys/native.json", ".brainstem_book.json", "logs"] {
        let text = fs::read_to_string(story.home.root().join(file)).unwrap_or_default();
        assert!(!text.contains("tr0ub4dor") && !text.contains("Grace"), "{file}");
    }
    // From the command line, by the running host; and after a restart it is all there.
    let shown = story.home.json(&["settings", ID, "tone=wet", "--unset", "name"]);
    assert_eq!((&shown["missing"], &shown["told"]), (&json!(["name"]), &json!(true)));
    let text = story.home.roost(&["settings", ID]).stdout;
    assert!(text.contains("tone=wet") && text.contains(MASK) && !text.contains("tr0ub4dor"), "{text}");
    story.owner("POST", &format!("/v1/native-apps/{ID}/restart"), &Value::Null);
    assert_eq!(story.told()["settings"], json!({ "key": "tr0ub4dor", "tone": "wet" }));
}

#[test]
fn an_app_without_a_schema_takes_what_it_is_given_and_one_with_the_right_the_owners_token() {
    let policy = "[policy]\nallow = [\"feature:user:token\"]\n";
    let more = json!({ "provides": ["tool:echo", "ui"], "permissions": ["user:token"] });
    let story = Story::with("Board", &more, policy);
    assert_eq!(story.told(), json!({ "part": "", "settings": {} }));
    let owner = |value: &Value| story.owner("PUT", "/secrets/USER_TOKEN", value);
    assert_eq!(owner(&json!({ "value": "mine" })).status, 200);
    let set = story.set(&json!({ "settings": { "any": "thing" }, "secrets": { "any": true } }));
    assert_eq!(set["settings"][0]["value"], MASK, "{set}");
    // The first part that can be told is.
    assert_eq!(story.told(), json!({ "part": "tool", "settings": { "any": "thing", "token": "mine" } }));
    story.set(&json!({ "settings": { "token": "own" } }));
    assert_eq!(story.told()["settings"]["token"], "own");
    let many: serde_json::Map<String, Value> = (0..70).map(|n| (format!("k{n}"), json!("x"))).collect();
    assert_eq!(story.set(&json!({ "settings": many }))["reason"], "setting_refused");
}

#[test]
fn an_app_that_does_not_hear_its_settings_runs_and_the_answer_says_so() {
    let more = json!({ "provides": ["tool:echo", "ui"] });
    let story = Story::new("hears no settings", &more);
    let set = story.set(&json!({ "settings": { "a": "b" } }));
    assert_eq!((&set["told"], set["reason"]["message"].is_string()), (&json!(false), true), "{set}");
    assert_eq!(story.setting("a")["value"], "b");
    let again = story.owner("POST", &format!("/v1/native-apps/{ID}/restart"), &Value::Null).json();
    assert_eq!((&again["phase"], &again["left_out"][0]["what"]), (&json!("running"), &json!("settings")));
}
