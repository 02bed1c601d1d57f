//! Names that point to this computer, to its network, or first here and then there.

use super::stage::*;

#[tokio::test]
async fn private_addresses_are_refused_however_they_are_written() {
    let stage = Plan::granting(&["*.good.example"]).start();
    let hosts = [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[fd00::1]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "localhost",
    ];
    for host in hosts {
        assert_eq!(status(&stage.get(&format!("http://{host}/")).await), "403", "{host}");
        assert_eq!(status(&stage.tunnel(&format!("{host}:443")).await.0), "403", "{host}");
    }
}

#[tokio::test]
async fn an_allowed_name_does_not_open_the_private_address_behind_it() {
    let server = echo_server().await;
    let port = server.port();
    for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"]
    {
        let stage =
            Plan::granting(&[&format!("api.example:{port}")]).name("api.example", &[&[address]]).start();
        let answer = stage.get(&format!("http://api.example:{port}/")).await;
        assert_eq!(status(&answer), "403", "{address}: {answer}");
        let (head, _) = stage.tunnel(&format!("api.example:{port}")).await;
        assert_eq!(status(&head), "403", "{address}: {head}");
        let refused = &stage.proxy.take_report().refused[0];
        assert!(refused.what.starts_with(&format!("connect to api.example:{port} at ")), "{refused:?}");
        assert_eq!(refused.count, 2);
        assert!(refused.right.is_some(), "granting the address itself would help");
    }
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_the_checked_address_is_used() {
    let server = echo_server().await;
    let port = server.port();
    let stage = Plan::granting(&[&format!("api.example:{port}"), &format!("127.0.0.1:{port}")])
        .name("api.example", &[&["127.0.0.1"], &["169.254.169.254"]])
        .start();
    assert_eq!(status(&stage.get(&format!("http://api.example:{port}/")).await), "200");
    assert_eq!(stage.names.asked(), ["api.example"]);
    let second = stage.get(&format!("http://api.example:{port}/")).await;
    assert_eq!(status(&second), "403", "the second answer is checked like the first");
    assert_eq!(stage.names.asked().len(), 2);
}

#[tokio::test]
async fn the_next_allowed_address_is_tried_when_one_is_refused_or_fails() {
    let server = echo_server().await;
    let port = server.port();
    let stage = Plan::granting(&[
        &format!("api.example:{port}"),
        &format!("127.0.0.1:{port}"),
        &format!("127.0.0.9:{port}"),
    ])
    // Not allowed, allowed and nobody there, allowed and there.
    .name("api.example", &[&["10.0.0.1", "127.0.0.9", "127.0.0.1"]])
    .start();
    assert_eq!(status(&stage.get(&format!("http://api.example:{port}/")).await), "200");
    assert!(stage.refused().is_empty());
}

#[tokio::test]
async fn a_redirect_is_a_new_request_and_decided_anew() {
    for place in ["http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://127.0.0.1:9/"] {
        let answer = format!("HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n");
        let port = canned_server(answer).await.port();
        let stage = Plan::granting(&[&format!("localhost:{port}")]).start();
        let first = stage.get(&format!("http://localhost:{port}/")).await;
        assert_eq!(status(&first), "302");
        let location = first.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
        assert_eq!(status(&stage.get(location).await), "403", "{place}");
    }
}

#[tokio::test]
async fn the_proxy_is_no_way_to_itself() {
    let stage = Plan::granting(&["good.example"]).start();
    let itself = stage.address;
    assert_eq!(status(&stage.get(&format!("http://{itself}/")).await), "403");
    assert_eq!(status(&stage.tunnel(&itself.to_string()).await.0), "403");
    assert_eq!(status(&stage.tunnel(&format!("localhost:{}", itself.port())).await.0), "403");
}
