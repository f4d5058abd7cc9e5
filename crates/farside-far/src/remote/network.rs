//! The ways to memory nodes.

use std::io;
use std::net::SocketAddr;

use farside_os::random;
use farside_wire::transport::ucx::Ucx;
use farside_wire::transport::{Patience, Protection, Stream, Tcp, Tls};

/// Connects to nodes, tells the time, and draws numbers: what a simulation puts something else in place of.
pub trait Network: Send + Sync {
    /// A connection, within `timeout_ns`.
    ///
    /// # Errors
    /// If there is none to be had.
    fn connect(&self, node: &NodeAddress, timeout_ns: u64) -> io::Result<Box<dyn Stream>>;

    /// What it means that a node hangs up when it is greeted, which it does because of `why`.
    fn refusal(&self, why: &str) -> io::Error {
        io::Error::other(format!("it hung up at once ({why})"))
    }

    /// Nanoseconds of the clock that everything goes by.
    fn now(&self) -> u64;

    /// Lets some time pass.
    fn rest(&self, ns: u64);

    /// A number that nobody else has drawn.
    ///
    /// # Errors
    /// If the kernel gives none.
    fn draw(&self) -> farside_os::Result<u64> {
        let mut bytes = [0; 8];
        random::fill(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// Where a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAddress {
    /// What it is called: its certificate has to say so.
    pub name: String,
    /// Its address.
    pub address: SocketAddr,
}

impl From<SocketAddr> for NodeAddress {
    fn from(address: SocketAddr) -> Self {
        Self { name: address.ip().to_string(), address }
    }
}

/// What carries messages to nodes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Carrier {
    /// TCP, with TLS if that is asked for.
    #[default]
    Tcp,
    /// UCX: shared memory, TCP or RDMA, whichever it finds. It protects nothing.
    Ucx,
}

impl Carrier {
    /// What URLs of its nodes begin with.
    pub fn scheme(self) -> &'static str {
        match self {
            Carrier::Tcp => "tcp://",
            Carrier::Ucx => "ucx://",
        }
    }

    /// The network of nodes that are reached this way.
    pub fn network(self, protection: Protection) -> Box<dyn Network> {
        match self {
            Carrier::Tcp => Box::new(TcpNetwork { protection }),
            Carrier::Ucx => Box::new(UcxNetwork),
        }
    }
}

/// Connections over TCP.
#[derive(Clone, Debug, Default)]
pub struct TcpNetwork {
    /// How they are protected.
    pub protection: Protection,
}

impl Network for TcpNetwork {
    fn connect(&self, node: &NodeAddress, timeout_ns: u64) -> io::Result<Box<dyn Stream>> {
        let timeout = std::time::Duration::from_nanos(timeout_ns.max(1));
        let tcp = Tcp::connect(node.address, timeout)?;
        let Protection::Tls(credentials) = &self.protection else { return Ok(Box::new(tcp)) };
        let patience = Patience::of(0, timeout_ns);
        let tls = Tls::connect(tcp, credentials, &node.name, patience).map_err(|error| {
            // Who does not speak TLS does not know what to make of its greeting.
            let is_plain = error.kind() == io::ErrorKind::UnexpectedEof;
            let why = "it hung up at once, as one does that has neither --psk nor --tls-ca";
            if is_plain { io::Error::new(error.kind(), why) } else { error }
        })?;
        Ok(Box::new(tls))
    }

    fn refusal(&self, why: &str) -> io::Error {
        // Who speaks TLS hangs up at anything else.
        let may_want = match self.protection {
            Protection::Tls(_) => "",
            _ => ", as one does that wants --psk or --tls-ca",
        };
        io::Error::other(format!("it hung up at once ({why}){may_want}"))
    }

    fn now(&self) -> u64 {
        farside_os::thread::now_ns()
    }

    fn rest(&self, ns: u64) {
        farside_os::thread::sleep_ns(ns);
    }
}

/// Connections over UCX.
#[derive(Copy, Clone, Debug, Default)]
pub struct UcxNetwork;

impl Network for UcxNetwork {
    fn connect(&self, node: &NodeAddress, _timeout_ns: u64) -> io::Result<Box<dyn Stream>> {
        // Whether there is a node shows when it is asked for something, for which there is as much time.
        Ok(Box::new(Ucx::connect(node.address)?))
    }

    fn refusal(&self, why: &str) -> io::Error {
        let text = format!("no node answers there over UCX ({why})");
        io::Error::new(io::ErrorKind::ConnectionRefused, text)
    }

    fn now(&self) -> u64 {
        farside_os::thread::now_ns()
    }

    fn rest(&self, ns: u64) {
        farside_os::thread::sleep_ns(ns);
    }
}
