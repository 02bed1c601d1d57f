//! Settings: the environment, `.env` and `roost.toml` of the home, read once and passed on as plain values.

mod accounts; // where apps may have accounts
mod catalogs; // where apps are found
mod models; // providers and models
mod store; // what must survive

use crate::args::Arguments;
use roost_host::{AgentSettings, Home, HostSettings, ModeSettings, Policy, SandboxSettings, Variables};
use roost_protocol::{Failure, FileKind, Level, Limits, Reason};
use roost_runtime::{Layer, PoolSettings, Surface};
use roost_server::{Neighbours, OtherAccounts, Profile};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Where RAPP hosts have always listened.
const DEFAULT_PORT: u16 = 7071;

/// What every agent sees of the host's environment: what programs need to run at all, and nothing secret.
const COMMON_NAMES: &[&str] = &["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR"];

/// What tools such as uv need besides: where packages come from and how to reach them.
const TOOL_PREFIXES: &[&str] = &["UV_", "PIP_", "SSL_", "XDG_", "CURL_CA_", "REQUESTS_CA_"];
const TOOL_NAMES: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// Where windows appear.
const SCREEN_NAMES: &[&str] = &["DISPLAY", "WAYLAND_DISPLAY"];

/// What a program needs besides, to open one there.
const DESKTOP_NAMES: &[&str] = &["XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS"];
const DESKTOP_PREFIX: &str = "XDG_";

/// Everything the program was told.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) host: HostSettings,
    pub(crate) port: u16,
    /// Who else may speak to the host.
    pub(crate) neighbours: Neighbours,
    /// More ports, each with a way of answering chats.
    pub(crate) listeners: Vec<(u16, Profile)>,
    /// Who uses the command line, for the record of grants.
    pub(crate) person: String,
}

/// `roost.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    port: Option<u16>,
    allow_other_accounts: bool,
    python: Option<PathBuf>,
    limits: toml::Table,
    workers: WorkerSettings,
    sandbox: Sandbox,
    models: models::Models,
    chat: Chat,
    diagnostics: Diagnostics,
    listeners: Vec<Listener>,
    workspace: store::Workspace,
    store: catalogs::Store,
    apps: Apps,
    oauth: BTreeMap<String, accounts::Provider>,
    policy: toml::Table,
    agents: BTreeMap<String, OneAgent>,
}

