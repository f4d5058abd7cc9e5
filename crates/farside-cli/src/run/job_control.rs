//! Stopping together with the program, so that a shell sees its job stopped.

use std::io;

use nix::sys::signal::Signal;

use super::signals::stop_self;

/// Whether the terminal, or a signal on its behalf, asked for a stop lately.
#[derive(Copy, Clone, Debug, Default)]
pub struct JobControl {
    asked: bool,
}

impl JobControl {
    /// The terminal asked for a stop.
    pub fn terminal_stop(&mut self) {
        self.asked = true;
    }

    /// The job goes on.
    pub fn continued(&mut self) {
        self.asked = false;
    }

    /// This signal was passed on to the program.
    pub fn forwarded(&mut self, signal: Signal) {
        self.asked = signal == Signal::SIGTSTP;
    }

    /// Stops with the program, which `signal` stopped, when it was job control that stopped it. A
    /// program stopped by a debugger or by SIGSTOP alone stops alone: nobody would continue the
    /// supervisor.
    pub fn stop_along(&mut self, signal: i32) -> io::Result<()> {
        let by_terminal = matches!(signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU);
        let on_its_behalf = self.asked && signal == libc::SIGSTOP;
        if !by_terminal && !on_its_behalf {
            return Ok(());
        }
        self.asked = false;
        stop_self(Signal::try_from(signal).unwrap_or(Signal::SIGTSTP))
    }
}
