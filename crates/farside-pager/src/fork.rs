//! Forks: parent and child go on with the same content, each with its own pager.
//!
//! While a process forks, its pager stands still behind the closed gate. The kernel hands the parent a
//! descriptor for the child's memory. Until the child's own pager runs, the parent serves the few
//! faults that the C library's part of the child causes, out of the state that both share.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use farside_far::FarError;
use farside_os::memory::PAGE;
use farside_os::socket::{self, Received};
use farside_os::userfault::{Event, RawMessage, Userfault};
use farside_os::{OsError, locale, thread};
use farside_policy::replacement::{Arrival, ReplacementPolicy};
use farside_trace::PageId;

use crate::counters::Counters;
use crate::frames::bytes_at;
use crate::pager::Pager;
use crate::service::Service;
use crate::stop::stop;
use crate::table::BLOCK_TOUCHED;
use crate::word::{State, Word};

/// Most pages that the parent serves for a child before its own pager runs.
const MAX_SERVED: usize = 500;

/// A fork under way. Everything that is needed between the fork and the child's start is made before:
/// the forking thread may hold the allocator's locks.
struct Underway {
    parent_end: OwnedFd,
    child_end: Option<OwnedFd>,
    /// A page on its way to the child.
    page: Box<[u8; PAGE]>,
    /// What the child is told: a byte, then the numbers of the pages it was served, 8 bytes each.
    message: Vec<u8>,
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
    underway: Mutex<Option<Underway>>,
    /// [`EXPECTED`] from before the fork until the child has been taken care of, else 0.
    state: AtomicU32,
}

impl Forks {
    fn lock(&self) -> MutexGuard<'_, Option<Underway>> {
        self.underway.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel says that this process forked, and hands out the child's descriptor.
    pub(crate) fn forked(&self, service: &Service, child: RawFd) {
        // SAFETY: the kernel made the descriptor for the reader of the message.
        let child = Userfault::of_other(unsafe { OwnedFd::from_raw_fd(child) });
        let mut underway = self.lock();
        if let Some(underway) = &mut *underway {
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
    let end = underway.parent_end.as_fd();
    loop {
        let ready = thread::wait_readable(&[end.as_raw_fd(), child.raw()], 1000)?;
        if ready[0] != 0 {
            break;
        }
        let mut messages = [RawMessage::default(); 8];
        let n = child.read(&mut messages)?;
        for message in &messages[..n] {
            if let Event::Fault { address, .. } = message.event() {
                let page = &mut *underway.page;
                serve_child(
                    service.pager,
                    &child,
                    address & !(PAGE - 1),
                    page,
                    &mut underway.message,
                );
            }
        }
    }
    let mut hello = [0u8; 1];
    if socket::receive(end, &mut hello)?.len == 0 {
        return Ok(());
    }
    let fd = child.into_fd();
    socket::send(end, &underway.message, &[fd.as_fd()])
}

/// Maps one page in the child, from the state at the time of the fork, which the closed gate keeps.
fn serve_child(
    pager: &Pager,
    child: &Userfault,
    address: usize,
    buffer: &mut [u8; PAGE],
    served: &mut Vec<u8>,
) {
    if !pager.contains(address) || served.len() + 8 > served.capacity() {
        return;
    }
    let page = pager.page_of(address);
    let word = pager.table.load(page);
    buffer.fill(0);
    match word.state() {
        State::Far => {
            let read = pager
                .store
                .begin_read(page, 1)
                .and_then(|ticket| pager.store.finish_read(ticket, buffer));
            if let Err(error) = read {
                stop(&error);
            }
        }
        State::Watched => {
            // SAFETY: the frame is out of reach, and nothing changes it while the gate is closed.
            buffer.copy_from_slice(unsafe { bytes_at(pager.area.address(word.position()), PAGE) });
        }
        State::Untouched | State::Zero => {}
        State::Resident | State::Busy | State::Foreign | State::Leaving => {
            // Told before it is done: what the child does not know it would lose.
            served.extend_from_slice(&page.to_le_bytes());
            let _ = child.write_protect(address, PAGE, false);
            let _ = child.wake(address, PAGE);
            return;
        }
    }
    // SAFETY: the buffer is a page of ours, the destination the child's copy of a managed page.
    if unsafe { child.copy(address, buffer.as_ptr() as usize, PAGE, false, true) }.is_ok() {
        served.extend_from_slice(&page.to_le_bytes());
    }
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
                self.forks.state.store(EXPECTED, Ordering::Release);
                let mut message = Vec::with_capacity(1 + MAX_SERVED * 8);
                message.push(1);
                *self.forks.lock() = Some(Underway {
                    parent_end,
                    child_end: Some(child_end),
                    page: Box::new([0; PAGE]),
                    message,
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
        let forked = self.forks.lock().take().is_some_and(|fork| fork.child_end.is_none());
        self.pager.store.after_fork_in_parent(forked);
        self.pager.open_gate();
    }

    /// The fork is over, and this is the child, whose connection to the node is `link`. The counters'
    /// mapping has been replaced by the child's own already.
    pub fn after_fork_in_child(&'static self, link: OwnedFd) -> Result<(), FarError> {
        let pager = self.pager;
        let lost = || FarError::NodeLost;
        self.forks.state.store(0, Ordering::Release);
        pager.leave_recording_to_parent();
        pager.leave_log_to_parent();
        pager.leave_tape_to_parent();
        let underway = self.forks.lock().take().ok_or_else(lost)?;
        drop(underway.parent_end);
        let end = underway.child_end.ok_or_else(lost)?;
        // Nobody serves faults of the first thread until it runs.
        locale::read_as_new_threads_do();
        socket::send(end.as_fd(), &[1], &[])?;
        let mut message = vec![0u8; 1 + MAX_SERVED * 8];
        let Received { len, descriptors: [fd, ..] } = socket::receive(end.as_fd(), &mut message)?;
        self.space.uffd().replace(fd.ok_or_else(lost)?);
        pager.store.after_fork_in_child(link)?;
        pager.budget.set_limit(pager.budget.whole());
        for page in message[1..len.max(1)].chunks_exact(8) {
            let page = u64::from_le_bytes(page.try_into().unwrap_or_default());
            self.adopt_served(page);
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

    /// Takes note that the parent mapped a page for us, or let us write to it.
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
