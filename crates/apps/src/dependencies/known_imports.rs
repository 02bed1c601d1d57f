//! Import names of well-known packages, where the name of the package can be told from the import.
//!
//! Modules of the standard library and those the host makes importable are not here and must never be: a package of
//! the same name would be someone else's.

use crate::python_source::Import;

/// The packages an import needs; none when nothing is known of it. Several only where one statement takes several
/// parts of a shared namespace.
pub(super) fn distributions(import: &Import) -> Vec<&'static str> {
    if let Some(distribution) = longest_match(&import.module) {
        return vec![distribution];
    }
    // `from azure import identity`: the names decide.
    import.names.iter().filter_map(|name| longest_match(&format!("{}.{name}", import.module))).collect()
}

fn longest_match(module: &str) -> Option<&'static str> {
    let mut prefix = module;
    loop {
        if let Ok(index) = KNOWN.binary_search_by(|(known, _)| known.cmp(&prefix)) {
            return Some(KNOWN[index].1);
        }
        prefix = prefix.rsplit_once('.')?.0;
    }
}

/// Import name and package, sorted by import name.
const KNOWN: &[(&str, &str)] = &[
    ("Crypto", "pycryptodome"),
    ("OpenSSL", "pyOpenSSL"),
    ("PIL", "Pillow"),
    ("PyPDF2", "PyPDF2"),
    ("aiofiles", "aiofiles"),
    ("aiohttp", "aiohttp"),
    ("anthropic", "anthropic"),
    ("azure.ai.documentintelligence", "azure-ai-documentintelligence"),
    ("azure.ai.formrecognizer", "azure-ai-formrecognizer"),
    ("azure.ai.inference", "azure-ai-inference"),
    ("azure.ai.projects", "azure-ai-projects"),
    ("azure.ai.textanalytics", "azure-ai-textanalytics"),
    ("azure.cognitiveservices.speech", "azure-cognitiveservices-speech"),
    ("azure.core", "azure-core"),
    ("azure.cosmos", "azure-cosmos"),
    ("azure.data.tables", "azure-data-tables"),
    ("azure.eventhub", "azure-eventhub"),
    ("azure.functions", "azure-functions"),
    ("azure.identity", "azure-identity"),
    ("azure.keyvault.keys", "azure-keyvault-keys"),
    ("azure.keyvault.secrets", "azure-keyvault-secrets"),
    ("azure.mgmt.resource", "azure-mgmt-resource"),
    ("azure.monitor.query", "azure-monitor-query"),
    ("azure.search.documents", "azure-search-documents"),
    ("azure.servicebus", "azure-servicebus"),
    ("azure.storage.blob", "azure-storage-blob"),
    ("azure.storage.filedatalake", "azure-storage-file-datalake"),
    ("azure.storage.fileshare", "azure-storage-file-share"),
    ("azure.storage.queue", "azure-storage-queue"),
    ("boto3", "boto3"),
    ("botocore", "botocore"),
    ("bs4", "beautifulsoup4"),
    ("certifi", "certifi"),
    ("chardet", "chardet"),
    ("charset_normalizer", "charset-normalizer"),
    ("click", "click"),
    ("colorama", "colorama"),
    ("cryptography", "cryptography"),
    ("cv2", "opencv-python-headless"),
    ("dateutil", "python-dateutil"),
    ("diagrams", "diagrams"),
    ("docx", "python-docx"),
    ("dotenv", "python-dotenv"),
    ("fastapi", "fastapi"),
    ("feedparser", "feedparser"),
    ("fitz", "PyMuPDF"),
    ("flask", "Flask"),
    ("git", "GitPython"),
    ("github", "PyGithub"),
    ("google.genai", "google-genai"),
    ("google.generativeai", "google-generativeai"),
    ("graphviz", "graphviz"),
    ("html2text", "html2text"),
    ("httpx", "httpx"),
    ("jinja2", "Jinja2"),
    ("jose", "python-jose"),
    ("jsonschema", "jsonschema"),
    ("jwt", "PyJWT"),
    ("loguru", "loguru"),
    ("lxml", "lxml"),
    ("markdown", "Markdown"),
    ("matplotlib", "matplotlib"),
    ("mcp", "mcp"),
    ("msal", "msal"),
    ("nacl", "PyNaCl"),
    ("networkx", "networkx"),
    ("nltk", "nltk"),
    ("numpy", "numpy"),
    ("openai", "openai"),
    ("openpyxl", "openpyxl"),
    ("opentelemetry", "opentelemetry-api"),
    ("opentelemetry.sdk", "opentelemetry-sdk"),
    ("orjson", "orjson"),
    ("packaging", "packaging"),
    ("pandas", "pandas"),
    ("paramiko", "paramiko"),
    ("pdfplumber", "pdfplumber"),
    ("pikepdf", "pikepdf"),
    ("playwright", "playwright"),
    ("plotly", "plotly"),
    ("polars", "polars"),
    ("pptx", "python-pptx"),
    ("psutil", "psutil"),
    ("psycopg2", "psycopg2-binary"),
    ("pydantic", "pydantic"),
    ("pymongo", "pymongo"),
    ("pypdf", "pypdf"),
    ("pyperclip", "pyperclip"),
    ("pytz", "pytz"),
    ("qrcode", "qrcode"),
    ("redis", "redis"),
    ("regex", "regex"),
    ("reportlab", "reportlab"),
    ("requests", "requests"),
    ("rich", "rich"),
    ("scipy", "scipy"),
    ("seaborn", "seaborn"),
    ("selenium", "selenium"),
    ("serial", "pyserial"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("slugify", "python-slugify"),
    ("sqlalchemy", "SQLAlchemy"),
    ("sympy", "sympy"),
    ("tabulate", "tabulate"),
    ("tenacity", "tenacity"),
    ("tiktoken", "tiktoken"),
    ("tomli", "tomli"),
    ("tqdm", "tqdm"),
    ("twilio", "twilio"),
    ("typing_extensions", "typing_extensions"),
    ("urllib3", "urllib3"),
    ("websocket", "websocket-client"),
    ("websockets", "websockets"),
    ("xlsxwriter", "XlsxWriter"),
    ("yaml", "PyYAML"),
];

#[cfg(test)]
mod tests {
    use super::{KNOWN, longest_match};

    #[test]
    fn the_table_is_sorted_and_each_name_stands_once() {
        assert!(KNOWN.is_sorted_by(|left, right| left.0 < right.0));
    }

    #[test]
    fn the_longest_known_part_of_a_module_decides() {
        for (module, expected) in [
            ("yaml", Some("PyYAML")),
            ("azure.storage.fileshare", Some("azure-storage-file-share")),
            ("azure.core.exceptions", Some("azure-core")),
            ("azure", None),
            ("azure.unheard.of", None),
            ("opentelemetry.trace", Some("opentelemetry-api")),
            ("opentelemetry.sdk.trace", Some("opentelemetry-sdk")),
            ("requests.adapters", Some("requests")),
            ("yamlish", None),
        ] {
            assert_eq!(longest_match(module), expected, "{module}");
        }
    }

    #[test]
    fn nothing_the_interpreter_or_the_host_brings_is_a_package() {
        for module in [
            "agents",
            "basic_agent",
            "openrappter",
            "utils",
            "local_storage",
            "brainstem",
            "function_app",
            "os",
            "sys",
            "json",
            "re",
            "typing",
            "asyncio",
            "urllib",
            "http",
            "email",
            "logging",
            "sqlite3",
            "xml",
            "ssl",
            "tomllib",
        ] {
            assert_eq!(longest_match(module), None, "{module}");
            assert_eq!(longest_match(&format!("{module}.part")), None, "{module}");
        }
    }
}
