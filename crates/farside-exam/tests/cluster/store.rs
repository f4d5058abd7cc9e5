//! A client of a cluster, and what it stores there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use farside_exam::Cluster;
use farside_far::redis::Redis;
use farside_far::{FarError, FarStore, Opening, open};
use farside_os::memory::PAGE;
use farside_wire::transport::Files;

/// A client, which looks after its servers while it lives.
pub struct Client {
    pub store: Arc<Redis>,
    over: Arc<AtomicBool>,
}

impl Client {
    pub fn of(cluster: &Cluster, options: &str) -> Self {
        let url = cluster.url(options).parse().expect("a URL");
        let opening = open(&url, &Files::default(), false).expect("it makes sense");
        let Opening::Redis(cluster, network) = opening else { panic!("not a cluster") };
        let store = Redis::alone(&cluster, Box::new(network), 1 << 20).expect("it can be reached");
        let store = Arc::new(store);
        let over = Arc::new(AtomicBool::new(false));
        let (tended, ended) = (Arc::clone(&store), Arc::clone(&over));
        std::thread::spawn(move || {
            while !ended.load(SeqCst) {
                tended.tend();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Self { store, over }
    }

    pub fn write(&self, first: u64, stamps: &[u64]) -> Result<(), FarError> {
        let pages: Vec<u8> = stamps.iter().flat_map(|stamp| page(*stamp)).collect();
        self.store.write(first, &pages)
    }

    /// With what each page was stamped, if all of it was.
    pub fn read(&self, first: u64, count: u32) -> Result<Vec<u64>, FarError> {
        let ticket = self.store.begin_read(first, count)?;
        let mut into = vec![0xAA; count as usize * PAGE];
        self.store.finish_read(ticket, &mut into)?;
        let stamp = |bytes: &[u8]| {
            let stamp = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
            assert!(bytes == page(stamp), "a torn page");
            stamp
        };
        Ok(into.chunks_exact(PAGE).map(stamp).collect())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.over.store(true, SeqCst);
    }
}

/// A page that shows if it is mixed with another one.
fn page(stamp: u64) -> [u8; PAGE] {
    let word = |at: usize| stamp.wrapping_add((at / 8) as u64 * 0x9E37_79B9_7F4A_7C15);
    std::array::from_fn(|at| word(at).to_le_bytes()[at % 8])
}
