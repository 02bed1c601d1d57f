//! Tunnels on the ports of the web, which tests cannot listen on: the two sides are given instead.

use super::{
    super::{
        Authority, SystemResolver, Trust,
        connection::Setup,
        doorkeeper::{Doorkeeper, Verdict},
        hello::tests::{hello_with, name_extension},
        ledger::Ledger,
        passage::Passage,
    },
    *,
};
use roost_protocol::HostPort;
use std::{net::IpAddr, sync::Arc};
use tokio::net::TcpListener;

struct Everything;

impl Doorkeeper for Everything {
    fn may_reach(&self, _: &HostPort) -> Verdict {
        Verdict::Allowed
    }

    fn may_reach_private(&self, _: IpAddr, _: u16) -> Verdict {
        Verdict::Allowed
    }
}

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (one, listener.accept().await.unwrap().0)
}

/// What the server sees of the agent's bytes, what the agent sees of the server's, and what was refused.
async fn check(target: &str, agent_says: &[u8], server_says: &[u8]) -> (Vec<u8>, Vec<u8>, Vec<String>) {
    let target = Target::of_tunnel(&target.parse().unwrap()).unwrap();
    let ledger = Arc::new(Ledger::default());
    let passage = Passage {
        doorkeeper: Arc::new(Everything),
        resolver: Arc::new(SystemResolver),
        ledger: ledger.clone(),
    };
    let authority = Authority::new().unwrap();
    let setup = Setup { passage, secrets: Vec::new(), authority, trust: Trust::default() };
    let session = Session::new(Arc::new(setup), Arc::default(), None);
    let ((mut agent, agent_end), (mut server, server_end)) = (pair().await, pair().await);
    let server_end = Counted::new(server_end, ledger.row(&target), session.activity.clone());
    server.write_all(server_says).await.unwrap();
    server.shutdown().await.unwrap();
    agent.write_all(agent_says).await.unwrap();
    agent.shutdown().await.unwrap();
    assert!(target.is_web());
    relay_web(agent_end, server_end, Vec::new(), &target, &session).await.ok();
    let (mut to_server, mut to_agent) = (Vec::new(), Vec::new());
    while let Ok(1..) = server.read_buf(&mut to_server).await {}
    while let Ok(1..) = agent.read_buf(&mut to_agent).await {}
    let refused = ledger.take().refused.into_iter().map(|refusal| refusal.what).collect();
    (to_server, to_agent, refused)
}

#[tokio::test]
async fn tls_passes_on_the_ports_of_the_web() {
    let hello = hello_with(&[name_extension("a.example")]);
    for target in ["a.example:443", "a.example:80"] {
        let (to_server, to_agent, refused) = check(target, &hello, b"answer").await;
        assert_eq!((to_server, to_agent.as_slice(), refused.len()), (hello.clone(), b"answer".as_slice(), 0));
    }
}

#[tokio::test]
async fn nothing_but_tls_passes_on_the_ports_of_the_web() {
    for target in ["a.example:443", "a.example:80"] {
        for first in [
            b"GET / HTTP/1.1\r\nHost: b.example\r\n\r\n".as_slice(),
            b"SSH-2.0-x\r\n",
            b"\x16",
            b"\x80\x2e\x01",
        ] {
            let (to_server, to_agent, refused) = check(target, first, b"banner").await;
            assert!(to_server.is_empty() && to_agent.is_empty(), "{first:?}");
            assert_eq!(refused, [format!("send something other than TLS to {target} in a tunnel")]);
        }
    }
}

#[tokio::test]
async fn another_name_is_refused_on_the_ports_of_the_web() {
    let hello = hello_with(&[name_extension("b.example")]);
    let (to_server, to_agent, refused) = check("a.example:443", &hello, b"answer").await;
    assert!(to_server.is_empty() && to_agent.is_empty());
    assert_eq!(refused, ["connect to a.example:443 under the other server name b.example"]);
    let (to_server, _, _) = check("93.184.216.34:443", &hello, b"").await;
    assert!(to_server.is_empty(), "an address is no name");
}

#[tokio::test]
async fn an_agent_that_says_nothing_gets_nothing_on_the_ports_of_the_web() {
    let (to_server, to_agent, refused) = check("a.example:443", b"", b"banner").await;
    assert!(to_server.is_empty() && to_agent.is_empty() && refused.is_empty());
}
