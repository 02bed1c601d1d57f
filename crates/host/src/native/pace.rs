//! How patient the host is with an app: how often it asks how it is, and how often and how soon it starts it again.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// How patient the host is with an app.
#[derive(Debug, Clone)]
pub struct NativePace {
    /// Between two questions how an app is.
    pub health_every: Duration,
    /// Before the first restart; each further one waits twice as long.
    pub wait_first: Duration,
    /// The longest wait.
    pub wait_max: Duration,
    /// Restarts within the window; after those the app stays down.
    pub restarts_max: usize,
    /// How far back restarts count.
    pub window: Duration,
    /// Between two looks for tokens of providers that are about to end.
    pub renew_every: Duration,
    /// How long a provider may take to give a token.
    pub exchange_within: Duration,
}

impl Default for NativePace {
    /// As the contract has it.
    fn default() -> Self {
        Self {
            health_every: Duration::from_secs(15),
            wait_first: Duration::from_secs(10),
            wait_max: Duration::from_secs(300),
            restarts_max: 5,
            window: Duration::from_secs(3600),
            renew_every: Duration::from_secs(60),
            exchange_within: Duration::from_secs(30),
        }
    }
}

/// The restarts of one app.
#[derive(Debug, Default)]
pub(super) struct Restarts(VecDeque<Instant>);

impl Restarts {
    /// How long to wait before the app is started again; nothing when it was started too often.
    pub(super) fn next(&mut self, pace: &NativePace, now: Instant) -> Option<Duration> {
        while self.0.front().is_some_and(|then| now.duration_since(*then) > pace.window) {
            self.0.pop_front();
        }
        if self.0.len() >= pace.restarts_max {
            return None;
        }
        let doubled = u32::try_from(self.0.len()).ok().and_then(|count| 2_u32.checked_pow(count));
        let wait = doubled.and_then(|times| pace.wait_first.checked_mul(times)).unwrap_or(pace.wait_max);
        // Counted before it is done: a start that fails uses up a restart, too.
        self.0.push_back(now);
        Some(wait.min(pace.wait_max))
    }

    /// How many there were lately.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{NativePace, Restarts};
    use std::time::{Duration, Instant};

    #[test]
    fn restarts_wait_longer_each_time_and_end_within_an_hour() {
        let (pace, start) = (NativePace::default(), Instant::now());
        let mut restarts = Restarts::default();
        let mut at = |minutes: u64| restarts.next(&pace, start + Duration::from_secs(60 * minutes));
        let waits: Vec<Option<u64>> = (0..6).map(|minute| at(minute).map(|wait| wait.as_secs())).collect();
        assert_eq!(waits, [Some(10), Some(20), Some(40), Some(80), Some(160), None]);
        assert_eq!(at(59), None);
        // The first one of the window is forgotten, the others count.
        assert_eq!(at(61), Some(Duration::from_secs(160)));
        assert_eq!(at(61), None);
        assert_eq!(at(200), Some(Duration::from_secs(10)));
    }

    #[test]
    fn no_wait_is_longer_than_the_longest() {
        let pace = NativePace { restarts_max: 100, ..NativePace::default() };
        let (mut restarts, now) = (Restarts::default(), Instant::now());
        let longest = (0..100).filter_map(|_| restarts.next(&pace, now)).max();
        assert_eq!(longest, Some(Duration::from_secs(300)));
    }
}
