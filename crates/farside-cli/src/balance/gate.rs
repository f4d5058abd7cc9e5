//! There is one daemon for the runs of a user, and one for those of all; runs knock at it when they begin.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use farside_os::socket;
use nix::unistd::geteuid;
use sha2::{Digest, Sha256};

use crate::run::runs_directory;

/// How long a run knocks.
const PATIENCE: Duration = Duration::from_millis(100);

/// The administrator.
const ROOT: u32 = 0;

/// Whose runs are shared memory among.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This user's.
    Own,
    /// All users'.
    All,
}

impl Scope {
    /// The abstract address at which the daemon listens: it is free again as soon as the daemon is gone, however it ended.
    fn name(self) -> io::Result<String> {
        match self {
            Self::All => Ok("farside-balance-all".to_owned()),
            Self::Own => {
                let directory = runs_directory()?;
                let hash = Sha256::digest(directory.as_os_str().as_encoded_bytes());
                let hash: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
                Ok(format!("farside-balance-{}-{hash}", geteuid()))
            }
        }
    }

    /// Whom to believe that he is it.
    fn owner(self) -> u32 {
        match self {
            Self::Own => geteuid().as_raw(),
            Self::All => ROOT,
        }
    }

    /// Whether there is such a daemon; it learns that something has changed.
    fn knock(self) -> bool {
        let Ok(name) = self.name() else { return false };
        let Ok(session) = socket::connect_within(&name, PATIENCE) else { return false };
        // Anybody may have taken the name.
        socket::peer_user(session.as_fd()).is_ok_and(|user| user == self.owner())
    }
}

/// Tells daemons that a run has begun; whether there is one, which will give it a limit.
pub fn announce() -> bool {
    [Scope::Own, Scope::All].into_iter().filter(|scope| scope.knock()).count() > 0
}

/// Where the daemon is knocked at.
#[derive(Debug)]
pub struct Gate {
    socket: OwnedFd,
}

/// Why there cannot be another daemon.
#[derive(Debug)]
pub enum Taken {
    /// There is one already.
    Running,
    /// The name cannot be had.
    Failed(io::Error),
}

impl Gate {
    /// Takes the place of the daemon.
    pub fn open(scope: Scope) -> Result<Self, Taken> {
        if scope == Scope::Own && Scope::All.knock() {
            return Err(Taken::Running);
        }
        let name = scope.name().map_err(Taken::Failed)?;
        match socket::listen(&name) {
            Ok(socket) => Ok(Self { socket }),
            Err(error) if error.errno == libc::EADDRINUSE => Err(Taken::Running),
            Err(error) => Err(Taken::Failed(error.into())),
        }
    }

    /// Hears one who knocks: to be called when there is one.
    pub fn hear(&self) {
        // Who has gone again has knocked, too.
        let _ = socket::accept(self.socket.as_fd());
    }
}

impl AsFd for Gate {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
