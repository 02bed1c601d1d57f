//! From a target to a connection: the name is decided on, looked up once, and every address is checked.
//!
//! Invariant: the address that was checked is the address that is connected to. There is no second lookup between.

use super::{
    address,
    answer::Stopped,
    counted::{Activity, Counted},
    doorkeeper::{Doorkeeper, Verdict},
    ledger::Ledger,
    resolver::Resolver,
    target::Target,
};
use roost_protocol::{Host, HostPort, Refusal, RefusedBy, Right};
use std::{io, net::IpAddr, sync::Arc, time::Duration};
use tokio::{net::TcpStream, time::timeout};

/// Longest wait for a name server: resolvers give up after two tries of five seconds.
const RESOLVE_WAIT_MAX: Duration = Duration::from_secs(10);

/// Longest wait for one address: three lost packets at the start of a connection take seven seconds.
const CONNECT_WAIT_MAX: Duration = Duration::from_secs(10);

/// Most addresses tried for one name, so that a name with many dead ones does not hold an agent for minutes.
const ADDRESSES_MAX: usize = 4;

/// Deciding, looking up and connecting, for one agent.
pub(super) struct Passage {
    pub(super) doorkeeper: Arc<dyn Doorkeeper>,
    pub(super) resolver: Arc<dyn Resolver>,
    pub(super) ledger: Arc<Ledger>,
}

/// A target that the doorkeeper allowed. Made by `admit` only.
#[derive(Debug)]
pub(super) struct Admitted(Target);

impl Admitted {
    pub(super) fn target(&self) -> &Target {
        &self.0
    }
}

impl Passage {
    /// Asks about the name, before anything about it leaves this computer.
    pub(super) fn admit(&self, target: Target) -> Result<Admitted, Stopped> {
        match self.doorkeeper.may_reach(&target.host_port()) {
            Verdict::Allowed => Ok(Admitted(target)),
            Verdict::Refused { next } => {
                Err(self.refuse(format!("connect to {target}"), Some(target.host_port()), next))
            }
        }
    }

    /// Connects to the first address that is allowed and answers.
    pub(super) async fn connect(
        &self,
        admitted: &Admitted,
        activity: &Arc<Activity>,
    ) -> Result<Counted<TcpStream>, Stopped> {
        let Admitted(target) = admitted;
        let mut stopped = Stopped::Unreachable(format!("{target} has no address"));
        for address in self.addresses(target).await?.into_iter().take(ADDRESSES_MAX) {
            let address = address::plain(address);
            if let Err(refused) = self.check_address(target, address) {
                stopped = refused;
                continue;
            }
            match timeout(CONNECT_WAIT_MAX, TcpStream::connect((address, target.port()))).await {
                Ok(Ok(stream)) => {
                    // Requests are small and somebody waits for each.
                    stream.set_nodelay(true).map_err(|error| unreachable(target, &error))?;
                    return Ok(Counted::new(stream, self.ledger.row(target), activity.clone()));
                }
                Ok(Err(error)) => stopped = unreachable(target, &error),
                Err(_) => stopped = Stopped::TooSlow(format!("{target} did not accept a connection in time")),
            }
        }
        if let Stopped::Refused(refusal) = &stopped {
            self.ledger.refuse(Refusal::clone(refusal));
        }
        Err(stopped)
    }

    /// Notes a refusal, and gives it back as the end of the request.
    pub(super) fn refuse(&self, what: String, grant: Option<HostPort>, next: String) -> Stopped {
        let refusal = refusal(what, grant, next);
        self.ledger.refuse(refusal.clone());
        Stopped::Refused(Box::new(refusal))
    }

    async fn addresses(&self, target: &Target) -> Result<Vec<IpAddr>, Stopped> {
        let name = match target.host() {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) | Host::Below(name) => name,
        };
        match timeout(RESOLVE_WAIT_MAX, self.resolver.resolve(name)).await {
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(_)) => Err(Stopped::Unreachable(format!("the name {name} was not found"))),
            Err(_) => Err(Stopped::TooSlow(format!("the name {name} was not found in time"))),
        }
    }

    /// Not noted at once: another address of the same name may still do.
    fn check_address(&self, target: &Target, address: IpAddr) -> Result<(), Stopped> {
        if address::is_public(address) {
            return Ok(());
        }
        match self.doorkeeper.may_reach_private(address, target.port()) {
            Verdict::Allowed => Ok(()),
            Verdict::Refused { next } => {
                let what = match target.host() {
                    Host::Address(_) => format!("connect to {target}, which is not a public address"),
                    _ => format!("connect to {target} at {address}, which is not a public address"),
                };
                let grant = HostPort { host: Host::Address(address), port: Some(target.port()) };
                Err(Stopped::Refused(Box::new(refusal(what, Some(grant), next))))
            }
        }
    }
}

fn refusal(what: String, grant: Option<HostPort>, next: String) -> Refusal {
    Refusal { what, right: grant.map(Right::Network), by: RefusedBy::Proxy, count: 1, next }
}

fn unreachable(target: &Target, error: &io::Error) -> Stopped {
    Stopped::Unreachable(format!("{target} cannot be reached: {}", error.kind()))
}
