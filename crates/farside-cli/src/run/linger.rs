//! Processes that outlive the program, such as a daemon it left behind, still need a supervisor when
//! they fork.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

use nix::unistd::{ForkResult, fork, setsid};

use super::registry::Registration;
use super::supervisor::Supervisor;

/// Leaves a copy of this process behind that supervises until the last process is gone, and then does `last`.
///
/// The copy is in a session of its own and holds neither the terminal nor any descriptor that this
/// process was started with, so that whoever waits for the end of a pipe is not kept waiting.
pub fn leave_behind(
    supervisor: Supervisor,
    registration: Option<Registration>,
    last: impl FnOnce(),
) -> io::Result<()> {
    // SAFETY: this process has one thread, so the copy may do anything.
    match unsafe { fork() }? {
        ForkResult::Parent { .. } => {
            if let Some(registration) = registration {
                registration.leave_to_another();
            }
            // The copies of the descriptors here close without a word to anybody.
            Ok(())
        }
        ForkResult::Child => {
            let lingered = detach(&supervisor).and_then(|()| supervisor.linger());
            drop(registration);
            last();
            std::process::exit(i32::from(lingered.is_err()));
        }
    }
}

fn detach(supervisor: &Supervisor) -> io::Result<()> {
    setsid()?;
    std::env::set_current_dir("/")?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    for standard in 0..=2 {
        // SAFETY: replaces a standard stream, which nothing here owns.
        if unsafe { libc::dup2(null.as_raw_fd(), standard) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    let keep: Vec<RawFd> = supervisor.descriptors().iter().map(AsRawFd::as_raw_fd).collect();
    for fd in open_descriptors()? {
        if fd > 2 && fd != null.as_raw_fd() && !keep.contains(&fd) {
            // SAFETY: nothing in this process owns it: it was inherited and only passed on.
            unsafe { libc::close(fd) };
        }
    }
    Ok(())
}

fn open_descriptors() -> io::Result<Vec<RawFd>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        all.extend(entry?.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok()));
    }
    Ok(all)
}
