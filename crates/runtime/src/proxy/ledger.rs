//! What happened since the last report: bytes per computer, and what was refused.
//!
//! A report is taken after every call of an agent, and most calls use no network: then it costs one load.

use super::target::Target;
use roost_protocol::{HostTraffic, Refusal, RefusedBy};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// Most computers in one report, so that an agent that walks through names cannot fill the receipt.
const HOSTS_MAX: usize = 64;

/// Most different refusals in one report, for the same reason.
const REFUSALS_MAX: usize = 64;

/// Stands for the computers beyond the limit.
const OTHERS: &str = "(others)";

/// Traffic and refusals since the last report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// By computer and port, sorted; those beyond the 64th together, as `(others)` with port 0.
    pub traffic: Vec<HostTraffic>,
    /// In the order of their first time.
    pub refused: Vec<Refusal>,
}

/// Collects for the next report.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// True when there may be something to report. Shared with every row.
    changed: Arc<AtomicBool>,
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    rows: HashMap<(String, u16), Arc<Row>>,
    refused: Vec<Refusal>,
}

/// The counters of one computer.
#[derive(Debug)]
pub(super) struct Row {
    changed: Arc<AtomicBool>,
    requests: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Row {
    /// Counts one request or tunnel.
    pub(super) fn requested(&self) {
        self.add(&self.requests, 1);
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.add(&self.sent, bytes);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.add(&self.received, bytes);
    }

    fn is_filled(&self) -> bool {
        [&self.requests, &self.sent, &self.received].iter().any(|count| count.load(Ordering::Relaxed) > 0)
    }

    fn add(&self, counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
        // After the count: whoever sees the mark sees the count too.
        self.changed.store(true, Ordering::Release);
    }
}

impl Ledger {
    /// The counters of a computer. Connections keep theirs over reports.
    pub(super) fn row(&self, target: &Target) -> Arc<Row> {
        let mut pages = self.lock();
        let key = (target.host().to_string(), target.port());
        let is_full = pages.rows.len() >= HOSTS_MAX && !pages.rows.contains_key(&key);
        let key = if is_full { (OTHERS.to_owned(), 0) } else { key };
        let fresh = || {
            Arc::new(Row {
                changed: self.changed.clone(),
                requests: AtomicU64::default(),
                sent: AtomicU64::default(),
                received: AtomicU64::default(),
            })
        };
        pages.rows.entry(key).or_insert_with(fresh).clone()
    }

    /// Notes a refusal, or counts it when it is one already noted.
    pub(super) fn refuse(&self, refusal: Refusal) {
        let mut pages = self.lock();
        let is_same = |noted: &&mut Refusal| noted.what == refusal.what && noted.right == refusal.right;
        if let Some(noted) = pages.refused.iter_mut().find(is_same) {
            noted.count += refusal.count;
        } else if pages.refused.len() < REFUSALS_MAX {
            pages.refused.push(refusal);
        } else {
            let others = || Refusal {
                what: "connect to other computers".to_owned(),
                right: None,
                by: RefusedBy::Proxy,
                count: 0,
                next: String::new(),
            };
            if pages.refused.len() == REFUSALS_MAX {
                pages.refused.push(others());
            }
            if let Some(last) = pages.refused.last_mut() {
                last.count += refusal.count;
            }
        }
        self.changed.store(true, Ordering::Release);
    }

    /// Everything since the last time.
    pub(super) fn take(&self) -> Report {
        if !self.changed.load(Ordering::Acquire) {
            return Report::default();
        }
        // Before reading: what is counted from now on marks the ledger again.
        self.changed.swap(false, Ordering::AcqRel);
        let mut pages = self.lock();
        let mut traffic: Vec<HostTraffic> = pages
            .rows
            .iter()
            .map(|((host, port), row)| HostTraffic {
                host: host.clone(),
                port: *port,
                requests: row.requests.swap(0, Ordering::Relaxed),
                sent_bytes: row.sent.swap(0, Ordering::Relaxed),
                received_bytes: row.received.swap(0, Ordering::Relaxed),
            })
            .filter(|row| row.requests + row.sent_bytes + row.received_bytes > 0)
            .collect();
        traffic.sort_by(|one, other| (&one.host, one.port).cmp(&(&other.host, other.port)));
        // A row that a connection still holds, or filled just now and let go, stays: no byte is lost.
        pages.rows.retain(|_, row| Arc::strong_count(row) > 1 || row.is_filled());
        Report { traffic, refused: std::mem::take(&mut pages.refused) }
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        // A panic elsewhere leaves counts that are still counts.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(number: usize) -> Target {
        Target::of_request(&format!("http://host{number:03}.example/").parse().unwrap()).unwrap()
    }

    fn refusal(number: usize) -> Refusal {
        Refusal {
            what: format!("connect to {number}"),
            right: None,
            by: RefusedBy::Proxy,
            count: 1,
            next: String::new(),
        }
    }

    #[test]
    fn a_report_is_taken_once() {
        let ledger = Ledger::default();
        assert_eq!(ledger.take(), Report::default());
        ledger.row(&target(1)).sent(7);
        ledger.refuse(refusal(1));
        ledger.refuse(refusal(1));
        let report = ledger.take();
        assert_eq!(report.traffic[0].sent_bytes, 7);
        assert_eq!((report.refused.len(), report.refused[0].count), (1, 2));
        assert_eq!(ledger.take(), Report::default());
    }

    #[test]
    fn a_connection_that_outlives_a_report_is_in_the_next_one_too() {
        let ledger = Ledger::default();
        let row = ledger.row(&target(1));
        row.requested();
        assert_eq!(ledger.take().traffic[0].requests, 1);
        row.received(9);
        let report = ledger.take();
        assert_eq!((report.traffic[0].requests, report.traffic[0].received_bytes), (0, 9));
    }

    #[test]
    fn what_goes_beyond_the_limits_is_summed() {
        let ledger = Ledger::default();
        for number in 0..100 {
            ledger.row(&target(number)).sent(1);
            ledger.refuse(refusal(number));
        }
        let report = ledger.take();
        assert_eq!(report.traffic.len(), HOSTS_MAX + 1);
        let others = report.traffic.iter().find(|row| row.host == OTHERS).unwrap();
        assert_eq!(others.sent_bytes, 36);
        assert_eq!(report.refused.len(), REFUSALS_MAX + 1);
        assert_eq!(report.refused[REFUSALS_MAX].count, 36);
    }
}
