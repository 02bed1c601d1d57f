//! What a call shows: variables, hosts, files and programs in its arguments.

use super::{
    names::Names,
    offset,
    paths::{Root, SourcePath},
};
use crate::asks::findings::Findings;
use ruff_python_ast::{Expr, ExprCall};

/// Calls that connect to a computer: the name, and the port when none is given. Host and port come first, or under
/// these names; a pair of both counts as well.
const CONNECTIONS: &[(&str, Option<u16>)] = &[
    ("socket.create_connection", None),
    ("asyncio.open_connection", None),
    ("http.client.HTTPConnection", None),
    ("http.client.HTTPSConnection", None),
    ("smtplib.SMTP", Some(25)),
    ("smtplib.SMTP_SSL", Some(465)),
    ("imaplib.IMAP4", Some(143)),
    ("imaplib.IMAP4_SSL", Some(993)),
    ("poplib.POP3", Some(110)),
    ("poplib.POP3_SSL", Some(995)),
    ("ftplib.FTP", Some(21)),
    ("ftplib.FTP_TLS", Some(21)),
    ("telnetlib.Telnet", Some(23)),
    ("paramiko.Transport", Some(22)),
    ("redis.Redis", Some(6379)),
    ("redis.StrictRedis", Some(6379)),
    ("psycopg2.connect", Some(5432)),
    ("psycopg.connect", Some(5432)),
    ("pymysql.connect", Some(3306)),
    ("pymongo.MongoClient", Some(27017)),
];

/// Functions that take a path first; some take a second one.
const PATH_FUNCTIONS: &[&str] = &[
    "open",
    "io.open",
    "codecs.open",
    "aiofiles.open",
    "gzip.open",
    "bz2.open",
    "lzma.open",
    "tarfile.open",
    "shelve.open",
    "dbm.open",
    "PIL.Image.open",
    "zipfile.ZipFile",
    "sqlite3.connect",
    "aiosqlite.connect",
    "logging.FileHandler",
    "numpy.load",
    "numpy.save",
    "os.open",
    "os.listdir",
    "os.scandir",
    "os.walk",
    "os.makedirs",
    "os.mkdir",
    "os.remove",
    "os.unlink",
    "os.rmdir",
    "os.removedirs",
    "os.rename",
    "os.renames",
    "os.replace",
    "os.link",
    "os.symlink",
    "os.readlink",
    "os.chdir",
    "os.chmod",
    "os.truncate",
    "glob.glob",
    "glob.iglob",
    "shutil.copy",
    "shutil.copy2",
    "shutil.copyfile",
    "shutil.copytree",
    "shutil.move",
    "shutil.rmtree",
    "shutil.make_archive",
];

/// Functions that change files whatever their arguments are.
const WRITING_FUNCTIONS: &[&str] = &[
    "os.open",
    "os.makedirs",
    "os.mkdir",
    "os.remove",
    "os.unlink",
    "os.rmdir",
    "os.removedirs",
    "os.rename",
    "os.renames",
    "os.replace",
    "os.link",
    "os.symlink",
    "os.chmod",
    "os.truncate",
    "shutil.copy",
    "shutil.copy2",
    "shutil.copyfile",
    "shutil.copytree",
    "shutil.move",
    "shutil.rmtree",
    "shutil.make_archive",
    "sqlite3.connect",
    "aiosqlite.connect",
    "shelve.open",
    "logging.FileHandler",
    "numpy.save",
];

/// Methods that change files, of paths and of what can be saved.
const WRITING_METHODS: &[&str] = &[
    "write_text",
    "write_bytes",
    "mkdir",
    "touch",
    "unlink",
    "rmdir",
    "symlink_to",
    "hardlink_to",
    "to_csv",
    "to_excel",
    "to_parquet",
    "to_pickle",
    "savefig",
    "save",
];

/// Methods that list a folder.
const LISTING_METHODS: &[&str] = &["iterdir", "glob", "rglob"];

/// Reports what this call shows.
pub(super) fn look_at(expression: &Expr, names: &Names<'_>, findings: &mut Findings) {
    let Expr::Call(call) = expression else { return };
    let name = names.full_name(&call.func);
    if let Some(name) = &name {
        function(name, expression, call, names, findings);
    }
    let is_known =
        name.is_some_and(|name| PATH_FUNCTIONS.contains(&name.as_str()) || default_port(&name).is_some());
    if !is_known && let Expr::Attribute(method) = &*call.func {
        method_of(method.attr.as_str(), &method.value, call, names, findings);
    }
}

/// False for most attributes, at the price of a few bytes compared.
pub(super) fn may_start_programs(attribute: &str) -> bool {
    matches!(attribute.as_bytes().first(), Some(b's' | b'p' | b'e' | b'c'))
        && ["system", "popen", "exec", "spawn", "posix_spawn", "create_subprocess"]
            .iter()
            .any(|start| attribute.starts_with(start))
}

/// True for functions that start programs, by their full name.
pub(super) fn starts_programs(name: &str) -> bool {
    let (module, function) = name.rsplit_once('.').unwrap_or(("", name));
    match module {
        "os" => {
            matches!(function, "system" | "popen" | "posix_spawn" | "posix_spawnp")
                || function.starts_with("exec")
                || function.starts_with("spawn")
        }
        "asyncio" => function.starts_with("create_subprocess"),
        _ => false,
    }
}

