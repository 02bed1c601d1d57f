//! Modules that reach the network, and the computer a client library talks to when nobody says otherwise.

/// A module and, for the client of one provider, that provider's computer.
type Library = (&'static str, Option<&'static str>);

/// Python modules. A name stands for everything below it.
const PYTHON: &[Library] = &[
    ("requests", None),
    ("requests_html", None),
    ("requests_oauthlib", None),
    ("httpx", None),
    ("aiohttp", None),
    ("urllib.request", None),
    ("urllib2", None),
    ("urllib3", None),
    ("http.client", None),
    ("httplib2", None),
    ("pycurl", None),
    ("socket", None),
    ("socketserver", None),
    ("smtplib", None),
    ("aiosmtplib", None),
    ("imaplib", None),
    ("poplib", None),
    ("nntplib", None),
    ("ftplib", None),
    ("telnetlib", None),
    ("xmlrpc.client", None),
    ("websocket", None),
    ("websockets", None),
    ("socketio", None),
    ("grpc", None),
    ("paramiko", None),
    ("asyncssh", None),
    ("fabric", None),
    ("dns.resolver", None),
    ("feedparser", None),
    ("mechanize", None),
    ("scrapy", None),
    ("selenium", None),
    ("playwright", None),
    ("yfinance", None),
    ("pymongo", None),
    ("redis", None),
    ("psycopg", None),
    ("psycopg2", None),
    ("asyncpg", None),
    ("pymysql", None),
    ("mysql.connector", None),
    ("elasticsearch", None),
    ("kafka", None),
    ("pika", None),
    ("paho.mqtt", None),
    ("boto3", None),
    ("botocore", None),
    ("aiobotocore", None),
    ("azure.storage", None),
    ("azure.identity", None),
    ("azure.ai", None),
    ("google.cloud", None),
    ("googleapiclient", None),
    ("google.generativeai", Some("generativelanguage.googleapis.com")),
    ("google.genai", Some("generativelanguage.googleapis.com")),
    ("openai", Some("api.openai.com")),
    ("anthropic", Some("api.anthropic.com")),
    ("mistralai", Some("api.mistral.ai")),
    ("cohere", Some("api.cohere.com")),
    ("groq", Some("api.groq.com")),
    ("github", Some("api.github.com")),
    ("github3", Some("api.github.com")),
    ("slack_sdk", Some("slack.com")),
    ("stripe", Some("api.stripe.com")),
    ("twilio", Some("api.twilio.com")),
    ("sendgrid", Some("api.sendgrid.com")),
    ("notion_client", Some("api.notion.com")),
    ("wikipedia", Some("en.wikipedia.org")),
    ("huggingface_hub", Some("huggingface.co")),
];

/// Packages of TypeScript and modules of its runtimes, without `node:`.
const TYPESCRIPT: &[Library] = &[
    ("net", None),
    ("tls", None),
    ("dgram", None),
    ("http", None),
    ("https", None),
    ("http2", None),
    ("dns", None),
    ("axios", None),
    ("node-fetch", None),
    ("cross-fetch", None),
    ("got", None),
    ("ky", None),
    ("undici", None),
    ("superagent", None),
    ("request", None),
    ("ws", None),
    ("socket.io-client", None),
    ("nodemailer", None),
    ("imapflow", None),
    ("ssh2", None),
    ("ftp", None),
    ("basic-ftp", None),
    ("mongodb", None),
    ("redis", None),
    ("ioredis", None),
    ("pg", None),
    ("mysql2", None),
    ("puppeteer", None),
    ("playwright", None),
    ("aws-sdk", None),
    ("@aws-sdk", None),
    ("@azure", None),
    ("@google-cloud", None),
    ("googleapis", None),
    ("@google/generative-ai", Some("generativelanguage.googleapis.com")),
    ("openai", Some("api.openai.com")),
    ("@anthropic-ai/sdk", Some("api.anthropic.com")),
    ("@octokit", Some("api.github.com")),
    ("octokit", Some("api.github.com")),
    ("@slack/web-api", Some("slack.com")),
    ("stripe", Some("api.stripe.com")),
    ("twilio", Some("api.twilio.com")),
    ("@notionhq/client", Some("api.notion.com")),
];

/// What is known about a Python module such as `urllib.request`: nothing when it does not reach the network, else the
/// computer it reaches by default, if it has one.
pub(super) fn of_python(module: &str) -> Option<Option<&'static str>> {
    find(PYTHON, module, '.')
}

/// The same for the name in an `import` of TypeScript, such as `@octokit/rest`.
pub(super) fn of_typescript(package: &str) -> Option<Option<&'static str>> {
    find(TYPESCRIPT, package, '/')
}

fn find(libraries: &[Library], name: &str, separator: char) -> Option<Option<&'static str>> {
    let is_in = |known: &str| {
        name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(separator))
    };
    libraries.iter().find(|(known, _)| is_in(known)).map(|(_, host)| *host)
}
