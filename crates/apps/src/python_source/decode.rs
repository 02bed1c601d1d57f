//! Bytes to text as Python does it: a byte order mark, else the coding comment of the first two lines, else UTF-8.
//!
//! Only encodings that real files use are known; the others are refused by name rather than guessed.

use super::lines::line_at;
use roost_protocol::{Failure, Reason};

/// What 0x80 to 0x9f mean in Windows-1252; 0 where they mean nothing.
const WINDOWS_1252_HIGH: [u16; 32] = [
    0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0,
    0x017d, 0, 0, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a,
    0x0153, 0, 0x017e, 0x0178,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Ascii,
    Latin1,
    Windows1252,
}

/// The text of a source file, without its byte order mark.
pub(super) fn decode(bytes: &[u8]) -> Result<String, Failure> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(Failure::new(Reason::WrongEncoding, "the file is UTF-16").at_line(1));
    }
    if let Some(offset) = bytes.iter().position(|byte| *byte == 0) {
        return Err(Failure::plain(Reason::NulByte).at_line(line_at(bytes, offset)));
    }
    let (has_mark, body) = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(body) => (true, body),
        None => (false, bytes),
    };
    let encoding = match coding_comment(body) {
        None => Encoding::Utf8,
        Some(comment) => {
            let encoding = encoding_named(&comment.name).ok_or_else(|| {
                let message = format!("the coding comment names `{}`, which is not known here", comment.name);
                Failure::new(Reason::WrongEncoding, message).at_line(comment.line)
            })?;
            if has_mark && encoding != Encoding::Utf8 {
                let message =
                    format!("the file begins as UTF-8 but its coding comment says `{}`", comment.name);
                return Err(Failure::new(Reason::WrongEncoding, message).at_line(comment.line));
            }
            encoding
        }
    };
    decode_as(body, encoding)
}

fn decode_as(body: &[u8], encoding: Encoding) -> Result<String, Failure> {
    let undecodable = |offset: usize, name: &str| {
        let byte = body.get(offset).copied().unwrap_or_default();
        let message = format!("byte 0x{byte:02x} is not {name}");
        Failure::new(Reason::WrongEncoding, message).at_line(line_at(body, offset))
    };
    match encoding {
        Encoding::Utf8 => match std::str::from_utf8(body) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => Err(undecodable(error.valid_up_to(), "UTF-8")),
        },
        Encoding::Ascii => match body.iter().position(|byte| !byte.is_ascii()) {
            Some(offset) => Err(undecodable(offset, "ASCII")),
            None => Ok(body.iter().copied().map(char::from).collect()),
        },
        Encoding::Latin1 => Ok(body.iter().copied().map(char::from).collect()),
        Encoding::Windows1252 => body
            .iter()
            .enumerate()
            .map(|(offset, byte)| windows_1252(*byte).ok_or_else(|| undecodable(offset, "Windows-1252")))
            .collect(),
    }
}

fn windows_1252(byte: u8) -> Option<char> {
    match byte {
        0x80..=0x9f => match WINDOWS_1252_HIGH[usize::from(byte - 0x80)] {
            0 => None,
            code => char::from_u32(u32::from(code)),
        },
        _ => Some(char::from(byte)),
    }
}

struct CodingComment {
    name: String,
    line: u32,
}

/// The encoding a comment in the first two lines names. The second line counts only after a first without code.
fn coding_comment(body: &[u8]) -> Option<CodingComment> {
    let mut lines = body.split(|byte| matches!(byte, b'\n' | b'\r'));
    let first = lines.next()?;
    if let Some(name) = coding_in(first) {
        return Some(CodingComment { name, line: 1 });
    }
    let blank_or_comment = trim_start(first).first().is_none_or(|byte| *byte == b'#');
    if !blank_or_comment {
        return None;
    }
    // After `\r\n` the split gives an empty piece before the second line.
    let second = if body[first.len()..].starts_with(b"\r\n") { lines.nth(1)? } else { lines.next()? };
    coding_in(second).map(|name| CodingComment { name, line: 2 })
}

