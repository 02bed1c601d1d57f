//! Modules and functions of the TypeScript runtimes, by what they do.

/// Modules that exist to start programs.
const PROGRAM_MODULES: &[&str] = &["child_process", "execa", "cross-spawn", "shelljs", "node-pty", "zx"];

/// Functions that read and take a path first, without the ending `Sync`.
const READING: &[&str] = &[
    "readFile",
    "readTextFile",
    "readdir",
    "readDir",
    "opendir",
    "createReadStream",
    "open",
    "stat",
    "lstat",
    "access",
    "exists",
    "readlink",
    "realpath",
    "watch",
    "file",
];

/// Functions that change files and take a path first, without the ending `Sync`.
const WRITING: &[&str] = &[
    "writeFile",
    "writeTextFile",
    "appendFile",
    "createWriteStream",
    "mkdir",
    "rm",
    "rmdir",
    "unlink",
    "remove",
    "rename",
    "copyFile",
    "cp",
    "truncate",
    "chmod",
    "symlink",
    "link",
    "outputFile",
    "ensureDir",
];

/// True for the name of a module that starts programs.
pub(super) fn starts_programs(module: &str) -> bool {
    PROGRAM_MODULES.contains(&module)
}

/// True for functions whose first argument is a path.
pub(super) fn takes_path(function: &str) -> bool {
    READING.contains(&plain(function)) || writes_files(function)
}

/// True for functions that change files.
pub(super) fn writes_files(function: &str) -> bool {
    WRITING.contains(&plain(function))
}

/// True for functions that list a folder.
pub(super) fn lists_folder(function: &str) -> bool {
    matches!(plain(function), "readdir" | "readDir" | "opendir")
}

/// `./WeatherAgent.js`, and not the base class.
pub(super) fn is_other_agent(module: &str) -> bool {
    let file = module.rsplit('/').next().unwrap_or(module);
    let stem = file.split('.').next().unwrap_or(file);
    let is_agent = stem.ends_with("Agent") || stem.ends_with("_agent");
    module.starts_with('.') && is_agent && !matches!(stem, "BasicAgent" | "basic_agent")
}

fn plain(function: &str) -> &str {
    function.strip_suffix("Sync").unwrap_or(function)
}
