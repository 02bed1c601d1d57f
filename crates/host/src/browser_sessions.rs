//! Browsers that the owner let in: a ticket, which works once and soon ends, becomes a session of the web UI.
//!
//! A session counts as the owner's token does, so that the token itself never has to be in a browser. Only hashes are
//! kept, of sessions in `run/` of the home, of tickets nowhere but in memory.

use crate::{host::Host, settings::Home};
use jiff::Timestamp;
use roost_protocol::{Failure, Reason};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use subtle::ConstantTimeEq as _;

/// Nobody guesses so many random bytes.
const SECRET_BYTES: usize = 32;

/// What sessions begin with, so that people and scanners know what they found.
const MARK: &str = "page_";

/// How long a ticket waits for its browser: long enough to copy an address, too short to be found in a log.
const TICKET_LIVES: Duration = Duration::from_secs(600);

/// Tickets that wait at once; the oldest goes.
const TICKETS_MAX: usize = 16;

/// How long a browser stays signed in.
const SESSION_LIVES: jiff::SignedDuration = jiff::SignedDuration::from_hours(30 * 24);

/// Browsers that are signed in at once; the one that came first goes.
const SESSIONS_MAX: usize = 32;

/// What a person opens.
#[derive(Debug)]
pub struct Invitation {
    /// Works once.
    pub ticket: String,
    /// For so long.
    pub expires_in: Duration,
}

/// What a browser keeps.
#[derive(Debug)]
pub struct BrowserSession {
    /// To be shown as `Authorization: Bearer`.
    pub session: String,
    /// Until then.
    pub expires: Timestamp,
}

/// A session as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    sha256: String,
    expires: Timestamp,
}

struct Ticket {
    sha256: String,
    made: Instant,
}

/// The browsers of one home's owner.
pub(crate) struct BrowserSessions {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tickets: Vec<Ticket>,
    /// Read at the first use.
    sessions: Option<Vec<Kept>>,
}

impl BrowserSessions {
    /// Of this home; reads nothing yet.
    pub(crate) fn new(home: &Home) -> Self {
        Self { path: home.run().join("page-sessions.json"), state: Mutex::default() }
    }

    fn invite(&self) -> Result<Invitation, Failure> {
        let ticket = random_text()?;
        let mut state = self.lock();
        state.tickets.retain(|ticket| ticket.made.elapsed() < TICKET_LIVES);
        if state.tickets.len() == TICKETS_MAX {
            state.tickets.remove(0);
        }
        state.tickets.push(Ticket { sha256: hashed(&ticket), made: Instant::now() });
        Ok(Invitation { ticket, expires_in: TICKET_LIVES })
    }

    /// Takes the ticket; it works for nobody afterwards.
    fn take(&self, ticket: &str) -> Result<(), Failure> {
        let sha256 = hashed(ticket);
        let mut state = self.lock();
        let found = state.tickets.iter().position(|waiting| waiting.sha256 == sha256);
        let taken = found.map(|place| state.tickets.remove(place));
        match taken {
            Some(ticket) if ticket.made.elapsed() < TICKET_LIVES => Ok(()),
            _ => Err(Failure::plain(Reason::TicketInvalid)),
        }
    }

    fn open(&self) -> Result<BrowserSession, Failure> {
        let session = format!("{MARK}{}", random_text()?);
        let now = Timestamp::now();
        let expires = now
            .checked_add(SESSION_LIVES)
            .map_err(|error| Failure::new(Reason::Internal, format!("the clock of this machine: {error}")))?;
        let mut state = self.lock();
        let mut sessions = self.known(&mut state).clone();
        sessions.retain(|kept| kept.expires > now);
        if sessions.len() >= SESSIONS_MAX {
            sessions.remove(0);
        }
        sessions.push(Kept { sha256: hashed(&session), expires });
        self.keep(&mut state, sessions)?;
        Ok(BrowserSession { session, expires })
    }

    fn close(&self, session: &str) -> Result<(), Failure> {
        let sha256 = hashed(session);
        let mut state = self.lock();
        let mut sessions = self.known(&mut state).clone();
        sessions.retain(|kept| kept.sha256 != sha256);
        self.keep(&mut state, sessions)
    }

    fn holds(&self, shown: &str) -> bool {
        if !shown.starts_with(MARK) {
            return false;
        }
        let (sha256, now) = (hashed(shown), Timestamp::now());
        let mut state = self.lock();
        let fits = |kept: &Kept| bool::from(kept.sha256.as_bytes().ct_eq(sha256.as_bytes()));
        self.known(&mut state).iter().any(|kept| kept.expires > now && fits(kept))
    }

