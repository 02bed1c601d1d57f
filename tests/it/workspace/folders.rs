//! Agents' folders with the real program: what agents write there has a history, whatever they and others do.

use roost_host::store_migrations;
use roost_storage::{Database, Faults, Location};
use roost_tests::{RunningHost, TestHome, owner, python_file, text, typescript_agent, until};
use roost_workspace::{Condition, FilePath, Limits, Owner, Prefix, Revision, Workspaces, Writer};
use serde_json::{Value, json};
use std::{fs, path::PathBuf, thread};

const TOP: &str =
    "from utils.workspace import workspace_dir, list_files, read_text, write_text, request_files";

/// Does what its argument says.
fn writer(name: &str) -> String {
    python_file(
        name,
        TOP,
        "exec(kwargs.get('code', ''), globals(), scope := {})\nreturn str(scope.get('result', 'done'))",
    )
}

fn folder(home: &TestHome, stem: &str) -> PathBuf {
    home.root().join(".brainstem_data/workspaces").join(stem)
}

/// The home's database, opened beside its host.
async fn store(home: &TestHome) -> Workspaces {
    let location = Location::File(home.root().join("roost.db"));
    let database = Database::open(location, &store_migrations(), Faults::default()).await;
    Workspaces::new(database.expect("the host made it"), Limits::default())
}

fn of(stem: &str) -> Owner {
    owner("local", &format!("app.{stem}"))
}

async fn log(store: &Workspaces, stem: &str, name: &str) -> Vec<Revision> {
    store.history(&of(stem), &FilePath::of_folder(name).unwrap()).await.unwrap_or_default()
}

async fn names(store: &Workspaces, stem: &str) -> Vec<String> {
    let listing = store.list(&of(stem), &Prefix::default()).await.unwrap();
    listing.files.into_iter().map(|file| file.path.as_str().to_owned()).collect()
}

/// What the receipt of a call says of the folder.
#[track_caller]
fn receipt(host: &RunningHost, agent: &str, code: &str) -> Value {
    let outcome = host.call(agent, &json!({ "code": code })).json();
    assert_eq!(outcome["error"], Value::Null, "{outcome}");
    outcome["receipt"]["workspace"].clone()
}

#[tokio::test]
async fn what_an_agent_writes_has_versions_that_come_back_with_a_restore() {
    let home = TestHome::new();
    home.write("notes_agent.py", writer("Notes"));
    let host = home.up();
    assert_eq!(receipt(&host, "Notes", ""), Value::Null);
    let report = receipt(&host, "Notes", "write_text('a/b.md', 'one')");
    assert_eq!(report, json!({ "committed": [{ "path": "a/b.md", "version": 1 }] }));
    assert_eq!(receipt(&host, "Notes", "read_text('a/b.md')"), Value::Null);
    receipt(&host, "Notes", "write_text('a/b.md', 'two')");
    let store = store(&home).await;
    let history = log(&store, "notes_agent", "a/b.md").await;
    let authors: Vec<_> = history
        .iter()
        .map(|one| (one.version, one.author.principal.as_str(), one.author.node.as_deref()))
        .collect();
    assert_eq!(authors, [(2, "notes_agent.py", Some("Notes")), (1, "notes_agent.py", Some("Notes"))]);
    let path = FilePath::parse("a/b.md").unwrap();
    store.restore(&of("notes_agent"), &Writer::person("owner"), &path, 1, Condition::none()).await.unwrap();
    assert_eq!(host.output("Notes", &json!({ "code": "result = read_text('a/b.md')" })), "one");
    // A person with an editor.
    fs::write(folder(&home, "notes_agent").join("a/b.md"), "by hand").unwrap();
    assert_eq!(host.output("Notes", &json!({ "code": "result = read_text('a/b.md')" })), "by hand");
    let newest = log(&store, "notes_agent", "a/b.md").await.remove(0);
    assert_eq!((newest.version, newest.author.principal.as_str()), (4, "owner"));
    assert_eq!(newest.author.reason.as_deref(), Some("changed on disk"));
    // Files that are written elsewhere are listed to the agent.
    store
        .write_one(
            &of("notes_agent"),
            &Writer::person("tok_1"),
            text("data.csv", Condition::none(), "1,2"),
            None,
        )
        .await
        .unwrap();
    let listed = host.output("Notes", &json!({ "code": "result = json.dumps(list_files())" }));
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(
        (&listed[1]["name"], &listed[1]["size"], &listed[1]["mime"]),
        (&json!("data.csv"), &json!(3), &json!("text/csv"))
    );
}

