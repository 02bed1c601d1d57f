//! Server-sent events, read from pieces of any size, with a limit on lines, events and the whole stream.
//!
//! Only `event` and `data` matter to models; comments, ids and retry times are skipped. Knows no JSON.

/// A line holds at most one delta, or one whole tool call; real ones stay below 64 KiB.
const LINE_BYTES_MAX: usize = 4 << 20;

/// Several `data` lines make one event.
const EVENT_BYTES_MAX: usize = 8 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// Its name; empty when it has none.
    pub(super) name: String,
    pub(super) data: String,
}

/// A line or an event grew beyond its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong;

/// What was read of an event that has not ended yet.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    line: Vec<u8>,
    name: String,
    data: Option<String>,
    /// A line feed right after a carriage return belongs to the line that already ended.
    after_return: bool,
    begun: bool,
}

impl EventReader {
    /// Takes the next bytes; gives the events that ended in them.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()?),
                _ if self.line.len() == LINE_BYTES_MAX => return Err(TooLong),
                _ => self.line.push(byte),
            }
        }
        Ok(events)
    }

    /// The event that stands at the end of the stream without the empty line that should follow it.
    pub(super) fn end(mut self) -> Result<Option<Event>, TooLong> {
        let ended = self.end_line()?;
        Ok(ended.or_else(|| self.end_event()))
    }

    fn end_line(&mut self) -> Result<Option<Event>, TooLong> {
        let bytes = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&bytes);
        let mut line = &*line;
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.end_event());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.to_owned(),
            "data" => self.add_data(value)?,
            _ => {}
        }
        Ok(None)
    }

    fn add_data(&mut self, value: &str) -> Result<(), TooLong> {
        match &mut self.data {
            None => self.data = Some(value.to_owned()),
            Some(data) if data.len() + value.len() >= EVENT_BYTES_MAX => return Err(TooLong),
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
        }
        Ok(())
    }

    fn end_event(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        self.data.take().map(|data| Event { name, data })
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, EventReader, LINE_BYTES_MAX, TooLong};
    use proptest::prelude::*;

    fn read(pieces: &[&[u8]]) -> Result<Vec<(String, String)>, TooLong> {
        let mut reader = EventReader::default();
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(reader.feed(piece)?);
        }
        events.extend(reader.end()?);
        Ok(events.into_iter().map(|Event { name, data }| (name, data)).collect())
    }

    #[track_caller]
    fn check(stream: &str, expect: &[(&str, &str)]) {
        let events = read(&[stream.as_bytes()]).unwrap();
        let events: Vec<_> = events.iter().map(|(name, data)| (name.as_str(), data.as_str())).collect();
        assert_eq!(events, expect);
    }

    #[test]
    fn every_form_of_an_event_is_read() {
        check("data: a\n\ndata:b\n\n", &[("", "a"), ("", "b")]);
        check("event: ping\ndata: {}\n\n", &[("ping", "{}")]);
        check("\u{feff}data: a\r\n\r\ndata: b\r\r", &[("", "a"), ("", "b")]);
        check(": comment\n\nid: 1\nretry: 2\n\ndata: a\ndata: b\n\n", &[("", "a\nb")]);
        check("event: empty\n\ndata\n\n", &[("", "")]);
        check("data: cut off", &[("", "cut off")]);
        check("data: a\n", &[("", "a")]);
        check("", &[]);
    }

    #[test]
    fn bytes_that_are_not_utf8_do_not_end_the_stream() {
        assert_eq!(read(&[b"data: a\xffb\n\n"]).unwrap(), [(String::new(), "a\u{fffd}b".to_owned())]);
    }

    #[test]
    fn a_line_without_an_end_is_refused() {
        let long = vec![b'x'; LINE_BYTES_MAX + 1];
        assert_eq!(read(&[&long]), Err(TooLong));
    }

    #[test]
    fn an_event_without_an_end_is_refused() {
        let line = format!("data: {}\n", "x".repeat(LINE_BYTES_MAX / 2));
        assert_eq!(read(&[line.as_bytes(); 5]), Err(TooLong));
    }

    proptest! {
        #[test]
        fn where_the_pieces_are_cut_does_not_matter(
            stream in "((data|event|: x): ?[a-zä€ ]{0,9}(\r\n|\n|\r)(\r\n|\n|\r)?){0,9}",
            cuts in proptest::collection::vec(0usize..64, 0..6),
        ) {
            let bytes = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            prop_assert_eq!(read(&pieces), read(&[bytes]));
        }
    }
}
