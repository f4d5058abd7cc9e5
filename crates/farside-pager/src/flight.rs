//! Fetches on their way that nobody waits for yet.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use farside_far::Ticket;
use farside_os::thread::{futex_wait, futex_wake};
use farside_policy::prefetch::Walk;

use crate::frames::Run;
use crate::purpose::Purpose;

/// So long a flight is left to the task that it was started for, or to the thread that comes to its pages, in nanoseconds.
const HELD_NS: u64 = 1_000_000;

/// So often the completer finds no flight that is left to others before it sleeps until it is told of one.
const LOOKS_IN_VAIN: u32 = 8;

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
    /// When it was started, if it is left for some time to who comes to its pages: a task that asks for it by itself, a
    /// hint, or the handler of a fault.
    pub held: Option<u64>,
}

impl Flight {
    /// Whether the flight carries `page`.
    pub fn carries(&self, page: u64) -> bool {
        page >= self.ticket.first && page < self.ticket.first + u64::from(self.ticket.count)
    }

    /// Whether it was [left](Flights::leave) to who comes to its pages.
    fn is_left(&self) -> bool {
        self.held.is_some() && self.frames.is_some()
    }
}

/// The flights in the order they were started.
#[derive(Default)]
pub struct Flights {
    queue: Mutex<VecDeque<Flight>>,
    /// Changes with everything that gives the completer work.
    signal: AtomicU32,
    /// Whether the completer looks by itself in a moment.
    watched: AtomicBool,
    /// How often it has found none that is left to others since there was one.
    in_vain: AtomicU32,
}

impl Flights {
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

    /// Adds a flight into frames that is left for some time to who comes to its pages, if no more than `most` pages are:
    /// what is on its way cannot be evicted.
    ///
    /// A hint at them may have to wait anyway, and two threads that map pages of one process at a time interrupt and wait for
    /// one another. What faults are to come to is not left to them: handlers of several threads would do so, too.
    pub fn leave(&self, flight: Flight, now: u64, most: u64) {
        let pages = |flight: &Flight| u64::from(flight.ticket.count);
        let mut queue = self.lock();
        let left: u64 = queue.iter().filter(|flight| flight.is_left()).map(pages).sum();
        if left + pages(&flight) > most {
            drop(queue);
            return self.start(flight);
        }
        queue.push_back(Flight { held: Some(now), ..flight });
        drop(queue);
        if !self.watched.load(Ordering::Relaxed) {
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

    /// Waits until there is work since `seen` was read, for at most `timeout_ns`; as long as flights are left to others now and
    /// then, only until one of them may be due, so that nobody has to wake the completer for each.
    pub fn wait(&self, seen: u32, timeout_ns: u64) {
        let timeout_ns = if self.keeps_watch() { timeout_ns.min(HELD_NS) } else { timeout_ns };
        futex_wait(&self.signal, seen, Some(timeout_ns));
    }

    /// Whether the completer is to look again by itself.
    fn keeps_watch(&self) -> bool {
        let any_left = || self.lock().iter().any(Flight::is_left);
        let in_vain = if any_left() { 0 } else { self.in_vain.load(Ordering::Relaxed) + 1 };
        let watches = in_vain < LOOKS_IN_VAIN;
        self.in_vain.store(in_vain.min(LOOKS_IN_VAIN), Ordering::Relaxed);
        self.watched.store(watches, Ordering::Relaxed);
        // The list is locked once more: who leaves a flight after that look finds that nobody watches.
        watches || any_left()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(first: u64, held: Option<u64>) -> Flight {
        let ticket = Ticket { first, count: 1, ready_at: 0, call: 0 };
        Flight { ticket, frames: None, keep: None, purpose: Purpose::NONE, walk: None, held }
    }

    fn into_frames(first: u64) -> Flight {
        Flight { frames: Some(Run { start: 0, count: 1 }), ..flight(first, None) }
    }

    #[test]
    fn what_is_left_to_who_comes_to_it_is_no_more_than_may_be() {
        let flights = Flights::default();
        let first = |now| flights.take_due(now).map(|flight| flight.ticket.first);
        for page in [1, 2, 3] {
            flights.leave(into_frames(page), 100, 2);
        }
        assert_eq!([first(100), first(100)], [Some(3), None]);
        assert_eq!([first(100 + HELD_NS), first(100 + HELD_NS)], [Some(1), Some(2)]);
    }

    #[test]
    fn the_completer_is_told_of_what_is_left_unless_it_looks_by_itself() {
        let flights = Flights::default();
        let is_told = || {
            let seen = flights.signal();
            flights.leave(into_frames(1), 100, 9);
            flights.signal() != seen
        };
        assert!(is_told(), "it sleeps");
        assert!(flights.keeps_watch());
        assert!(!is_told(), "it looks in a moment");
        while flights.take_oldest().is_some() {}
        (1..LOOKS_IN_VAIN).for_each(|_| assert!(flights.keeps_watch(), "there were some just now"));
        assert!(!flights.keeps_watch());
        assert!(is_told(), "it sleeps again");
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