/// How installed apps are kept current.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Apps {
    cool_down_days: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Sandbox {
    require: Option<Level>,
    leave_out: Vec<Layer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Chat {
    pinned: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Diagnostics {
    tracker: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listener {
    port: u16,
    profile: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WorkerSettings {
    per_agent: Option<usize>,
    total: Option<usize>,
    idle_seconds: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OneAgent {
    enabled: bool,
    env: Vec<String>,
    limits: toml::Table,
}

impl Default for OneAgent {
    fn default() -> Self {
        Self { enabled: true, env: Vec::new(), limits: toml::Table::new() }
    }
}

/// Reads everything. A mistake in the settings is refused with its line; nothing is guessed.
pub(crate) fn read(arguments: &Arguments) -> Result<Config, Failure> {
    let environment = environment();
    let user_home = environment.get("HOME").map(PathBuf::from);
    let root = home_folder(arguments, &environment, user_home.as_deref())?;
    let mut environment_and_file = dotenv(&root.join(".env"));
    environment_and_file.extend(environment.clone());
    let get = |name: &str| environment_and_file.get(name).filter(|value| !value.trim().is_empty());
    let settings = settings(&root.join("roost.toml"))?;
    let agents_folder = get("AGENTS_PATH").map(|path| root.join(path));
    let soul = get("SOUL_PATH").map(|path| root.join(path));
    let services_folder = get("SERVICES_PATH").map(|path| root.join(path));
    let home = Home::new(root, agents_folder).with_services(services_folder).with_soul(soul);
    let limits = limits(&[&settings.limits])?;
    let agents = agents(settings.agents, &settings.limits, &get)?;
    let pool = pool(&settings.workers);
    let port =
        get("PORT").and_then(|port| port.trim().parse().ok()).or(settings.port).unwrap_or(DEFAULT_PORT);
    let surface = Surface {
        search_path: search_path(&environment),
        user_home,
        tool_environment: tool_environment(&environment),
        desktop_environment: desktop_environment(&environment),
        python: get("ROOST_PYTHON").map(PathBuf::from).or(settings.python),
    };
    let working_directory = std::env::current_dir().unwrap_or_else(|_| home.root().to_owned());
    let environment = agent_environment(&environment, &home);
    let sandbox = SandboxSettings {
        required: settings.sandbox.require.unwrap_or(SandboxSettings::default().required),
        left_out: settings.sandbox.leave_out,
    };
    let policy = Arc::new(Policy::from_table(settings.policy, surface.user_home.as_deref())?);
    let person = get("USER").or_else(|| get("LOGNAME")).map_or("operator", String::as_str).to_owned();
    let neighbours = Neighbours {
        origins: names_in(get("RAPP_CORS_ORIGINS")),
        hosts: names_in(get("BRAINSTEM_ALLOWED_HOSTS")),
        other_accounts: match settings.allow_other_accounts {
            true => OtherAccounts::Served,
            false => OtherAccounts::Refused,
        },
    };
    let modes = modes(&get);
    let models = models::settings(settings.models, get);
    let store = store::settings(&settings.workspace, get("ROOST_DATABASE_URL"))?;
    let catalogs = catalogs::settings(settings.store, surface.user_home.as_deref(), get)?;
    let listeners = settings.listeners.iter().map(listener).collect::<Result<_, _>>()?;
    let apps = roost_host::library::AppSettings {
        cool_down_days: settings.apps.cool_down_days,
        oauth: accounts::settings(settings.oauth)?,
    };
    let variables = Variables::new(environment_and_file);
    let host = HostSettings {
        home,
        surface,
        pool,
        environment,
        working_directory,
        sandbox,
        policy,
        variables,
        limits,
        agents,
        modes,
        models,
        tracker: settings.diagnostics.tracker,
        pinned_agents: settings.chat.pinned,
        store,
        catalogs,
        apps,
        native: roost_host::native::NativePace::default(),
    };
    Ok(Config { host, port, neighbours, listeners, person })
}

/// What is set for single agents, over what is set for all.
fn agents<'a>(
    written: BTreeMap<String, OneAgent>,
    for_all: &toml::Table,
    get: &impl Fn(&str) -> Option<&'a String>,
) -> Result<BTreeMap<String, AgentSettings>, Failure> {
    let one = |(key, one): (String, OneAgent)| {
        refuse_what_has_no_effect(&key, &one)?;
        let environment = one.env.iter().filter_map(|name| Some((name.clone(), get(name)?.clone())));
        let environment = environment.collect();
        let limits = limits(&[for_all, &one.limits])?;
        Ok((key, AgentSettings { enabled: one.enabled, environment, limits }))
    };
    written.into_iter().map(one).collect()
}

fn pool(written: &WorkerSettings) -> PoolSettings {
    let usual = PoolSettings::default();
    PoolSettings {
        workers_per_agent: written.per_agent.unwrap_or(usual.workers_per_agent).max(1),
        workers: written.total.unwrap_or(usual.workers).max(1),
        idle: written.idle_seconds.map_or(usual.idle, Duration::from_secs),
        ..usual
    }
}

fn listener(written: &Listener) -> Result<(u16, Profile), Failure> {
    let Some(profile) = Profile::named(&written.profile) else {
        let names = Profile::ALL.map(Profile::name).join(", ");
        let message = format!("[[listeners]]: `{}` is no profile; there are {names}", written.profile);
        return Err(Failure::new(Reason::InvalidSettings, message));
    };
    Ok((written.port, profile))
}

/// Only the exact word switches a mode on, as in every kernel.
fn modes<'a>(get: &impl Fn(&str) -> Option<&'a String>) -> ModeSettings {
    let usual = ModeSettings::default();
    let is_on = |name: &str, usual: bool| get(name).map_or(usual, |value| value == "true");
    ModeSettings { voice: is_on("VOICE_MODE", usual.voice), twin: is_on("TWIN_MODE", usual.twin) }
}

/// Names with commas between them.
fn names_in(list: Option<&String>) -> Vec<String> {
    let names = list.map(String::as_str).unwrap_or_default().split(',');
    names.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[expect(clippy::disallowed_methods, reason = "this is the place that reads the environment")]
fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn home_folder(
    arguments: &Arguments,
    environment: &BTreeMap<String, String>,
    user_home: Option<&Path>,
) -> Result<PathBuf, Failure> {
    let chosen = arguments
        .home
        .clone()
        .or_else(|| environment.get("ROOST_HOME").filter(|value| !value.is_empty()).map(PathBuf::from))
        .or_else(|| user_home.map(|home| home.join(".roost")))
        .ok_or_else(|| Failure::new(Reason::HomeUnusable, "there is no HOME to put the home folder in"))?;
    std::path::absolute(&chosen)
        .map_err(|error| Failure::new(Reason::HomeUnusable, format!("{}: {error}", chosen.display())))
}

fn settings(path: &Path) -> Result<Settings, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        // A home that is no folder has no settings either; that it cannot be used is said when it is opened.
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            return Ok(Settings::default());
        }
        Err(error) => {
            return Err(Failure::new(Reason::InvalidSettings, format!("{}: {error}", path.display())));
        }
    };
    toml::from_str(&text).map_err(|error| {
        let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or_default());
        let line = u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX);
        Failure::new(Reason::InvalidSettings, format!("{}:{line}: {}", path.display(), error.message()))
            .at_line(line)
    })
}

