//! What a catalog already has is taken more leniently than what is submitted, but never with less care for paths.

use crate::cases::files_of;
use roost_apps::{Bundle, Code, Files};
use serde_json::{Map, Value, json};

fn check(manifest: &Value, without: &[&str], more: &[(&str, &str)], expected: Result<&str, Code>) {
    let mut files = files_of(&Value::Null);
    for path in without {
        files.remove(*path).unwrap();
    }
    files.extend(more.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())));
    let fields: Map<String, Value> = manifest.as_object().unwrap().clone();
    let bundle = Bundle::from_catalog(fields, Files::from_contents(files).unwrap());
    let found = match &bundle {
        Ok(bundle) => Ok(bundle.agent().map(|(path, _)| path).unwrap_or_default()),
        Err(errors) => Err(errors[0].code),
    };
    assert_eq!(found, expected, "{manifest}");
}

fn entry() -> Value {
    json!({ "id": "rapp-zoo", "name": "Zoo", "version": "1.2.3", "publisher": "@rapp" })
}

#[test]
fn an_agent_is_found_by_its_declaration_its_alias_or_its_place() {
    let agent = "singleton/demo_app_agent.py";
    let with = |key: &str, value: &str| {
        let mut entry = entry();
        entry[key] = value.into();
        entry
    };
    check(&entry(), &[], &[], Ok(agent));
    check(&with("agent", agent), &[], &[], Ok(agent));
    check(&with("singleton", agent), &[], &[("singleton/b.py", "")], Ok(agent));
    check(&entry(), &[], &[("singleton/b.py", "")], Err(Code::NoEntrypoint));
    check(&entry(), &[], &[("singleton/notes.md", ""), ("singleton/deep/b.py", "")], Ok(agent));
    check(&with("agent", "../x.py"), &[], &[], Err(Code::SingletonMissing));
    check(&with("agent", "/etc/passwd"), &[], &[], Err(Code::SingletonMissing));
    check(&entry(), &[agent], &[], Err(Code::NoEntrypoint));
    check(&with("service", "s.py"), &[agent], &[("s.py", "x = 1")], Ok(""));
    check(&with("service", "s.py"), &[], &[("s.py", "x =")], Err(Code::ServiceSyntax));
    check(&entry(), &[], &[(agent, "x =")], Err(Code::SingletonSyntax));
    check(&with("id", "Zoo"), &[], &[], Err(Code::BadId));
    check(&with("version", "1"), &[], &[], Err(Code::BadVersion));
    check(&with("publisher", "rapp"), &[], &[], Err(Code::BadPublisher));
    check(&with("ui", "nowhere.html"), &[], &[], Err(Code::UiMissing));
    check(&with("category", "meta"), &["README.md", "index_entry.json", "ui/index.html"], &[], Ok(agent));
}

#[test]
fn the_page_is_where_pages_usually_are() {
    let files = Files::from_contents(files_of(&Value::Null)).unwrap();
    let bundle = Bundle::from_catalog(entry().as_object().unwrap().clone(), files.clone()).unwrap();
    assert_eq!(bundle.page().map(|(path, _)| path), Some("ui/index.html"));
    assert_eq!((bundle.id().as_str(), bundle.version().to_string()), ("rapp-zoo", "1.2.3".to_owned()));
    let own = Bundle::from_catalog_files(files).unwrap();
    assert_eq!(own.id().as_str(), "demo_app");
    assert_eq!(own.integrity()["singleton_sha256"].as_str().unwrap().len(), 64);
}
