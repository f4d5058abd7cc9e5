//! A network link that is not there: injected latency and bandwidth.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use farside_os::thread::{now_ns, wait_until};

/// Latency and bandwidth put between a program and a node on the same machine.
///
/// Each direction is a wire that carries one byte after the other: a transfer starts when the wire is
/// free, occupies it for its length over the bandwidth, and arrives a latency later.
#[derive(Debug, Default)]
pub struct Link {
    latency_ns: u64,
    /// Bits a second; 0 for no bound.
    bits_per_second: u64,
    inbound_free_at: AtomicU64,
    outbound_free_at: AtomicU64,
    /// A time that is past: to ask for the time takes about as long as to copy a short line.
    past: AtomicU64,
}

/// How far the outgoing wire may run ahead before a writer has to wait.
const OUTBOUND_BACKLOG_NS: u64 = 1_000_000;

impl Link {
    /// A link with the given latency in nanoseconds and bandwidth in bits a second (0: unbounded).
    pub fn new(latency_ns: u64, bits_per_second: u64) -> Self {
        Self { latency_ns, bits_per_second, ..Self::default() }
    }

    /// Whether the link costs nothing.
    pub fn is_free(&self) -> bool {
        self.latency_ns == 0 && self.bits_per_second == 0
    }

    /// How long so many bytes take to come if the link is idle, in nanoseconds.
    pub fn wait_ns(&self, bytes: usize) -> u64 {
        self.latency_ns + self.transfer_ns(bytes)
    }

    fn transfer_ns(&self, bytes: usize) -> u64 {
        let ns = bytes as u128 * 8 * 1_000_000_000;
        ns.checked_div(u128::from(self.bits_per_second)).unwrap_or(0) as u64
    }

    fn now(&self) -> u64 {
        let now = now_ns();
        self.past.store(now, Relaxed);
        now
    }

    /// Takes the wire for so many bytes at `now` or when it is free; returns when they have left.
    fn occupy(&self, wire: &AtomicU64, bytes: usize, now: u64) -> u64 {
        if self.bits_per_second == 0 {
            return now;
        }
        let cost = self.transfer_ns(bytes);
        let mut end = 0;
        // The closure always returns a value, so the update cannot fail.
        let _ = wire.fetch_update(Relaxed, Relaxed, |free_at| {
            end = free_at.max(now) + cost;
            Some(end)
        });
        end
    }

    /// When `bytes` that are asked for now will have arrived; 0 if at once.
    pub fn request(&self, bytes: usize) -> u64 {
        if self.is_free() {
            return 0;
        }
        self.occupy(&self.inbound_free_at, bytes, self.now()) + self.latency_ns
    }

    /// Whether what is to arrive at `ready_at` has.
    pub fn has_arrived(&self, ready_at: u64) -> bool {
        ready_at <= self.past.load(Relaxed) || ready_at <= self.now()
    }

    /// Waits for what is to arrive at `ready_at`.
    pub fn wait(&self, ready_at: u64) {
        if !self.has_arrived(ready_at) {
            wait_until(ready_at);
        }
    }

    /// Sends `bytes`; returns when the sender may go on, which is at once unless the wire is far
    /// behind.
    pub fn send(&self, bytes: usize) {
        if self.is_free() {
            return;
        }
        let past = self.past.load(Relaxed);
        let end = self.occupy(&self.outbound_free_at, bytes, past);
        // If the wire has been free since, they leave sooner than that by at most what was sent since: the time has to be
        // asked for only when that is much.
        if end > past + OUTBOUND_BACKLOG_NS / 2 && end > self.now() + OUTBOUND_BACKLOG_NS {
            wait_until(end - OUTBOUND_BACKLOG_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_queue_on_the_wire() {
        let link = Link::new(5_000, 8_000_000_000);
        let first = link.request(4096);
        let second = link.request(4096);
        assert!(second >= first + 4096, "the second transfer waits for the first");
        assert_eq!(Link::new(0, 0).request(4096), 0);
    }

    #[test]
    fn nothing_is_sent_faster_than_the_wire_allows() {
        let link = Link::new(5_000, 8_000_000_000);
        let start = now_ns();
        // 4 MB, a byte each nanosecond, of which the wire may be behind a million and a half.
        (0..40_000).for_each(|_| link.send(100));
        assert!(now_ns() - start > 2_400_000);
    }
}
