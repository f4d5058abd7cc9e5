//! Forks: parent and child go on with the same content, each with its own pager.
//!
//! While a process forks, its pager stands still behind the closed gate. The kernel hands the parent a
//! descriptor for the child's memory. Until the child's own pager runs, the parent serves the few
//! faults that the C library's part of the child causes, out of the state that both share; and so it does with those
//! of its own part, before the fork and after it (see [`aside`]).

mod aside;

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use farside_far::FarError;
use farside_os::memory::PAGE;
use farside_os::socket::{self, Received};
use farside_os::userfault::{Event, RawMessage, Userfault};
use farside_os::{OsError, locale, memory, thread};
use farside_policy::replacement::{Arrival, ReplacementPolicy};
use farside_trace::PageId;

use crate::counters::Counters;
use crate::service::Service;
use crate::stop::stop;
use crate::table::BLOCK_TOUCHED;
use crate::word::{State, Word};

/// Most pages that are served for the parent and its child while the gate is closed.
const MAX_SERVED: usize = 500;

/// A fork under way. Everything that is needed between the fork and the child's start is made before:
/// the forking thread may hold the allocator's locks.
struct Underway {
    /// The thread that forks.
    thread: u32,
    parent_end: OwnedFd,
    child_end: Option<OwnedFd>,
    /// A page on its way to the parent or the child.
    page: Box<[u8; PAGE]>,
    /// What the child is told: a byte, then the numbers of the pages that it, or its parent before the fork, was served, 8
    /// bytes each.
    message: Vec<u8>,
    /// The pages that the parent was served.
    served: Vec<u64>,
}

/// Frames that are free when a process forks, for the pages that the parent serves for the child: a few of them as a rule.
const FORK_ROOM: u64 = 64;

/// A fork was announced, and its child is not taken care of yet.
const EXPECTED: u32 = 1;

/// Without a sign of a child for so long, the fork has failed.
const FAILED_AFTER_NS: u64 = 2_000_000_000;

/// Forks under way.
#[derive(Default)]
pub(crate) struct Forks {
    /// What is under way, once there was a fork. Never freed: a handler may hold the lock at the moment of a fork, and the
    /// child, which has no such thread, then makes another one.
    underway: AtomicPtr<Mutex<Option<Underway>>>,
    /// The descriptors of the [`Underway`], its parent's first: what the child finds them by, whoever held the lock.
    ends: [AtomicI32; 2],
    /// The thread that forks; 0 while none does.
    thread: AtomicU32,
    /// [`EXPECTED`] from before the fork until the child has been taken care of, else 0.
    state: AtomicU32,
}

