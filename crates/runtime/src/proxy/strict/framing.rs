//! Where heads and bodies begin and end in what an agent sends, and the first byte that leaves it in doubt.
//!
//! Checks framing only: methods, addresses and the letters of headers are the parser's business.

/// Longest head, and longest end of a chunked body: eight times what common servers take.
pub(in super::super) const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Most digits of a length. More would not fit into 64 bits.
const LENGTH_DIGITS_MAX: usize = 19;

/// Most hexadecimal digits of a chunk's size, for the same reason.
const CHUNK_DIGITS_MAX: usize = 15;

/// Follows the bytes of one connection.
#[derive(Debug, Default)]
pub(super) struct Framing {
    part: Part,
    /// The line so far, without what ends it.
    line: Vec<u8>,
    /// Bytes of this head so far.
    head_bytes: usize,
    head: Head,
}

#[derive(Debug, Default, Clone, Copy)]
enum Part {
    #[default]
    RequestLine,
    Header,
    Body {
        left: u64,
    },
    ChunkSize,
    Chunk {
        left: u64,
    },
    ChunkEnd,
    Trailer,
    /// After CONNECT: no longer HTTP.
    Tunnel,
}

/// What a head says about what follows.
#[derive(Debug, Default)]
struct Head {
    is_tunnel: bool,
    length: Option<u64>,
    is_chunked: bool,
}

/// The rules are broken here.
struct Broken;

impl Framing {
    /// Follows some more bytes; fails with the position of the first one that breaks the rules.
    pub(super) fn scan(&mut self, bytes: &[u8]) -> Result<(), usize> {
        let mut position = 0;
        while let Some(byte) = bytes.get(position) {
            match &mut self.part {
                Part::Tunnel => return Ok(()),
                Part::Body { left } | Part::Chunk { left } if *left > 0 => {
                    let rest = (bytes.len() - position) as u64;
                    let passed = rest.min(*left);
                    *left -= passed;
                    position += usize::try_from(passed).unwrap_or(usize::MAX);
                    self.end_part_if_passed();
                }
                _ => {
                    self.step(*byte).map_err(|Broken| position)?;
                    position += 1;
                }
            }
        }
        Ok(())
    }

    fn end_part_if_passed(&mut self) {
        self.part = match self.part {
            Part::Body { left: 0 } => Part::RequestLine,
            Part::Chunk { left: 0 } => Part::ChunkEnd,
            part => part,
        };
    }

    /// One byte of a line.
    fn step(&mut self, byte: u8) -> Result<(), Broken> {
        self.head_bytes += 1;
        if self.head_bytes > HEAD_BYTES_MAX {
            return Err(Broken);
        }
        match (byte, self.line.last()) {
            (b'\n', Some(b'\r')) => {
                self.line.pop();
                let line = std::mem::take(&mut self.line);
                let result = self.end_line(&line);
                // Kept for the next line, so that a head costs one allocation.
                self.line = line;
                self.line.clear();
                result
            }
            // A line feed alone, or something other than one after a carriage return.
            (b'\n', _) | (_, Some(b'\r')) => Err(Broken),
            _ => {
                self.line.push(byte);
                Ok(())
            }
        }
    }

    fn end_line(&mut self, line: &[u8]) -> Result<(), Broken> {
        match (self.part, line) {
            (Part::RequestLine, _) => {
                let is_version_one = line.ends_with(b" HTTP/1.1") || line.ends_with(b" HTTP/1.0");
                self.head = Head { is_tunnel: line.starts_with(b"CONNECT "), ..Head::default() };
                self.part = Part::Header;
                if is_version_one { Ok(()) } else { Err(Broken) }
            }
            (Part::Header, []) => self.end_head(),
            (Part::Header, _) => self.head.read(line),
            (Part::ChunkSize, _) => {
                self.head_bytes = 0;
                self.part = match chunk_size(line)? {
                    0 => Part::Trailer,
                    left => Part::Chunk { left },
                };
                Ok(())
            }
            (Part::ChunkEnd, []) => {
                self.part = Part::ChunkSize;
                Ok(())
            }
            (Part::Trailer, []) => {
                self.begin_request();
                Ok(())
            }
            (Part::Trailer, _) => name_and_value(line).map(|_| ()),
            (Part::ChunkEnd | Part::Body { .. } | Part::Chunk { .. } | Part::Tunnel, _) => Err(Broken),
        }
    }

    fn end_head(&mut self) -> Result<(), Broken> {
        match self.head {
            Head { length: Some(_), is_chunked: true, .. } => return Err(Broken),
            Head { is_tunnel: true, length: None | Some(0), is_chunked: false } => self.part = Part::Tunnel,
            // Whether a body or the tunnel follows would be anybody's guess.
            Head { is_tunnel: true, .. } => return Err(Broken),
            Head { is_chunked: true, .. } => self.part = Part::ChunkSize,
            Head { length: None | Some(0), .. } => self.begin_request(),
            Head { length: Some(left), .. } => {
                self.begin_request();
                self.part = Part::Body { left };
            }
        }
        Ok(())
    }

    fn begin_request(&mut self) {
        self.head_bytes = 0;
        self.part = Part::RequestLine;
    }
}

