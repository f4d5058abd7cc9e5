//! A node that keeps pages for clients across a network.

use std::collections::HashMap;
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use farside_os::Result;
use farside_os::memory::PAGE;
use farside_os::random;
use farside_os::thread::now_ns;
use farside_wire::frame::{Code, LEAVING, PARTS, Vitals};
use farside_wire::transport::ucx::UcxListening;
use farside_wire::transport::{Patience, Protection, Stream, Tcp, TcpListening, Tls};

use crate::counters::Counters;
use crate::frames::Frames;
use crate::pool::Pool;
use crate::session::{HELLO_NS, Session};

/// How often leases are looked at.
const SWEEP: Duration = Duration::from_millis(200);

/// How a node is to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes for pages.
    pub memory: u64,
    /// The longest that pages of a client that is gone are kept, and how long if the client does not say.
    pub lease: Duration,
    /// How long a connection that waits for a request keeps its processor awake.
    pub spin: Duration,
    /// Most connections.
    pub connections: usize,
    /// How connections are protected.
    pub protection: Protection,
    /// Whether clients' functions are run here.
    pub offload: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory: 1 << 30,
            lease: Duration::from_secs(10),
            spin: Duration::from_micros(50),
            connections: 1024,
            protection: Protection::None,
            offload: false,
        }
    }
}

/// A pool, and who uses it.
struct Tenant {
    pool: Arc<Pool>,
    connections: usize,
    lease_ns: u64,
    /// When the last connection ended.
    left_at: u64,
}

/// The state of a node.
pub struct Node {
    pub(crate) options: Options,
    pub(crate) frames: Frames,
    pub(crate) counters: Counters,
    tenants: Mutex<HashMap<u128, Tenant>>,
    connections: AtomicUsize,
    epochs: AtomicU64,
    draining: AtomicBool,
    /// Whether somebody looks after leases.
    swept: Once,
}

/// A client's place at a node, from Hello to the end of the connection.
pub(crate) struct Seat {
    node: Arc<Node>,
    pub(crate) name: u128,
    pub(crate) pool: Arc<Pool>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(tenant) = self.node.lock().get_mut(&self.name) {
            tenant.connections -= 1;
            tenant.left_at = now_ns();
        }
    }
}

