//! What a program is given of the vault, and when it is prepared again. No worker is started here.

use super::{Runnable, Source};
use crate::{Home, Host, HostSettings, ModeSettings, Policy, SandboxSettings, SecretValue, Variables};
use roost_apps::AgentFile;
use roost_protocol::{Lasting, Limits, Right, VariableName};
use roost_runtime::{PoolSettings, Surface};
use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

const AGENT: &str = r#"// /// script
// dependencies = []
// [tool.roost]
// rights = ["env:SEEN", "env:PLAIN", "env:NOT_GIVEN", "secret:USED@api.example.com:authorization"]
// ///
"#;

async fn host(folder: &Path) -> Host {
    let variables = ["SEEN", "PLAIN"].map(|name| (name.to_owned(), format!("variable-{name}")));
    let settings = HostSettings {
        home: Home::new(folder.to_owned(), None),
        surface: Surface::default(),
        pool: PoolSettings::default(),
        environment: BTreeMap::new(),
        working_directory: folder.to_owned(),
        sandbox: SandboxSettings::default(),
        policy: Arc::new(Policy::standard(None)),
        variables: Variables::new(variables.into()),
        limits: Limits::default(),
        agents: BTreeMap::new(),
        models: crate::chat::ModelSettings::default(),
        store: crate::settings::StoreSettings::default(),
        apps: crate::settings::AppSettings::default(),
        catalogs: crate::settings::CatalogSettings::default(),
        tracker: None,
        pinned_agents: Vec::new(),
        modes: ModeSettings::default(),
        native: crate::native::NativePace::default(),
    };
    Host::open(settings).await.unwrap()
}

async fn set(host: &Host, name: &str, value: &str) {
    let value = SecretValue::parse(value.as_bytes()).unwrap();
    host.vault().set(&VariableName::parse(name).unwrap(), &value).await.unwrap();
}

fn secrets(runnable: &Runnable) -> Vec<(&str, &str)> {
    runnable.secrets.iter().map(|one| (one.name.as_str(), one.value.expose())).collect()
}

#[tokio::test]
async fn a_program_knows_the_vaults_values_that_it_sees_or_uses_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let agents = folder.path().join("agents");
    fs::create_dir_all(&agents).unwrap();
    let path = agents.join("a_agent.ts");
    fs::write(&path, AGENT).unwrap();
    let host = host(folder.path()).await;
    let given = ["env:SEEN", "env:PLAIN", "secret:USED@api.example.com:authorization"];
    let given: Vec<Right> = given.iter().map(|text| text.parse().unwrap()).collect();
    host.grant("a_agent.ts", &given, Lasting::Always, "test").await.unwrap();
    for (name, value) in
        [("SEEN", "sealed-seen"), ("USED", "sealed-used"), ("NOT_GIVEN", "x"), ("OTHER", "x")]
    {
        set(&host, name, value).await;
    }

    let file = AgentFile::read(&path).unwrap();
    let workshop = host.inner.workshop();
    let (program, prepared) = workshop.program(Source::from(&file), agents.clone()).await.unwrap();
    assert_eq!(program.environment["SEEN"], "sealed-seen", "the vault comes first");
    assert_eq!(program.environment["PLAIN"], "variable-PLAIN", "then the variables");
    assert!(!program.environment.contains_key("NOT_GIVEN") && !program.environment.contains_key("OTHER"));
    let placeholder = program.environment["USED"].clone();
    assert!(placeholder.starts_with("roost-secret-"), "{placeholder}");
    assert!(!format!("{:?}", prepared.secrets).contains("sealed"), "values do not show themselves");

    let runnable = workshop.prepare(Source::from(&file), agents.clone()).await.unwrap();
    assert_eq!(secrets(&runnable), [("SEEN", "sealed-seen"), ("USED", "sealed-used")]);

    // Workers are told apart by the environment: another value is another placeholder, the same value the same.
    let placeholder_now = || async {
        let (program, _) = workshop.program(Source::from(&file), agents.clone()).await.unwrap();
        program.environment["USED"].clone()
    };
    assert_eq!(placeholder_now().await, placeholder);
    set(&host, "USED", "sealed-anew").await;
    assert_ne!(placeholder_now().await, placeholder);
    set(&host, "USED", "sealed-used").await;
    assert_eq!(placeholder_now().await, placeholder);
}

#[tokio::test]
async fn a_program_is_prepared_again_when_a_secret_of_its_own_changed() {
    let folder = tempfile::tempdir().unwrap();
    let agents = folder.path().join("agents");
    fs::create_dir_all(&agents).unwrap();
    let path = agents.join("a_agent.ts");
    fs::write(&path, AGENT).unwrap();
    let host = host(folder.path()).await;
    host.grant("a_agent.ts", &["env:SEEN".parse().unwrap()], Lasting::Always, "test").await.unwrap();
    let file = AgentFile::read(&path).unwrap();
    let (workshop, runnables) = (host.inner.workshop(), super::Runnables::default());
    let kept = |runnables: &super::Runnables| runnables.get(&path, file.digest, workshop).is_some();
    let prepare = || workshop.prepare(Source::from(&file), agents.clone());

    runnables.keep(&path, prepare().await.unwrap());
    assert!(kept(&runnables));
    set(&host, "OTHER", "x").await;
    assert!(kept(&runnables), "what it was not given is not its business");
    set(&host, "SEEN", "one").await;
    assert!(!kept(&runnables), "set");
    runnables.keep(&path, prepare().await.unwrap());
    assert!(kept(&runnables));
    set(&host, "SEEN", "two").await;
    assert!(!kept(&runnables), "changed");
    runnables.keep(&path, prepare().await.unwrap());
    host.vault().remove(&VariableName::parse("SEEN").unwrap()).await.unwrap();
    assert!(!kept(&runnables), "removed");
}
