//! How a time is written.

/// UTC with milliseconds; the time is one that a clock has shown.
pub(crate) fn moment(milliseconds: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn milliseconds_are_always_written() {
        assert_eq!(moment(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(moment(1_700_000_000_120), "2023-11-14T22:13:20.120Z");
    }
}
