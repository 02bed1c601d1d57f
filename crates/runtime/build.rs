//! Makes the client side of the native contract from `proto/`, without any program besides this one.

use std::{error::Error, path::Path};

const FILES: [&str; 8] = ["common", "gateway", "tool", "comm", "channel", "ui", "schedule", "hooks"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    println!("cargo::rerun-if-changed={}", root.join("proto").display());
    let files = FILES.map(|name| format!("proto/apps/v0/{name}.proto"));
    let descriptors = protox::compile(files, [root])?;
    tonic_prost_build::configure().build_server(false).build_transport(false).compile_fds(descriptors)?;
    Ok(())
}
