//! Programs that try to reach a Unix socket by changing what they asked for, while it is looked at.

use super::Connecting;
use crate::sandbox::{
    Listening,
    entry::install,
    notices::{Notices, Refused},
    syscalls::{Executing, Filters, Metadata, Wish},
};
use roost_protocol::NetworkMode;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::{
    net::TcpListener,
    os::{
        fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
        unix::{ffi::OsStrExt as _, net::UnixListener},
    },
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
        mpsc,
    },
    thread,
};

/// How often each exchange is tried.
const TRIES: usize = 2_000;

/// An address that another thread changes while it is used.
struct Shared(Vec<AtomicU8>);

impl Shared {
    fn of(bytes: &[u8]) -> Arc<Self> {
        Arc::new(Self(bytes.iter().copied().map(AtomicU8::new).collect()))
    }

    fn set(&self, bytes: &[u8]) {
        self.0.iter().zip(bytes).for_each(|(place, byte)| place.store(*byte, Ordering::Relaxed));
    }
}

fn internet_address(port: u16) -> Vec<u8> {
    let mut bytes = u16::try_from(libc::AF_INET).unwrap().to_ne_bytes().to_vec();
    bytes.extend(port.to_be_bytes());
    bytes.extend([127, 0, 0, 1]);
    bytes.resize(size_of::<libc::sockaddr_in>(), 0);
    bytes
}

/// As long as an address of the internet: only so can one become the other.
fn unix_address(path: &[u8]) -> Vec<u8> {
    let mut bytes = u16::try_from(libc::AF_UNIX).unwrap().to_ne_bytes().to_vec();
    bytes.extend(path);
    assert!(bytes.len() < size_of::<libc::sockaddr_in>(), "the path is too long for this test");
    bytes.resize(size_of::<libc::sockaddr_in>(), 0);
    bytes
}

#[expect(unsafe_code, reason = "an address that changes meanwhile has no safe form")]
fn connects(socket: &OwnedFd, address: &Shared) -> bool {
    let length = libc::socklen_t::try_from(address.0.len()).unwrap();
    // SAFETY: the kernel reads as many bytes as there are, which other threads change only as atomics.
    unsafe { libc::connect(socket.as_raw_fd(), address.0.as_ptr().cast(), length) == 0 }
}

#[expect(unsafe_code, reason = "prctl and a descriptor by its number")]
fn confine_this_thread() -> OwnedFd {
    // SAFETY: takes numbers only.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    let filter = Filters::default().get(Wish {
        network: NetworkMode::Hosts,
        may_execute: Executing::Anything,
        listening: Listening::OnUnixSockets,
        metadata: Metadata::HeldByRoot,
    });
    let listener = install(&filter).unwrap();
    // SAFETY: the kernel just made it for us.
    unsafe { OwnedFd::from_raw_fd(listener) }
}

fn socket(family: AddressFamily) -> OwnedFd {
    socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap()
}

/// Connects as a program would that wants to reach a Unix socket, and says how often it came to a connection at all.
fn attack(port: u16, path: &Path) -> usize {
    let (internet, unix) = (internet_address(port), unix_address(path.as_os_str().as_bytes()));
    assert!(!connects(&socket(AddressFamily::UNIX), &Shared::of(&unix)));
    assert!(!connects(&socket(AddressFamily::INET), &Shared::of(&unix)));
    let address = Shared::of(&internet);
    let is_over = Arc::new(AtomicBool::new(false));
    let racing = {
        let (address, is_over) = (Arc::clone(&address), Arc::clone(&is_over));
        thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                address.set(&unix);
                address.set(&internet);
            }
        })
    };
    let mut connected = 0;
    for _ in 0..TRIES {
        connected += usize::from(connects(&socket(AddressFamily::INET), &address));
        connects(&socket(AddressFamily::UNIX), &address);
    }
    is_over.store(true, Ordering::Relaxed);
    racing.join().unwrap();
    exchange_descriptors(&internet_address(port), &unix_address(path.as_os_str().as_bytes()));
    connected
}

/// Puts another socket in the place of the one that is connected, meanwhile.
#[expect(unsafe_code, reason = "a descriptor that changes meanwhile has no safe form")]
fn exchange_descriptors(internet: &[u8], unix: &[u8]) {
    let is_over = Arc::new(AtomicBool::new(false));
    let sockets = [AddressFamily::INET, AddressFamily::UNIX].map(socket);
    let place = socket(AddressFamily::INET);
    let number = place.as_raw_fd();
    let racing = {
        let is_over = Arc::clone(&is_over);
        thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                for socket in &sockets {
                    // SAFETY: both are descriptors of this test, and `place` stays open until this thread ended.
                    unsafe { libc::dup2(socket.as_raw_fd(), number) };
                }
            }
        })
    };
    let addresses = [Shared::of(internet), Shared::of(unix)];
    for _ in 0..TRIES {
        for address in &addresses {
            connects(&place, address);
        }
    }
    is_over.store(true, Ordering::Relaxed);
    racing.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_changes_meanwhile_leads_to_no_unix_socket() {
    // Short enough to stand in the place of an address of the internet.
    let folder = tempfile::Builder::new().prefix("r").rand_bytes(4).tempdir_in("/tmp").unwrap();
    let path = folder.path().join("s");
    let other_program = UnixListener::bind(&path).unwrap();
    other_program.set_nonblocking(true).unwrap();
    let computer = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = computer.local_addr().unwrap().port();
    let accepting = thread::spawn(move || {
        // Ends with the test.
        while let Ok((stream, _)) = computer.accept() {
            drop(stream);
        }
    });
    let (hand_over, handed) = mpsc::channel();
    let (begin, begun) = mpsc::channel::<()>();
    let attacking = thread::spawn({
        let path = path.clone();
        move || {
            hand_over.send(confine_this_thread()).unwrap();
            begun.recv().unwrap();
            attack(port, &path)
        }
    });
    let refused = Arc::new(Refused::default());
    let notices = Notices::listen(handed.recv().unwrap(), Arc::clone(&refused), Connecting::ToComputers);
    begin.send(()).unwrap();
    let connected = tokio::task::spawn_blocking(move || attacking.join().unwrap()).await.unwrap();
    assert!(connected > 0, "connections to computers are made");
    let error = other_program.accept().map(drop).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "somebody came through");
    let told = refused.take();
    assert!(told.iter().any(|one| one.what == "connect to another program" && one.count > 1), "{told:?}");
    drop(notices);
    drop(accepting);
}
