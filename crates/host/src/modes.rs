//! Two switches that every chat turn reads: whether a spoken version and a twin's part are asked for.
//!
//! They begin as the settings say and last as long as the host runs; nothing is written.

use std::sync::atomic::{AtomicBool, Ordering};

/// The switches of one host.
#[derive(Debug)]
pub struct Modes {
    voice: AtomicBool,
    twin: AtomicBool,
}

/// One of the switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Answers come with a spoken version.
    Voice,
    /// Answers come with the twin's part.
    Twin,
}

impl Modes {
    pub(crate) fn new(beginning: &crate::settings::ModeSettings) -> Self {
        Self { voice: AtomicBool::new(beginning.voice), twin: AtomicBool::new(beginning.twin) }
    }

    /// True when answers come with a spoken version.
    #[must_use]
    pub fn voice(&self) -> bool {
        self.voice.load(Ordering::Relaxed)
    }

    /// True when answers come with the twin's part.
    #[must_use]
    pub fn twin(&self) -> bool {
        self.twin.load(Ordering::Relaxed)
    }

    /// Sets a switch; without a value it flips. Returns what it is now.
    pub fn set(&self, mode: Mode, enabled: Option<bool>) -> bool {
        let switch = match mode {
            Mode::Voice => &self.voice,
            Mode::Twin => &self.twin,
        };
        match enabled {
            Some(enabled) => {
                switch.store(enabled, Ordering::Relaxed);
                enabled
            }
            // One step, so that two flips at once are two flips.
            None => !switch.fetch_xor(true, Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Mode, Modes};
    use crate::settings::ModeSettings;

    #[test]
    fn a_switch_is_set_or_flipped_and_the_other_stays() {
        let modes = Modes::new(&ModeSettings::default());
        assert_eq!((modes.voice(), modes.twin()), (false, false));
        assert!(modes.set(Mode::Voice, None));
        assert!(modes.set(Mode::Voice, Some(true)));
        assert!(!modes.set(Mode::Voice, None));
        assert!(!modes.set(Mode::Twin, Some(false)));
        assert_eq!((modes.voice(), modes.twin()), (false, false));
    }
}