/// `coding:` or `coding=` in a line that is a comment, then a name.
fn coding_in(line: &[u8]) -> Option<String> {
    let comment = trim_start(line).strip_prefix(b"#")?;
    let word = b"coding";
    for start in 0..comment.len().saturating_sub(word.len()) {
        let Some(rest) = comment[start..].strip_prefix(word) else { continue };
        let Some((b':' | b'=', rest)) = rest.split_first() else { continue };
        let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let is_name_byte = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let name: Vec<u8> = rest[blanks..].iter().take_while(is_name_byte).copied().collect();
        if !name.is_empty() {
            return String::from_utf8(name).ok();
        }
    }
    None
}

fn trim_start(line: &[u8]) -> &[u8] {
    let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\x0c')).count();
    &line[blanks..]
}

fn encoding_named(name: &str) -> Option<Encoding> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let is =
        |known: &str| name == known || name.strip_prefix(known).is_some_and(|rest| rest.starts_with('-'));
    if is("utf-8") || matches!(name.as_str(), "utf8" | "u8" | "utf") {
        return Some(Encoding::Utf8);
    }
    if is("latin-1") || is("iso-8859-1") || is("iso-latin-1") {
        return Some(Encoding::Latin1);
    }
    match name.as_str() {
        "ascii" | "us-ascii" | "646" => Some(Encoding::Ascii),
        "latin1" | "latin" | "l1" | "iso8859-1" | "8859" | "cp819" => Some(Encoding::Latin1),
        "cp1252" | "1252" | "windows-1252" => Some(Encoding::Windows1252),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::decode;
    use roost_protocol::Reason;

    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(decode(bytes).as_deref(), Ok(expected), "{}", bytes.escape_ascii());
    }

    fn check_refused(bytes: &[u8], reason: Reason, line: u32) {
        let failure = decode(bytes).unwrap_err();
        assert_eq!((failure.reason, failure.line), (reason, Some(line)), "{}", bytes.escape_ascii());
    }

    #[test]
    fn text_is_utf_8_unless_it_says_otherwise() {
        check("x = 'é'".as_bytes(), "x = 'é'");
        check(b"\xef\xbb\xbfx = 1", "x = 1");
        check(b"", "");
        check_refused(b"x = 1\ny = '\xe9'", Reason::WrongEncoding, 2);
    }

    #[test]
    fn the_coding_comment_is_obeyed() {
        check(b"# -*- coding: latin-1 -*-\nx = '\xe9'", "# -*- coding: latin-1 -*-\nx = 'é'");
        check(
            b"#!/usr/bin/python\n# vim: set fileencoding=l1 :\n'\xe9'",
            "#!/usr/bin/python\n# vim: set fileencoding=l1 :\n'é'",
        );
    }

    #[test]
    fn windows_1252_has_its_own_quotes_and_holes() {
        check(b"#coding=cp1252\n'\x80\x93'", "#coding=cp1252\n'€“'");
        check_refused(b"#coding=cp1252\n\n'\x81'", Reason::WrongEncoding, 3);
    }

    #[test]
    fn ascii_means_ascii() {
        check(b"# coding: us-ascii\nx", "# coding: us-ascii\nx");
        check_refused("# coding: ascii\nx = 'é'".as_bytes(), Reason::WrongEncoding, 2);
    }

    #[test]
    fn an_unknown_encoding_is_refused_by_name() {
        check_refused(b"# coding: klingon\n", Reason::WrongEncoding, 1);
        check_refused(b"\r\n# coding: utf-16\r\n", Reason::WrongEncoding, 2);
        assert!(decode(b"# coding: klingon\n").unwrap_err().message.contains("`klingon`"));
    }

    #[test]
    fn a_mark_and_a_comment_that_disagree_are_refused() {
        check_refused(b"\xef\xbb\xbf# coding: latin-1\n", Reason::WrongEncoding, 1);
        check(b"\xef\xbb\xbf# coding: utf-8\n", "# coding: utf-8\n");
    }

    #[test]
    fn a_comment_after_code_or_on_the_third_line_means_nothing() {
        check(b"x = 1\n# coding: klingon\n", "x = 1\n# coding: klingon\n");
        check(b"#\n#\n# coding: klingon\n", "#\n#\n# coding: klingon\n");
        check(b"s = 'coding: klingon'\n", "s = 'coding: klingon'\n");
    }

    #[test]
    fn nul_bytes_and_utf_16_are_named() {
        check_refused(b"x = 1\n\0", Reason::NulByte, 2);
        check_refused(b"\xff\xfex\0", Reason::WrongEncoding, 1);
    }
}
