//! Hellos, whole and broken.

use super::*;

fn block(content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap();
    [&length.to_be_bytes(), content].concat()
}

/// An extension with this content.
pub(in super::super) fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [kind.to_be_bytes().to_vec(), block(content)].concat()
}

/// The extension that names a server.
pub(in super::super) fn name_extension(name: &str) -> Vec<u8> {
    let entry = [vec![0], block(name.as_bytes())].concat();
    extension(EXTENSION_SERVER_NAME, &block(&entry))
}

/// The extension that hides another hello.
pub(in super::super) fn encrypted_extension() -> Vec<u8> {
    extension(EXTENSION_ENCRYPTED_HELLO, &[0; 64])
}

/// A message of a handshake with these extensions.
fn message_with(extensions: &[Vec<u8>]) -> Vec<u8> {
    let mut content = vec![3, 3];
    content.extend([7; 32]);
    content.push(0);
    content.extend(block(&[0x13, 0x01]));
    content.extend([1, 0]);
    content.extend(block(&extensions.concat()));
    let length = u32::try_from(content.len()).unwrap().to_be_bytes();
    [&[MESSAGE_CLIENT_HELLO], &length[1..], &content].concat()
}

fn record(content: &[u8]) -> Vec<u8> {
    [vec![RECORD_HANDSHAKE, 3, 1], block(content)].concat()
}

/// A whole hello in one record.
pub(in super::super) fn hello_with(extensions: &[Vec<u8>]) -> Vec<u8> {
    record(&message_with(extensions))
}

fn named(name: &str) -> Opening {
    Opening::Tls(Hello { server_name: Some(name.as_bytes().to_vec()), has_encrypted: false })
}

#[test]
fn a_hello_gives_the_name_of_its_server() {
    let bytes = hello_with(&[extension(43, &[2, 3, 4]), name_extension("a.example"), extension(10, &[])]);
    assert_eq!(read(&bytes), named("a.example"));
    assert_eq!(read(&hello_with(&[extension(43, &[])])), Opening::Tls(Hello::default()));
}

#[test]
fn a_hello_is_read_whatever_pieces_it_comes_in() {
    let bytes = hello_with(&[name_extension("a.example")]);
    for count in 0..bytes.len() {
        let Opening::Needs(needed) = read(&bytes[..count]) else { panic!("{count} bytes are not all") };
        assert!(needed > count && needed <= bytes.len());
    }
}

#[test]
fn a_hello_is_read_over_several_records() {
    let message = message_with(&[name_extension("a.example")]);
    for size in [1, 2, 3, 5, 40] {
        let bytes: Vec<u8> = message.chunks(size).flat_map(record).collect();
        assert_eq!(read(&bytes), named("a.example"), "records of {size}");
    }
}

#[test]
fn a_hello_tells_that_it_hides_another() {
    let bytes = hello_with(&[encrypted_extension(), name_extension("outer.example")]);
    let expected = Hello { server_name: Some(b"outer.example".to_vec()), has_encrypted: true };
    assert_eq!(read(&bytes), Opening::Tls(expected));
}

#[test]
fn what_servers_could_read_differently_is_no_hello() {
    let two = [vec![0], block(b"a.example"), vec![0], block(b"b.example")].concat();
    let other_kind = [vec![1], block(b"a.example")].concat();
    let cases = [
        hello_with(&[name_extension("a.example"), name_extension("b.example")]),
        hello_with(&[extension(EXTENSION_SERVER_NAME, &block(&two))]),
        hello_with(&[extension(EXTENSION_SERVER_NAME, &block(&other_kind))]),
        hello_with(&[extension(EXTENSION_SERVER_NAME, &[])]),
        hello_with(&[name_extension("")]),
        record(&[message_with(&[]), message_with(&[])].concat()),
        record(&[2, 0, 0, 0]),
        record(&[MESSAGE_CLIENT_HELLO, 0, 0, 1, 3]),
        record(&[MESSAGE_CLIENT_HELLO, 1, 0, 0, 3]),
        vec![RECORD_HANDSHAKE, 3, 1, 0, 0],
        vec![RECORD_HANDSHAKE, 3, 1, 0xff, 0xff],
    ];
    for bytes in cases {
        assert_eq!(read(&bytes), Opening::Malformed, "{bytes:?}");
    }
}

#[test]
fn a_hello_ends_somewhere() {
    let long: Vec<u8> = [record(&[0x01, 0x00, 0x3f, 0xff]), vec![RECORD_HANDSHAKE, 3, 1, 0x40, 0]].concat();
    assert_eq!(read(&long), Opening::Malformed);
}

#[test]
fn what_does_not_begin_like_tls_is_something_else() {
    for bytes in [b"GET / HTTP/1.1".as_slice(), b"SSH-2.0", &[0x16, 0x02], &[0x80, 0x2e, 1], b"\0"] {
        assert_eq!(read(bytes), Opening::Other);
    }
}
