//! The system calls that benchmarks make besides the measured ones.

use std::ffi::{CString, c_int};
use std::io::{Error, Result};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// A path as the kernel takes it; a path with a zero byte becomes the empty path, which no call
/// accepts.
pub(crate) fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

/// Writes `bytes` to an existing file with three plain system calls, so that it may be called between
/// fork and exec.
pub(crate) fn write_file(path: &CString, bytes: &[u8]) -> Result<()> {
    // SAFETY: path ends in a zero byte; bytes are readable for their length; the descriptor is ours.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        let written = libc::write(fd, bytes.as_ptr().cast(), bytes.len());
        let error = Error::last_os_error();
        libc::close(fd);
        if written < 0 { Err(error) } else { Ok(()) }
    }
}

/// Leaves the terminal's session and ignores the signals a terminal or a shutdown sends.
pub(crate) fn leave_terminal() {
    // SAFETY: neither call touches memory; setsid failing (already a leader) changes nothing here.
    unsafe {
        libc::setsid();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}

/// Waits for the end of standard input, at most `patience`; whether it has come.
pub(crate) fn input_ended(patience: Duration) -> bool {
    let mut poll = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
    let patience = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one valid entry.
    let ready = unsafe { libc::poll(&mut poll, 1, patience) };
    // Nobody ever writes to it, so whatever happens there is the end.
    ready > 0
}

/// Starts swapping to `device` before any other swap area.
pub(crate) fn swap_on(device: &Path) -> Result<()> {
    const PREFER: c_int = 0x8000;
    const HIGHEST: c_int = 0x7fff;
    // SAFETY: the path ends in a zero byte.
    check(unsafe { libc::swapon(c_path(device).as_ptr(), PREFER | HIGHEST) })
}

/// Stops swapping to `device`.
pub(crate) fn swap_off(device: &Path) -> Result<()> {
    // SAFETY: the path ends in a zero byte.
    check(unsafe { libc::swapoff(c_path(device).as_ptr()) })
}

/// Sends SIGKILL to one process.
pub(crate) fn kill_process(pid: libc::pid_t) {
    if pid > 1 {
        // SAFETY: kill touches no memory.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

/// What a finished child used.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Usage {
    /// Exit code, or 128 + signal.
    pub code: i32,
    /// Highest resident size of the child or of any of its waited-for children, in bytes.
    pub peak_resident: u64,
}

/// Waits for a child and tells what it used.
pub(crate) fn wait_for(pid: libc::pid_t) -> Result<Usage> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to writable values of the right type.
        let got = unsafe { libc::wait4(pid, &mut status, 0, usage.as_mut_ptr()) };
        if got == pid {
            break;
        }
        let error = Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: wait4 succeeded and filled it in; all zeros would be valid too.
    let usage = unsafe { usage.assume_init() };
    let code = if libc::WIFSIGNALED(status) {
        128 + libc::WTERMSIG(status)
    } else {
        libc::WEXITSTATUS(status)
    };
    Ok(Usage { code, peak_resident: usage.ru_maxrss.unsigned_abs() * 1024 })
}

fn check(result: c_int) -> Result<()> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}
