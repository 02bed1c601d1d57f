//! Changes that are cut off at every step, and packages with names that lead elsewhere.

mod native; // programs

use super::{
    AppKind, AppOrigin, AppRecord, Change, Changed, Contents, Egg, Library, LibraryPlaces, Package, Steps,
    VersionRecord, read_lock,
};
use crate::Files;
use roost_protocol::{Failure, FileKind, Reason};
use std::{collections::BTreeMap, fs, path::Path};
use tempfile::TempDir;

const TIME: &str = "20260101T000000.000Z";

struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn library(&self) -> Library {
        let root = self.root();
        Library::new(LibraryPlaces {
            apps: root.join("apps"),
            agents: root.join("agents"),
            services: root.join("services"),
            data: root.join("data"),
            trash: root.join("trash"),
            lock: root.join("roost.lock"),
            native: root.join("native"),
        })
    }

    /// Everything that an app is made of in this home, by path; what only tells of it is left out.
    fn seen(&self) -> BTreeMap<String, String> {
        let mut seen = BTreeMap::new();
        walk(self.root(), self.root(), &mut seen);
        seen.retain(|path, _| !path.ends_with("library.lock"));
        seen
    }

    fn copy(&self) -> Self {
        let copy = Self::new();
        for (path, text) in self.seen() {
            let path = copy.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        copy
    }
}

/// Without what was written aside and counts for nothing: the next start removes it.
fn in_use(seen: &BTreeMap<String, String>) -> BTreeMap<&String, &String> {
    let is_used = |path: &str| !path.starts_with("apps/") || path == "apps/library.json";
    seen.iter().filter(|(path, _)| is_used(path)).collect()
}

