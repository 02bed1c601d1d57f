//! Rights: agents written as the real registry's are work after the one grant that their refusal named; grants last as
//! long as was said; nothing that is wrong is ever taken for a yes.

mod audit; // the record of every decision
mod bad_input; // policies and stores that cannot be used
mod grants; // for how long, and who notices
mod policy; // operators' rules, and sandboxes with less

use roost_tests::{Ran, TestHome, WebServer, find_on_path, in_shell, python_agent, repository_root};
use serde_json::Value;
use std::fs;

/// What an agent that reads a variable finds there.
const ONE_KEY: (&str, &str) = ("ONE_KEY", "value-of-one");

/// A home in whose environment the variable is, and an agent that reads it.
fn keys_home() -> TestHome {
    let home = TestHome::new().with_variable(ONE_KEY.0, ONE_KEY.1);
    home.write("keys_agent.py", keys_agent());
    home
}

fn keys_agent() -> String {
    python_agent("Keys", "return os.environ.get('ONE_KEY', 'nothing')")
}

/// What the agent of `keys_home` answers.
#[track_caller]
fn keys(home: &TestHome) -> String {
    home.roost(&["run", "agents/keys_agent.py"]).text().to_owned()
}

#[track_caller]
fn done(ran: &Ran) {
    assert_eq!(ran.status, 0, "{ran:?}");
}

/// The reason a command fails with.
#[track_caller]
fn reason(home: &TestHome, arguments: &[&str]) -> String {
    let document = home.json(arguments);
    document["error"]["reason"]
        .as_str()
        .unwrap_or_else(|| panic!("{arguments:?} works: {document}"))
        .to_owned()
}

/// Every command that one run says would help, each once.
fn commands_named(outcome: &Value) -> Vec<String> {
    let refused = outcome["receipt"]["refused"].as_array().cloned().unwrap_or_default();
    let named = refused.iter().filter(|refusal| !refusal["right"].is_null()).map(|refusal| &refusal["next"]);
    let failed = outcome["error"].is_object().then_some(&outcome["error"]["next"]);
    let mut commands: Vec<String> =
        named.chain(failed).filter_map(|next| next.as_str().map(str::to_owned)).collect();
    commands.sort();
    commands.dedup();
    commands
}

