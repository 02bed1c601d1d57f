//! Telling others that something changed: a hint to look again, never the change itself.
//!
//! What changed has a durable sequence number in its own table; a notice that is lost costs time, not data.

use roost_protocol::Tenant;
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};
use tokio::sync::broadcast;

/// Notices a slow listener may be behind; it looks again anyway when it was left behind.
const NOTICES_KEPT: usize = 1024;

/// Something of this tenant changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Notice {
    /// Whose.
    pub tenant: Tenant,
    /// What, in the words of its owner: `workspace/NAME`.
    pub topic: Arc<str>,
}

impl Notice {
    /// As one text for the wire.
    pub(crate) fn to_text(&self) -> String {
        format!("{} {}", self.tenant.as_str(), self.topic)
    }

    pub(crate) fn of_text(text: &str) -> Option<Self> {
        let (tenant, topic) = text.split_once(' ')?;
        Some(Self { tenant: Tenant::parse(tenant).ok()?, topic: topic.into() })
    }
}

/// Passes notices on to everybody in this process who listens.
#[derive(Debug, Clone)]
pub(crate) struct Notices {
    to: broadcast::Sender<Notice>,
    passed_on: Arc<AtomicI64>,
}

impl Notices {
    pub(crate) fn new() -> Self {
        Self { to: broadcast::Sender::new(NOTICES_KEPT), passed_on: Arc::default() }
    }

    /// How many there were.
    pub(crate) fn passed_on(&self) -> i64 {
        self.passed_on.load(Ordering::Acquire)
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Notice> {
        self.to.subscribe()
    }

    pub(crate) fn pass_on(&self, notice: Notice) {
        self.passed_on.fetch_add(1, Ordering::Release);
        // Nobody listening is fine.
        self.to.send(notice).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::Notice;
    use roost_protocol::Tenant;

    #[test]
    fn a_notice_survives_its_way_as_text() {
        let notice = Notice { tenant: Tenant::parse("acme").unwrap(), topic: "workspace/a b".into() };
        assert_eq!(Notice::of_text(&notice.to_text()), Some(notice));
        assert_eq!(Notice::of_text("nonsense"), None);
    }
}
