//! Many agent files of every shape that exists in the wild or breaks something, the same ones every time.

use crate::sources::{python_agent, python_file, typescript_agent};

/// One generated file.
#[derive(Debug, Clone)]
pub struct GeneratedAgent {
    /// Its name in the agents folder.
    pub file_name: String,
    /// Its content.
    pub source: String,
    /// The agent's name, or what a file that gives none is listed as.
    pub name: String,
    /// What happens to it.
    pub expected: Expected,
}

/// What happens to a generated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// A call without arguments returns this.
    Answers(String),
    /// It loads, and a call without arguments fails with this reason.
    CallFails(&'static str),
    /// It does not load, for this reason.
    IsRefused(&'static str),
}

use Expected::{Answers, CallFails, IsRefused};

/// `python` files and `typescript` files; the shapes take turns.
#[must_use]
pub fn generated_agents(python: usize, typescript: usize) -> Vec<GeneratedAgent> {
    let python_files = (0..python).map(|number| {
        let (file_name, name) = (format!("gen_{number:03}_agent.py"), format!("Gen{number:03}"));
        let (source, expected) = PYTHON[number % PYTHON.len()](&name);
        finished(file_name, name, source, expected)
    });
    let typescript_files = (0..typescript).map(|number| {
        let (name, shape) = (format!("Type{number:03}"), TYPESCRIPT[number % TYPESCRIPT.len()]);
        let (ending, source, expected) = shape(&name);
        finished(format!("{name}{ending}"), name, source, expected)
    });
    python_files.chain(typescript_files).collect()
}

/// Files that give no agent are listed by their stem, classes that give none by their class.
fn finished(file_name: String, name: String, source: String, expected: Expected) -> GeneratedAgent {
    let stem = file_name.rsplit_once('.').map(|(stem, _)| stem.to_owned()).unwrap_or_default();
    let name = match expected {
        IsRefused(
            "constructor_failed" | "invalid_metadata" | "metadata_not_json" | "invalid_schema"
            | "invalid_name",
        ) => {
            format!("{name}Agent")
        }
        IsRefused("shadowed") => "Gen000".to_owned(),
        IsRefused(_) => stem,
        _ => name,
    };
    GeneratedAgent { file_name, source, name, expected }
}

fn says(name: &str) -> Expected {
    Answers(format!("I am {name}"))
}

type PythonShape = fn(&str) -> (String, Expected);
type TypeScriptShape = fn(&str) -> (&'static str, String, Expected);

const PYTHON: &[PythonShape] = &[
    |name| (python_agent(name, &format!("return 'I am {name}'")), says(name)),
    |name| (imported_by(name, "from basic_agent import BasicAgent"), says(name)),
    |name| (imported_by(name, "from openrappter.agents.basic_agent import BasicAgent"), says(name)),
    |name| {
        let either = "try:\n    from openrappter.nowhere import BasicAgent\nexcept ImportError:\n    from basic_agent import BasicAgent";
        (imported_by(name, either), says(name))
    },
    |name| {
        let source = format!(
            "class {name}:\n    name = '{name}'\n    metadata = {{'name': '{name}'}}\n    def perform(self, **kwargs): return 'I am {name}'\n"
        );
        (source, says(name))
    },
    |name| {
        let source = format!(
            "from agents.basic_agent import BasicAgent\nclass {name}Agent(BasicAgent):\n    def __init__(self):\n        self.name = '{name}'\n        self.metadata = {{'name': '{name}'}}\n    def perform(self, **kwargs): return 'I am {name}'\n"
        );
        (source, says(name))
    },
    |name| {
        (with_perform(name, &format!("async def perform(self, **kwargs): return 'I am {name}'")), says(name))
    },
    |name| (python_agent(name, "return {'a': 1, 'b': None}"), Answers("{'a': 1, 'b': None}".to_owned())),
    |name| (python_agent(name, "return None"), Answers("None".to_owned())),
    |name| (python_agent(name, "return 42"), Answers("42".to_owned())),
    |name| {
        let top = "from agents.gen_000_agent import Gen000Agent";
        (python_file(name, top, "return Gen000Agent().perform()"), says("Gen000"))
    },
    |name| {
        let top = "sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))";
        (python_file(name, top, "return 'I am ' + self.name"), says(name))
    },
    |name| {
        let top = "class Other:\n    perform = 'not a method, and no agent without a name'\n    name = 'two words'\n    metadata = {}\n";
        (python_file(name, top, "return 'I am ' + self.name"), says(name))
    },
    |name| {
        let top =
            "from dataclasses import dataclass\n@dataclass\nclass Point:\n    x: 'int'\n    y: int = 2\n";
        let source = python_file(name, top, "return str(Point(1))");
        (format!("from __future__ import annotations\n{source}"), Answers("Point(x=1, y=2)".to_owned()))
    },
    |name| (with_perform(name, "def perform(self, city): return city"), CallFails("bad_arguments")),
    |name| {
        (
            python_file(
                name,
                "print('noise ' * 1000)\nprint('more', file=sys.stderr)",
                "return 'I am ' + self.name",
            ),
            says(name),
        )
    },
    |name| {
        let source = python_agent(name, "return 'I am ' + self.name");
        (format!("{source}\nif __name__ == '__main__':\n    sys.exit(1)\n"), says(name))
    },
    |name| (python_agent(name, "return 'Grüße, 世界 🌍'"), Answers("Grüße, 世界 🌍".to_owned())),
    |name| {
        let top = "try:\n    from utils.bond import nothing\nexcept ImportError:\n    nothing = None";
        (python_file(name, top, "return str(nothing)"), Answers("None".to_owned()))
    },
    |name| (python_agent(name, "raise ValueError('no')"), CallFails("agent_raised")),
    |name| (python_agent(name, "sys.exit(2)"), CallFails("agent_exited")),
    |name| (python_agent(name, "os._exit(2)"), CallFails("agent_exited")),
    |name| (python_agent(name, "return (1"), IsRefused("syntax_error")),
    |name| (python_file(name, "raise RuntimeError('no')", "return ''"), IsRefused("import_failed")),
    |name| (python_file(name, "sys.exit(0)", "return ''"), IsRefused("exit_at_import")),
    |name| (python_file(name, "import nowhere_to_be_found", "return ''"), IsRefused("missing_module")),
    |name| (with_metadata(name, "'text'"), IsRefused("invalid_metadata")),
    |name| (with_metadata(name, "{'description': object()}"), IsRefused("metadata_not_json")),
    |name| (with_metadata(name, "{'parameters': {'type': 'array'}}"), IsRefused("invalid_schema")),
    |name| (with_metadata(name, "{}['no']"), IsRefused("constructor_failed")),
    |name| {
        (
            with_metadata(name, "{}").replace(&format!("self.name = '{name}'"), "self.name = 'two words'"),
            IsRefused("invalid_name"),
        )
    },
    |_| (python_agent("Gen000", "return 'never called'"), IsRefused("shadowed")),
    |_| ("VALUE = 1\n".to_owned(), IsRefused("no_agent")),
];

const TYPESCRIPT: &[TypeScriptShape] = &[
    |name| ("Agent.ts", typescript_agent(name, "", "return `I am ${this.name}`;"), says(name)),
    |name| {
        let source = format!(
            "export function createAgent(BasicAgent) {{\n  return class extends BasicAgent {{\n    constructor() {{ super('{name}', {{ name: '{name}' }}); }}\n    perform() {{ return 'I am {name}'; }}\n  }};\n}}\n"
        );
        ("_agent.js", source, says(name))
    },
    |name| {
        let source = format!(
            "const {{ BasicAgent }} = require('./BasicAgent.js');\nmodule.exports = class {name}Agent extends BasicAgent {{\n  constructor() {{ super('{name}', {{ name: '{name}' }}); }}\n  perform() {{ return 'I am {name}'; }}\n}};\n"
        );
        ("Agent.js", source, says(name))
    },
    |name| {
        (
            "Agent.ts",
            typescript_agent(name, "enum Size { Small = 1 }", "return { size: Size.Small };"),
            Answers(r#"{"size":1}"#.to_owned()),
        )
    },
    |name| ("Agent.ts", typescript_agent(name, "", "throw new Error('no');"), CallFails("agent_raised")),
    |name| ("Agent.ts", typescript_agent(name, "const broken = (;", "return '';"), IsRefused("syntax_error")),
    |name| {
        (
            "Agent.ts",
            typescript_agent(name, "console.log('noise');", "return `I am ${this.name}`;"),
            says(name),
        )
    },
];

fn imported_by(name: &str, import: &str) -> String {
    python_agent(name, &format!("return 'I am {name}'"))
        .replace("from agents.basic_agent import BasicAgent", import)
}

fn with_perform(name: &str, perform: &str) -> String {
    python_agent(name, "pass").replace("def perform(self, **kwargs):\n        pass", perform)
}

fn with_metadata(name: &str, metadata: &str) -> String {
    format!(
        "class {name}Agent:\n    def __init__(self):\n        self.name = '{name}'\n        self.metadata = {metadata}\n    def perform(self, **kwargs): return ''\n"
    )
}
