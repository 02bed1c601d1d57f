//! `roost pack FOLDER`: the zip that a store takes, the same bytes for the same files.

use super::validate::show;
use crate::{
    args::PackArguments,
    output::{NOT_OK, Output},
};
use roost_apps::{Bundle, BundleError, BundleReport, Submission, replace_file};
use roost_protocol::{Digest, Failure, Reason};
use serde_json::json;
use std::{path::PathBuf, process::ExitCode};

pub(crate) fn pack(arguments: &PackArguments, output: &Output) -> Result<ExitCode, Failure> {
    let refused = |errors: Vec<BundleError>| {
        show(&BundleReport::refused(errors), output);
        Ok(ExitCode::from(NOT_OK))
    };
    let bundle = match Bundle::from_folder(&arguments.folder, &Submission::default()) {
        Ok(bundle) => bundle,
        Err(errors) => return refused(errors),
    };
    let zip = bundle.to_zip();
    // What is handed out is what was checked, so the zip is read again.
    if let Err(errors) = Bundle::from_zip(&zip, &Submission::default()) {
        return refused(errors);
    }
    let path = arguments.output.clone().unwrap_or_else(|| PathBuf::from(bundle.zip_name()));
    replace_file(&path, &zip)
        .map_err(|error| Failure::new(Reason::Unreadable, format!("write {}: {error}", path.display())))?;
    if output.json {
        let (id, version) = (bundle.id().as_str(), bundle.version().to_string());
        output.document(&json!({
            "id": id, "version": version, "file": path, "bytes": zip.len(), "sha256": Digest::of(&zip),
        }));
    } else {
        output.line(&path.display().to_string());
    }
    Ok(ExitCode::SUCCESS)
}