fn function(name: &str, expression: &Expr, call: &ExprCall, names: &Names<'_>, findings: &mut Findings) {
    let at = offset(call);
    let first = call.arguments.args.first();
    match name {
        "os.getenv"
        | "os.environ.get"
        | "os.environ.pop"
        | "os.environ.setdefault"
        | "os.environ.__getitem__" => {
            let key = first.or_else(|| call.arguments.find_keyword("key").map(|keyword| &keyword.value));
            for name in key.map(|key| names.texts(key)).unwrap_or_default() {
                findings.environment(at, &name);
            }
        }
        "roost_host.call" => {
            if first.and_then(|method| names.text(method)).as_deref() == Some("model.complete") {
                findings.right(at, "model");
            }
        }
        "getattr" => {
            let wanted = call.arguments.args.get(1).and_then(|name| names.text(name));
            if matches!(wanted.as_deref(), Some("call_llm" | "call_copilot")) {
                findings.right(at, "model");
            }
        }
        "pathlib.Path" | "Path" => {
            // The root alone is where many paths begin, and says nothing about where they lead.
            let path = first.and_then(|_| names.path(expression));
            note(at, path.filter(|path| path.rest != "/"), findings);
        }
        _ => {
            if let Some(port) = default_port(name) {
                connection(call, port, names, findings);
            }
            if PATH_FUNCTIONS.contains(&name) {
                path_function(name, call, names, findings);
            }
            if WRITING_FUNCTIONS.contains(&name) {
                findings.writes();
            }
            if matches!(name, "sys.path.insert" | "sys.path.append") {
                let is_own = |path: SourcePath| path.root == Root::Own;
                if call.arguments.args.iter().filter_map(|argument| names.path(argument)).any(is_own) {
                    findings.agents(at);
                }
            }
        }
    }
}

/// For functions that connect: the port when none is given, if there is such a port.
fn default_port(name: &str) -> Option<Option<u16>> {
    CONNECTIONS.iter().find(|(known, _)| *known == name).map(|(_, port)| *port)
}

fn path_function(name: &str, call: &ExprCall, names: &Names<'_>, findings: &mut Findings) {
    let at = offset(call);
    if name.ends_with("open") || name == "zipfile.ZipFile" {
        mode(call, 1, names, findings);
    }
    // The second argument of most is something else than a path; what is no path is not noted.
    for argument in call.arguments.args.iter().take(2) {
        let Some(path) = names.path(argument) else { continue };
        // Whatever lies beside the file lies among the agents.
        if path.root == Root::Own {
            findings.agents(at);
        }
        note(at, Some(path), findings);
    }
}

fn method_of(method: &str, object: &Expr, call: &ExprCall, names: &Names<'_>, findings: &mut Findings) {
    if WRITING_METHODS.contains(&method) {
        findings.writes();
    } else if LISTING_METHODS.contains(&method) {
        if names.path(object).is_some_and(|path| path.root == Root::Own && is_folder(&path)) {
            findings.agents(offset(call));
        }
    } else if method == "open" && names.full_name(object).is_none_or(|name| !name.contains('.')) {
        mode(call, 0, names, findings);
    } else if method == "connect" && looks_like_connection(call, names) {
        connection(call, Some(22), names, findings);
    } else if method == "rename" && call.arguments.args.len() == 1 && call.arguments.keywords.is_empty() {
        findings.writes();
    }
}

/// Databases and others have a method of this name too: a pair, a port or a user shows that a computer is meant.
fn looks_like_connection(call: &ExprCall, names: &Names<'_>) -> bool {
    let arguments = &call.arguments;
    let has_keyword = |name: &str| arguments.find_keyword(name).is_some();
    let is_pair = |first: &Expr| matches!(names.value(first).unwrap_or(first), Expr::Tuple(_));
    arguments.args.first().is_some_and(is_pair)
        || arguments.args.get(1).is_some_and(|second| names.port(second).is_some())
        || has_keyword("port")
        || has_keyword("username")
}

/// The agent's folder itself, or what a pattern finds in it.
fn is_folder(path: &SourcePath) -> bool {
    path.rest.trim_matches(['/', '.']).is_empty() || path.rest.contains('*') || path.rest.contains("agents")
}

/// A mode that writes; one that is not known may be.
fn mode(call: &ExprCall, position: usize, names: &Names<'_>, findings: &mut Findings) {
    if let Some(mode) = call.arguments.find_argument_value("mode", position)
        && names.text(mode).is_none_or(|mode| mode.contains(['w', 'a', 'x', '+', '{']))
    {
        findings.writes();
    }
}

/// `connect("host", 80)`, `connect(("host", 80))` or `connect(host="host", port=80)`.
fn connection(call: &ExprCall, port: Option<u16>, names: &Names<'_>, findings: &mut Findings) {
    let arguments = &call.arguments;
    let keyword = |name: &str| arguments.find_keyword(name).map(|keyword| &keyword.value);
    let first = arguments.args.first();
    let (host, given) = match first.map(|first| names.value(first).unwrap_or(first)) {
        Some(Expr::Tuple(pair)) => (pair.elts.first(), pair.elts.get(1)),
        _ => (
            first.or_else(|| keyword("host")).or_else(|| keyword("hostname")),
            arguments.args.get(1).or_else(|| keyword("port")),
        ),
    };
    let Some(host) = host.and_then(|host| names.text(host)) else { return };
    // A port that is given and not known cannot be asked for.
    match given {
        None => findings.host(offset(call), &host, port),
        Some(given) => {
            if let Some(given) = names.port(given) {
                findings.host(offset(call), &host, Some(given));
            }
        }
    }
}

fn note(at: usize, path: Option<SourcePath>, findings: &mut Findings) {
    if let Some(place) = path.and_then(|path| path.place()) {
        findings.place(at, &place);
    }
}
