//! Nodes, and a client of theirs.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use farside_far::remote::{Carrier, Cluster, Timing};
use farside_far::{FarError, FarStore, Remote};
use farside_node::network::{Node, Options};
use farside_os::memory::{PAGE, anonymous_file};
use farside_os::{random, socket};
use farside_wire::pool::{DATA_BYTES, MAX_PAGES, Message, REFS_BYTES};
use farside_wire::transport::ucx::UcxListening;
use farside_wire::transport::{Protection, TcpListening};

/// A node, and where it is.
pub fn node(options: Options) -> (Arc<Node>, SocketAddr) {
    let node = Node::new(options).unwrap();
    let listening = TcpListening::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listening.address().unwrap();
    let serving = Arc::clone(&node);
    std::thread::spawn(move || serving.serve(&listening));
    (node, address)
}

/// The same over UCX.
pub fn ucx_node(options: Options) -> (Arc<Node>, SocketAddr) {
    let node = Node::new(options).unwrap();
    let listening = UcxListening::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listening.address();
    let serving = Arc::clone(&node);
    std::thread::spawn(move || serving.serve_ucx(&listening));
    (node, address)
}

/// Times that tests do not wait long for.
pub fn timing() -> Timing {
    Timing { deadline_ns: 300_000_000, patience_ns: 5_000_000_000, ..Timing::default() }
}

/// A client, which looks after its nodes while it lives.
pub struct Client {
    pub store: Arc<Remote>,
    over: Arc<AtomicBool>,
    _keeper: OwnedFd,
}

impl Client {
    pub fn of(nodes: &[SocketAddr], copies: usize, timing: Timing) -> Self {
        Self::protected(nodes, copies, timing, Protection::None)
    }

    /// One whose pool has that name.
    pub fn named(name: u128, nodes: &[SocketAddr], timing: Timing) -> Self {
        Self::found(name, Carrier::Tcp, nodes, (1, false), timing, Protection::None)
    }

    pub fn over_ucx(nodes: &[SocketAddr], copies: usize, timing: Timing) -> Self {
        Self::over(Carrier::Ucx, nodes, (copies, copies > 1), timing, Protection::None)
    }

    /// One that does not seal its pages, however many copies there are.
    pub fn unsealed(nodes: &[SocketAddr], copies: usize, timing: Timing) -> Self {
        Self::over(Carrier::Tcp, nodes, (copies, false), timing, Protection::None)
    }

    pub fn protected(
        nodes: &[SocketAddr],
        copies: usize,
        timing: Timing,
        protection: Protection,
    ) -> Self {
        // Half of the tests' clients seal their pages.
        Self::over(Carrier::Tcp, nodes, (copies, copies > 1), timing, protection)
    }

    fn over(
        carrier: Carrier,
        nodes: &[SocketAddr],
        copies: (usize, bool),
        timing: Timing,
        protection: Protection,
    ) -> Self {
        Self::found(random::number().unwrap(), carrier, nodes, copies, timing, protection)
    }

    fn found(
        name: u128,
        carrier: Carrier,
        nodes: &[SocketAddr],
        (copies, seal): (usize, bool),
        timing: Timing,
        protection: Protection,
    ) -> Self {
        let (link, keeper) = socket::pair().unwrap();
        let files = [
            anonymous_file(c"data", DATA_BYTES).unwrap(),
            anonymous_file(c"refs", REFS_BYTES).unwrap(),
            anonymous_file(c"map", MAX_PAGES * 4).unwrap(),
        ];
        let fds = [files[0].as_fd(), files[1].as_fd(), files[2].as_fd()];
        socket::send(keeper.as_fd(), &Message::Pool { name }.encode(), &fds).unwrap();
        let cluster = Cluster {
            carrier,
            nodes: nodes.iter().map(|node| (*node).into()).collect(),
            copies,
            seal,
            timing,
        };
        let network = carrier.network(protection);
        let store = Remote::connect(link, &cluster, network, 1 << 20).unwrap();
        let store = Arc::new(store);
        let over = Arc::new(AtomicBool::new(false));
        let (tended, ended) = (Arc::clone(&store), Arc::clone(&over));
        std::thread::spawn(move || {
            while !ended.load(SeqCst) {
                tended.tend();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Self { store, over, _keeper: keeper }
    }

    pub fn write(&self, first: u64, fills: &[u8]) -> Result<(), FarError> {
        let pages: Vec<u8> = fills.iter().flat_map(|fill| page(*fill)).collect();
        self.store.write(first, &pages)
    }

    /// By what each page is filled, if all of it is.
    pub fn read(&self, first: u64, count: u32) -> Result<Vec<u8>, FarError> {
        let ticket = self.store.begin_read(first, count)?;
        let mut into = vec![0xAA; count as usize * PAGE];
        self.store.finish_read(ticket, &mut into)?;
        Ok(into
            .chunks_exact(PAGE)
            .map(|got| if got == page(got[0]) { got[0] } else { panic!("torn page") })
            .collect())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.over.store(true, SeqCst);
    }
}

/// A page that shows if it is mixed with another one.
fn page(fill: u8) -> [u8; PAGE] {
    std::array::from_fn(|at| if at % 64 == 0 { fill } else { fill.wrapping_mul(at as u8 | 1) })
}

/// Waits for something that is to happen soon.
pub fn eventually(what: &str, mut happened: impl FnMut() -> bool) {
    for _ in 0..20_000 {
        if happened() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("never: {what}");
}
