//! The first message of TLS, read for one thing: the name of the server the agent really wants.
//!
//! Reads nothing else and checks no signatures. Whatever is not exactly a client's hello is not one.

/// Longest hello, with what frames it. Real ones, with keys for post-quantum exchanges, stay below two thousand.
const HELLO_BYTES_MAX: usize = 16 * 1024;

/// Longest record of TLS without encryption.
const RECORD_BYTES_MAX: usize = 16 * 1024;

const RECORD_HANDSHAKE: u8 = 22;
const MESSAGE_CLIENT_HELLO: u8 = 1;
const EXTENSION_SERVER_NAME: u16 = 0;
const EXTENSION_ENCRYPTED_HELLO: u16 = 0xfe0d;
const NAME_OF_HOST: u8 = 0;

/// What the first bytes of a tunnel are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// Cannot be said before there are so many bytes.
    Needs(usize),
    /// A whole hello.
    Tls(Hello),
    /// Begins like TLS and is no hello.
    Malformed,
    /// Not TLS.
    Other,
}

/// What a hello says about its server.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hello {
    /// The name in plain sight. With an encrypted hello this is the outer name.
    pub(super) server_name: Option<Vec<u8>>,
    /// True when there is an encrypted hello (ECH) inside, with a name that cannot be seen, or what looks like one.
    pub(super) has_encrypted: bool,
}

/// Reads what is there so far.
pub(super) fn read(bytes: &[u8]) -> Opening {
    match bytes {
        [] => Opening::Needs(1),
        [RECORD_HANDSHAKE] => Opening::Needs(2),
        [RECORD_HANDSHAKE, 3, ..] => match message(bytes) {
            Ok(message) => hello(&message).map_or(Opening::Malformed, Opening::Tls),
            Err(opening) => opening,
        },
        _ => Opening::Other,
    }
}

/// The first message of the handshake, put together from the records it lies in.
fn message(bytes: &[u8]) -> Result<Vec<u8>, Opening> {
    let mut message = Vec::new();
    let mut position = 0;
    loop {
        let needs = |count: usize| {
            if count > HELLO_BYTES_MAX { Opening::Malformed } else { Opening::Needs(count) }
        };
        let head = bytes.get(position..position + 5).ok_or_else(|| needs(position + 5))?;
        let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
        if head[0] != RECORD_HANDSHAKE || head[1] != 3 || length == 0 || length > RECORD_BYTES_MAX {
            return Err(Opening::Malformed);
        }
        let end = position + 5 + length;
        message.extend_from_slice(bytes.get(position + 5..end).ok_or_else(|| needs(end))?);
        position = end;
        if let [_, a, b, c, rest @ ..] = message.as_slice() {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            // More than the hello in its last record would be a second message before any answer.
            match rest.len().cmp(&length) {
                std::cmp::Ordering::Equal => return Ok(message),
                std::cmp::Ordering::Greater => return Err(Opening::Malformed),
                std::cmp::Ordering::Less if length > HELLO_BYTES_MAX => return Err(Opening::Malformed),
                std::cmp::Ordering::Less => {}
            }
        }
    }
}

fn hello(message: &[u8]) -> Option<Hello> {
    let mut rest = Reader(message);
    if rest.byte()? != MESSAGE_CLIENT_HELLO {
        return None;
    }
    rest.take(3)?; // length, known to be right
    rest.take(2 + 32)?; // version, random
    let length = rest.byte()?;
    rest.take(length.into())?; // session
    rest.block()?; // ciphers
    let length = rest.byte()?;
    rest.take(length.into())?; // compressions
    let mut hello = Hello::default();
    if rest.0.is_empty() {
        return Some(hello);
    }
    let mut extensions = Reader(rest.block()?);
    if !rest.0.is_empty() {
        return None;
    }
    while !extensions.0.is_empty() {
        let kind = extensions.number()?;
        let content = extensions.block()?;
        match kind {
            // Two of them would be read differently by different servers.
            EXTENSION_SERVER_NAME if hello.server_name.is_some() => return None,
            EXTENSION_SERVER_NAME => hello.server_name = Some(server_name(content)?),
            EXTENSION_ENCRYPTED_HELLO => hello.has_encrypted = true,
            _ => {}
        }
    }
    Some(hello)
}

/// The only name in the list. The format allows more; nobody sends them and servers differ in which one they take.
fn server_name(content: &[u8]) -> Option<Vec<u8>> {
    let mut content = Reader(content);
    let mut list = Reader(content.block()?);
    if list.byte()? != NAME_OF_HOST {
        return None;
    }
    let name = list.block()?;
    let is_only = content.0.is_empty() && list.0.is_empty() && !name.is_empty();
    is_only.then(|| name.to_vec())
}

/// The bytes that are not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn number(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// A length and so many bytes.
    fn block(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length.into())
    }
}

#[cfg(test)]
pub(super) mod tests;
