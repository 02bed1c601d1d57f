//! What an agent must not reach, all of it real: it would work for any program outside the sandbox.

use roost_tests::{RunningHost, SharedMemory, TestHome};
use serde_json::{Value, json};
use std::{
    fs, io,
    net::{Ipv4Addr, TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixDatagram, UnixListener},
    },
    path::PathBuf,
};

/// What the files hold.
const SECRET: &str = "Nobody may read this.";

/// Room of the probe agent, in megabytes: less than one file of the probe that fills it.
pub(super) const DISK_MB: u64 = 8;

/// Everything an agent is led to. It goes with this value.
pub(super) struct Bait {
    outside: PathBuf,
    home: PathBuf,
    path_socket: UnixListener,
    abstract_socket: UnixListener,
    abstract_name: String,
    datagrams: UnixDatagram,
    udp: UdpSocket,
    tcp: TcpListener,
    shared_memory: Option<SharedMemory>,
}

impl Bait {
    pub(super) fn lay(home: &TestHome) -> Self {
        let (outside, root) = (home.outside(), home.root());
        for folder in
            [outside.join(".ssh"), outside.join("sockets"), root.join(".brainstem_data/other_agent")]
        {
            fs::create_dir_all(folder).unwrap();
        }
        for file in secret_files(&outside, &root) {
            fs::write(file, SECRET).unwrap();
        }
        let abstract_name = format!("roost-it-{}", outside.display());
        let abstract_address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let bait = Self {
            path_socket: UnixListener::bind(outside.join("sockets/path")).unwrap(),
            abstract_socket: UnixListener::bind_addr(&abstract_address).unwrap(),
            abstract_name,
            datagrams: UnixDatagram::bind(outside.join("sockets/datagram")).unwrap(),
            udp: UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap(),
            tcp: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap(),
            shared_memory: SharedMemory::new(),
            outside,
            home: root,
        };
        bait.path_socket.set_nonblocking(true).unwrap();
        bait.abstract_socket.set_nonblocking(true).unwrap();
        bait.datagrams.set_nonblocking(true).unwrap();
        bait.udp.set_nonblocking(true).unwrap();
        bait.tcp.set_nonblocking(true).unwrap();
        bait
    }

    /// The names by which the probe agents know it.
    pub(super) fn targets(&self, host: &RunningHost, stem: &str) -> Value {
        let outside = |name: &str| self.outside.join(name).display().to_string();
        let tcp = self.tcp_address();
        json!({
            "host_pid": host.pid(),
            "host_pid_namespace": fs::read_link("/proc/self/ns/pid").unwrap().display().to_string(),
            "ssh_path": outside(".ssh"),
            "database": self.home.join("roost.db").display().to_string(),
            "other_folder": self.home.join(".brainstem_data/other_agent").display().to_string(),
            "outside_file": outside("secret.txt"),
            "movable_file": outside("movable.txt"),
            "outside_path": outside("new.txt"),
            "home_folder": self.outside.display().to_string(),
            // The first one is there for everybody on every machine.
            "device_paths": "/dev/ptmx /dev/kmsg /dev/mem /dev/sda /dev/vda /dev/kvm /dev/fuse /dev/net/tun",
            "limit_megabytes": DISK_MB,
            "pid_file": self.home.join(format!(".brainstem_data/{stem}/pid")).display().to_string(),
            "socket_path": outside("sockets/path"),
            "datagram_path": outside("sockets/datagram"),
            "socket_name": self.abstract_name,
            "udp_address": self.udp.local_addr().unwrap().to_string(),
            "tcp_address": tcp,
            "ip_address": tcp,
            "other_url": format!("http://{tcp}/"),
            "private_address": tcp,
            "shm_key": self.shared_memory.as_ref().map(SharedMemory::key),
        })
    }

    /// Where nothing may connect to.
    pub(super) fn tcp_address(&self) -> String {
        self.tcp.local_addr().unwrap().to_string()
    }

    /// Files that keep what the host knows: besides the one that probes are led to, all that are there.
    pub(super) fn files_of_the_host(&self) -> Vec<PathBuf> {
        let names =
            ["roost.db", "roost.toml", ".env", "grants.json", "audit/audit-000001.jsonl", "audit/head.json"];
        names.iter().map(|name| self.home.join(name)).filter(|path| path.exists()).collect()
    }

    /// Nothing arrived, and nothing was changed, moved or made.
    pub(super) fn assert_untouched(&self) {
        let mut buffer = [0; 16];
        nothing("a connection to the path socket", self.path_socket.accept().map(drop));
        nothing("a connection to the abstract socket", self.abstract_socket.accept().map(drop));
        nothing("a datagram on the path socket", self.datagrams.recv(&mut buffer).map(drop));
        nothing("a datagram over UDP", self.udp.recv_from(&mut buffer).map(drop));
        nothing("a connection over TCP", self.tcp.accept().map(drop));
        for file in secret_files(&self.outside, &self.home) {
            assert_eq!(fs::read_to_string(&file).unwrap(), SECRET, "{}", file.display());
        }
        let mut names: Vec<_> =
            fs::read_dir(&self.outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        let expected = [".ssh", "movable.txt", "secret.txt", "sockets"];
        // Engines keep folders of their own in the home of the host.
        names.retain(|name| !expected.iter().any(|one| name == one) && name != ".cache" && name != ".config");
        assert!(names.is_empty(), "made beside the bait: {names:?}");
    }
}

fn secret_files(outside: &std::path::Path, home: &std::path::Path) -> [PathBuf; 5] {
    [
        outside.join(".ssh/id_ed25519"),
        outside.join("secret.txt"),
        outside.join("movable.txt"),
        home.join("roost.db"),
        home.join(".brainstem_data/other_agent/note.txt"),
    ]
}

#[track_caller]
fn nothing(what: &str, arrived: io::Result<()>) {
    assert!(arrived.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock), "there was {what}");
}
