//! Being stopped by the user: what runs is ended, and no file is left behind but what `--resume` needs.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use crate::Failure;

static STOPPED: AtomicBool = AtomicBool::new(false);

/// As shells count an end by SIGINT.
const CODE: u8 = 130;

extern "C" fn stop(_: libc::c_int) {
    STOPPED.store(true, Relaxed);
}

/// From now on SIGINT, SIGTERM and SIGHUP are only noted.
///
/// # Errors
/// If the kernel refuses.
pub fn watch() -> Result<(), Failure> {
    let action = SigAction::new(SigHandler::Handler(stop), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler only stores to an atomic.
        unsafe { sigaction(signal, &action) }
            .map_err(|error| Failure::own(format!("cannot handle {signal}: {error}")))?;
    }
    Ok(())
}

/// Whether one of them came.
pub fn is_asked_for() -> bool {
    STOPPED.load(Relaxed)
}

/// Ends what is being done if one of them came.
///
/// # Errors
/// If so.
pub fn check() -> Result<(), Failure> {
    if is_asked_for() {
        let message = "stopped; --resume goes on after the last step that was finished".to_owned();
        return Err(Failure { code: CODE, message });
    }
    Ok(())
}
