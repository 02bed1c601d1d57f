//! Makes this app's side of the contract from `proto/`, without any program besides this one.

use std::{error::Error, path::Path};

const FILES: [&str; 2] = ["common", "gateway"];

fn main() -> Result<(), Box<dyn Error>> {
    // Beside this file, or further up where several apps share it.
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().find(|folder| folder.join("proto/apps/v0").is_dir());
    let root = root.ok_or("proto/apps/v0 is missing")?;
    println!("cargo::rerun-if-changed={}", root.join("proto").display());
    let files = FILES.map(|name| format!("proto/apps/v0/{name}.proto"));
    let descriptors = protox::compile(files, [root])?;
    tonic_prost_build::configure().build_client(false).compile_fds(descriptors)?;
    Ok(())
}
