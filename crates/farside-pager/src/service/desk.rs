//! Reads fault messages, and serves them.

use std::sync::atomic::Ordering;

use farside_os::memory::PAGE;
use farside_os::thread;
use farside_os::userfault::{Event, RawMessage};

use super::Service;
use crate::pager::Worker;
use crate::record::Fault;
use crate::stop::stop;

/// Messages read at once.
const MESSAGES: usize = 32;

/// Most faults that are read ahead of their turn. While a process forks nothing may be allocated.
const MAX_FAULTS: usize = 4096;

/// Reads without waiting from one look at where faults come from to the next.
const LOOK_EVERY: u32 = 4;

/// How long a handler keeps its processor awake while others are on duty too.
const SPIN_NS: u64 = 30_000;

/// A thread's own things for serving faults.
pub(super) struct Desk {
    worker: Worker,
    messages: [RawMessage; MESSAGES],
    /// Faults read but not served yet.
    faults: Vec<Fault>,
    /// Reads without waiting.
    reads: u32,
}

/// Keeps one fault of each page: threads that wait for the same one send a message each. The one that is kept is that of
/// the thread that forks, if it is among them, since it is served before the others.
fn keep_one_of_each(faults: &mut Vec<Fault>, forks: Option<u32>) {
    faults.sort_unstable_by_key(|fault| {
        (fault.addr / PAGE, fault.protected, Some(fault.thread) != forks)
    });
    faults.dedup_by_key(|fault| (fault.addr / PAGE, fault.protected));
}

impl Desk {
    pub(super) fn new(service: &Service) -> Self {
        let worker = service.worker().unwrap_or_else(|error| stop(&error.into()));
        Self {
            worker,
            messages: [RawMessage::default(); MESSAGES],
            faults: Vec::with_capacity(MAX_FAULTS),
            reads: 0,
        }
    }

    /// Waits for messages for handler `index`, and serves all that come without waiting again.
    pub(super) fn wait_and_serve(&mut self, service: &Service, index: usize) {
        let uffd = service.space.uffd();
        let read = if service.on_duty.load(Ordering::Acquire) == 1 {
            uffd.wait_and_read(&mut self.messages)
        } else if self.spin(service, index) {
            Ok(0)
        } else {
            // Without an end: if it is taken off duty meanwhile, the next fault wakes it all the same.
            uffd.wait(-1).and_then(|()| uffd.read(&mut self.messages[..1]))
        };
        let n = read.unwrap_or_else(|error| stop(&error.into()));
        if n > 0 {
            self.serve_messages(service, n, Some(index));
            self.serve_waiting(service, Some(index));
        }
    }

    /// Keeps the processor from falling asleep for a moment, since a thread of it that another handler
    /// serves comes back soon; returns whether a fault was served.
    fn spin(&mut self, service: &Service, index: usize) -> bool {
        let end = thread::now_ns() + SPIN_NS;
        while thread::now_ns() < end {
            if self.serve_waiting(service, Some(index)) > 0 {
                return true;
            }
            std::hint::spin_loop();
        }
        false
    }

    /// Serves all messages that wait; returns the number of faults served.
    pub(super) fn serve_waiting(&mut self, service: &Service, index: Option<usize>) -> u64 {
        let mut total = 0;
        loop {
            // What one handler leaves another can serve meanwhile, best the one of the same processor,
            // which is there as early as this one.
            let alone = service.on_duty.load(Ordering::Acquire) == 1;
            let most = if alone { MESSAGES } else { 1 };
            match service.space.uffd().read(&mut self.messages[..most]) {
                Ok(0) => return total,
                Ok(n) => {
                    // A thread that faults again and again on a processor finds its handler awake.
                    // Where several handlers serve, or several threads fault, it needs a look.
                    self.reads = self.reads.wrapping_add(1);
                    let look = (n > 1 || !alone) && self.reads.is_multiple_of(LOOK_EVERY);
                    total += self.serve_messages(service, n, index.filter(|_| look));
                }
                Err(error) => stop(&error.into()),
            }
        }
    }

    /// Serves the first `n` messages and returns the number of faults among them; `index` is the handler
    /// that is to see where they come from, if any.
    fn serve_messages(&mut self, service: &Service, n: usize, index: Option<usize>) -> u64 {
        self.take_messages(service, n);
        keep_one_of_each(&mut self.faults, service.forks.thread());
        if let Some(index) = index
            && !self.faults.is_empty()
        {
            let fault = self.faults[(self.reads / LOOK_EVERY) as usize % self.faults.len()];
            service.follow(index, fault.thread);
        }
        let count = self.faults.len() as u64;
        self.serve_faults(service);
        count
    }

    fn take_messages(&mut self, service: &Service, n: usize) {
        for message in &self.messages[..n] {
            match message.event() {
                Event::Fault { address, write, protected, thread } => {
                    service.pager.expect(address);
                    self.faults.push(Fault { addr: address, write, protected, thread });
                }
                // Forks come first: until their event is read nothing can be mapped.
                Event::Fork { child } => service.forks.forked(service, child),
                Event::Other(_) => {}
            }
        }
    }

    fn serve_faults(&mut self, service: &Service) {
        let pager = service.pager;
        'next: while let Some(fault) = self.faults.pop() {
            let inside = loop {
                if let Some(inside) = pager.try_enter() {
                    break inside;
                }
                // A fork is under way: its event must be read before anything else can go on.
                self.read_events_only(service);
                self.faults.retain(|fault| !service.serve_aside(*fault));
                if service.serve_aside(fault) {
                    continue 'next;
                }
            };
            if let Err(error) = pager.serve(&mut self.worker, fault) {
                stop(&error);
            }
            drop(inside);
            service.served.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn read_events_only(&mut self, service: &Service) {
        // The descriptor is looked at now and then, since another thread may read the event.
        let _ = service.space.uffd().wait(1);
        if self.faults.len() + MESSAGES <= self.faults.capacity() {
            let n = service.space.uffd().read(&mut self.messages).unwrap_or(0);
            self.take_messages(service, n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(page: usize, thread: u32) -> Fault {
        Fault { addr: page * PAGE + 8 * thread as usize, write: false, protected: false, thread }
    }

    #[test]
    fn each_page_is_served_once_and_first_for_the_thread_that_forks() {
        for forks in [None, Some(1), Some(2), Some(3)] {
            let mut faults = vec![fault(7, 1), fault(5, 2), fault(7, 2), fault(7, 3), fault(5, 1)];
            keep_one_of_each(&mut faults, forks);
            let pages: Vec<usize> = faults.iter().map(|fault| fault.addr / PAGE).collect();
            assert_eq!(pages, [5, 7], "{forks:?}");
            let waits = |page: usize| forks.is_some_and(|thread| page == 7 || thread < 3);
            for kept in faults.iter().filter(|kept| waits(kept.addr / PAGE)) {
                assert_eq!(Some(kept.thread), forks, "page {}", kept.addr / PAGE);
            }
        }
    }
}
