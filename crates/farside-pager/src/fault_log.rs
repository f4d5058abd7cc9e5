//! Telling the supervisor of each fault that is served, for it to find where in the program it came from (Eden,
//! appendix).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use farside_os::memory::PAGE;
use farside_policy::prefetch::{Deed, Pointer};
use farside_wire::fault_log::{self, Answer, Logged, LoggedDeed, LoggedFault};
use farside_wire::queue::Sender;

use crate::pager::{Pager, Worker};
use crate::record::Fault;

/// How faults are logged.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LogFaults {
    /// Whether to look up the instruction of each fault, because nobody else can; slow.
    pub instructions: bool,
    /// Whether to count what comes of hints as well, each of which the pager sees then; slow.
    pub hints: bool,
}

/// What a log asks about the process it is in.
pub struct LogSurroundings {
    /// Whether somebody still reads the log.
    pub reader_lives: Box<dyn Fn() -> bool + Send + Sync>,
    /// The address of the instruction at which a thread waits for a page.
    pub instruction: fn(u32) -> Option<u64>,
}

/// A log of faults.
pub struct FaultLog {
    how: LogFaults,
    surroundings: LogSurroundings,
    off: AtomicBool,
    queue: Mutex<Sender>,
}

impl FaultLog {
    /// A log that is put into `queue`.
    pub fn new(how: LogFaults, queue: Sender, surroundings: LogSurroundings) -> Self {
        Self { how, surroundings, off: AtomicBool::new(false), queue: Mutex::new(queue) }
    }

    /// The instruction of a fault whose thread waits for its answer, if it is to be looked up.
    fn instruction(&self, thread: u32) -> u64 {
        if !self.how.instructions {
            return 0;
        }
        (self.surroundings.instruction)(thread).unwrap_or(0)
    }

    fn put(&self, logged: Logged) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.put(&logged.encode(), &self.surroundings.reader_lives).is_err() {
            self.stop();
        }
    }

    fn is_on(&self) -> bool {
        !self.off.load(Ordering::Relaxed)
    }

    /// Logs no more.
    fn stop(&self) {
        self.off.store(true, Ordering::Relaxed);
    }
}

impl Pager {
    /// Serves a fault by `serve`, and logs what was done.
    pub(crate) fn logged<T>(
        &self,
        w: &mut Worker,
        fault: Fault,
        serve: impl FnOnce(&mut Worker) -> T,
    ) -> T {
        let Some(log) = self.fault_log.as_ref().filter(|log| log.is_on()) else {
            return serve(w);
        };
        w.chain = 0;
        let instruction = log.instruction(fault.thread);
        let outcome = serve(w);
        if let Some(answer) = w.answer {
            let Fault { addr, write, thread, .. } = fault;
            let write = write || answer == Answer::Protection;
            let page = (addr & !(PAGE - 1)) as u64;
            let chain = w.chain;
            let fault = LoggedFault { thread, page, instruction, write, answer, chain };
            log.put(Logged::Fault(fault));
        }
        outcome
    }

    /// Logs what was done about pointers, if that is written down.
    pub(crate) fn log_pointers(&self, pointers: &mut Pointer) {
        for done in pointers.take_journal() {
            let deed = match done.deed {
                Deed::Scanned => fault_log::Deed::Scanned,
                Deed::Candidate => fault_log::Deed::Candidate,
                Deed::Used => fault_log::Deed::Used,
                Deed::Late => fault_log::Deed::Late,
                Deed::Unused => fault_log::Deed::Unused,
            };
            self.log_deed(deed, done.page, done.chain);
        }
    }

    /// Logs something that was done about the pointer to a page, by its number among all of the address space.
    pub(crate) fn log_deed(&self, deed: fault_log::Deed, page: u64, chain: u32) {
        if let Some(log) = self.fault_log.as_ref().filter(|log| log.is_on()) {
            log.put(Logged::Deed(LoggedDeed { deed, page: page * PAGE as u64, chain }));
        }
    }

    /// In a forked child, whose faults are not logged.
    pub(crate) fn leave_log_to_parent(&self) {
        self.fault_log.iter().for_each(FaultLog::stop);
    }
}