#[test]
fn a_conflict_keeps_both_and_the_receipt_says_so() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let home = TestHome::new();
    home.write("notes_agent.py", writer("Notes"));
    let host = home.up();
    receipt(&host, "Notes", "write_text('a.md', 'one')");
    let store = runtime.block_on(store(&home));
    let signal = home.own_folder("notes_agent");
    let code = format!(
        "write_text('a.md', 'of the agent')\nopen('{0}/wrote', 'w').close()\n\
         while not os.path.exists('{0}/go'): time.sleep(0.005)",
        signal.display()
    );
    let report = thread::scope(|scope| {
        let call = scope.spawn(|| receipt(&host, "Notes", &code));
        until("the agent wrote", || signal.join("wrote").exists());
        let write = text("a.md", Condition::none(), "of another node");
        let written =
            runtime.block_on(store.write_one(&of("notes_agent"), &Writer::person("tok_1"), write, None));
        written.unwrap();
        fs::write(signal.join("go"), "").unwrap();
        call.join().unwrap()
    });
    let aside = report["conflicts"][0]["kept_as"].as_str().unwrap_or_else(|| panic!("{report}")).to_owned();
    for (name, expected) in [("a.md", "of another node"), (aside.as_str(), "of the agent")] {
        assert_eq!(fs::read_to_string(folder(&home, "notes_agent").join(name)).unwrap(), expected);
        let kept = runtime
            .block_on(store.get(&of("notes_agent"), &FilePath::of_folder(name).unwrap(), None))
            .unwrap();
        assert_eq!(kept.content, expected.as_bytes());
    }
}

#[tokio::test]
async fn a_hostile_agent_harms_only_its_own_folder() {
    let home = TestHome::new();
    home.write("bad_agent.py", writer("Bad"));
    home.write("good_agent.py", writer("Good"));
    let host = home.up();
    let here = "here = workspace_dir()\n";
    let says = |code: &str| receipt(&host, "Bad", &format!("{here}{code}"));
    let why = |report: &Value| report["skipped"][0]["why"].as_str().unwrap_or_default().to_owned();
    assert_eq!(why(&says("(here / 'passwd').symlink_to('/etc/passwd')")), "a link, not a file");
    assert_eq!(why(&says("(here / 'passwd').unlink()\nos.mkfifo(here / 'pipe')")), "a pipe, not a file");
    says("(here / 'pipe').unlink()");
    assert_eq!(
        why(&says("(here / 'large.bin').write_bytes(b'x' * (2 << 20))")),
        "more than maxFileBytes allows"
    );
    says("(here / 'large.bin').unlink()");
    let report = says("(here / 'new\\nline').write_text('x')");
    assert_eq!(report["skipped"][0]["path"], "new\\nline");
    says("(here / 'new\\nline').unlink()");
    let deep =
        "p = here\nfor _ in range(300):\n    p = p / 'd'\n    p.mkdir()\n(p / 'deep.md').write_text('x')";
    assert_eq!(says(deep)["committed"].as_array().unwrap().len(), 1);
    let report = says("for n in range(10000): open(here / f'{n:05}', 'w').close()");
    assert!(report["more"].as_u64().unwrap() > 9000, "{report}");
    // Swapped for a link again and again while the host reads.
    let swapping = "import threading\n\
        def swap(until):\n    while time.time() < until:\n        try:\n            os.unlink(here / '00000')\n            os.symlink('/etc/passwd', here / '00000')\n            os.unlink(here / '00000')\n            (here / '00000').write_text('mine')\n        except OSError: pass\n\
        threading.Thread(target=swap, args=(time.time() + 1,), daemon=True).start()";
    let swapping = swapping.replace("def swap(until):", "def swap(until, here=here, os=os, time=time):");
    for _ in 0..5 {
        says(&swapping);
    }
    assert_eq!(receipt(&host, "Good", "write_text('a.md', 'one')")["committed"][0]["version"], 1);
    let store = store(&home).await;
    let kept = names(&store, "bad_agent").await;
    assert!(kept.len() <= 256 && !kept.contains(&"passwd".to_owned()), "{kept:?}");
    for name in kept {
        let file = store.get(&of("bad_agent"), &FilePath::of_folder(&name).unwrap(), None).await.unwrap();
        assert!(!String::from_utf8_lossy(&file.content).contains("root:"), "{name}");
    }
    assert_eq!(names(&store, "good_agent").await, ["a.md"], "two apps never share anything");
}

#[test]
fn what_was_written_before_the_host_was_killed_is_committed_by_the_next() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let home = TestHome::new();
    home.write("notes_agent.py", writer("Notes"));
    let host = home.up();
    receipt(&host, "Notes", "write_text('a.md', 'one')");
    let code = "write_text('a.md', 'two')\ntime.sleep(60)";
    thread::scope(|scope| {
        let port = host.port();
        scope.spawn(move || {
            let client = roost_tests::Client::on(port);
            // The host goes meanwhile, so there is no answer.
            let body = json!({ "arguments": { "code": code } }).to_string();
            let headers = [("Content-Type", "application/json")];
            if let Ok(mut stream) = client.start("POST", "/v1/agents/Notes/call", &headers, body.len()) {
                std::io::Write::write_all(&mut stream, body.as_bytes()).ok();
                std::io::Read::read_to_end(&mut stream, &mut Vec::new()).ok();
            }
        });
        let file = folder(&home, "notes_agent").join("a.md");
        until("the agent wrote", || fs::read_to_string(&file).is_ok_and(|text| text == "two"));
        host.kill();
    });
    let store = runtime.block_on(store(&home));
    assert_eq!(runtime.block_on(log(&store, "notes_agent", "a.md")).len(), 1);
    let _host = home.up();
    let is_there = || runtime.block_on(log(&store, "notes_agent", "a.md")).len() == 2;
    until("the next host commits it", is_there);
}

