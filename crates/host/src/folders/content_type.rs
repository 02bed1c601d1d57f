//! What a file of a folder is, by its name and its content.

use roost_workspace::FilePath;

pub(super) fn content_type(path: &FilePath, content: &[u8]) -> String {
    let ending = path.as_str().rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let by_name = match ending.as_deref() {
        Some("md" | "markdown") => "text/markdown",
        Some("txt" | "log") => "text/plain",
        Some("json") => "application/json",
        Some("csv") => "text/csv",
        Some("html" | "htm") => "text/html",
        Some("xml") => "application/xml",
        Some("yaml" | "yml") => "application/yaml",
        Some("pdf") => "application/pdf",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("svg") => "image/svg+xml",
        Some("zip") => "application/zip",
        _ if std::str::from_utf8(content).is_ok() => "text/plain",
        _ => "application/octet-stream",
    };
    by_name.to_owned()
}
