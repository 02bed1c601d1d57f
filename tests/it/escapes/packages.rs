//! Packages that try to run where nothing confines them. Each comes as a real wheel from a folder on this machine.

use roost_tests::{TestHome, find_on_path, python_file};
use serde_json::json;
use std::{fs, io::Write as _, path::Path};
use zip::{ZipWriter, write::SimpleFileOptions};

/// A line that says who runs it, and how confined that process is, into a file beside the person's own.
fn confession(into: &Path) -> String {
    let status = "dict(l.split(':', 1) for l in open('/proc/self/status').read().splitlines())";
    format!(
        "import os; s = {status}; open({into:?}, 'w').write(s['Seccomp'].strip() + s['NoNewPrivs'].strip())\n",
        into = into.display().to_string()
    )
}

/// Writes a wheel with these files; `name` is the package and its only module.
fn wheel(folder: &Path, name: &str, files: &[(&str, &str)]) {
    let module = (format!("{name}.py"), "VALUE = 'imported'\n".to_owned());
    let info = format!("{name}-1.0.dist-info");
    let metadata =
        (format!("{info}/METADATA"), format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"));
    let tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
    let mut all = vec![module, metadata, (format!("{info}/WHEEL"), tags.to_owned())];
    all.extend(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
    let record: String = all.iter().map(|(path, _)| format!("{path},,\n")).collect();
    all.push((format!("{info}/RECORD"), format!("{record}{info}/RECORD,,\n")));
    let file = fs::File::create(folder.join(format!("{name}-1.0-py3-none-any.whl"))).unwrap();
    let mut archive = ZipWriter::new(file);
    for (path, text) in all {
        archive.start_file(path, SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap();
}

/// A home whose only packages are these, and an agent that needs one of them.
fn home_with(name: &str, files: impl FnOnce(&Path) -> Vec<(String, String)>) -> Option<TestHome> {
    if find_on_path("uv").is_none() {
        eprintln!("skipped: no uv in PATH");
        return None;
    }
    let home = TestHome::new();
    let wheels = home.outside().join("wheels");
    fs::create_dir_all(&wheels).unwrap();
    let files = files(&home.outside().join("confession"));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    wheel(&wheels, name, &files);
    let body = format!(
        "import {name}\nstatus = open('/proc/self/status').read()\n\
         return {name}.VALUE + ' ' + str('Seccomp:\\t2' in status) + ' ' + str(os.path.exists('{}'))",
        home.outside().join("wheels").display()
    );
    let block = format!("# /// script\n# dependencies = [\"{name}\"]\n# ///\n");
    home.write("honest_agent.py", format!("{block}{}", python_file("Honest", "import os", &body)));
    let home = home
        .with_variable("UV_FIND_LINKS", wheels.display().to_string())
        .with_variable("UV_NO_INDEX", "1")
        .with_variable("UV_CACHE_DIR", wheels.join("cache").display().to_string());
    Some(home)
}

/// The agent works, confined, and nothing of its package ran anywhere else.
fn assert_harmless(home: &TestHome) {
    let host = home.up();
    assert_eq!(host.output("Honest", &json!({})), "imported True False");
    let confession = home.outside().join("confession");
    assert!(!confession.exists(), "a package ran outside: {:?}", fs::read_to_string(confession));
}

#[test]
fn a_line_that_python_runs_at_its_start_runs_in_the_sandbox_only() {
    let files = |confession: &Path| vec![("evil.pth".to_owned(), self::confession(confession))];
    if let Some(home) = home_with("harmless_pth", files) {
        assert_harmless(&home);
    }
}

#[test]
fn a_package_cannot_stand_in_for_the_modules_of_the_host() {
    let names = ["utils/__init__", "agents/__init__", "basic_agent", "sandbox", "worker", "zygote", "site"];
    let files =
        |confession: &Path| names.map(|name| (format!("{name}.py"), self::confession(confession))).to_vec();
    if let Some(home) = home_with("shadowing", files) {
        assert_harmless(&home);
    }
}

#[test]
fn a_package_cannot_customize_the_start_of_python() {
    let files = |confession: &Path| {
        ["sitecustomize.py", "usercustomize.py"]
            .map(|name| (name.to_owned(), self::confession(confession)))
            .to_vec()
    };
    if let Some(home) = home_with("customizing", files) {
        assert_harmless(&home);
    }
}

#[test]
fn a_package_that_replaces_the_settings_of_its_environment_is_refused() {
    let files =
        |_: &Path| vec![("leading-1.0.data/data/pyvenv.cfg".to_owned(), "home = /nowhere/bin\n".to_owned())];
    let Some(home) = home_with("leading", files) else { return };
    let listed = home.listing().into_iter().find(|agent| agent["file"] == "honest_agent.py").unwrap();
    assert_eq!(listed["reason"]["reason"], "dependency_invalid", "{listed}");
    assert!(!home.outside().join("confession").exists());
}
