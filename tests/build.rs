//! Makes the app's side of the native contract from `proto/`, for the app that the stories run.

use std::{error::Error, path::Path};

const FILES: [&str; 8] = ["common", "tool", "hooks", "ui", "gateway", "channel", "comm", "schedule"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    println!("cargo::rerun-if-changed={}", root.join("proto").display());
    let files = FILES.map(|name| format!("proto/apps/v0/{name}.proto"));
    let descriptors = protox::compile(files, [root])?;
    tonic_prost_build::configure().build_client(false).compile_fds(descriptors)?;
    Ok(())
}
