//! Leaves out an app that keeps failing, and tries it again after a while.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Failures in a row after which an app is left out.
const FAILURES_MAX: u32 = 3;

/// How long it is left out before one call tries it again.
const LEFT_OUT_FOR: Duration = Duration::from_secs(30);

/// How one app did lately.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// When it may be tried again; set while it is left out.
    until: Option<Instant>,
}

/// Leave to ask the app once; how that went is told with it. Dropped without a word, nothing is counted.
pub(super) struct Pass<'a>(&'a Breaker);

impl Breaker {
    /// Nothing while the app is left out. When its time is over one call passes, and the others wait for how it goes.
    pub(super) fn pass(&self, now: Instant) -> Option<Pass<'_>> {
        let mut state = self.lock();
        match state.until {
            Some(until) if now < until => return None,
            Some(_) => state.until = Some(now + LEFT_OUT_FOR),
            None => {}
        }
        Some(Pass(self))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass<'_> {
    pub(super) fn succeeded(self) {
        *self.0.lock() = State::default();
    }

    pub(super) fn failed(self, now: Instant) {
        let mut state = self.0.lock();
        state.failures = state.failures.saturating_add(1);
        if state.failures >= FAILURES_MAX {
            state.until = Some(now + LEFT_OUT_FOR);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Breaker, LEFT_OUT_FOR};
    use std::time::{Duration, Instant};

    #[test]
    fn three_failures_in_a_row_leave_an_app_out_until_one_try_succeeds() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..2 {
            breaker.pass(now).unwrap().failed(now);
        }
        breaker.pass(now).unwrap().succeeded();
        for _ in 0..3 {
            breaker.pass(now).unwrap().failed(now);
        }
        assert!(breaker.pass(now).is_none());
        let later = now + LEFT_OUT_FOR;
        let trial = breaker.pass(later).unwrap();
        assert!(breaker.pass(later).is_none(), "only one tries");
        trial.failed(later);
        assert!(breaker.pass(later + LEFT_OUT_FOR - Duration::from_millis(1)).is_none());
        let again = later + LEFT_OUT_FOR;
        breaker.pass(again).unwrap().succeeded();
        assert!(breaker.pass(again).is_some() && breaker.pass(again).is_some());
    }
}
