//! The programs that agents really use: Python's own client, and curl where it is installed.

use super::{
    secrets::{PLACEHOLDER, VALUE, tls_stage},
    stage::*,
};
use std::process::{Command, Output};

/// Runs a program beside the runtime, with the proxy in its environment and nothing else. None when it is not there.
async fn run(stage: &Stage, program: &'static str, arguments: Vec<String>) -> Option<Output> {
    let proxy = format!("http://{}", stage.address);
    tokio::task::spawn_blocking(move || {
        #[expect(clippy::disallowed_methods, reason = "the peers of these tests are real programs")]
        let mut command = Command::new(program);
        let variables = [("http_proxy", &proxy), ("https_proxy", &proxy)];
        command.env_clear().envs(variables).args(arguments).output().ok()
    })
    .await
    .unwrap()
}

const PYTHON: &str = "/usr/bin/python3.11";

async fn python(stage: &Stage, script: &str) -> Option<String> {
    let output = run(stage, PYTHON, vec!["-c".to_owned(), script.to_owned()]).await?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

#[tokio::test]
async fn python_reaches_what_is_allowed_and_learns_what_is_not() {
    let server = echo_server().await;
    let port = server.port();
    let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
    let script = format!(
        "import urllib.request, urllib.error\n\
         print(urllib.request.urlopen('http://localhost:{port}/hello', b'body').read().decode())\n\
         for uri in ['http://evil.example/', 'http://169.254.169.254/']:\n\
         \x20try: urllib.request.urlopen(uri)\n\
         \x20except urllib.error.HTTPError as error: print(error.code, error.read().decode())\n\
         try: urllib.request.urlopen('https://evil.example/')\n\
         except urllib.error.URLError as error: print(error)\n"
    );
    let Some(printed) = python(&stage, &script).await else { return };
    assert!(printed.contains("POST /hello HTTP/1.1"), "{printed}");
    assert!(printed.contains("403 Roost: not allowed: connect to evil.example:80."), "{printed}");
    assert!(printed.contains("403 Roost: not allowed: connect to 169.254.169.254:80."), "{printed}");
    assert!(printed.contains("Tunnel connection failed: 403 Forbidden"), "{printed}");
}

#[tokio::test]
async fn python_follows_a_redirect_into_a_refusal() {
    let answer = "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n";
    let port = canned_server(answer.to_owned()).await.port();
    let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
    let script = format!("import urllib.request; urllib.request.urlopen('http://localhost:{port}/')");
    let Some(printed) = python(&stage, &script).await else { return };
    assert!(printed.contains("HTTP Error 403"), "{printed}");
}

#[tokio::test]
async fn python_uses_a_secret_inside_tls_without_seeing_it() {
    let (stage, server) = tls_stage().await;
    let script = format!(
        "import urllib.request, ssl\n\
         trust = ssl.create_default_context(cadata='''{}''')\n\
         trust.verify_flags |= ssl.VERIFY_X509_STRICT\n\
         request = urllib.request.Request('https://localhost:{}/', headers={{'Authorization': 'Bearer {PLACEHOLDER}'}})\n\
         print(urllib.request.urlopen(request, context=trust).read().decode())\n",
        stage.authority.pem(),
        server.port()
    );
    let Some(printed) = python(&stage, &script).await else { return };
    assert!(printed.contains(&format!("authorization: Bearer {VALUE}")), "{printed}");
}

#[tokio::test]
async fn curl_reaches_what_is_allowed_and_learns_what_is_not() {
    let server = echo_server().await;
    let port = server.port();
    let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
    let arguments = |uri: String| vec!["-sS".to_owned(), "-m".to_owned(), "20".to_owned(), uri];
    let Some(allowed) = run(&stage, "curl", arguments(format!("http://localhost:{port}/hello"))).await else {
        return;
    };
    let printed = String::from_utf8_lossy(&allowed.stdout);
    assert!(printed.contains("GET /hello HTTP/1.1"), "{allowed:?}");
    let mut asking = arguments(format!("http://localhost:{port}/"));
    asking.extend(["-H", "Expect: 100-continue", "-d", "the body"].map(str::to_owned));
    let asked = run(&stage, "curl", asking).await.unwrap();
    assert!(String::from_utf8_lossy(&asked.stdout).ends_with("the body"), "{asked:?}");
    let refused = run(&stage, "curl", arguments("http://evil.example/".to_owned())).await.unwrap();
    assert!(String::from_utf8_lossy(&refused.stdout).contains("Next: ask a person"), "{refused:?}");
    let refused = run(&stage, "curl", arguments("https://evil.example/".to_owned())).await.unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("403"), "{refused:?}");
}
