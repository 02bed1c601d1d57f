//! The end of the process: asked for when the parent is gone, granted when llama.cpp is not in the middle of work.
//!
//! Leaving while its threads compute would run its destructors under their feet.

use crate::limits::FAREWELL;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Whether the end was asked for, and whether the model is at work.
#[derive(Default)]
pub(crate) struct Ending {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    asked: bool,
    at_work: bool,
}

impl Ending {
    /// Whether the work under way should stop.
    pub(crate) fn asked(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).asked
    }

    /// Runs `work` as something that the end waits for.
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        self.set_at_work(true);
        let result = work();
        self.set_at_work(false);
        result
    }

    fn set_at_work(&self, at_work: bool) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).at_work = at_work;
        self.changed.notify_all();
    }

    /// Asks for the end and waits until no work is under way, within a limit.
    fn ask_and_wait(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.asked = true;
        // Whether it was in time makes no difference: the process ends now.
        drop(self.changed.wait_timeout_while(state, FAREWELL, |state| state.at_work));
    }
}

/// Ends the process when standard input ends, as it does when the parent closes it or dies.
pub(crate) fn follow_standard_input(ending: Arc<Ending>) -> std::io::Result<()> {
    std::thread::Builder::new().name("parent".to_owned()).spawn(move || {
        let mut ignored = [0; 256];
        // Nothing is expected on it, and an error means that it is gone as well.
        while matches!(std::io::stdin().read(&mut ignored), Ok(1..)) {}
        ending.ask_and_wait();
        std::process::exit(0);
    })?;
    Ok(())
}
