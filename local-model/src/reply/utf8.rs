//! Bytes of tokens put together to characters. A token may hold a part of a character only.

/// Bytes that do not make a character yet.
#[derive(Default)]
pub(crate) struct Characters {
    pending: Vec<u8>,
}

impl Characters {
    /// Adds bytes and gives back the characters that are whole now. What can never become one is replaced.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::new();
        loop {
            match std::str::from_utf8(&self.pending) {
                Ok(whole) => {
                    text.push_str(whole);
                    self.pending.clear();
                    return text;
                }
                Err(error) => {
                    let (whole, rest) = self.pending.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(whole));
                    let Some(broken) = error.error_len() else {
                        self.pending = rest.to_vec();
                        return text;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.pending = rest[broken..].to_vec();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_in_parts_come_whole() {
        let mut characters = Characters::default();
        let text: String = "aé🙂z".bytes().map(|byte| characters.push(&[byte])).collect();
        assert_eq!(text, "aé🙂z");
    }

    #[test]
    fn broken_bytes_are_replaced_and_do_not_stop_the_rest() {
        let mut characters = Characters::default();
        assert_eq!(characters.push(b"a\xFFb\xE2\x82"), "a\u{FFFD}b");
        assert_eq!(characters.push(b"\xAC"), "€");
    }
}
