//! One file per verb. Each asks the host and prints the answer.

mod accounts;
mod agents;
mod apps;
mod approvals;
mod audit;
mod call;
mod chain;
mod chat;
mod consent;
mod doctor;
mod grants;
mod inspect;
mod install;
mod keys;
mod login;
mod logs;
mod models;
mod new;
mod open;
mod pack;
mod publish;
mod pages;
mod repos;
mod rights;
mod run;
mod runs;
mod schedules;
mod secrets;
mod services;
mod sign;
mod settings;
mod sideload;
mod store;
mod store_native;
mod storefront;
mod test;
mod up;
mod update;
mod validate;
mod why;
mod workspace;

use crate::{
    args::{Arguments, Command},
    config::{self, Config},
    output::Output,
};
use roost_apps::native::{NativeArrival, NativePackage, look_for_native};
use roost_host::Host;
use roost_protocol::{Failure, Reason};
use std::{io::IsTerminal as _, path::Path, process::ExitCode};

/// Runs the verb.
pub(crate) async fn run(arguments: Arguments, output: &Output) -> Result<ExitCode, Failure> {
    start_tracing(output);
    let config = config::read(&arguments)?;
    match arguments.command {
        Command::Up(up) => up::up(config, up, output).await,
        Command::Open => open::open(config, output).await,
        Command::Run(run) => run::run(config, &run, output).await,
        Command::Agents(agents) => agents::agents(config, &agents, output).await,
        Command::Call(call) => call::call(config, &call, output).await,
        Command::Services => services::services(config, output).await,
        Command::Repos(repos) => repos::repos(config, repos, output).await,
        Command::Apps => apps::apps(config, output).await,
        Command::Install(install) => install::install(config, install, output).await,
        Command::Update(update) => update::update(config, update, output).await,
        Command::Remove(remove) => apps::remove(config, remove, output).await,
        Command::Sideload(folder) => sideload::sideload(config, folder, output).await,
        Command::Unsideload(app) => sideload::unsideload(config, app, output).await,
        Command::Inspect(arguments) => inspect::inspect(config, &arguments, output).await,
        Command::Logs(arguments) => logs::logs(config, &arguments, output).await,
        Command::Store(arguments) => store::store(config, arguments, output).await,
        Command::Runs(runs) => runs::runs(config, runs, output).await,
        Command::Schedules(arguments) => schedules::schedules(config, arguments, output).await,
        Command::Approvals(arguments) => approvals::approvals(config, arguments, output).await,
        Command::Pages(arguments) => pages::pages(config, arguments, output).await,
        Command::Accounts(arguments) => accounts::accounts(config, arguments, output).await,
        Command::Settings(settings) => settings::settings(config, settings, output).await,
        Command::Secrets(secrets) => secrets::secrets(config, secrets, output).await,
        Command::Workspace(arguments) => workspace::workspace(config, arguments, output).await,
        Command::Keys(keys) => keys::keys(config, keys, output).await,
        Command::Chat(chat) => chat::chat(config, chat, output).await,
        Command::Models(models) => models::models(config, models, output).await,
        Command::Login(login) => login::login(config, &login, output).await,
        Command::New(new) => new::new(&config, new, output),
        Command::Test(test) => test::test(config, &test, output).await,
        Command::Validate(validate) => validate::validate(config, &validate, output).await,
        Command::Pack(pack) => pack::pack(&pack, output),
        Command::Publish(publish) => publish::publish(config, publish, output).await,
        Command::Sign(sign) => sign::sign(&config, &sign, output),
        Command::Rights(rights) => rights::rights(config, &rights, output).await,
        Command::Grant(grant) => grants::grant(config, &grant, output).await,
        Command::Revoke(revoke) => grants::revoke(config, &revoke, output).await,
        Command::Suggest(suggest) => grants::suggest(config, &suggest, output).await,
        Command::Audit(audit) => audit::audit(config, &audit, output).await,
        Command::Why(why) => why::why(config, &why, output).await,
        Command::Doctor => doctor::doctor(config, output).await,
        Command::Openapi => {
            output.line(roost_server::openapi_document().trim_end());
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Opens the host of a home that is made when it is not there yet.
pub(crate) async fn open(config: Config) -> Result<Host, Failure> {
    roost_host::create_home(&config.host.home)?;
    Host::open(config.host).await
}

/// The native app at a path, in which nothing is wrong.
pub(crate) fn native_package(path: &Path) -> Result<NativePackage, Failure> {
    let read = match look_for_native(path)? {
        Some(NativeArrival::Napp(bytes)) => NativePackage::from_napp(&bytes),
        Some(NativeArrival::Folder) => NativePackage::from_folder(path),
        None => {
            let message = format!("{} is no native app", path.display());
            return Err(Failure::new(Reason::PackageInvalid, message));
        }
    };
    read.map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::new(Reason::PackageInvalid, texts.join("; "))
    })
}

/// What the host does goes to the error stream: warnings, and what takes long.
fn start_tracing(output: &Output) {
    let level =
        if output.verbose { "info" } else { "warn,roost_runtime::python=info,roost_host::local_models=info" };
    let filter = tracing_subscriber::EnvFilter::new(level);
    let subscriber =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).without_time();
    let subscriber = subscriber.with_target(false);
    // On a terminal the library itself heeds NO_COLOR.
    if std::io::stderr().is_terminal() { subscriber.init() } else { subscriber.with_ansi(false).init() }
}
