//! One connection for many requests, as fast as loopback goes: for measurements and for many clients at once.

use serde_json::Value;
use std::{io, net::Ipv4Addr};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Longest head of an answer.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// A client that keeps its connection.
#[derive(Debug)]
pub struct KeepAlive {
    stream: TcpStream,
    held: Vec<u8>,
}

impl KeepAlive {
    /// Connects to a port of this machine.
    pub async fn connect(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, held: Vec::new() })
    }

    /// A GET request: status and body.
    pub async fn get(&mut self, path: &str) -> io::Result<(u16, Vec<u8>)> {
        let head = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        self.stream.write_all(head.as_bytes()).await?;
        self.answer().await
    }

    /// A POST request with a JSON body: status and body.
    pub async fn post(&mut self, path: &str, body: &Value) -> io::Result<(u16, Vec<u8>)> {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await?;
        self.answer().await
    }

    /// Any request with one more header line and a JSON body: status and body.
    pub async fn request(
        &mut self,
        method: &str,
        path: &str,
        header: &str,
        body: &str,
    ) -> io::Result<(u16, Vec<u8>)> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await?;
        self.answer().await
    }

    async fn answer(&mut self) -> io::Result<(u16, Vec<u8>)> {
        let end = loop {
            if let Some(end) = self.held.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            if self.held.len() > HEAD_BYTES_MAX {
                return Err(io::Error::other("the head of the answer has no end"));
            }
            self.read_more().await?;
        };
        let head = String::from_utf8_lossy(&self.held[..end]).to_lowercase();
        let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<usize>().ok());
        let status = number(head.get(9..12)).and_then(|status| u16::try_from(status).ok());
        let length = number(head.lines().find_map(|line| line.strip_prefix("content-length:")));
        let (Some(status), Some(length)) = (status, length) else {
            return Err(io::Error::other(format!("not an answer with a length: {head}")));
        };
        while self.held.len() < end + length {
            self.read_more().await?;
        }
        let body = self.held[end..end + length].to_vec();
        self.held.drain(..end + length);
        Ok((status, body))
    }

    async fn read_more(&mut self) -> io::Result<()> {
        self.held.reserve(16 << 10);
        match self.stream.read_buf(&mut self.held).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}
