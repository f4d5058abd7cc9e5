//! A cable to a node that can be cut, put back, stopped, and that can damage what it carries.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What all connections of a cable share.
struct State {
    target: Mutex<SocketAddr>,
    cut: AtomicBool,
    /// How often somebody tried to connect since it was cut.
    tried: AtomicU64,
    stopped: AtomicBool,
    /// One bit is turned in each so many bytes; 0 for none.
    flip_every: AtomicU64,
    carried: AtomicU64,
    open: Mutex<Vec<TcpStream>>,
}

/// A cable.
pub struct Cable {
    pub address: SocketAddr,
    state: Arc<State>,
}

impl Cable {
    /// Between whoever connects to `address` and the node at `target`.
    pub fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            target: Mutex::new(target),
            cut: AtomicBool::new(false),
            tried: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            flip_every: AtomicU64::new(0),
            carried: AtomicU64::new(0),
            open: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.cut.load(SeqCst) {
                    shared.tried.fetch_add(1, SeqCst);
                } else {
                    shared.join(client);
                }
            }
        });
        Self { address, state }
    }

    /// Nothing goes through any more, and whoever is connected is told.
    pub fn cut(&self) {
        self.state.tried.store(0, SeqCst);
        self.state.cut.store(true, SeqCst);
        for stream in self.state.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Waits until somebody has tried so often to connect, in vain.
    pub fn wait_until_tried(&self, times: u64) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.state.tried.load(SeqCst) < times {
            assert!(Instant::now() < deadline, "nobody has tried {times} times to connect");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Connections can be made again, to that node.
    pub fn mend(&self, target: SocketAddr) {
        *self.state.target.lock().unwrap() = target;
        self.state.cut.store(false, SeqCst);
    }

    /// Whether nothing moves, without anybody being told.
    pub fn stop(&self, stopped: bool) {
        self.state.stopped.store(stopped, SeqCst);
    }

    /// Turns one bit in each so many bytes.
    pub fn flip_every(&self, bytes: u64) {
        self.state.flip_every.store(bytes, SeqCst);
    }
}

impl State {
    fn join(self: &Arc<Self>, client: TcpStream) {
        let Ok(node) = TcpStream::connect(*self.target.lock().unwrap()) else { return };
        for stream in [&client, &node] {
            stream.set_nodelay(true).unwrap();
            self.open.lock().unwrap().push(stream.try_clone().unwrap());
        }
        let back = (node.try_clone().unwrap(), client.try_clone().unwrap());
        for (from, to) in [(client, node), back] {
            let state = Arc::clone(self);
            std::thread::spawn(move || state.carry(from, to));
        }
    }

    fn carry(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(len) = from.read(&mut buffer)
            && len > 0
        {
            while self.stopped.load(SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            let every = self.flip_every.load(SeqCst);
            let before = self.carried.fetch_add(len as u64, SeqCst);
            if every > 0 {
                // The first bytes are a header that has to be understood.
                let next = before.next_multiple_of(every);
                for at in (next - before..len as u64).step_by(every as usize) {
                    buffer[at as usize] ^= 1 << (at % 8);
                }
            }
            if to.write_all(&buffer[..len]).is_err() {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}
