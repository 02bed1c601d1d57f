//! Any bytes as the manifest and the index entry of a bundle: judged by both rule sets, never a panic.

use roost_apps::{Bundle, BundleSource, Files, Rules, Submission, validate_bundle};

pub(crate) fn run(bytes: &[u8]) {
    let contents = [
        ("manifest.json", bytes),
        ("index_entry.json", bytes),
        ("README.md", b"#"),
        ("ui/index.html", b"<p>"),
        ("singleton/demo_app_agent.py", b"x = 1"),
    ];
    let contents = contents.map(|(path, content)| (path.to_owned(), content.to_vec()));
    let Ok(files) = Files::from_contents(contents) else { return };
    let catalog = serde_json::from_slice(bytes).ok();
    let submission = Submission { submitter: Some("@alice".to_owned()), payload_id: None, catalog };
    let zip = files.to_zip("demo_app");
    for rules in [Rules::Reference, Rules::Spec] {
        let report = validate_bundle(BundleSource::Zip(&zip), &submission, rules);
        assert_eq!(report.ok, report.errors.is_empty());
    }
    if let Ok(bundle) = Bundle::from_catalog_files(files) {
        assert!(bundle.agent().is_some());
    }
}
