//! Any bytes as the agent and the service of a bundle: judged by both rule sets, never a panic.

use roost_apps::{BundleSource, Files, Rules, Submission, validate_bundle};

const MANIFEST: &[u8] = br#"{"schema": "rapp-application/1.0", "id": "demo_app", "name": "Demo", "version": "1.0.0",
    "publisher": "@alice", "summary": "x", "category": "data", "tags": ["rapplication"], "ui": "ui/index.html",
    "agent": "singleton/demo_app_agent.py", "service": "service/demo_app_service.py"}"#;

pub(crate) fn run(bytes: &[u8]) {
    let contents = [
        ("manifest.json", MANIFEST),
        ("index_entry.json", MANIFEST),
        ("README.md", b"#"),
        ("ui/index.html", b"<p>"),
        ("singleton/demo_app_agent.py", bytes),
        ("service/demo_app_service.py", bytes),
    ];
    let contents = contents.map(|(path, content)| (path.to_owned(), content.to_vec()));
    let Ok(files) = Files::from_contents(contents) else { return };
    let zip = files.to_zip("demo_app");
    for rules in [Rules::Reference, Rules::Spec] {
        let report = validate_bundle(BundleSource::Zip(&zip), &Submission::default(), rules);
        assert_eq!(report.ok, report.errors.is_empty());
    }
}