impl Node {
    /// A node without pages.
    ///
    /// # Errors
    /// If there is no address space for its memory, or no random number to tell it from others.
    pub fn new(options: Options) -> Result<Arc<Self>> {
        let mut seed = [0; 8];
        random::fill(&mut seed)?;
        Ok(Arc::new(Self {
            frames: Frames::new(options.memory, options.offload)?,
            options,
            counters: Counters::default(),
            tenants: Mutex::default(),
            connections: AtomicUsize::new(0),
            epochs: AtomicU64::new(u64::from_le_bytes(seed)),
            draining: AtomicBool::new(false),
            swept: Once::new(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u128, Tenant>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the node says of itself.
    pub fn vitals(&self) -> Vitals {
        let page = PAGE as u64;
        Vitals {
            total: self.frames.count() * page,
            free: (self.frames.count() - self.frames.used()) * page,
            can: PARTS | LEAVING,
            lease_ms: self.options.lease.as_millis() as u32,
        }
    }

    /// What the node has done.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How many pools and connections there are.
    pub fn occupancy(&self) -> (usize, usize) {
        (self.lock().len(), self.connections.load(Ordering::Relaxed))
    }

    /// Whether the node takes nothing new.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Whether it keeps no pages.
    pub fn is_empty(&self) -> bool {
        self.frames.used() == 0
    }

    /// Takes nothing new from now on: clients are told in every reply, and take their pages elsewhere if they can.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Has a client found the pool of that name, or join it.
    pub(crate) fn seat(
        self: &Arc<Self>,
        name: u128,
        lease_ms: u32,
    ) -> std::result::Result<Seat, Code> {
        let tenants = &mut *self.lock();
        if self.is_draining() && !tenants.contains_key(&name) {
            return Err(Code::Denied);
        }
        let found = || {
            let epoch = self.epochs.fetch_add(1, Ordering::Relaxed);
            let pool = Arc::new(Pool::new(epoch));
            let asked = Duration::from_millis(lease_ms.into());
            let lease =
                if lease_ms == 0 { self.options.lease } else { asked.min(self.options.lease) };
            Tenant { pool, connections: 0, lease_ns: lease.as_nanos() as u64, left_at: 0 }
        };
        let tenant = tenants.entry(name).or_insert_with(found);
        tenant.connections += 1;
        Ok(Seat { node: Arc::clone(self), name, pool: Arc::clone(&tenant.pool) })
    }

    /// Has the pool of that name go as soon as no connection has it.
    pub(crate) fn leave(&self, name: u128) {
        if let Some(tenant) = self.lock().get_mut(&name) {
            tenant.lease_ns = 0;
        }
    }

    /// Forgets the pages of clients that are gone for longer than their lease.
    pub fn sweep(&self) {
        let now = now_ns();
        let is_over = |tenant: &Tenant| {
            tenant.connections == 0 && now.saturating_sub(tenant.left_at) >= tenant.lease_ns
        };
        let gone: Vec<_> = self.lock().extract_if(|_, tenant| is_over(tenant)).collect();
        for (_, tenant) in gone {
            let forgotten = tenant.pool.free(&self.frames, 0..u64::MAX, u64::MAX);
            // Others only came to look.
            Counters::add(&self.counters.leases_ended, u64::from(forgotten > 0));
        }
    }

    /// Has a thread look after leases, if none does.
    fn look_after_leases(self: &Arc<Self>) -> io::Result<()> {
        let mut started = Ok(());
        self.swept.call_once(|| {
            let node = Arc::clone(self);
            let sweeping = move || loop {
                std::thread::sleep(SWEEP);
                node.sweep();
            };
            let thread = std::thread::Builder::new().name("leases".into()).spawn(sweeping);
            started = thread.map(drop);
        });
        started
    }

    /// Serves clients that connect to `listening`, until it fails for good. Each connection has a thread.
    ///
    /// # Errors
    /// If there is no thread to be had for looking after leases.
    pub fn serve(self: &Arc<Self>, listening: &TcpListening) -> io::Result<()> {
        self.look_after_leases()?;
        loop {
            match listening.accept() {
                Ok((stream, _)) => self.admit(move |node| node.protect(stream)),
                Err(_) => rest(),
            }
        }
    }

    /// Serves clients that connect over UCX. Their connections are not protected, however those over TCP are.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub fn serve_ucx(self: &Arc<Self>, listening: &UcxListening) -> io::Result<()> {
        self.look_after_leases()?;
        loop {
            match listening.accept() {
                Ok(stream) => self.admit(move |_| Ok(Box::new(stream) as Box<dyn Stream>)),
                Err(_) => rest(),
            }
        }
    }

    /// Serves one client over a connection, until that ends.
    pub fn attend(self: &Arc<Self>, stream: Box<dyn Stream>) {
        // Whatever ends a connection, the client learns of it by its end.
        let _ = Session::new(Arc::clone(self), stream).serve();
    }

    fn protect(&self, stream: TcpStream) -> io::Result<Box<dyn Stream>> {
        let tcp = Tcp::new(stream)?;
        let Protection::Tls(credentials) = &self.options.protection else {
            return Ok(Box::new(tcp));
        };
        let patience = Patience::of(0, HELLO_NS);
        Ok(Box::new(Tls::accept(tcp, credentials, patience)?))
    }

    /// Gives a connection a thread, which first makes it ready.
    fn admit(
        self: &Arc<Self>,
        prepare: impl FnOnce(&Self) -> io::Result<Box<dyn Stream>> + Send + 'static,
    ) {
        let most = self.options.connections;
        let more = |count| (count < most).then_some(count + 1);
        if self.connections.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_err() {
            Counters::add(&self.counters.refused_connections, 1);
            return;
        }
        let node = Arc::clone(self);
        let serving = move || {
            let connection = Connection(node);
            match prepare(&connection.0) {
                Ok(stream) => connection.0.attend(stream),
                Err(_) => Counters::add(&connection.0.counters.refused_connections, 1),
            }
        };
        if std::thread::Builder::new().name("session".into()).spawn(serving).is_err() {
            Counters::add(&self.counters.refused_connections, 1);
            self.connections.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Out of descriptors or memory: those that are connected are served meanwhile.
fn rest() {
    std::thread::sleep(Duration::from_millis(10));
}

/// Counts a connection while it lasts.
struct Connection(Arc<Node>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}
