//! `roost publish`: a bundle on its way to a store, over the network, into a folder, or as an issue to paste.

use super::{
    storefront::{received, submitted},
    validate::show,
};
use crate::{
    args::PublishArguments,
    config::Config,
    output::{NOT_OK, Output},
};
use roost_apps::{Arrival, Bundle, BundleReport, Submission, look_at};
use roost_host::{
    catalogs::{HostCatalogs, RepositoryAddress, StorePlace, Token},
    storefront::{HostStorefront, write_issue},
};
use roost_protocol::{Failure, Reason};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Longest body of an issue that GitHub takes.
const ISSUE_CHARACTERS_MAX: usize = 65_536;

pub(crate) async fn publish(
    config: Config,
    arguments: PublishArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let judged = match look_at(&arguments.path)? {
        Arrival::Folder => Bundle::from_folder(&arguments.path, &Submission::default()),
        Arrival::Zip(zip) => Bundle::from_zip(&zip, &Submission::default()),
        Arrival::File => {
            let message = format!("{} is neither a folder nor a zip", arguments.path.display());
            return Err(Failure::new(Reason::WrongUse, message));
        }
    };
    let bundle = match judged {
        Ok(bundle) => bundle,
        Err(errors) => {
            show(&BundleReport::refused(errors), output);
            return Ok(ExitCode::from(NOT_OK));
        }
    };
    let repository = arguments.repository.as_deref().map(RepositoryAddress::parse).transpose()?;
    let Some(store) = arguments.store.as_deref().filter(|_| !arguments.issue) else {
        issue(&bundle, repository.as_ref(), *output);
        return Ok(ExitCode::SUCCESS);
    };
    let catalogs = HostCatalogs::open(&config.host)?;
    match catalogs.store_place(store)? {
        StorePlace::Folder(folder) => {
            let store = HostStorefront::open(&folder, &config.host)?;
            let path = arguments.path.display().to_string();
            let what = arguments.repository.as_deref().unwrap_or(&path);
            received(submitted(&store, what, Some(bundle.publisher().as_str())).await, *output)
        }
        StorePlace::Endpoint { url, name } => {
            let token = match arguments.token.as_deref() {
                Some(text) => Token::parse(text),
                None => catalogs.store_token(name.as_deref()).await?,
            };
            let token = token.ok_or_else(|| {
                Failure::new(Reason::TokenRefused, "there is no token for this store").with_next(
                    "set ROOST_STORE_TOKEN, or keep it with `roost secrets set ROOST_STORE_TOKEN`; its maintainer makes one",
                )
            })?;
            let sent = match &arguments.repository {
                Some(address) => {
                    let body = json!({ "repository": address }).to_string().into_bytes();
                    catalogs.submit(&url, "application/json", body, &token).await?
                }
                None => catalogs.submit(&url, "application/zip", bundle.to_zip(), &token).await?,
            };
            told(sent, *output)
        }
    }
}

/// What the store answered.
fn told((status, answer): (u16, Value), output: Output) -> Result<ExitCode, Failure> {
    if status == 202 {
        if output.json {
            output.document(&answer);
        } else {
            let text = |key: &str| answer[key].as_str().unwrap_or("?").to_owned();
            output.line(&format!(
                "{}: {}/{} {} waits for review",
                text("submission"),
                text("publisher"),
                text("id"),
                text("version")
            ));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let Some(errors) = answer["errors"].as_array() else {
        return Err(crate::partner::failure_in(&answer));
    };
    if output.json {
        output.document(&answer);
    } else {
        for error in errors {
            let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
            output.line(&format!("{} [{}]", text("message"), text("code")));
        }
    }
    Ok(ExitCode::from(NOT_OK))
}

fn issue(bundle: &Bundle, repository: Option<&RepositoryAddress>, output: Output) {
    let (title, body) = write_issue(bundle, repository);
    if output.json {
        output.document(&json!({ "title": title, "body": body }));
    } else {
        output.note(&title);
        output.line(body.trim_end());
    }
    if body.chars().count() > ISSUE_CHARACTERS_MAX {
        let most = ISSUE_CHARACTERS_MAX;
        output.note(&format!(
            "GitHub takes at most {most} characters: publish it from a repository (--repository)"
        ));
    }
}