#[tokio::test]
async fn folders_and_their_history_outlive_removal_and_upgrade() {
    let home = TestHome::new();
    home.write("notes_agent.py", writer("Notes"));
    let host = home.up();
    receipt(&host, "Notes", "write_text('a.md', 'one')");
    home.replace("notes_agent.py", format!("# a newer version\n{}", writer("Notes")));
    drop(host.listing());
    assert_eq!(
        receipt(&host, "Notes", "write_text('a.md', read_text('a.md') + ' two')")["committed"][0]["version"],
        2
    );
    fs::remove_file(home.agents().join("notes_agent.py")).unwrap();
    drop(host.listing());
    assert_eq!(fs::read_to_string(folder(&home, "notes_agent").join("a.md")).unwrap(), "one two");
    assert_eq!(log(&store(&home).await, "notes_agent", "a.md").await.len(), 2);
}

#[tokio::test]
async fn calls_at_once_lose_and_double_nothing() {
    let home = TestHome::new();
    home.write("notes_agent.py", writer("Notes"));
    let host = home.up();
    receipt(&host, "Notes", "write_text('start.md', '')");
    thread::scope(|scope| {
        for thread in 0..4 {
            let host = &host;
            scope.spawn(move || {
                for round in 0..10 {
                    receipt(host, "Notes", &format!("write_text('{thread}.md', '{round}')"));
                }
            });
        }
    });
    let store = store(&home).await;
    assert_eq!(names(&store, "notes_agent").await, ["0.md", "1.md", "2.md", "3.md", "start.md"]);
    for thread in 0..4 {
        let history = log(&store, "notes_agent", &format!("{thread}.md")).await;
        assert_eq!(history.len(), 10, "one version for each content");
        let path = FilePath::parse(&format!("{thread}.md")).unwrap();
        assert_eq!(store.get(&of("notes_agent"), &path, None).await.unwrap().content, b"9");
    }
}

#[tokio::test]
async fn a_typescript_agent_has_the_same_folder() {
    let home = TestHome::new();
    let perform = "const r = (globalThis as any).roost;\n\
        r.writeText('in/a.md', String(kwargs.text));\n\
        const asked = await r.requestFiles('a table', ['*.csv']);\n\
        let refused = '';\n\
        try { r.readText('../x'); } catch (error) { refused = (error as any).reason; }\n\
        return JSON.stringify([r.readText('in/a.md'), r.listFiles().map((file: any) => file.name), asked, refused, r.workspaceDir()]);";
    home.write("ScribeAgent.ts", typescript_agent("Scribe", "", perform));
    let host = home.up();
    let outcome = host.call("Scribe", &json!({ "text": "one" })).json();
    let output: Value =
        serde_json::from_str(outcome["output"].as_str().unwrap()).unwrap_or_else(|_| panic!("{outcome}"));
    let own = folder(&home, "ScribeAgent").display().to_string();
    assert_eq!(output, json!(["one", ["in/a.md"], { "cancelled": true }, "invalid_name", own]));
    assert_eq!(outcome["receipt"]["workspace"]["committed"], json!([{ "path": "in/a.md", "version": 1 }]));
    assert_eq!(
        log(&store(&home).await, "ScribeAgent", "in/a.md").await[0].author.node.as_deref(),
        Some("Scribe")
    );
}

#[test]
fn a_request_for_files_waits_for_a_person() {
    let home = TestHome::new();
    home.write("books_agent.py", writer("Books"));
    let host = home.up();
    let ask = || {
        host.output(
            "Books",
            &json!({ "code": "result = json.dumps(request_files('Your list?', ['*.csv']))" }),
        )
    };
    assert_eq!(ask(), r#"{"cancelled": true}"#);
    assert_eq!(host.get("/workspace-requests").status, 403);
    let token = fs::read_to_string(home.root().join("run/owner.token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let requests =
        |method: &str, path: &str| host.send(method, path, &[("Authorization", &bearer)], b"").json();
    let pending = requests("GET", "/workspace-requests");
    assert_eq!(pending["requests"][0]["prompt"], "Your list?");
    assert_eq!(pending["requests"][0]["app"], "books_agent.py");
    let id = pending["requests"][0]["id"].as_str().unwrap();
    assert_eq!(requests("DELETE", &format!("/workspace-requests/{id}"))["dismissed"], id);
    assert_eq!(requests("DELETE", &format!("/workspace-requests/{id}"))["reason"], "unknown_file_request");
    assert_eq!(ask(), r#"{"cancelled": true}"#);
    fs::write(folder(&home, "books_agent").join("list.csv"), "1").unwrap();
    assert_eq!(ask(), r#"{"names": ["list.csv"]}"#);
    assert_eq!(requests("GET", "/workspace-requests")["requests"], json!([]));
}
