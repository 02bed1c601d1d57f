//! Secrets that agents of this host can see or use: whatever is kept must not hold them.
//!
//! A value counts from its first use until the host ends. One tenant's values never touch another tenant's content.

use crate::{host::Host, store::local_owner, vault::ResolvedSecret};
use roost_protocol::{Failure, Tenant};
use roost_runtime::Clear;
use roost_workspace::Redactions;
use std::sync::{Arc, Mutex, PoisonError};

/// Values that are remembered: a vault is smaller.
const VALUES_MAX: usize = 1024;

/// Shortest line of a value that is looked for by itself: shorter ones stand in many texts.
const LINE_BYTES_MIN: usize = 16;

/// The values of the person on this machine, whose vault it is.
#[derive(Default)]
pub(crate) struct Resolved(Mutex<Known>);

#[derive(Default)]
struct Known {
    values: Vec<(String, String)>,
    redactions: Arc<Redactions>,
}

impl Resolved {
    /// Remembers values that an agent is about to get.
    pub(crate) fn learn(&self, secrets: &[ResolvedSecret]) {
        if secrets.is_empty() {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.values.len();
        for secret in secrets {
            let value = secret.value.expose();
            // What is printed is looked at line by line, and so is a value that has several.
            let lines = value.lines().filter(|line| line.len() >= LINE_BYTES_MIN && *line != value);
            for part in std::iter::once(value).chain(lines) {
                let pair = (secret.name.as_str().to_owned(), part.to_owned());
                if !known.values.contains(&pair) && known.values.len() < VALUES_MAX {
                    known.values.push(pair);
                }
            }
        }
        if known.values.len() > before {
            known.redactions =
                Arc::new(Redactions::new(known.values.iter().map(|(name, value)| (name, value))));
        }
    }

    /// A failure as it may be kept.
    pub(crate) fn cleared(&self, failure: Failure) -> Failure {
        let message = self.redactions().redact(&failure.message).into_owned();
        Failure { message, ..failure }
    }

    /// What may be kept of what agents print.
    pub(crate) fn clear(self: &Arc<Self>) -> Clear {
        let resolved = Arc::clone(self);
        Arc::new(move |printed| {
            let redactions = resolved.redactions();
            (!redactions.is_empty()).then(|| redactions.redact_bytes(printed).into_owned())
        })
    }

    /// What takes them out.
    pub(crate) fn redactions(&self) -> Arc<Redactions> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner).redactions)
    }
}

impl Host {
    /// What must not be kept of this tenant's content.
    #[must_use]
    pub fn redactions(&self, tenant: &Tenant) -> Arc<Redactions> {
        if *tenant == local_owner().tenant { self.inner.resolved.redactions() } else { Arc::default() }
    }
}
