//! Embeds the web UI: every file that `web/dist` holds when this crate is built, with its compressed copy.
//!
//! Without a built `web/dist` the list is empty and the host serves its plain page instead: nobody needs Node.js to
//! build the host. `scripts/web.sh` builds it.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

/// Ending of the compressed copy that lies beside a file.
const COMPRESSED: &str = ".gz";

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script where to write by a variable")]
fn main() -> io::Result<()> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
    // The folder is in the repository, so that cargo has something to watch before the first build.
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    collect(&dist, "", &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for (name, path) in files.iter().filter(|(name, _)| !name.ends_with(COMPRESSED)) {
        let compressed_name = format!("{name}{COMPRESSED}");
        let compressed = match files.iter().find(|(other, _)| *other == compressed_name) {
            Some((_, path)) => format!("Some(include_bytes!({:?}))", path.display().to_string()),
            None => "None".to_owned(),
        };
        let plain = format!("include_bytes!({:?})", path.display().to_string());
        writeln!(list, "    EmbeddedFile {{ name: {name:?}, plain: {plain}, compressed: {compressed} }},")
            .map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    fs::write(out.join("embedded_files.rs"), list)
}

/// Every file below a folder with its name as seen from there. Hidden files are not served.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path().canonicalize()?;
        if name.starts_with('.') {
            continue;
        } else if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), files)?;
        } else {
            files.push((format!("{prefix}{name}"), path));
        }
    }
    Ok(())
}