fn walk(root: &Path, folder: &Path, seen: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(root, &path, seen);
        } else {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            seen.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

/// A bundle with an agent, a service and a page of two files; from version 3 on the service is gone and the page moved.
fn package(version: u32) -> Package {
    let agent = format!("# agent {version}\n");
    let mut contents = vec![
        ("manifest.json".to_owned(), b"{}".to_vec()),
        ("singleton/tea_agent.py".to_owned(), agent.into_bytes()),
        ("ui/index.html".to_owned(), format!("<p>{version}").into_bytes()),
        ("ui/more/app.js".to_owned(), format!("// {version}").into_bytes()),
    ];
    let mut manifest = serde_json::json!({
        "id": "tea", "name": "Tea", "version": format!("{version}.0.0"), "publisher": "@ada",
        "agent": "singleton/tea_agent.py", "ui": "ui/index.html",
    });
    if version < 3 {
        contents.push(("service/tea_service.py".to_owned(), format!("name = 'tea{version}'").into_bytes()));
        manifest["service"] = "service/tea_service.py".into();
    }
    let files = Files::from_contents(contents).unwrap();
    let bundle = crate::Bundle::from_catalog(manifest.as_object().unwrap().clone(), files).unwrap();
    Package::from_bundle(&bundle, AppOrigin::Sent).unwrap()
}

fn record(version: u32) -> (VersionRecord, Files) {
    let package = package(version);
    (package.record(Vec::new(), TIME.to_owned()), package.files)
}

fn app(current: VersionRecord, previous: Option<VersionRecord>) -> Box<AppRecord> {
    Box::new(AppRecord {
        id: "tea".to_owned(),
        publisher: Some("@ada".to_owned()),
        kind: AppKind::Rapplication,
        name: "Tea".to_owned(),
        summary: String::new(),
        current,
        previous,
        waiting: None,
        seen: None,
        reason: None,
        quarantine: None,
    })
}

fn put(library: &Library, version: u32) -> Result<Changed, Failure> {
    library.change(TIME, |before| {
        let (current, files) = record(version);
        let previous = before.app("tea").map(|app| app.current.clone());
        Ok(Change::Put { app: app(current.clone(), previous), bring: vec![(current, files)] })
    })
}

fn roll_back(library: &Library) -> Result<Changed, Failure> {
    library.change(TIME, |before| {
        let now = before.app("tea").unwrap();
        let previous = now.previous.clone().unwrap();
        Ok(Change::Put { app: app(previous, Some(now.current.clone())), bring: Vec::new() })
    })
}

fn remove(library: &Library) -> Result<Changed, Failure> {
    library.change(TIME, |_| Ok(Change::Remove { id: "tea".to_owned() }))
}

type Doing = fn(&Library) -> Result<Changed, Failure>;

/// Cuts the change off at every step, in both ways, and looks at what the next start makes of it.
#[track_caller]
fn cut_off_everywhere(before: &Home, doing: Doing) {
    let old = before.seen();
    let done = before.copy();
    doing(&done.library()).unwrap();
    let new = done.seen();
    assert_ne!(old, new);
    for make in [Steps::failing_after as fn(u64) -> Steps, Steps::dying_after] {
        let mut was_old = 0;
        for count in 0.. {
            let home = before.copy();
            let steps = make(count);
            let result = doing(&home.library().with_steps(steps.clone()));
            let at_once = home.seen();
            home.library().recover(TIME).unwrap();
            let after = home.seen();
            assert!(after == old || after == new, "step {count}, {result:?}: {after:#?}");
            match result {
                // What failed was taken back, or could not be and is whole after the next start.
                Err(failure) if failure.message.contains("nothing was changed") => {
                    assert_eq!(in_use(&at_once), in_use(&old), "step {count}: {failure}");
                    was_old += 1;
                }
                Err(_) => {}
                Ok(_) => assert_eq!(after, new, "step {count}"),
            }
            if steps.was_not_reached() {
                break;
            }
        }
        assert!(was_old > 0);
    }
}

#[test]
fn an_install_that_is_cut_off_anywhere_is_there_or_not() {
    let home = Home::new();
    put(&home.library(), 1).unwrap();
    remove(&home.library()).unwrap();
    cut_off_everywhere(&home, |library| put(library, 1));
}

#[test]
fn an_update_that_is_cut_off_anywhere_is_the_old_or_the_new_version() {
    let home = Home::new();
    put(&home.library(), 1).unwrap();
    cut_off_everywhere(&home, |library| put(library, 2));
    put(&home.library(), 2).unwrap();
    cut_off_everywhere(&home, |library| put(library, 3));
}

#[test]
fn a_rollback_that_is_cut_off_anywhere_is_the_old_or_the_new_version() {
    let home = Home::new();
    put(&home.library(), 2).unwrap();
    put(&home.library(), 3).unwrap();
    cut_off_everywhere(&home, roll_back);
}

#[test]
fn a_removal_that_is_cut_off_anywhere_is_done_or_not() {
    let home = Home::new();
    put(&home.library(), 1).unwrap();
    fs::write(home.library().places().workspace("tea").join("mine.txt"), "kept").unwrap();
    cut_off_everywhere(&home, remove);
    remove(&home.library()).unwrap();
    let left: Vec<String> = home.seen().into_keys().collect();
    assert_eq!(left, ["apps/library.json", "data/binder.json", "data/workspaces/tea/mine.txt", "roost.lock"]);
}

#[test]
fn the_files_of_an_app_are_where_other_hosts_have_them() {
    let home = Home::new();
    let library = home.library();
    put(&library, 1).unwrap();
    let seen = home.seen();
    for (path, text) in [
        ("agents/tea_agent.py", "# agent 1\n"),
        ("services/tea_service.py", "name = 'tea1'"),
        ("data/rapp_ui/tea/index.html", "<p>1"),
        ("data/rapp_ui/tea/more/app.js", "// 1"),
    ] {
        assert_eq!(seen[path], text, "{path}");
    }
    let binder: serde_json::Value = serde_json::from_str(&seen["data/binder.json"]).unwrap();
    let expected = serde_json::json!({ "installed": [{
        "id": "tea", "version": "1.0.0", "agent_filename": "tea_agent.py", "filename": "tea_agent.py",
        "service_filename": "tea_service.py", "ui_filename": "index.html",
    }]});
    assert_eq!(binder, expected);
    let locked = read_lock(&seen["roost.lock"]).unwrap();
    assert_eq!((locked[0].id.as_str(), locked[0].digest), ("tea", package(1).digest()));
    assert!(library.places().workspace("tea").is_dir());
    let contents = library.read().unwrap();
    let tea = contents.app("tea").unwrap();
    assert_eq!(library.page_file(tea, "").unwrap().unwrap(), b"<p>1");
    assert_eq!(library.page_file(tea, "more/app.js").unwrap().unwrap(), b"// 1");
    assert_eq!(library.page_file(tea, "../manifest.json").unwrap(), None);
    assert_eq!(contents.owner_of(FileKind::Agent, "tea_agent.py").unwrap().id, "tea");
    assert_eq!(library.files(tea, &tea.current).unwrap(), package(1).files);
}

#[test]
fn what_a_person_changed_is_kept_before_it_is_replaced() {
    let home = Home::new();
    let library = home.library();
    put(&library, 1).unwrap();
    fs::write(home.root().join("agents/tea_agent.py"), "# mine").unwrap();
    let contents = library.read().unwrap();
    assert_eq!(
        library.changed_files(contents.app("tea").unwrap()),
        [home.root().join("agents/tea_agent.py")]
    );
    let changed = put(&library, 2).unwrap();
    assert_eq!(fs::read_to_string(&changed.kept[0]).unwrap(), "# mine");
    assert_eq!(fs::read_to_string(home.root().join("agents/tea_agent.py")).unwrap(), "# agent 2\n");
    fs::write(home.root().join("services/tea_service.py"), "# mine too").unwrap();
    let changed = remove(&library).unwrap();
    assert_eq!(fs::read_to_string(&changed.kept[0]).unwrap(), "# mine too");
}

#[test]
fn a_file_that_is_not_the_librarys_is_never_replaced() {
    let home = Home::new();
    fs::create_dir_all(home.root().join("agents")).unwrap();
    fs::write(home.root().join("agents/tea_agent.py"), "# mine").unwrap();
    let before = home.seen();
    assert_eq!(put(&home.library(), 1).unwrap_err().reason, Reason::FileTaken);
    assert_eq!(home.seen(), before);
    fs::remove_file(home.root().join("agents/tea_agent.py")).unwrap();
    // One that has the same folders as the app would share them.
    let folder = home.root().join("agents/tea_agent.ts");
    fs::write(&folder, "// mine").unwrap();
    let named_alike = home.library().change(TIME, |_| {
        let (current, files) = record(1);
        let mut app = app(current.clone(), None);
        app.id = "tea_agent".to_owned();
        Ok(Change::Put { app, bring: vec![(current, files)] })
    });
    assert_eq!(named_alike.unwrap_err().reason, Reason::FileTaken);
}

#[test]
fn a_list_that_cannot_be_read_changes_nothing() {
    let home = Home::new();
    put(&home.library(), 1).unwrap();
    let list = home.root().join("apps/library.json");
    let whole = fs::read_to_string(&list).unwrap();
    let climbing = whole.replace("\"tea\"", "\"../tea\"");
    for bad in
        ["", "{}", "[]", &whole[..whole.len() / 2], &climbing, &whole.replace("library/1", "library/9")]
    {
        fs::write(&list, bad).unwrap();
        let before = home.seen();
        for failure in [put(&home.library(), 2).unwrap_err(), remove(&home.library()).unwrap_err()] {
            assert_eq!(failure.reason, Reason::LibraryUnusable);
        }
        assert_eq!(home.seen(), before);
    }
}

#[test]
fn two_that_change_it_at_once_take_turns() {
    let home = Home::new();
    let library = home.library();
    std::thread::scope(|scope| {
        for version in 1..=2 {
            let library = library.clone();
            scope.spawn(move || put(&library, version).unwrap());
        }
    });
    let contents: Contents = library.read().unwrap();
    assert_eq!(contents.apps.len(), 1);
    let tea = contents.app("tea").unwrap();
    assert!(tea.previous.is_some() && library.changed_files(tea).is_empty());
}

#[test]
fn ids_and_names_that_lead_elsewhere_are_refused() {
    for id in ["workspaces", "rapp_ui", "memory", "shared_memories", "twins"] {
        let mut package = package(1);
        package.id = id.to_owned();
        assert_eq!(package.checked().unwrap_err().reason, Reason::BundleInvalid, "{id}");
    }
    for name in ["..", "../x_agent.py", "basic_agent.py", ".x_agent.py", "x.sh", ""] {
        let refused = Package::from_agent_file(name, b"", AppOrigin::Sent);
        let fits = refused.as_ref().is_ok_and(|package| package.files.get("x_agent.py").is_some());
        assert!(refused.is_err() || fits, "{name}: {refused:?}");
    }
    assert_eq!(Package::from_agent_file("WeatherAgent.ts", b"", AppOrigin::Sent).unwrap().id, "weatheragent");
    assert_eq!(Package::from_agent_file("tea.py", b"", AppOrigin::Sent).unwrap().id, "tea_agent");
}

#[test]
fn an_egg_is_taken_in_only_with_names_of_its_own() {
    let egg = |manifest: serde_json::Value, more: &[(&str, &str)]| {
        let mut contents = vec![("manifest.json".to_owned(), manifest.to_string().into_bytes())];
        contents.extend(more.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())));
        Egg::from_files(&Files::from_contents(contents).unwrap(), AppOrigin::Sent)
    };
    let manifest = |id: &str, agent: &str| {
        serde_json::json!({
            "schema": "rapp-egg/1.0", "type": "rapplication", "id": id, "version": "1.0.0",
            "agent_filename": agent, "ui_filename": "index.html",
        })
    };
    let files = [("agent.py", "x = 1"), ("ui/index.html", "<p>"), ("state/a/b.json", "{}")];
    let good = egg(manifest("tea", "tea_agent.py"), &files).unwrap().unwrap();
    assert_eq!((good.package.id.as_str(), good.state[0].0.as_str()), ("tea", "a/b.json"));
    assert_eq!(good.package.publisher, None);
    for (id, agent) in
        [("../tea", "tea_agent.py"), ("tea", "../../x.py"), ("tea", "x.sh"), ("workspaces", "a_agent.py")]
    {
        assert_eq!(
            egg(manifest(id, agent), &files).unwrap_err().reason,
            Reason::BundleInvalid,
            "{id} {agent}"
        );
    }
    assert!(egg(serde_json::json!({ "schema": "rapp-application/1.0" }), &files).unwrap().is_none());
}
