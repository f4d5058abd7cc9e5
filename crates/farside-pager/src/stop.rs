//! The end of a program that cannot go on.

use farside_far::FarError;

/// Ends the program, because what it needs next cannot be had. Nothing of it may run on with wrong
/// data.
pub fn stop(error: &FarError) -> ! {
    stop_because(error)
}

/// Ends the program for any reason.
pub fn stop_because(error: &dyn std::fmt::Display) -> ! {
    let mut text = [0u8; 256];
    let len = {
        use std::io::Write as _;
        let mut rest = &mut text[..];
        // A message that does not fit is cut.
        let _ = writeln!(rest, "farside: {error}; the program cannot go on");
        256 - rest.len()
    };
    // SAFETY: writes initialised bytes to the standard error descriptor and ends the process.
    unsafe {
        libc::syscall(libc::SYS_write, 2, text.as_ptr(), len);
        libc::syscall(libc::SYS_exit_group, EXIT_STOPPED);
    }
    unreachable!("exit_group does not return")
}

/// Exit code of a program that had to be stopped.
pub const EXIT_STOPPED: i32 = 125;
