//! Fetches on their way that nobody waits for yet.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use farside_far::Ticket;
use farside_os::thread::{futex_wait, futex_wake};

/// A run of pages on its way, for which frames are already reserved.
#[derive(Copy, Clone, Debug)]
pub struct Flight {
    /// The read.
    pub ticket: Ticket,
}

impl Flight {
    /// Whether the flight carries `page`.
    pub fn carries(&self, page: u64) -> bool {
        page >= self.ticket.first && page < self.ticket.first + u64::from(self.ticket.count)
    }
}

/// The flights in the order they were started.
#[derive(Default)]
pub struct Flights {
    queue: Mutex<VecDeque<Flight>>,
    /// Number of flights, for a completer to wait on.
    pending: AtomicU32,
}

impl Flights {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Flight>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a flight.
    pub fn start(&self, flight: Flight) {
        let mut queue = self.lock();
        queue.push_back(flight);
        let before = self.pending.fetch_add(1, Ordering::Release);
        drop(queue);
        if before == 0 {
            futex_wake(&self.pending, 1);
        }
    }

    /// Takes the oldest flight; the taker completes it.
    pub fn take_oldest(&self) -> Option<Flight> {
        let flight = self.lock().pop_front()?;
        self.pending.fetch_sub(1, Ordering::Release);
        Some(flight)
    }

    /// Takes the flight that carries `page`, if nobody has taken it yet.
    pub fn take_with(&self, page: u64) -> Option<Flight> {
        let mut queue = self.lock();
        let index = queue.iter().position(|flight| flight.carries(page))?;
        let flight = queue.remove(index)?;
        self.pending.fetch_sub(1, Ordering::Release);
        Some(flight)
    }

    /// Waits until there is a flight, for at most `timeout_ns`.
    pub fn wait(&self, timeout_ns: u64) {
        if self.pending.load(Ordering::Acquire) == 0 {
            futex_wait(&self.pending, 0, Some(timeout_ns));
        }
    }
}
