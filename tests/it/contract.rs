//! The contract of Python agents: what files written for the RAPP kernels expect to find.

use roost_tests::{TestHome, python_agent, python_file};
use serde_json::{Value, json};

/// The output of an agent whose `perform` has this body.
#[track_caller]
fn output(top: &str, perform: &str) -> String {
    let home = TestHome::new();
    let path = home.write("test_agent.py", python_file("Test", top, perform));
    home.roost(&["run", &path.display().to_string()]).text().to_owned()
}

/// The failure of such an agent.
#[track_caller]
fn failure(top: &str, perform: &str) -> Value {
    let home = TestHome::new();
    let path = home.write("test_agent.py", python_file("Test", top, perform));
    let ran = home.roost(&["run", &path.display().to_string(), "--json"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    ran.json()["error"].clone()
}

#[test]
fn the_base_class_is_one_object_behind_three_paths() {
    let top = "from basic_agent import BasicAgent as A\nfrom openrappter.agents.basic_agent import BasicAgent as B\nimport agents.basic_agent as c";
    assert_eq!(output(top, "return str(BasicAgent is A is B is c.BasicAgent)"), "True");
}

#[test]
fn every_module_of_the_kernels_can_be_imported() {
    let top = "from utils.storage_factory import get_storage_manager\nfrom utils.azure_file_storage import AzureFileStorageManager\n\
               from utils.dynamics_storage import DynamicsStorageManager\nfrom utils.llm import call_llm\nfrom utils.workspace import workspace_dir\n\
               import local_storage, brainstem, function_app";
    let perform = "main = sys.modules['__main__']\nreturn str(isinstance(get_storage_manager(), AzureFileStorageManager) and callable(main.call_copilot) and 'brainstem' in sys.modules and function_app.app is not None)";
    assert_eq!(output(top, perform), "True");
}

#[test]
fn whatever_perform_returns_becomes_text() {
    for (expression, text) in [
        ("'text'", "text"),
        ("{'a': None, 'b': True}", "{'a': None, 'b': True}"),
        ("None", "None"),
        ("7", "7"),
        ("1.5", "1.5"),
        ("['ü']", "['ü']"),
        ("b'x'", "b'x'"),
    ] {
        assert_eq!(output("", &format!("return {expression}")), text);
    }
}

#[test]
fn a_coroutine_is_awaited() {
    let home = TestHome::new();
    let source = python_file("Test", "import asyncio", "await asyncio.sleep(0)\nreturn 'awaited'")
        .replace("def perform", "async def perform");
    home.write("test_agent.py", source);
    let host = home.up();
    assert_eq!(host.output("Test", &json!({})), "awaited");
    assert_eq!(host.output("Test", &json!({})), "awaited");
}

#[test]
fn a_required_positional_parameter_is_named() {
    let home = TestHome::new();
    let source = python_agent("Test", "return city.upper()").replace("self, **kwargs", "self, city");
    home.write("test_agent.py", source);
    let ran = home.roost(&["call", "Test", "--json"]);
    let error = &ran.json()["error"];
    assert_eq!((ran.status, &error["reason"]), (1, &json!("bad_arguments")), "{error}");
    assert!(error["message"].as_str().unwrap().contains("city"), "{error}");
    assert_eq!(home.roost(&["call", "Test", "city=Paris"]).text(), "PARIS");
    assert_eq!(home.json(&["call", "Test", "city=Paris", "nonsense=1"])["error"]["reason"], "bad_arguments");
}

#[test]
fn a_type_error_inside_perform_is_the_agents_own() {
    assert_eq!(failure("", "return 'a' + 1")["reason"], "agent_raised");
    assert_eq!(failure("def f(a): pass", "return f()")["reason"], "agent_raised");
}

#[test]
fn several_classes_of_a_file_are_several_agents() {
    let home = TestHome::new();
    let path = home.write(
        "pair_agent.py",
        format!(
            "{}\n{}\nclass _Hidden(BasicAgent): pass\n",
            python_agent("One", "return '1'"),
            python_agent("Two", "return '2'")
        ),
    );
    let listing = home.listing();
    let names: Vec<&str> = listing.iter().filter_map(|agent| agent["name"].as_str()).collect();
    assert_eq!(names, ["One", "Two"]);
    assert_eq!(home.roost(&["call", "Two"]).text(), "2");
    let path = path.display().to_string();
    let ran = home.roost(&["run", &path, "--json"]);
    assert_eq!((ran.status, &ran.json()["error"]["reason"]), (2, &json!("wrong_use")));
    assert_eq!(home.roost(&["run", &path, "--agent", "One"]).text(), "1");
}

#[test]
fn a_class_without_the_base_class_or_its_constructor_is_an_agent() {
    let home = TestHome::new();
    home.write(
        "bare_agent.py",
        "class Bare:\n    name = 'Bare'\n    metadata = {}\n    def perform(self, **kwargs): return 'bare'\n",
    );
    home.write(
        "silent_agent.py",
        "from basic_agent import BasicAgent\nclass SilentAgent(BasicAgent):\n    def __init__(self):\n        self.name = 'Silent'\n        self.metadata = {'name': 'Silent'}\n    def perform(self, **kwargs): return str(self.context.temporal is not None)\n",
    );
    home.write(
        "slots_agent.py",
        "class Slots:\n    __slots__ = ('name', 'metadata')\n    def __init__(self): self.name, self.metadata = 'Slots', {}\n    def perform(self, **kwargs): return 'slots'\n",
    );
    let host = home.up();
    for (name, text) in [("Bare", "bare"), ("Silent", "True"), ("Slots", "slots")] {
        assert_eq!(host.output(name, &json!({})), text);
    }
}

#[test]
fn imported_classes_do_not_become_agents_of_the_importing_file() {
    let home = TestHome::new();
    home.write("first_agent.py", python_agent("First", "return 'first'"));
    home.write(
        "second_agent.py",
        python_file(
            "Second",
            "from agents.first_agent import FirstAgent",
            "return 'via ' + FirstAgent().perform()",
        ),
    );
    let listing = home.listing();
    let pairs: Vec<(&Value, &Value)> =
        listing.iter().map(|agent| (&agent["name"], &agent["state"])).collect();
    assert_eq!(pairs, [(&json!("First"), &json!("ready")), (&json!("Second"), &json!("ready"))]);
    assert_eq!(home.roost(&["call", "Second"]).text(), "via first");
}

/// What an agent answers once it was given, one after the other, what its refusals name. Never more than a folder: a
/// right to all of the home would be one to the records of what was granted.
#[track_caller]
fn answer_once_granted(home: &TestHome, file: &str) -> String {
    const GRANTS_MAX: usize = 4;
    let path = home.agents().join(file).display().to_string();
    for _ in 0..=GRANTS_MAX {
        let outcome = home.json(&["run", &path]);
        if outcome["error"].is_null() {
            return outcome["output"].as_str().unwrap().to_owned();
        }
        let next = outcome["error"]["next"].as_str().unwrap();
        let words: Vec<&str> = next.split(' ').map(|word| word.trim_matches('\'')).collect();
        assert_eq!(words[..3], ["roost", "grant", file], "{}", outcome["error"]);
        let place = words[3].rsplit(':').next().unwrap();
        assert!(!home.root().starts_with(place), "{}", outcome["error"]);
        let granted = home.roost(&words[1..]);
        assert_eq!(granted.status, 0, "{next}: {granted:?}");
    }
    panic!("{file} was given {GRANTS_MAX} rights and still wants more");
}

#[test]
fn files_beside_an_agent_are_found_from_its_own_path() {
    let home = TestHome::new();
    std::fs::write(home.agents().join("words.json"), "{\"a\": \"beside\"}").unwrap();
    let perform = "return json.load(open(os.path.join(os.path.dirname(__file__), 'words.json')))['a'] + ' ' + os.path.basename(__file__)";
    home.write("reader_agent.py", python_agent("Reader", perform));
    assert_eq!(answer_once_granted(&home, "reader_agent.py"), "beside reader_agent.py");
}

#[test]
fn a_module_beside_an_agent_is_found_from_its_own_path() {
    let home = TestHome::new();
    std::fs::write(home.agents().join("plain_module.py"), "VALUE = 'sibling'\n").unwrap();
    let top = "sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))\nimport plain_module";
    home.write("importer_agent.py", python_file("Importer", top, "return plain_module.VALUE"));
    assert_eq!(answer_once_granted(&home, "importer_agent.py"), "sibling");
}

#[test]
fn dataclasses_pickling_and_inspection_know_the_module() {
    let top = "import pickle, inspect, enum\nfrom dataclasses import dataclass, field\n@dataclass\nclass Point:\n    x: int\n    y: 'list[int]' = field(default_factory=list)\nclass Colour(enum.Enum):\n    RED = 1";
    let perform = "copy = pickle.loads(pickle.dumps((Point(1, [2]), Colour.RED)))\nreturn f'{copy[0]} {copy[1].name} {len(inspect.getsource(Point)) > 0}'";
    let home = TestHome::new();
    let source = format!("from __future__ import annotations\n{}", python_file("Test", top, perform));
    home.write("test_agent.py", source);
    assert_eq!(home.roost(&["call", "Test"]).text(), "Point(x=1, y=[2]) RED True");
}

#[test]
fn the_part_below_main_does_not_run_and_prints_at_the_top_do_no_harm() {
    let home = TestHome::new();
    let source = python_file(
        "Test",
        "print('{\"op\": \"loaded\"}')\nsys.stdout.write('no newline')",
        "print('during'); return __name__ != '__main__' and 'fine'",
    );
    home.write(
        "test_agent.py",
        format!("{source}\nif __name__ == '__main__':\n    raise SystemExit('must not run')\n"),
    );
    let ran = home.roost(&["call", "Test"]);
    assert_eq!((ran.text(), ran.stderr.as_str()), ("fine", ""));
    let log = std::fs::read_to_string(home.root().join("logs/test_agent.py.log")).unwrap();
    assert!(log.contains("no newline") && log.contains("during"), "{log}");
}

#[test]
fn own_system_context_and_to_tool_are_honoured_while_loading() {
    let home = TestHome::new();
    let extra = "    def system_context(self): return 'remember'\n    def to_tool(self): return {'type': 'function', 'function': {'name': 'Test'}}\n";
    home.write("test_agent.py", format!("{}{extra}", python_agent("Test", "return ''")));
    home.write(
        "bad_agent.py",
        format!("{}    def to_tool(self): return 'text'\n", python_agent("Bad", "return ''")),
    );
    let listing = home.listing();
    assert_eq!(listing[0]["reason"]["reason"], "invalid_metadata");
    assert_eq!(listing[1]["state"], "ready");
    let known = std::fs::read_to_string(home.root().join("cache/descriptions.json")).unwrap();
    assert!(known.contains("\"has_system_context\":true") && known.contains("\"tool\":{"), "{known}");
}

#[test]
fn model_calls_without_a_model_raise_a_clear_error() {
    for (top, perform) in [
        ("from utils.llm import call_llm", "return call_llm([{'role': 'user', 'content': 'hi'}])"),
        (
            "from brainstem import call_copilot",
            "reply = call_copilot([{'role': 'user', 'content': 'hi'}])\nreturn reply['choices'][0]",
        ),
        (
            "from brainstem import call_copilot",
            "reply, model = call_copilot([{'role': 'user', 'content': 'hi'}])\nreturn model",
        ),
        ("", "from function_app import call_copilot\nreturn call_copilot([])"),
        ("", "return sys.modules['__main__'].call_copilot([])"),
    ] {
        let error = failure(top, perform);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("model"), "{error}");
    }
    let caught = "try:\n    return call_llm('hi')\nexcept Exception as error:\n    return 'without a model'";
    assert_eq!(output("from utils.llm import call_llm", caught), "without a model");
}

#[test]
fn storage_takes_both_families_of_signatures() {
    let top = "from utils.storage_factory import get_storage_manager";
    let perform = "s = get_storage_manager()\n\
        s.write_file('notes/a.txt', 'one')\ns.write_file('notes', 'b.txt', 'two')\n\
        s.write_file('notes', 'c.png', b'\\x89PNG')\n\
        s.ensure_directory_exists('empty')\n\
        names = s.list_files('notes')\n\
        s.set_memory_context('anna')\ns.write_json({'k': {'message': 'hi'}})\n\
        again = get_storage_manager(); again.set_memory_context('anna')\n\
        deleted = s.delete_file('notes', 'a.txt')\n\
        return json.dumps([s.read_file('notes/b.txt'), s.read_file('notes', 'b.txt'), [n.name for n in names], list(names), \
        s.read_file('notes', 'c.png') == b'\\x89PNG', s.file_exists('notes/a.txt'), deleted, s.read_file('nowhere'), again.read_json(), \
        s.get_file_properties('notes', 'b.txt')['size'], s.current_memory_path, s.set_memory_context('../../x')])";
    let home = TestHome::new();
    home.write("test_agent.py", python_file("Test", top, perform));
    let answer: Value = serde_json::from_str(&answer_once_granted(&home, "test_agent.py")).unwrap();
    let names = json!(["a.txt", "b.txt", "c.png"]);
    let expected = json!([
        "two", "two", names, names, true, false, true, null, { "k": { "message": "hi" } }, 3, "memory/anna", false
    ]);
    assert_eq!(answer, expected);
    let data = home.root().join(".brainstem_data");
    assert!(data.join("memory/anna/user_memory.json").is_file() && data.join("notes/b.txt").is_file());
}

#[test]
fn a_workspace_is_a_folder_of_the_agents_own() {
    let home = TestHome::new();
    let top = "from utils.workspace import workspace_dir";
    for name in ["one", "two"] {
        let agent = python_file(
            name,
            top,
            "folder = workspace_dir()\n(folder / 'x').write_text('here')\nreturn str(folder)",
        );
        home.write(&format!("{name}_agent.py"), agent);
        let folder = home.root().join(".brainstem_data/workspaces").join(format!("{name}_agent"));
        assert_eq!(home.roost(&["call", name]).text(), folder.display().to_string());
        assert!(folder.join("x").is_file());
    }
}

#[test]
fn an_agent_sees_only_the_environment_it_is_given() {
    let home = TestHome::new().with_variable("SECRET_KEY", "s3cret").with_variable("WEATHER_KEY", "given");
    home.write("test_agent.py", python_agent("Test", "return json.dumps(dict(os.environ))"));
    home.settings(
        "[agents.\"test_agent.py\"]\nenv = [\"WEATHER_KEY\"]\n[agents.\"test_agent.py\".limits]\nwall_seconds = 7\n",
    );
    let outcome = home.json(&["call", "Test"]);
    let seen: Value = serde_json::from_str(outcome["output"].as_str().unwrap()).unwrap();
    assert_eq!((&seen["WEATHER_KEY"], &seen["SECRET_KEY"]), (&json!("given"), &Value::Null));
    assert_eq!(seen["ROOST_HOME"], home.root().display().to_string());
    assert_eq!(outcome["receipt"]["limits"]["wall_seconds"], 7);
}
