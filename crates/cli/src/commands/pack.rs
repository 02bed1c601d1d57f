//! `roost pack FOLDER`: the file that a store takes, the same bytes for the same files.

use super::validate::{show, show_native};
use crate::{
    args::PackArguments,
    output::{NOT_OK, Output},
};
use roost_apps::{
    Bundle, BundleError, BundleReport, Submission,
    native::{NativeArrival, NativePackage, NativeReport, look_for_native},
    replace_readable,
};
use roost_protocol::{Digest, Failure, Reason};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

pub(crate) fn pack(arguments: &PackArguments, output: &Output) -> Result<ExitCode, Failure> {
    if let Some(NativeArrival::Folder) = look_for_native(&arguments.folder)? {
        return pack_native(arguments, output);
    }
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
    written(&path, &zip)?;
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

fn pack_native(arguments: &PackArguments, output: &Output) -> Result<ExitCode, Failure> {
    match NativePackage::from_folder(&arguments.folder) {
        Ok(package) => write_native(&package, arguments.output.clone(), output),
        Err(errors) => {
            show_native(&NativeReport::refused(errors), output);
            Ok(ExitCode::from(NOT_OK))
        }
    }
}

/// Writes a package as the file that travels, and says where.
pub(crate) fn write_native(
    package: &NativePackage,
    path: Option<PathBuf>,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let path = path.unwrap_or_else(|| PathBuf::from(package.napp_name()));
    let napp = package.to_napp().map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
    // What is handed out is what was checked, so it is read again.
    if let Err(errors) = NativePackage::from_napp(&napp) {
        show_native(&NativeReport::refused(errors), output);
        return Ok(ExitCode::from(NOT_OK));
    }
    written(&path, &napp)?;
    let manifest = package.manifest();
    let key = package.signatures().map(|signed| &signed.key_id);
    if output.json {
        output.document(&json!({
            "id": manifest.id, "version": manifest.version, "file": path, "bytes": napp.len(),
            "sha256": Digest::of(&napp), "key_id": key,
        }));
    } else {
        output.line(&path.display().to_string());
        if key.is_none() {
            output
                .note(&format!("It is not signed, and nobody installs it so: roost sign {}", path.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn written(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    replace_readable(path, bytes)
        .map_err(|error| Failure::new(Reason::Unreadable, format!("write {}: {error}", path.display())))
}