impl Forks {
    fn lock(&self) -> Option<MutexGuard<'_, Option<Underway>>> {
        // SAFETY: either null, or a box that is never freed.
        let underway = unsafe { self.underway.load(Ordering::Acquire).as_ref() }?;
        Some(underway.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The thread that forks, if one does.
    pub(crate) fn thread(&self) -> Option<u32> {
        Some(self.thread.load(Ordering::Acquire)).filter(|thread| *thread != 0)
    }

    /// A fork is about to be.
    fn announce(&self, underway: Underway) {
        let child_end = underway.child_end.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        self.ends[0].store(underway.parent_end.as_raw_fd(), Ordering::Relaxed);
        self.ends[1].store(child_end, Ordering::Relaxed);
        self.thread.store(underway.thread, Ordering::Release);
        self.state.store(EXPECTED, Ordering::Release);
        match self.lock() {
            Some(mut place) => *place = Some(underway),
            None => {
                let place = Box::into_raw(Box::new(Mutex::new(Some(underway))));
                self.underway.store(place, Ordering::Release);
            }
        }
    }

    /// Of the child: its end of the connection to its parent. It has nothing else of the fork any more.
    fn end_in_child(&self) -> OwnedFd {
        self.state.store(0, Ordering::Release);
        self.thread.store(0, Ordering::Release);
        // What it points to stays: it is a page or two.
        self.underway.store(std::ptr::null_mut(), Ordering::Release);
        // SAFETY: the process has copies of both descriptors, which nobody else closes: what owned them is out of reach.
        let [_parent_end, child_end] = [0, 1].map(|at: usize| unsafe {
            OwnedFd::from_raw_fd(self.ends[at].load(Ordering::Relaxed))
        });
        child_end
    }

    /// The kernel says that this process forked, and hands out the child's descriptor.
    pub(crate) fn forked(&self, service: &Service, child: RawFd) {
        // SAFETY: the kernel made the descriptor for the reader of the message.
        let child = Userfault::of_other(unsafe { OwnedFd::from_raw_fd(child) });
        let mut underway = self.lock();
        if let Some(underway) = underway.as_deref_mut().and_then(Option::as_mut) {
            // A child that dies or executes something else needs nothing more.
            let _ = hand_over(service, child, underway);
        } else {
            // Made by a bare system call, without our preparation. Its far pages must never read as
            // zeros, so the descriptor stays open: the child sees what was local, and waits for ever
            // for what was not.
            std::mem::forget(child);
        }
        drop(underway);
        self.state.store(0, Ordering::Release);
        thread::futex_wake(&self.state, 1);
    }
}

/// Serves the child's faults until its pager takes over, then passes the descriptor on.
fn hand_over(service: &Service, child: Userfault, underway: &mut Underway) -> Result<(), OsError> {
    // Only the child may hold its end now, so that its death is seen.
    underway.child_end = None;
    loop {
        let end = underway.parent_end.as_raw_fd();
        let ready = thread::wait_readable(&[end, child.raw()], 1000)?;
        if ready[0] != 0 {
            break;
        }
        let mut messages = [RawMessage::default(); 8];
        let n = child.read(&mut messages)?;
        for message in &messages[..n] {
            if let Event::Fault { address, .. } = message.event() {
                underway.serve_child(service.pager, &child, address & !(PAGE - 1));
            }
        }
    }
    let (mut hello, end) = ([0u8; 1], underway.parent_end.as_fd());
    if socket::receive(end, &mut hello)?.len == 0 {
        return Ok(());
    }
    let fd = child.into_fd();
    socket::send(end, &underway.message, &[fd.as_fd()])
}

impl Service {
    /// Prepares for a fork by the calling thread.
    pub fn before_fork(&self) {
        let pager = self.pager;
        pager.close_gate();
        self.prepare_pages();
        let result = pager.store.before_fork();
        match (result, socket::pair()) {
            (Ok(()), Ok((parent_end, child_end))) => {
                let mut message = Vec::with_capacity(1 + MAX_SERVED * 8);
                message.push(1);
                self.forks.announce(Underway {
                    thread: thread::id(),
                    parent_end,
                    child_end: Some(child_end),
                    page: Box::new([0; PAGE]),
                    message,
                    served: Vec::with_capacity(MAX_SERVED),
                });
            }
            (Err(error), _) => stop(&error),
            (_, Err(error)) => stop(&FarError::Os(error)),
        }
        Counters::add(&pager.counters.forks, 1);
    }

    /// Makes room for what the child uses before anybody can evict there, and ends what is under way.
    fn prepare_pages(&self) {
        let prepared = self.visit(|pager, w| {
            pager.keep_free(w, FORK_ROOM)?;
            while pager.is_unfinished() {
                pager.complete_oldest(w)?;
            }
            Ok(true)
        });
        if !prepared {
            let (call, subject) = ("mmap", "scratch memory");
            stop(&FarError::Os(OsError { call, subject, errno: libc::ENOMEM }));
        }
    }

