//! Pages of native apps: who answers what they ask for.

use super::{launch::LiveApp, running::NativeApps, state::NativePhase};
use roost_protocol::{Failure, Reason};
use roost_runtime::{NativePart, PageAnswer, PageRequest};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Semaphore;

/// Requests of pages that one app answers at once; more of them wait for nothing and are told so.
const IN_FLIGHT_MAX: usize = 64;

/// Apps that answer pages now.
#[derive(Default)]
pub(super) struct Answering(Mutex<BTreeMap<String, Arc<AnsweringApp>>>);

struct AnsweringApp {
    live: Arc<LiveApp>,
    in_flight: Semaphore,
}

/// Why a page gets no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// The app is on its way, or has too much to do.
    NotReady(Failure),
    /// The request is larger than any may be.
    TooLarge(Failure),
    /// There is no such app, or it did not answer.
    Failed(Failure),
}

impl Answering {
    /// Lets an app that has pages answer them.
    pub(super) fn take_in(&self, live: &Arc<LiveApp>) {
        if live.folder.parts().contains(&NativePart::Ui) {
            let app = AnsweringApp { live: Arc::clone(live), in_flight: Semaphore::new(IN_FLIGHT_MAX) };
            self.lock().insert(live.folder.id().to_owned(), Arc::new(app));
        }
    }

    pub(super) fn take_out(&self, live: &Arc<LiveApp>) {
        self.lock().retain(|_, app| !Arc::ptr_eq(&app.live, live));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<AnsweringApp>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NativeApps {
    /// Lets an app answer what its page, a program or the owner asks.
    pub async fn answer_page(&self, id: &str, request: PageRequest) -> Result<PageAnswer, Unanswered> {
        let app = self.answering().lock().get(id).cloned();
        let Some(app) = app else { return Err(self.why_unanswered(id)) };
        let Ok(_permit) = app.in_flight.try_acquire() else {
            let message = format!("{id} answers {IN_FLIGHT_MAX} requests already");
            return Err(Unanswered::NotReady(Failure::new(Reason::Busy, message)));
        };
        app.live.app.answer_page(request).await.map_err(|failure| match failure.reason {
            Reason::BodyTooLarge => Unanswered::TooLarge(failure),
            _ => Unanswered::Failed(failure),
        })
    }

    /// Apps with pages that answer now.
    #[must_use]
    pub fn with_pages(&self) -> Vec<String> {
        self.answering().lock().keys().cloned().collect()
    }

    fn why_unanswered(&self, id: &str) -> Unanswered {
        let message = match self.state(id) {
            Err(failure) => return Unanswered::Failed(failure),
            Ok(state) if !state.provides.iter().any(|capability| capability == "ui") => {
                format!("{id} has no pages")
            }
            Ok(state) => match state.phase {
                NativePhase::Starting | NativePhase::Waiting | NativePhase::Running => {
                    let message = format!("{id} does not answer yet");
                    return Unanswered::NotReady(Failure::new(Reason::NativeNotRunning, message));
                }
                NativePhase::Failed | NativePhase::Stopped => format!("{id} does not run"),
            },
        };
        Unanswered::Failed(Failure::new(Reason::NativeNotRunning, message))
    }
}
