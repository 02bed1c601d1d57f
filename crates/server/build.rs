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
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    // Copied first: the page may be built anew while the compiler reads.
    let copies = out.join("page");
    fs::remove_dir_all(&copies).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    fs::create_dir_all(&copies)?;
    let mut names = Vec::new();
    if dist.is_dir() {
        copy(&dist, &copies, "", &mut names)?;
    }
    names.sort();
    let included = |name: &str| format!("include_bytes!({:?})", copies.join(name).display().to_string());
    let mut list = String::from("&[\n");
    for name in names.iter().filter(|name| !name.ends_with(COMPRESSED)) {
        let compressed_name = format!("{name}{COMPRESSED}");
        let compressed = match names.contains(&compressed_name) {
            true => format!("Some({})", included(&compressed_name)),
            false => "None".to_owned(),
        };
        let plain = included(name);
        writeln!(list, "    EmbeddedFile {{ name: {name:?}, plain: {plain}, compressed: {compressed} }},")
            .map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    fs::write(out.join("embedded_files.rs"), list)
}

/// Copies every file below a folder and names it as seen from there. Hidden files are not served.
fn copy(from: &Path, to: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let (source, target) = (entry.path(), to.join(&name));
        if source.is_dir() {
            fs::create_dir_all(&target)?;
            copy(&source, &target, &format!("{prefix}{name}/"), names)?;
        } else {
            fs::copy(&source, &target)?;
            names.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}
