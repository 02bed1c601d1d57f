//! How often a token may be used: a bucket that fills evenly and holds two seconds.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Wrong tokens of everybody together.
pub(super) const FAILURES_PER_SECOND: i64 = 50;

/// A bucket holds what flows in within this time.
const BURST_SECONDS: f64 = 2.0;

/// Buckets that are kept; full ones are forgotten first, because a new one is full too.
const BUCKETS_MAX: usize = 4096;

/// The limit is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooOften {
    /// When to come back.
    pub after: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Buckets(Mutex<HashMap<String, Bucket>>);

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Buckets {
    /// Takes one request out of a bucket. A rate of 0 has no limit.
    pub(super) fn take(&self, name: &str, per_second: i64) -> Result<(), TooOften> {
        self.take_at(name, per_second, Instant::now())
    }

    fn take_at(&self, name: &str, per_second: i64, now: Instant) -> Result<(), TooOften> {
        if per_second <= 0 {
            return Ok(());
        }
        #[expect(clippy::cast_precision_loss, reason = "a rate is a small number")]
        let rate = per_second as f64;
        let full = rate * BURST_SECONDS;
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= BUCKETS_MAX && !buckets.contains_key(name) {
            buckets.retain(|_, bucket| now.duration_since(bucket.at).as_secs_f64() < BURST_SECONDS);
        }
        let bucket = buckets.entry(name.to_owned()).or_insert(Bucket { left: full, at: now });
        bucket.left = (bucket.left + now.duration_since(bucket.at).as_secs_f64() * rate).min(full);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(TooOften { after: Duration::from_secs_f64((1.0 - bucket.left) / rate) });
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Buckets;
    use std::time::{Duration, Instant};

    #[test]
    fn two_seconds_may_be_used_at_once_and_then_one_after_the_other() {
        let buckets = Buckets::default();
        let start = Instant::now();
        let take = |at: u64| buckets.take_at("a", 10, start + Duration::from_millis(at));
        for _ in 0..20 {
            take(0).unwrap();
        }
        assert_eq!(take(0).unwrap_err().after, Duration::from_millis(100));
        assert!(take(99).is_err());
        take(101).unwrap();
        assert!(take(101).is_err());
        assert!(buckets.take_at("b", 10, start).is_ok());
        assert!((0..1000).all(|_| buckets.take_at("c", 0, start).is_ok()));
    }
}
