//! Runs of this node that somebody may end while they go on.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct Cancels(Mutex<HashMap<String, Arc<Notify>>>);

impl Cancels {
    /// Returns when somebody ends the run; forgets it when nobody waits any more.
    pub(crate) async fn of(&self, run: &str) {
        let told = Arc::new(Notify::new());
        self.lock().insert(run.to_owned(), Arc::clone(&told));
        let _forget = Forget { cancels: self, run };
        told.notified().await;
    }

    /// Ends a run, if it goes on here.
    pub(crate) fn cancel(&self, run: &str) {
        if let Some(told) = self.lock().get(run) {
            told.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Forget<'a> {
    cancels: &'a Cancels,
    run: &'a str,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.cancels.lock().remove(self.run);
    }
}