fn works(outcome: &Value) -> bool {
    let output = outcome["output"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    outcome["error"].is_null() && output.is_some_and(|output| output["status"] == "success")
}

/// Puts a fixture into the agents folder, with its address on this server.
fn put_fixture(home: &TestHome, file: &str, server: &WebServer) {
    let source = fs::read_to_string(repository_root().join("tests/fixtures/registry").join(file)).unwrap();
    home.write(file, source.replace(":8123", &format!(":{}", server.port())));
}

/// Without the grant it does not work and names one command; that, pasted into a shell, is enough.
#[track_caller]
fn check(file: &str, arguments: &[&str], grant: &str) {
    let (home, server) = (TestHome::new().with_variable("DEMO_API_KEY", "abcdef"), WebServer::new());
    put_fixture(&home, file, &server);
    fs::create_dir_all(home.outside().join("Documents")).unwrap();
    home.write_outside("Documents/letter.txt", "Dear reader");
    let path = format!("agents/{file}");
    let words: Vec<&str> = ["run", &path].into_iter().chain(arguments.iter().copied()).collect();
    let before = home.json(&words);
    assert!(!works(&before), "{file} works without a grant: {before}");
    let commands = commands_named(&before);
    let grant = grant.replace("PORT", &server.port().to_string());
    assert_eq!(commands, [format!("roost grant {file} {grant}")], "{before}");

    // Another process explains the call with the same command.
    let call = before["receipt"]["call"].as_str().unwrap_or_else(|| panic!("no receipt: {before}"));
    let why = home.json(&["why", call]);
    assert_eq!(
        (&why["reason"], &why["next"]),
        (&"right_missing".into(), &commands[0].clone().into()),
        "{why}"
    );

    done(&in_shell(&home, &commands[0]));
    let after = home.json(&words);
    assert!(works(&after), "{file} does not work after `{}`: {after}", commands[0]);
    assert_eq!(commands_named(&after), Vec::<String>::new(), "one grant was not enough: {after}");
}

#[test]
fn an_agent_that_shells_out_works_after_its_grant() {
    check("shell_out_agent.py", &["command=uname -s"], "subprocess");
}

#[test]
fn an_agent_with_a_shell_pipeline_works_after_its_grant() {
    check("shell_pipeline_agent.py", &[], "subprocess");
}

#[test]
fn an_agent_with_popen_works_after_its_grant() {
    check("background_helper_agent.py", &["text=one two two"], "subprocess");
}

#[test]
fn an_agent_that_starts_python_works_after_its_grant() {
    check("python_child_agent.py", &["expression=6 * 7"], "subprocess");
}

#[test]
fn an_agent_with_a_folder_in_the_home_works_after_its_grant() {
    check("home_folder_agent.py", &["action=add", "text=milk"], "'files:write:~/.roost_demo_notes'");
}

#[test]
fn an_agent_that_reads_documents_works_after_its_grant() {
    check("read_documents_agent.py", &["name=letter.txt"], "'files:read:~/Documents'");
}

#[test]
fn an_agent_with_a_key_works_after_its_grant() {
    check("environment_key_agent.py", &[], "env:DEMO_API_KEY");
}

#[test]
fn an_agent_that_calls_out_with_urllib_works_after_its_grant() {
    check("web_call_urllib_agent.py", &[], "network:localhost:PORT");
}

#[test]
fn an_agent_that_calls_out_with_requests_works_after_its_grant() {
    if find_on_path("uv").is_none() {
        return eprintln!("skipped: no uv in PATH");
    }
    check("web_call_requests_agent.py", &[], "network:localhost:PORT");
}

#[test]
fn agents_with_temporary_files_and_caches_need_no_grant() {
    let (home, server) = (TestHome::new(), WebServer::new());
    for file in ["temp_files_agent.py", "figure_cache_agent.py"] {
        put_fixture(&home, file, &server);
        for _ in 0..2 {
            let outcome = home.json(&["run", &format!("agents/{file}")]);
            assert!(works(&outcome), "{file}: {outcome}");
            assert_eq!(outcome["receipt"]["refused"], serde_json::json!([]), "{file}");
        }
    }
}

#[test]
fn an_address_that_only_the_arguments_name_is_granted_by_the_command_the_refusal_names() {
    let (home, server) = (TestHome::new(), WebServer::new());
    put_fixture(&home, "web_call_urllib_agent.py", &WebServer::new());
    let host = home.up();
    let arguments = serde_json::json!({ "url": server.url("127.0.0.1", "/status") });
    let before = host.call("WebStatusUrllib", &arguments).json();
    assert!(!works(&before), "{before}");
    let commands = commands_named(&before);
    let expected = format!("roost grant web_call_urllib_agent.py network:127.0.0.1:{}", server.port());
    assert_eq!(commands, [expected], "{before}");
    done(&in_shell(&home, &commands[0]));
    let after = host.call("WebStatusUrllib", &arguments).json();
    assert!(works(&after), "{after}");
}

#[test]
fn a_refusal_inside_a_folder_of_its_own_names_no_place_outside() {
    let home = TestHome::new();
    let body = "import shutil, tempfile\nfolder = tempfile.mkdtemp()\n\
        open(os.path.join(folder, 'file'), 'w').close()\nshutil.rmtree(folder)\nreturn 'tidy'";
    home.write("tidy_agent.py", python_agent("Tidy", body));
    let outcome = home.json(&["run", "agents/tidy_agent.py"]);
    assert_eq!(outcome["output"], "tidy", "{outcome}");
    assert_eq!(outcome["receipt"]["refused"], serde_json::json!([]), "removing its own files was allowed");
}

#[test]
fn a_home_below_the_folder_of_all_temporary_files_is_told_what_is_refused_as_any_other() {
    let home = TestHome::new();
    let below = tempfile::tempdir_in("/tmp").unwrap();
    let agents = below.path().join("agents");
    fs::create_dir(&agents).unwrap();
    let (agent, secret) = (agents.join("looking_agent.py"), below.path().join("secret"));
    fs::write(&secret, "hello").unwrap();
    let look = format!("return open({:?}).read()", secret.display().to_string());
    fs::write(&agent, python_agent("Looking", &look)).unwrap();
    let [agent, below] = [agent.as_path(), below.path()].map(|path| path.display().to_string());
    let outcome = home.json(&["run", &agent, "--home", &below]);
    assert_eq!(outcome["error"]["reason"], "right_missing", "{outcome}");
    assert!(commands_named(&outcome)[0].starts_with("roost grant looking_agent.py"), "{outcome}");
    // What is its own is open to it there, too.
    let own =
        "import tempfile\nwith tempfile.NamedTemporaryFile() as file:\n    return str(file.write(b'x'))";
    fs::write(&agent, python_agent("Looking", own)).unwrap();
    assert_eq!(home.json(&["run", &agent, "--home", &below])["output"], "1");
}
