//! Signals of the supervisor: which it takes note of, and what the program inherits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{
    SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction, sigprocmask,
};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;

/// Signals that a sender means for the program.
const FORWARDED: [Signal; 7] = [
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
    Signal::SIGCONT,
    Signal::SIGTSTP,
];

/// Whether SIGPIPE was ignored when this process started. The runtime of the language changes that
/// before `main`, but the program must inherit what the user set.
static SIGPIPE_IGNORED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_sigpipe() {
    // SAFETY: an all-zero `sigaction` is valid, and the call only reads the current action into it.
    let ignored = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    };
    SIGPIPE_IGNORED.store(ignored, Ordering::Relaxed);
}

// SAFETY: the loader calls the functions of this section, which take no arguments, before `main`;
// this one touches only a static and the signal table.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE_SIGPIPE: extern "C" fn() = note_sigpipe;

/// The signals of this process, taken from their usual delivery and read from a descriptor.
#[derive(Debug)]
pub struct Signals {
    descriptor: SignalFd,
    inherited: Inherited,
}

/// What a started program gets as its signal state.
#[derive(Copy, Clone, Debug)]
pub struct Inherited {
    mask: SigSet,
    sigpipe_ignored: bool,
}

/// What the supervisor has to do about a signal.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A child changed its state.
    Child,
    /// Somebody sent this to the supervisor and means the program.
    Forward(Signal),
    /// The terminal, which tells the whole process group, asks to stop.
    TerminalStop,
    /// This process goes on after a stop.
    Continued,
}

impl Inherited {
    /// The signal state that this process itself was started with.
    pub fn current() -> io::Result<Self> {
        let mut mask = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, None, Some(&mut mask))?;
        Ok(Self { mask, sigpipe_ignored: SIGPIPE_IGNORED.load(Ordering::Relaxed) })
    }

    /// Takes that state on; between `fork` and `exec`.
    pub fn restore(&self) -> io::Result<()> {
        if self.sigpipe_ignored {
            let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
            // SAFETY: no handler function is installed.
            unsafe { sigaction(Signal::SIGPIPE, &ignore) }?;
        }
        Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.mask), None)?)
    }
}

impl Signals {
    /// Blocks what the supervisor handles, and opens the descriptor.
    ///
    /// SIGINT and SIGQUIT come from the terminal to the program as well, and are dropped here.
    pub fn take() -> io::Result<Self> {
        let inherited = Inherited::current()?;
        let mut taken: SigSet = FORWARDED.into_iter().collect();
        taken.extend([Signal::SIGCHLD, Signal::SIGINT, Signal::SIGQUIT]);
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&taken), None)?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Self { descriptor: SignalFd::with_flags(&taken, flags)?, inherited })
    }

    /// What the program gets.
    pub fn inherited(&self) -> Inherited {
        self.inherited
    }

    /// The next signal that needs something done; `program` is who may have sent it to its group.
    pub fn next(&self, program: Pid) -> io::Result<Option<Event>> {
        while let Some(info) = self.descriptor.read_signal()? {
            let Ok(signal) = Signal::try_from(info.ssi_signo as i32) else { continue };
            let from_kernel = info.ssi_code > 0;
            let from_program = info.ssi_pid == program.as_raw() as u32;
            match signal {
                Signal::SIGCHLD => return Ok(Some(Event::Child)),
                Signal::SIGINT | Signal::SIGQUIT => {}
                Signal::SIGTSTP if from_kernel => return Ok(Some(Event::TerminalStop)),
                // The program has had its own already.
                _ if from_kernel || from_program => {
                    if signal == Signal::SIGCONT {
                        return Ok(Some(Event::Continued));
                    }
                }
                signal => return Ok(Some(Event::Forward(signal))),
            }
        }
        Ok(None)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Stops this process as `signal` would have, until it is continued.
pub fn stop_self(signal: Signal) -> io::Result<()> {
    let only: SigSet = std::iter::once(signal).collect();
    let mut before = SigSet::empty();
    nix::sys::signal::raise(signal)?;
    sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&only), Some(&mut before))?;
    Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?)
}

/// Dies by `signal`, without a core file. Returns only if the signal does not kill.
pub fn die_by(signal: i32) {
    let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
    // SAFETY: restores a default action and unblocks one signal; real-time signals, which have no
    // name in the wrapper types, included. All pointers are to locals.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut only: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut only);
        libc::sigaddset(&mut only, signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &only, std::ptr::null_mut());
        libc::kill(libc::getpid(), signal);
    }
}
