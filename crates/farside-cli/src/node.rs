//! `farside node`: the process that keeps the far pages of a run.

use std::io::Write;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::process::ExitCode;

use clap::Args;

use crate::Failure;

/// Arguments of the hidden command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Serve one run over an inherited connection.
    #[arg(long, required = true)]
    embedded: bool,
    /// Descriptor of the connection.
    #[arg(long, value_name = "FD", value_parser = clap::value_parser!(i32).range(3..))]
    link: RawFd,
    /// What the run calls its far memory.
    #[arg(long, value_name = "URL")]
    far: farside_far::FarUrl,
}

/// Serves until the run and its processes are gone.
pub fn node(arguments: &Arguments) -> Result<ExitCode, Failure> {
    // SAFETY: takes no pointers; a number that is no descriptor is refused.
    if unsafe { libc::fcntl(arguments.link, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(Failure::usage(format!(
            "--link {}: {}; this command is started by `farside run`",
            arguments.link,
            std::io::Error::last_os_error()
        )));
    }
    // SAFETY: the descriptor is open and was inherited for this purpose alone.
    let link = unsafe { OwnedFd::from_raw_fd(arguments.link) };
    match farside_node::embedded::serve(link) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            // The supervisor that would read this may be gone.
            let _ = writeln!(std::io::stderr(), "the memory node failed: {error}");
            Ok(ExitCode::from(125))
        }
    }
}
