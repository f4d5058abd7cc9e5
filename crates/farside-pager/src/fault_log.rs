//! Telling the supervisor of each fault that is served, for it to find where in the program it came from (Eden,
//! appendix).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use farside_os::memory::PAGE;
use farside_wire::fault_log::{Answer, LoggedFault};
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

    fn put(&self, fault: LoggedFault) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.put(&fault.encode(), &self.surroundings.reader_lives).is_err() {
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
        w.answer = None;
        let instruction = log.instruction(fault.thread);
        let outcome = serve(w);
        if let Some(answer) = w.answer {
            let Fault { addr, write, thread, .. } = fault;
            let write = write || answer == Answer::Protection;
            let page = (addr & !(PAGE - 1)) as u64;
            log.put(LoggedFault { thread, page, instruction, write, answer });
        }
        outcome
    }

    /// In a forked child, whose faults are not logged.
    pub(crate) fn leave_log_to_parent(&self) {
        self.fault_log.iter().for_each(FaultLog::stop);
    }
}
