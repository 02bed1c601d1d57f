//! `roost install`: shows what an app is and what it asks for, asks once, and says so when it answers.

use super::consent;
use crate::{
    args::InstallArguments,
    config::Config,
    output::Output,
    partner::{Method, Partner, understood},
};
use roost_apps::native::Covered;
use roost_host::library::{
    AskedRight, Choice, Given, InstallPlan, InstallSource, Installed, LockedOutcome, NativeRecord,
};
use roost_protocol::{Failure, Reason};
use serde_json::{Value, json};
use std::{fs, path::Path, process::ExitCode};

pub(crate) async fn install(
    config: Config,
    arguments: InstallArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let by = config.person.clone();
    let lock = config.host.home.library().lock;
    let partner = Partner::find_trusted(config).await?;
    let choice = if arguments.asked { Choice::Asked } else { Choice::Policy };
    if let Some(file) = &arguments.locked {
        let path = file.as_deref().unwrap_or(&lock);
        return locked(&partner, path, choice, &by, arguments.yes || arguments.asked, *output).await;
    }
    let written = arguments.source.unwrap_or_default();
    let source = absolute(&written);
    let plan = partner.ask(Method::Post, "/v1/app-plans", Some(&json!({ "source": source }))).await;
    let plan: InstallPlan = understood(plan.map_err(|failure| path_was_meant(failure, &written))?)?;
    if arguments.dry_run || !output.json {
        show_plan(&plan, *output);
    }
    if arguments.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    if plan.is_installed {
        if output.json {
            output.document(&json!({ "installed": Value::Null, "plan": plan }));
        } else {
            output.line(&format!("{} is installed already, exactly so", plan.id));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let choice = match (arguments.yes || arguments.asked, consent::can_ask(*output)) {
        (true, _) => choice,
        (false, true) => match ask(&plan, *output) {
            Some(choice) => choice,
            None => {
                output.line("Nothing was installed.");
                return Ok(ExitCode::from(crate::output::NOT_OK));
            }
        },
        (false, false) => return Err(nobody_to_ask(&plan)),
    };
    let asked = json!({ "source": source, "digest": plan.digest, "rights": choice, "by": by });
    let installed = partner.ask(Method::Post, "/v1/apps", Some(&asked)).await?;
    done(&understood(installed)?, *output);
    Ok(ExitCode::SUCCESS)
}

async fn locked(
    partner: &Partner,
    path: &Path,
    rights: Choice,
    by: &str,
    is_agreed: bool,
    output: Output,
) -> Result<ExitCode, Failure> {
    let lock = fs::read_to_string(path)
        .map_err(|error| Failure::new(Reason::Unreadable, format!("{}: {error}", path.display())))?;
    let question = format!("Install the apps of {}?", path.display());
    let says_yes = || consent::can_ask(output) && consent::says_yes(&question);
    if !is_agreed && !says_yes() {
        return Err(Failure::new(Reason::ConsentNeeded, "nobody said that the apps may be installed"));
    }
    let asked = json!({ "lock": lock, "rights": rights, "by": by });
    let outcome: LockedOutcome = understood(partner.ask(Method::Post, "/v1/app-locks", Some(&asked)).await?)?;
    if output.json {
        output.document(&outcome);
        return Ok(ExitCode::SUCCESS);
    }
    outcome.installed.iter().for_each(|installed| done(installed, output));
    for id in &outcome.unchanged {
        output.line(&format!("{id} is there already"));
    }
    Ok(ExitCode::SUCCESS)
}

/// A path is meant from where the person is. A bare word is an app of a catalog, whatever lies in this folder.
fn absolute(source: &str) -> String {
    let path = std::path::absolute(source).ok().filter(|_| InstallSource::is_path(source));
    path.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or_else(|| source.to_owned())
}

/// No catalog has it, but something of this name lies here: the next step is to write it as a path.
fn path_was_meant(failure: Failure, written: &str) -> Failure {
    match failure.reason == Reason::UnknownEntry && Path::new(written).exists() {
        true => failure.with_next(format!("if what lies in this folder is meant: roost install ./{written}")),
        false => failure,
    }
}

fn show_plan(plan: &InstallPlan, output: Output) {
    if output.json {
        output.document(plan);
        return;
    }
    let line = |label: &str, text: &str| {
        if !text.is_empty() {
            output.line(&format!("  {label:<11}{text}"));
        }
    };
    let version = plan.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    output.line(&format!("{}{version} ({})", plan.name, plan.id));
    line("does", &plan.summary);
    line("made by", plan.publisher.as_deref().unwrap_or("nobody is named"));
    line("from", &plan.origin.sentence());
    line("digest", &plan.digest.to_string());
    if let Some(native) = &plan.native {
        line("signed by", &signed_by(native));
        line("offers", &native.provides.join(", "));
        line("overrides", &native.overrides.join(", "));
        let accounts =
            native.oauth.iter().map(|need| format!("{} ({})", need.provider, need.scopes.join(" ")));
        line("accounts", &accounts.collect::<Vec<_>>().join(", "));
    }
    let parts = [plan.agent.clone(), plan.service.clone(), plan.has_page.then(|| "a page".to_owned())];
    line("brings", &parts.into_iter().flatten().collect::<Vec<_>>().join(", "));
    line("installed", plan.installed_version.as_deref().unwrap_or_default());
    line("safety", &format!("{}: {}", plan.grade, plan.grade.sentence()));
    if !plan.unchecked.is_empty() {
        line("unchecked", &format!("nobody named a digest of {}", plan.unchecked.join(", ")));
    }
    for left in &plan.left_out {
        line("left out", &left.message);
    }
    show_rights(&plan.rights, output);
}

/// Who vouches for a program.
fn signed_by(native: &NativeRecord) -> String {
    let Some(signed) = &native.signed else { return "nobody: it is sideloaded".to_owned() };
    let covers = match signed.covers {
        Covered::Tree => "every file of it",
        Covered::ManifestAndBinary => "its manifest and its program, but not its pages and SKILL.md",
    };
    format!("{} (key {}), who vouches for {covers}", signed.vouched_by, signed.key_id)
}

/// What an app asks for, in words.
pub(super) fn show_rights(rights: &[AskedRight], output: Output) {
    if rights.is_empty() {
        output.line("  asks for   nothing");
    }
    for asked in rights {
        let given = match asked.given {
            Given::Policy => ", which the policy allows",
            Given::Granted => ", which it has",
            Given::Open => "",
            Given::Forbidden => ", which the policy forbids",
        };
        output.line(&format!("  asks to    {}  [{}]{given}", asked.sentence, asked.right));
    }
}

/// The one question. Nothing is the answer of somebody who does not want it.
fn ask(plan: &InstallPlan, output: Output) -> Option<Choice> {
    let open = plan.rights.iter().any(|asked| asked.given == Given::Open);
    if !open {
        return consent::says_yes("Install it?").then_some(Choice::Policy);
    }
    match consent::line("Install it? [a]llow what it asks for, [w]ithout, [n]o: ").as_str() {
        "a" | "allow" | "y" | "yes" => Some(Choice::Asked),
        "w" | "without" => {
            output.note("It is tried without; what it needs can be granted later.");
            Some(Choice::Policy)
        }
        _ => None,
    }
}

fn nobody_to_ask(plan: &InstallPlan) -> Failure {
    let open: Vec<String> = plan
        .rights
        .iter()
        .filter(|asked| asked.given == Given::Open)
        .map(|asked| asked.right.to_string())
        .collect();
    let next = if open.is_empty() {
        "look at it with `--dry-run`, then add `--yes`".to_owned()
    } else {
        format!("add `--yes` to install it without {}, or `--asked` to give it that", open.join(", "))
    };
    let message = format!("{} is not installed: nobody is here to be asked", plan.id);
    Failure::new(Reason::ConsentNeeded, message).with_next(next)
}

pub(super) fn done(installed: &Installed, output: Output) {
    if output.json {
        output.document(installed);
        return;
    }
    let app = &installed.app;
    let version = app.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    output.line(&format!("installed {}{version}", app.id));
    let answers: Vec<&str> = app.agents.iter().chain(&app.services).map(String::as_str).collect();
    let answers = match &app.native {
        Some(native) => native.provides.join(", "),
        None => answers.join(", "),
    };
    output.line(&format!("  answers    {answers}"));
    let keeps = if app.native.is_some() { "its data" } else { "workspace" };
    output.line(&format!("  {keeps:<11}{}", app.workspace.display()));
    for asked in installed.not_given.iter().filter(|asked| asked.given == Given::Open) {
        let file = app.agent_file.as_ref().or(app.service_file.as_ref());
        let file = file.unwrap_or(&app.id);
        output.line(&format!("  without    {} (roost grant {file} {})", asked.sentence, asked.right));
    }
    for kept in &installed.kept {
        output.line(&format!("  kept       your changed file, as {}", kept.display()));
    }
}
