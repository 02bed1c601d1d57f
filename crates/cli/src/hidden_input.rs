//! A line that a person types without it being shown.
//!
//! The terminal is read key by key, so that Ctrl-C is a key too: a program that ended while the terminal is silent
//! would leave it silent.

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::io::{self, BufRead, Write as _};

/// Longest line: more than any value.
const LINE_BYTES_MAX: usize = 128 << 10;

const INTERRUPT: u8 = 3;
const END: u8 = 4;
const BACKSPACE: u8 = 8;
const CLEAR: u8 = 21;
const DELETE: u8 = 127;

/// Asks on the error stream and reads one line from the terminal at standard input. Nothing when the person gave up.
pub(crate) fn read_hidden(question: &str) -> io::Result<Option<Vec<u8>>> {
    let mut errors = io::stderr().lock();
    write!(errors, "{question}: ")?;
    errors.flush()?;
    let silent = Silent::begin()?;
    let line = read_line(io::stdin().lock());
    drop(silent);
    writeln!(errors)?;
    line
}

/// A terminal that shows nothing. It shows again when this is dropped.
struct Silent {
    before: Termios,
}

impl Silent {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VMIN] = 1;
        silent.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self { before })
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        tcsetattr(io::stdin(), OptionalActions::Now, &self.before).ok();
    }
}

fn read_line(keys: impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    for key in keys.bytes() {
        match key? {
            b'\n' | b'\r' => return Ok(Some(line)),
            INTERRUPT => return Ok(None),
            END if line.is_empty() => return Ok(None),
            END => return Ok(Some(line)),
            CLEAR => line.clear(),
            BACKSPACE | DELETE => {
                // All bytes of one character go together.
                while line.pop().is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000) {}
            }
            key if line.len() < LINE_BYTES_MAX => line.push(key),
            _ => return Err(io::Error::other("the line has no end")),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::read_line;

    #[test]
    fn keys_that_edit_or_give_up_are_no_part_of_the_line() {
        let check = |typed: &str, line: Option<&str>| {
            let read = read_line(typed.as_bytes()).unwrap();
            assert_eq!(read.as_deref(), line.map(str::as_bytes), "{typed:?}");
        };
        check("secret\n", Some("secret"));
        check("secret\rmore", Some("secret"));
        check("sé\u{7f}ecret\n", Some("secret"));
        check("wrong\u{15}right\n", Some("right"));
        check("\u{8}\n", Some(""));
        check("secret\u{3}\n", None);
        check("\u{4}", None);
        check("secret\u{4}", Some("secret"));
        check("no end", None);
    }
}
