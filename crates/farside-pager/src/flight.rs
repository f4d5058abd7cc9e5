//! Fetches on their way that nobody waits for yet.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use farside_far::Ticket;
use farside_os::thread::{futex_wait, futex_wake};
use farside_policy::prefetch::Walk;

use crate::frames::Run;
use crate::purpose::Purpose;

/// So long a flight is left to the task that it was started for, or to the next hint, in nanoseconds.
const HELD_NS: u64 = 1_000_000;

/// A run of pages on its way, for which frames are already reserved.
#[derive(Copy, Clone, Debug)]
pub struct Flight {
    /// The read.
    pub ticket: Ticket,
    /// Frames that the pages are read into, if they are not copied.
    pub frames: Option<Run>,
    /// How many of the last pages stay unmapped, if not as many as usual.
    pub keep: Option<u64>,
    /// How its pages are to arrive.
    pub purpose: Purpose,
    /// Where the program will come in, if the page was sent for because of a pointer.
    pub walk: Option<Walk>,
    /// When it was started, if it is left for some time to a task that asks for it by itself, to a hint that is to come, or
    /// to the handler of a fault.
    pub held: Option<u64>,
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
    /// Changes with everything that gives the completer work.
    signal: AtomicU32,
    /// Whether the program last came by a fault upon what a hint read ahead, and not by another hint.
    met_by_fault: AtomicBool,
}

impl Flights {
    /// Adds a flight for what a hint reads ahead. The hint at these pages completes it: it waits anyway, and two threads that
    /// map pages of one process at a time interrupt and wait for one another. It is the completer's if the program
    /// does not hint where it comes to such pages, but faults.
    pub fn start_ahead(&self, flight: Flight, now: u64) {
        if self.met_by_fault.load(Ordering::Relaxed) {
            self.start(flight);
        } else {
            self.add(Flight { held: Some(now), ..flight });
        }
    }

    /// A hint has come upon pages that are on their way.
    pub fn note_hint(&self) {
        if self.met_by_fault.load(Ordering::Relaxed) {
            self.met_by_fault.store(false, Ordering::Relaxed);
        }
    }

    /// A fault has come upon this flight.
    pub fn note_fault(&self, flight: &Flight) {
        if flight.purpose.is_hinted() {
            self.met_by_fault.store(true, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Flight>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a flight.
    pub fn start(&self, flight: Flight) {
        let mut queue = self.lock();
        // Of held ones the completer was not told.
        let first = queue.iter().all(|flight| flight.held.is_some());
        queue.push_back(flight);
        drop(queue);
        if first {
            self.poke();
        }
    }

    /// Adds a flight that the handler of a later fault completes.
    pub fn add(&self, flight: Flight) {
        self.lock().push_back(flight);
    }

    /// Tells the completer that there is work.
    pub fn poke(&self) {
        self.signal.fetch_add(1, Ordering::Release);
        futex_wake(&self.signal, 1);
    }

    /// To be read before looking for work, and passed to [`wait`](Self::wait) if there is none.
    pub fn signal(&self) -> u32 {
        self.signal.load(Ordering::Acquire)
    }

    /// Whether nothing is on its way.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Takes the oldest flight that is not left to somebody else; the taker completes it.
    pub fn take_due(&self, now: u64) -> Option<Flight> {
        let mut queue = self.lock();
        let is_due = |flight: &Flight| flight.held.is_none_or(|since| now >= since + HELD_NS);
        let index = queue.iter().position(is_due)?;
        queue.remove(index)
    }

    /// Takes the oldest flight; the taker completes it.
    pub fn take_oldest(&self) -> Option<Flight> {
        self.lock().pop_front()
    }

    /// Takes the oldest flight that pointers were followed for; the taker completes it.
    pub fn take_walking(&self) -> Option<Flight> {
        let mut queue = self.lock();
        let index = queue.iter().position(|flight| flight.walk.is_some())?;
        queue.remove(index)
    }

    /// Takes the flight that carries `page`, if nobody has taken it yet.
    pub fn take_with(&self, page: u64) -> Option<Flight> {
        let mut queue = self.lock();
        let index = queue.iter().position(|flight| flight.carries(page))?;
        queue.remove(index)
    }

    /// The same, if it `is_wanted`.
    pub fn take_if(&self, page: u64, is_wanted: impl Fn(&Flight) -> bool) -> Option<Flight> {
        let mut queue = self.lock();
        let index = queue.iter().position(|flight| flight.carries(page))?;
        if is_wanted(&queue[index]) { queue.remove(index) } else { None }
    }

    /// Waits until there is work since `seen` was read, for at most `timeout_ns`.
    pub fn wait(&self, seen: u32, timeout_ns: u64) {
        futex_wait(&self.signal, seen, Some(timeout_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hints_read_ahead_is_theirs_until_a_fault_comes_upon_it() {
        let (flights, hinted) = (Flights::default(), Purpose::hinted(7..8, false, 0).ahead());
        let ahead = |first| Flight { purpose: hinted, ..flight(first, None) };
        let due = |now| flights.take_due(now).map(|flight| flight.ticket.first);
        flights.start_ahead(ahead(1), 100);
        assert_eq!((due(100), due(100 + HELD_NS)), (None, Some(1)));
        flights.note_fault(&flight(2, None));
        flights.start_ahead(ahead(3), 100);
        assert_eq!(due(100), None, "the fault was about something else");
        flights.note_fault(&ahead(3));
        flights.start_ahead(ahead(4), 100);
        assert_eq!(due(100), Some(4));
        flights.note_hint();
        flights.start_ahead(ahead(5), 100);
        assert_eq!(due(100), None);
    }

    fn flight(first: u64, held: Option<u64>) -> Flight {
        let ticket = Ticket { first, count: 1, ready_at: 0, call: 0 };
        Flight { ticket, frames: None, keep: None, purpose: Purpose::NONE, walk: None, held }
    }

    #[test]
    fn the_completer_is_told_of_a_flight_behind_those_that_are_held() {
        let flights = Flights::default();
        flights.add(flight(1, Some(100)));
        let seen = flights.signal();
        flights.start(flight(2, None));
        assert_ne!(flights.signal(), seen, "nobody would complete it");
        let seen = flights.signal();
        flights.start(flight(3, None));
        assert_eq!(flights.signal(), seen, "it is at work");
        let first = |flight: Option<Flight>| flight.map(|flight| flight.ticket.first);
        assert_eq!(first(flights.take_due(100)), Some(2));
        assert_eq!(first(flights.take_due(100)), Some(3));
        assert_eq!(first(flights.take_due(100)), None);
        assert_eq!(first(flights.take_due(100 + HELD_NS)), Some(1));
    }
}