    /// The fork is over, and this is the parent.
    pub fn after_fork_in_parent(&self) {
        // If there is a child its event has been read; if there is none nothing will ever be heard.
        let give_up = thread::now_ns() + FAILED_AFTER_NS;
        while self.forks.state.load(Ordering::Acquire) == EXPECTED && thread::now_ns() < give_up {
            thread::futex_wait(&self.forks.state, EXPECTED, Some(1_000_000));
        }
        self.forks.state.store(0, Ordering::Release);
        self.forks.thread.store(0, Ordering::Release);
        let underway = self.forks.lock().and_then(|mut underway| underway.take());
        let forked = underway.as_ref().is_some_and(|fork| fork.child_end.is_none());
        for page in underway.iter().flat_map(|fork| &fork.served) {
            self.adopt_served(*page);
        }
        self.pager.store.after_fork_in_parent(forked);
        self.pager.open_gate();
    }

    /// The fork is over, and this is the child, whose connection to the node is `link`. The counters'
    /// mapping has been replaced by the child's own already.
    pub fn after_fork_in_child(&'static self, link: OwnedFd) -> Result<(), FarError> {
        let pager = self.pager;
        let lost = || FarError::NodeLost;
        let end = self.forks.end_in_child();
        pager.leave_recording_to_parent();
        pager.leave_log_to_parent();
        pager.leave_tape_to_parent();
        // Nobody serves faults of the first thread until it runs.
        locale::read_as_new_threads_do();
        socket::send(end.as_fd(), &[1], &[])?;
        let mut message = vec![0u8; 1 + MAX_SERVED * 8];
        let Received { len, descriptors: [fd, ..] } = socket::receive(end.as_fd(), &mut message)?;
        self.space.uffd().replace(fd.ok_or_else(lost)?);
        pager.store.after_fork_in_child(link)?;
        if !pager.budget.is_unlimited() || pager.counters.ordered.bytes().is_some() {
            let begins = pager.counters.limit_bytes.load(Ordering::Relaxed) / PAGE as u64;
            pager.budget.set_limit(begins.min(pager.budget.whole()));
        }
        for page in message[1..len.max(1)].chunks_exact(8) {
            let page = u64::from_le_bytes(page.try_into().unwrap_or_default());
            // What its parent was served at the very moment of the fork the child may lack.
            let address = pager.base + page as usize * PAGE;
            if memory::is_present(address, PAGE, "a page of a child").unwrap_or(true) {
                self.adopt_served(page);
            }
        }
        pager.open_gate();
        self.start_threads().map_err(|error| {
            FarError::Os(OsError {
                call: "clone",
                subject: "a handler thread",
                errno: error.raw_os_error().unwrap_or(libc::EAGAIN),
            })
        })
    }

    /// Takes note that a page was mapped for us while the gate was closed, or that we were let write to it.
    fn adopt_served(&self, page: u64) {
        let pager = self.pager;
        let word = pager.table.load(page);
        if word.state() == State::Resident {
            // It was write-protected, and is not any more.
            pager.table.update(page, State::Resident, Word::with_writable);
            return;
        }
        let Some(word) = pager.table.claim(page, word, Word::new(State::Busy)) else { return };
        let mut policy = pager.lock_policy();
        if word.state() == State::Watched {
            policy.remove(word.slot());
            let run = crate::frames::Run { start: word.position(), count: 1 };
            // The frame's content is mapped elsewhere now.
            let _ = pager.space.drop_pages(&[(pager.area.address(run.start), PAGE)]);
            pager.area.leave_empty(run);
        } else {
            // There is room for so many as are served as a rule; for more, the next fault evicts.
            pager.budget.force(1);
        }
        if word.state() == State::Untouched {
            pager.table.mark_blocks(page, page + 1, BLOCK_TOUCHED);
            pager.add_touched(1);
        }
        let slot = policy.insert(PageId(page), Arrival::Demand);
        let new = word.in_state(State::Resident).with_position(0).with_writable().with_slot(slot);
        pager.table.publish(page, new.without_waiters());
    }
}
