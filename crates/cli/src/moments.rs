//! Times as people write them: a time, a date, or a span from now.

use jiff::{Span, Timestamp, Zoned, civil::Date};
use roost_protocol::{Failure, Reason};

/// A time, the start of a date in this time zone, or a span before now.
pub(crate) fn past_moment(text: &str) -> Result<Timestamp, Failure> {
    moment(text, |now, span| now.checked_sub(span).ok())
}

/// A time, the start of a date in this time zone, or a span from now on.
pub(crate) fn coming_moment(text: &str) -> Result<Timestamp, Failure> {
    moment(text, |now, span| now.checked_add(span).ok())
}

fn moment(text: &str, beyond: impl Fn(&Zoned, Span) -> Option<Zoned>) -> Result<Timestamp, Failure> {
    let now = Zoned::now();
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    if let Ok(date) = text.parse::<Date>()
        && let Ok(start) = date.to_zoned(now.time_zone().clone())
    {
        return Ok(start.timestamp());
    }
    let found = text.parse::<Span>().ok().and_then(|span| beyond(&now, span));
    found.map(|time| time.timestamp()).ok_or_else(|| {
        Failure::new(Reason::WrongUse, format!("`{text}` is no time"))
            .with_next("write 2026-11-01T12:00:00Z, 2026-11-01, or a span such as 2h or 3d")
    })
}

#[cfg(test)]
mod tests {
    use super::{coming_moment, past_moment};
    use jiff::Timestamp;

    #[test]
    fn times_dates_and_spans_are_understood() {
        for good in ["2026-11-01T12:00:00Z", "2026-11-01", "2h", "3d", "90m"] {
            assert!(past_moment(good).is_ok() && coming_moment(good).is_ok(), "{good}");
        }
        for bad in ["", "yesterday", "-1", "2026-13-01"] {
            assert!(past_moment(bad).is_err() && coming_moment(bad).is_err(), "{bad}");
        }
        let now = Timestamp::now();
        assert!(past_moment("2h").unwrap() < now && coming_moment("2h").unwrap() > now);
    }
}
