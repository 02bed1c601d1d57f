//! Waiting for the thing itself instead of for a time.

use std::time::{Duration, Instant};

/// How long anything may take before a test gives up: far more than it ever needs, also on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(2);

/// Waits until `holds`, and says what was waited for when it never does.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    until_some(what, || holds().then_some(()));
}

/// Waits until there is something, and returns it.
#[track_caller]
pub fn until_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "gave up waiting: {what}");
        // tidy: sleep because a look without a pause would take the processor from what is waited for
        std::thread::sleep(PAUSE);
    }
}
