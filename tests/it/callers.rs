//! Who is calling: what the host says of the user reaches every engine, and nothing that a model guessed outlives it.

use futures::future::BoxFuture;
use roost_protocol::{
    Dependencies, Digest, Failure, FileKind, HostCall, HostPort, Language, Level, Limits, NetworkMode, Reason,
};
use roost_runtime::{
    Afterwards, Agent, Answer, Call, Confinement, Done, HostCalls, PoolSettings, Program, Runtime,
    RuntimeSettings, Scratch, Surface, Verdict,
};
use roost_tests::{Engine, python_agent, typescript_agent};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, fs, net::IpAddr, path::Path, sync::Arc};

/// Nobody asks anything of the host here.
struct Silent;

impl HostCalls for Silent {
    fn answer<'a>(&'a self, _: &'a Program, _: HostCall) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async { Err(Failure::plain(Reason::UnknownHostCall)) })
    }

    fn may_reach(&self, _: &Program, _: &HostPort) -> Verdict {
        Verdict::Refused { next: String::new() }
    }

    fn may_reach_private(&self, _: &Program, _: IpAddr, _: u16) -> Verdict {
        Verdict::Refused { next: String::new() }
    }
}

fn agent(folder: &Path, engine: Engine, search_path: &str, source: &str) -> Arc<dyn Agent> {
    let surface = Surface { search_path: std::env::split_paths(search_path).collect(), ..Surface::default() };
    let settings = RuntimeSettings {
        cache: folder.join("cache"),
        logs: folder.join("logs"),
        data: folder.join("data"),
        clear: std::sync::Arc::new(|_: &[u8]| None),
        surface,
        pool: PoolSettings::default(),
        left_out: Vec::new(),
    };
    let scratch = Scratch::below(&folder.join("scratch"));
    scratch.folders().into_iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
    let (language, ending) = match engine {
        Engine::Python => (Language::Python, "py"),
        Engine::Node | Engine::Deno => (Language::TypeScript, "ts"),
    };
    let file = folder.join(format!("test_agent.{ending}"));
    fs::write(&file, source).unwrap();
    Runtime::new(settings, Arc::new(Silent)).unwrap().agent(Program {
        kind: FileKind::Agent,
        own: "test_agent".to_owned(),
        folder: folder.to_owned(),
        language,
        source: source.as_bytes().into(),
        digest: Digest::of(source.as_bytes()),
        dependencies: Dependencies::default(),
        limits: Limits::default(),
        environment: BTreeMap::new(),
        working_directory: folder.to_owned(),
        confinement: Confinement {
            readable: vec![file.clone()],
            writable: vec![folder.to_owned()],
            granted: Vec::new(),
            closed: Vec::new(),
            own_folders: 1,
            scratch,
            may_start_programs: false,
            network: NetworkMode::None,
            secrets: Vec::new(),
            required: Level::ProcessOnly,
        },
        withheld: Vec::new(),
        watched: Vec::new(),
        file,
    })
}

fn source(engine: Engine) -> String {
    if engine == Engine::Python {
        let own = "return json.dumps(kwargs, sort_keys=True)\n\
                   \ndef system_context(self):\n    return 'for ' + self.context.get('user_guid', 'nobody')";
        python_agent("Test", own).replace("        def system_context", "    def system_context")
    } else {
        let own = "return JSON.stringify(kwargs);\n}\n\nsystemContext() {\n  return 'for ' + (this.context.user_guid ?? 'nobody');";
        typescript_agent("Test", "", own)
    }
}

async fn called(agent: &dyn Agent, arguments: Value, user_guid: Option<&str>) -> Value {
    let arguments: Map<String, Value> = arguments.as_object().unwrap().clone();
    let call = Call { agent: "Test", arguments: &arguments, context: "{}", user_guid, depth: 0 };
    match agent.perform(call).await {
        Done::Asked { result, .. } => serde_json::from_str(&result.unwrap().output).unwrap(),
        Done::NotStarted(failed) => panic!("{}", failed.failure),
    }
}

#[tokio::test]
async fn the_caller_reaches_every_engine_in_calls_and_in_the_system_prompt() {
    for engine in Engine::ALL {
        let Some(search_path) = engine.search_path() else { continue };
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let agent = agent(folder.path(), engine, &search_path, &source(engine));
        let loaded = agent.describe(Afterwards::Keep).await.unwrap();
        assert!(loaded.agents[0].has_system_context, "{engine:?}: {loaded:?}");
        let guessed = json!({ "user_guid": "somebody-else", "x": 1 });
        let given = json!({ "user_guid": "ada-1", "x": 1 });
        assert_eq!(called(&*agent, guessed.clone(), Some("ada-1")).await, given, "{engine:?}");
        assert_eq!(called(&*agent, json!({ "x": 1 }), Some("ada-1")).await, given, "{engine:?}");
        assert_eq!(called(&*agent, guessed.clone(), None).await, guessed, "{engine:?}");
        for (context, text) in [
            (r#"{"user_guid":"ada-1"}"#, "for ada-1"),
            ("{}", "for nobody"),
            (r#"{"user_guid":"b"}"#, "for b"),
        ] {
            assert_eq!(agent.system_context("Test", context).await.unwrap(), text, "{engine:?}");
        }
    }
}