    /// A list that cannot be read lets nobody in; the next session begins a new one.
    fn known<'a>(&self, state: &'a mut State) -> &'a mut Vec<Kept> {
        let read = || -> Option<Vec<Kept>> { serde_json::from_slice(&fs::read(&self.path).ok()?).ok() };
        state.sessions.get_or_insert_with(|| read().unwrap_or_default())
    }

    fn keep(&self, state: &mut State, sessions: Vec<Kept>) -> Result<(), Failure> {
        let write = || -> io::Result<()> {
            let folder = self.path.parent().ok_or(io::ErrorKind::NotFound)?;
            fs::create_dir_all(folder)?;
            let mut staging = tempfile::NamedTempFile::new_in(folder)?;
            staging.as_file().set_permissions(fs::Permissions::from_mode(0o600))?;
            staging.write_all(&serde_json::to_vec(&sessions)?)?;
            staging.as_file().sync_data()?;
            staging.persist(&self.path).map(drop).map_err(|error| error.error)
        };
        write().map_err(|error| {
            Failure::new(Reason::HomeUnusable, format!("{}: {error}", self.path.display()))
        })?;
        state.sessions = Some(sessions);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host {
    /// True for the owner's token and for a session of the owner's browser.
    #[must_use]
    pub fn is_owner(&self, shown: &str) -> bool {
        self.owner().is_ok_and(|owner| owner.is(shown)) || self.inner.browsers.holds(shown)
    }

    /// A ticket that lets one browser in. Only for the owner to give.
    pub fn invite_browser(&self) -> Result<Invitation, Failure> {
        self.inner.browsers.invite()
    }

    /// A session for whoever brings a ticket that still works.
    pub fn admit_browser(&self, ticket: &str) -> Result<BrowserSession, Failure> {
        self.inner.browsers.take(ticket)?;
        self.inner.browsers.open()
    }

    /// A session for somebody who has proved to be the owner.
    pub fn open_browser_session(&self) -> Result<BrowserSession, Failure> {
        self.inner.browsers.open()
    }

    /// Ends a session; one that is not there has ended already.
    pub fn close_browser_session(&self, session: &str) -> Result<(), Failure> {
        self.inner.browsers.close(session)
    }
}

fn random_text() -> Result<String, Failure> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
    Ok(hex::encode(bytes))
}

fn hashed(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{BrowserSessions, SESSIONS_MAX, TICKETS_MAX};
    use crate::settings::Home;
    use roost_protocol::Reason;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    #[test]
    fn a_ticket_works_once_and_a_wrong_one_never() {
        let folder = tempfile::tempdir().unwrap();
        let browsers = BrowserSessions::new(&Home::new(folder.path().to_owned(), None));
        let ticket = browsers.invite().unwrap().ticket;
        for wrong in ["", "x", &ticket[1..], &format!("{ticket} ")] {
            assert_eq!(browsers.take(wrong).unwrap_err().reason, Reason::TicketInvalid, "{wrong}");
        }
        browsers.take(&ticket).unwrap();
        assert_eq!(browsers.take(&ticket).unwrap_err().reason, Reason::TicketInvalid);
        let first = browsers.invite().unwrap().ticket;
        (0..TICKETS_MAX).for_each(|_| drop(browsers.invite().unwrap()));
        assert!(browsers.take(&first).is_err(), "too many tickets wait");
    }

    #[test]
    fn a_session_outlives_the_host_and_ends_when_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path().to_owned(), None);
        let browsers = BrowserSessions::new(&home);
        let kept = browsers.open().unwrap().session;
        let closed = browsers.open().unwrap().session;
        browsers.close(&closed).unwrap();
        let after_a_restart = BrowserSessions::new(&home);
        assert!(after_a_restart.holds(&kept) && !after_a_restart.holds(&closed));
        assert!(!after_a_restart.holds(&kept[1..]) && !after_a_restart.holds(""));
        let file = home.run().join("page-sessions.json");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!fs::read_to_string(&file).unwrap().contains(&kept), "only its hash is kept");
        (0..SESSIONS_MAX).for_each(|_| drop(after_a_restart.open().unwrap()));
        assert!(!after_a_restart.holds(&kept), "the first one made room");
    }

    #[test]
    fn a_list_that_is_damaged_or_over_lets_nobody_in() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path().to_owned(), None);
        let session = BrowserSessions::new(&home).open().unwrap().session;
        let file = home.run().join("page-sessions.json");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, &text[..text.len() / 2]).unwrap();
        assert!(!BrowserSessions::new(&home).holds(&session));
        let year = &text[text.find("\"expires\":\"").unwrap() + 11..][..4];
        fs::write(&file, text.replace(&format!("\"{year}-"), "\"2020-")).unwrap();
        assert!(!BrowserSessions::new(&home).holds(&session));
    }
}
