//! The proxy against real and hostile peers, all on this computer.

mod stage; // an agent's side, servers, and who decides
mod requests; // plain HTTP
mod smuggling; // requests that could be read in two ways
mod addresses; // names that point where they should not
mod tunnels; // CONNECT
mod secrets; // placeholders, with and without TLS
mod limits; // how much, how long, and the end
mod clients; // programs that agents use
