//! When something is due: expressions of cron with six fields, seconds first, by the clock of this machine.

use croner::{
    Cron,
    parser::{CronParser, Seconds, Year},
};
use jiff::{Timestamp, Zoned, tz::TimeZone};
use roost_protocol::{Failure, Reason};

/// Longest expression.
const EXPRESSION_BYTES_MAX: usize = 200;

/// Times that passed unseen are counted up to here: the number is for people.
const MISSED_MAX: i64 = 1000;

/// An expression that was read.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    cron: Cron,
    zone: TimeZone,
}

impl Clock {
    /// Reads an expression.
    pub(super) fn parse(expression: &str) -> Result<Self, Failure> {
        Self::parse_in(expression, TimeZone::system())
    }

    fn parse_in(expression: &str, zone: TimeZone) -> Result<Self, Failure> {
        let wrong = |why: String| {
            Failure::new(Reason::BadArguments, format!("the expression: {why}")).with_next(
                "write six fields: second minute hour day month weekday, such as `0 30 9 * * MON-FRI`",
            )
        };
        if expression.len() > EXPRESSION_BYTES_MAX || expression.chars().any(char::is_control) {
            return Err(wrong(format!("at most {EXPRESSION_BYTES_MAX} characters of one line")));
        }
        // Five fields mean something else elsewhere, so they are not guessed at.
        let parser = CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).build();
        let cron = parser.parse(expression).map_err(|error| wrong(error.to_string()))?;
        let clock = Self { cron, zone };
        match clock.next(Timestamp::now().as_millisecond()) {
            Some(_) => Ok(clock),
            None => Err(wrong("it never comes to be".to_owned())),
        }
    }

    /// The first time after this one, both in milliseconds since 1970; nothing when there is none.
    pub(super) fn next(&self, after: i64) -> Option<i64> {
        let after: Zoned = Timestamp::from_millisecond(after).ok()?.to_zoned(self.zone.clone());
        let next = self.cron.find_next_occurrence(&after, false).ok()?;
        Some(next.timestamp().as_millisecond())
    }

    /// How many times passed after `due` and up to `now`.
    pub(super) fn missed(&self, due: i64, now: i64) -> i64 {
        let mut count = 0;
        let mut at = due;
        while count < MISSED_MAX
            && let Some(next) = self.next(at)
            && next <= now
        {
            (at, count) = (next, count + 1);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, MISSED_MAX};
    use jiff::{Timestamp, tz::TimeZone};
    use roost_protocol::Reason;

    fn clock(expression: &str) -> Clock {
        Clock::parse_in(expression, TimeZone::UTC).unwrap()
    }

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn the_next_time_is_the_one_after() {
        let check = |expression: &str, after: &str, next: &str| {
            assert_eq!(clock(expression).next(at(after)), Some(at(next)), "{expression} after {after}");
        };
        check("*/10 * * * * *", "2026-11-17T10:00:00Z", "2026-11-17T10:00:10Z");
        check("*/10 * * * * *", "2026-11-17T09:59:59.999Z", "2026-11-17T10:00:00Z");
        check("0 30 9 * * MON-FRI", "2026-11-20T09:30:00Z", "2026-11-23T09:30:00Z");
        check("0 0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z");
    }

    #[test]
    fn times_that_passed_are_counted_and_not_without_end() {
        let every_minute = clock("0 * * * * *");
        let due = at("2026-11-17T10:00:00Z");
        assert_eq!(every_minute.missed(due, due), 0);
        assert_eq!(every_minute.missed(due, at("2026-11-17T10:03:30Z")), 3);
        assert_eq!(every_minute.missed(due, at("2027-11-17T10:00:00Z")), MISSED_MAX);
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for wrong in ["", "* * * * *", "61 * * * * *", "0 0 0 31 2 *", "* * * * * * *", "x", &"*".repeat(500)]
        {
            let refused = Clock::parse_in(wrong, TimeZone::UTC).map(drop);
            assert_eq!(refused.unwrap_err().reason, Reason::BadArguments, "{wrong}");
        }
    }
}
