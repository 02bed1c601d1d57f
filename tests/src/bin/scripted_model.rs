//! The scripted model as a program, for tests in other languages: prints where it listens and ends with its input.
#![allow(clippy::print_stdout, reason = "what it prints is what it is for")]

use roost_tests::ModelServer;
use std::io::{Read as _, Write as _};

fn main() -> std::io::Result<()> {
    let server = ModelServer::new();
    println!("{}", server.base_url());
    std::io::stdout().flush()?;
    // Whoever started it holds the other end; when that closes, nobody asks any more.
    std::io::stdin().read_to_end(&mut Vec::new()).map(drop)
}