impl Head {
    fn read(&mut self, line: &[u8]) -> Result<(), Broken> {
        let (name, value) = name_and_value(line)?;
        if name.eq_ignore_ascii_case(b"content-length") {
            let fits = (1..=LENGTH_DIGITS_MAX).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
            if !fits || self.length.is_some() {
                return Err(Broken);
            }
            self.length = Some(number(value, 10)?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if self.is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(Broken);
            }
            self.is_chunked = true;
        }
        Ok(())
    }
}

/// A continued line has no name, and a name has no spaces: both are refused here.
fn name_and_value(line: &[u8]) -> Result<(&[u8], &[u8]), Broken> {
    let colon = line.iter().position(|byte| *byte == b':').ok_or(Broken)?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let is_name = !name.is_empty() && name.iter().all(|byte| byte.is_ascii_graphic());
    if is_name { Ok((name, value.trim_ascii())) } else { Err(Broken) }
}

/// Without extensions: nobody needs them, and parsers disagree on where they end.
fn chunk_size(line: &[u8]) -> Result<u64, Broken> {
    let fits = (1..=CHUNK_DIGITS_MAX).contains(&line.len()) && line.iter().all(u8::is_ascii_hexdigit);
    if fits { number(line, 16) } else { Err(Broken) }
}

fn number(digits: &[u8], radix: u32) -> Result<u64, Broken> {
    let text = std::str::from_utf8(digits).map_err(|_| Broken)?;
    u64::from_str_radix(text, radix).map_err(|_| Broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result must not depend on how the bytes arrive.
    fn check(text: &str, expected: Result<(), usize>) {
        let whole = Framing::default().scan(text.as_bytes());
        let mut framing = Framing::default();
        let single = text
            .bytes()
            .enumerate()
            .try_for_each(|(position, byte)| framing.scan(&[byte]).map_err(|_| position));
        assert_eq!(whole, expected, "{text:?}");
        assert_eq!(single, expected, "{text:?} byte by byte");
    }

    /// Broken exactly at the end of this text, whatever follows.
    fn breaks(text: &str) {
        check(text, Err(text.len() - 1));
        check(&format!("{text}GET / HTTP/1.1\r\n\r\n"), Err(text.len() - 1));
    }

    #[test]
    fn ordinary_requests_pass_one_after_the_other() {
        check("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\nGET http://a/ HTTP/1.0\r\n\r\n", Ok(()));
        check("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n\n\n\nGET / HTTP/1.1\r\n\r\n", Ok(()));
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(&format!("{chunked}3\r\n\n\n\n\r\nA\r\n0123456789\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"), Ok(()));
        check(&format!("{chunked}0\r\nDigest: x\r\n\r\nGET / HTTP/1.1\r\n\r\n"), Ok(()));
    }

    #[test]
    fn everything_passes_in_a_tunnel() {
        check("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n\n\n\0 anything", Ok(()));
    }

    #[test]
    fn lines_end_in_one_way_only() {
        breaks("GET / HTTP/1.1\n");
        breaks("GET / HTTP/1.1\r\nHost: a\n");
        breaks("GET / HTTP/1.1\r\nHost: a\r\n\n");
        breaks("GET / HTTP/1.1\r\nHost: a\rb");
        breaks("\r\n");
        breaks("PRI * HTTP/2.0\r\n");
        breaks("GET /\r\n");
    }

    #[test]
    fn headers_do_not_go_on_over_lines_and_have_plain_names() {
        breaks("GET / HTTP/1.1\r\nHost: a\r\n b\r\n");
        breaks("GET / HTTP/1.1\r\nHost: a\r\n\tTransfer-Encoding: chunked\r\n");
        breaks("GET / HTTP/1.1\r\nContent-Length : 3\r\n");
        breaks("GET / HTTP/1.1\r\nnonsense\r\n");
        breaks("GET / HTTP/1.1\r\n: x\r\n");
    }

    #[test]
    fn a_length_is_said_once_and_in_one_way() {
        let head = "POST / HTTP/1.1\r\n";
        breaks(&format!("{head}Content-Length: 3\r\nContent-Length: 3\r\n"));
        breaks(&format!("{head}Content-Length: 3, 3\r\n"));
        breaks(&format!("{head}Content-Length: +3\r\n"));
        breaks(&format!("{head}Content-Length: 0x3\r\n"));
        breaks(&format!("{head}Content-Length:\r\n"));
        breaks(&format!("{head}Content-Length: 99999999999999999999\r\n"));
        breaks(&format!("{head}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"));
        breaks(&format!("{head}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"));
        breaks(&format!("{head}Transfer-Encoding: gzip, chunked\r\n"));
        breaks(&format!("{head}Transfer-Encoding: xchunked\r\n"));
        breaks(&format!("{head}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"));
        breaks("CONNECT a:443 HTTP/1.1\r\nContent-Length: 3\r\n\r\n");
    }

    #[test]
    fn chunks_are_plain() {
        let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        breaks(&format!("{head}3;a=b\r\n"));
        breaks(&format!("{head}3 \r\n"));
        breaks(&format!("{head}0x3\r\n"));
        breaks(&format!("{head}-3\r\n"));
        breaks(&format!("{head}3\n"));
        breaks(&format!("{head}fffffffffffffffff\r\n"));
        breaks(&format!("{head}3\r\nabc\n"));
        breaks(&format!("{head}3\r\nabcd\r\n"));
        breaks(&format!("{head}0\r\n folded: x\r\n"));
    }

    #[test]
    fn heads_end_somewhere() {
        let long = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(HEAD_BYTES_MAX));
        check(&long, Err(HEAD_BYTES_MAX));
    }
}