/// A worker belongs to a file, which may hold several agents: its environment and limits cannot follow an agent's name.
fn refuse_what_has_no_effect(key: &str, one: &OneAgent) -> Result<(), Failure> {
    // A file of a source is named with the source before it.
    let file_name = key.rsplit_once('/').map_or(key, |(_, file_name)| file_name);
    let is_file =
        [FileKind::Agent, FileKind::Service].iter().any(|kind| kind.language_of(file_name).is_some());
    if is_file || (one.env.is_empty() && one.limits.is_empty()) {
        return Ok(());
    }
    let message = format!(
        "[agents.\"{key}\"]: `env` and `limits` go by the name of an agent file, such as weather_agent.py"
    );
    Err(Failure::new(Reason::InvalidSettings, message))
}

/// Later tables win over earlier ones, and all over the defaults.
fn limits(tables: &[&toml::Table]) -> Result<Limits, Failure> {
    let mut merged = toml::Table::new();
    for table in tables {
        merged.extend((*table).clone());
    }
    merged.try_into().map_err(|error: toml::de::Error| {
        Failure::new(Reason::InvalidSettings, format!("limits: {}", error.message()))
    })
}

/// `NAME=value` lines; quotes around a value and a leading `export` are dropped.
fn dotenv(path: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let pair = |line: &str| {
        let line = line.trim();
        let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
        let value = value.trim();
        let unquoted = ['"', '\'']
            .iter()
            .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
            .unwrap_or(value);
        (!name.starts_with('#')).then(|| (name.trim().to_owned(), unquoted.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

fn search_path(environment: &BTreeMap<String, String>) -> Vec<PathBuf> {
    environment.get("PATH").map(|path| std::env::split_paths(path).collect()).unwrap_or_default()
}

fn tool_environment(environment: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let is_for_tools = |name: &str| {
        COMMON_NAMES.contains(&name)
            || TOOL_NAMES.contains(&name)
            || TOOL_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    environment
        .iter()
        .filter(|(name, _)| is_for_tools(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn desktop_environment(environment: &BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    let is_screen = |name: &str| SCREEN_NAMES.contains(&name);
    let is_for_windows = |name: &str| {
        is_screen(name)
            || COMMON_NAMES.contains(&name)
            || DESKTOP_NAMES.contains(&name)
            || name.starts_with(DESKTOP_PREFIX)
    };
    let found: BTreeMap<String, String> = environment
        .iter()
        .filter(|(name, value)| is_for_windows(name) && !value.is_empty())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Some(found).filter(|found| found.keys().any(|name| is_screen(name)))
}

fn agent_environment(environment: &BTreeMap<String, String>, home: &Home) -> BTreeMap<String, String> {
    let common =
        COMMON_NAMES.iter().filter_map(|name| Some(((*name).to_owned(), environment.get(*name)?.clone())));
    let root = home.root().display().to_string();
    common
        .chain([
            ("AGENTS_PATH".to_owned(), home.agents().display().to_string()),
            ("SOUL_PATH".to_owned(), home.soul().display().to_string()),
            ("BRAINSTEM_HOME".to_owned(), root.clone()),
            ("RAPP_HOME".to_owned(), root.clone()),
            ("ROOST_HOME".to_owned(), root),
        ])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{OneAgent, dotenv, limits, modes, names_in, refuse_what_has_no_effect, settings};
    use roost_host::ModeSettings;
    use roost_protocol::Reason;
    use std::fs;

    #[test]
    fn a_mistake_in_the_settings_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("roost.toml");
        for (text, line) in [
            ("port = 1\nprot = 2\n", 2),
            ("port = \"x\"", 1),
            ("\n[agents.\"x\"]\nenabld = true", 3),
            ("port = ", 1),
        ] {
            fs::write(&path, text).unwrap();
            let failure = settings(&path).unwrap_err();
            assert_eq!((failure.reason, failure.line), (Reason::InvalidSettings, Some(line)), "{text}");
        }
    }

    #[test]
    fn settings_that_could_have_no_effect_are_refused() {
        let one: OneAgent = toml::from_str("env = [\"KEY\"]").unwrap();
        assert!(refuse_what_has_no_effect("weather_agent.py", &one).is_ok());
        let failure = refuse_what_has_no_effect("Weather", &one).unwrap_err();
        assert_eq!(failure.reason, Reason::InvalidSettings);
        assert!(refuse_what_has_no_effect("Weather", &toml::from_str("enabled = false").unwrap()).is_ok());
    }

    #[test]
    fn an_agents_own_limits_win_over_the_common_ones() {
        let common = toml::from_str("wall_seconds = 5\nmemory_mb = 64").unwrap();
        let own = toml::from_str("wall_seconds = 9").unwrap();
        let limits = limits(&[&common, &own]).unwrap();
        assert_eq!((limits.wall_seconds, limits.memory_mb, limits.result_mb), (9, 64, 16));
        assert!(super::limits(&[&toml::from_str("wal_seconds = 5").unwrap()]).is_err());
    }

    #[test]
    fn only_the_exact_word_switches_a_mode_on() {
        for (value, is_on) in [("true", true), ("True", false), ("1", false), ("false", false)] {
            let value = value.to_owned();
            assert_eq!(modes(&|_| Some(&value)), ModeSettings { voice: is_on, twin: is_on }, "{value}");
        }
        assert_eq!(modes(&|_| None), ModeSettings::default());
    }

    #[test]
    fn lists_have_commas_between_their_names() {
        assert_eq!(names_in(Some(&" https://a.example ,,b ".to_owned())), ["https://a.example", "b"]);
        assert!(names_in(None).is_empty());
    }

    #[test]
    fn env_files_are_read_as_shells_write_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".env");
        fs::write(&path, "# note\nA=1\nexport B = \"two words\"\nC='x=y'\nnot a pair\n").unwrap();
        let read = dotenv(&path);
        assert_eq!(read.len(), 3);
        assert_eq!((read["A"].as_str(), read["B"].as_str(), read["C"].as_str()), ("1", "two words", "x=y"));
    }
}
