//! Makes the client side of the native contract from `proto/`, without any program besides this one.

use prost::Message as _;
use std::{env, error::Error, fs, path::Path};

const FILES: [&str; 8] = ["common", "gateway", "tool", "comm", "channel", "ui", "schedule", "hooks"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    println!("cargo::rerun-if-changed={}", root.join("proto").display());
    let files = FILES.map(|name| format!("proto/apps/v0/{name}.proto"));
    let descriptors = protox::compile(files, [root])?;
    #[expect(clippy::disallowed_methods, reason = "the one place where cargo says where to write")]
    let made = env::var("OUT_DIR")?;
    // For showing messages by the names of their fields.
    fs::write(Path::new(&made).join("apps.v0.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().build_server(false).build_transport(false).compile_fds(descriptors)?;
    Ok(())
}
