//! Bundles that are wrong in one way each. A case is a change of a good bundle and the codes that both rule sets give;
//! a new case is a line in `cases.json`.

use crate::forge::{Entry, entry, zip};
use roost_apps::{BundleSource, Files, Rules, Submission, validate_bundle};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

pub(crate) fn bundles() -> Value {
    serde_json::from_str(include_str!("bundles.json")).unwrap()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// The object that a case changes.
fn changed(good: &Value, set: &Value, drop: &Value) -> String {
    let mut fields: Map<String, Value> = good.as_object().unwrap().clone();
    fields.extend(set.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
    for key in texts(drop) {
        fields.shift_remove(&key);
    }
    Value::Object(fields).to_string()
}

/// The text of a case as bytes; what is no text is written in hexadecimal digits.
fn content(text: &str) -> Vec<u8> {
    match text.strip_prefix("hex:") {
        None => text.as_bytes().to_vec(),
        Some(digits) => (0..digits.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
            .collect(),
    }
}

/// The files of a case, from the bundle's root.
pub(crate) fn files_of(case: &Value) -> BTreeMap<String, Vec<u8>> {
    let good = &bundles()[case["base"].as_str().unwrap_or("plain")];
    let mut files = BTreeMap::from([
        ("manifest.json".to_owned(), changed(&good["manifest"], &case["set"], &case["drop"]).into_bytes()),
        (
            "index_entry.json".to_owned(),
            changed(&good["entry"], &case["entry_set"], &case["entry_drop"]).into_bytes(),
        ),
    ]);
    for (path, text) in [&good["files"], &case["files"]].into_iter().filter_map(Value::as_object).flatten() {
        files.insert(path.clone(), content(text.as_str().unwrap()));
    }
    for (path, size) in case["grown"].as_object().into_iter().flatten() {
        let size = usize::try_from(size.as_u64().unwrap()).unwrap();
        files.get_mut(path).unwrap().resize(size, b'#');
    }
    if let Some(text) = case["agent"].as_str() {
        files.insert("singleton/demo_app_agent.py".to_owned(), text.as_bytes().to_vec());
    }
    for (key, path) in
        [("agent_with", "singleton/demo_app_agent.py"), ("module_with", "service/demo_app_service.py")]
    {
        for pair in case[key].as_array().into_iter().flatten() {
            let [from, to] = [0, 1].map(|at| pair[at].as_str().unwrap());
            let text = String::from_utf8(files[path].clone()).unwrap();
            assert!(text.contains(from), "{case}");
            files.insert(path.to_owned(), text.replace(from, to).into_bytes());
        }
    }
    for path in texts(&case["without"]) {
        files.remove(&path).unwrap();
    }
    files
}

pub(crate) fn submission_of(case: &Value) -> Submission {
    let text = |key: &str| case[key].as_str().map(str::to_owned);
    let catalog = Some(case["catalog"].clone()).filter(|catalog| !catalog.is_null());
    Submission { submitter: text("submitter"), payload_id: text("payload_id"), catalog }
}

fn zip_of(case: &Value) -> Vec<u8> {
    let folder = case["folder"].as_str().unwrap_or("demo_app");
    let path_of = |path: &str| if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
    let entries: Vec<Entry> =
        files_of(case).iter().map(|(path, bytes)| entry(&path_of(path), bytes)).collect();
    zip(&entries)
}

fn codes(bytes: &[u8], submission: &Submission, rules: Rules) -> Vec<String> {
    let report = validate_bundle(BundleSource::Zip(bytes), submission, rules);
    assert_eq!(report.ok, report.errors.is_empty());
    assert_eq!(report.ok, report.index_entry.is_some());
    report.errors.iter().map(|error| error.code.to_string()).collect()
}

pub(crate) fn all() -> Vec<Value> {
    serde_json::from_str(include_str!("cases.json")).unwrap()
}

#[test]
fn every_case_gets_its_codes_by_both_rule_sets() {
    let cases = all();
    assert!(cases.len() >= 250, "{}", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let bytes = zip_of(case);
        for (rules, key) in [(Rules::Reference, "reference"), (Rules::Spec, "spec")] {
            let found = codes(&bytes, &submission_of(case), rules);
            let expected = texts(&case[key]);
            if found != expected {
                wrong.push(format!("{} by {key}: expected {expected:?}, got {found:?}", case["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_folder_is_judged_as_its_zip_is() {
    let mut judged = 0;
    for case in all() {
        let folder_name = case["folder"].as_str().unwrap_or("demo_app");
        // A folder is itself the root, and only safe paths can be written.
        let files = Files::from_contents(files_of(&case));
        let (Ok(files), false) = (files, folder_name.is_empty() || folder_name.contains(['/', '\n', '.']))
        else {
            continue;
        };
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join(folder_name);
        files.write_beneath(&folder).unwrap();
        for (rules, key) in [(Rules::Reference, "reference"), (Rules::Spec, "spec")] {
            let report = validate_bundle(BundleSource::Folder(&folder), &submission_of(&case), rules);
            let found: Vec<String> = report.errors.iter().map(|error| error.code.to_string()).collect();
            assert_eq!(found, texts(&case[key]), "{} by {key}", case["name"]);
        }
        judged += 1;
    }
    assert!(judged > 250, "{judged}");
}

#[test]
fn a_good_bundle_gets_its_hashes_and_its_entry() {
    let case = serde_json::json!({
        "base": "module",
        "set": { "license": "MIT", "quality_tier": "featured", "tagline": "Words", "tool": "x", "source": "y" },
        "entry_set": { "example_call": "z", "singleton_sha256": "lie", "available_versions": ["9"] },
    });
    let bytes = zip_of(&case);
    let keys = |rules| -> Vec<String> {
        let report = validate_bundle(BundleSource::Zip(&bytes), &Submission::default(), rules);
        report.index_entry.unwrap().keys().cloned().collect()
    };
    let published = [
        "id",
        "name",
        "version",
        "summary",
        "category",
        "tags",
        "license",
        "publisher",
        "quality_tier",
        "tagline",
        "singleton_filename",
        "singleton_url",
        "singleton_sha256",
        "singleton_lines",
        "singleton_bytes",
        "service_filename",
        "service_url",
        "service_sha256",
        "ui_filename",
        "ui_url",
    ];
    assert_eq!(keys(Rules::Reference), published);
    let ours = ["ui_sha256", "ui_bytes", "service_bytes", "service_lines", "tool", "example_call"];
    assert_eq!(keys(Rules::Spec), [&published[..], &ours].concat());
    let report = validate_bundle(BundleSource::Zip(&bytes), &Submission::default(), Rules::Spec);
    let (entry, integrity) = (report.index_entry.unwrap(), report.integrity.unwrap());
    assert_eq!(entry["quality_tier"], "community");
    assert_eq!(entry["singleton_sha256"], integrity["singleton_sha256"]);
    let place = "https://raw.githubusercontent.com/kody-w/rapp_store/main/apps/@alice/demo_app/ui/index.html";
    assert_eq!(entry["ui_url"], place);
    assert_eq!((&integrity["service_lines"], &integrity["ui_bytes"]), (&5.into(), &15.into()));
}

#[test]
fn a_gated_entry_passes_through_as_it_was_submitted() {
    let case = serde_json::json!({ "base": "gated", "drop": ["quality_tier"], "entry_set": { "auth_hint": "gh auth token" } });
    let report = validate_bundle(BundleSource::Zip(&zip_of(&case)), &Submission::default(), Rules::Spec);
    let entry = report.index_entry.unwrap();
    let mut expected = bundles()["gated"]["entry"].clone();
    expected["auth_hint"] = "gh auth token".into();
    expected["quality_tier"] = "private".into();
    assert_eq!(Value::Object(entry), expected);
    assert_eq!(report.integrity.unwrap().len(), 0);
}
