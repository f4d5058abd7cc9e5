//! The process beside a node that runs a program's functions.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::process::{Child, Command, Stdio};

/// A process that runs functions; it is ended with this.
pub(crate) struct OffloadServer(Child);

impl OffloadServer {
    /// Starts it: this program again, told to be that. It finds the program at `link`, and its pages in `pages`.
    pub fn start(link: OwnedFd, pages: BorrowedFd<'_>) -> std::io::Result<Self> {
        let pages = pages.try_clone_to_owned()?;
        let mut command = Command::new("/proc/self/exe");
        command.args(["node", "--offload-server"]);
        command.stdin(Stdio::from(link)).stdout(Stdio::from(pages)).stderr(Stdio::null());
        command.spawn().map(Self)
    }
}

impl Drop for OffloadServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
