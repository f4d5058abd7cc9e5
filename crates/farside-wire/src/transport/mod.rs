//! What carries messages across a network.

use std::io::{self, IoSlice, IoSliceMut};
use std::sync::atomic::AtomicU32;

use farside_os::thread::{futex_wait, now_ns};

mod buffered;
mod credentials;
mod tcp;
mod tls;
pub mod ucx;

pub use buffered::Buffered;
pub use credentials::{BadCredentials, Credentials, Files, Protection};
pub use tcp::{Tcp, TcpListening};
pub use tls::Tls;

/// What a thread waits for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Something to receive.
    Receive,
    /// Room to send, or something to receive.
    Send,
}

/// A connection. One thread may send while another receives; no call waits but [`wait`](Self::wait).
pub trait Stream: Send + Sync {
    /// Sends as much of `parts` as goes; returns how many bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if nothing goes now; anything else ends the connection.
    fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Puts what has arrived into `parts`; returns how many bytes. 0 says that the other side hung up.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn receive(&self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize>;

    /// Waits for what the thread is interested in, until the [clock](Self::now) shows `until` nanoseconds at the latest.
    fn wait(&self, interest: Interest, until: u64);

    /// Sends what [`send`](Self::send) took, but could not send yet.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    /// Ends the connection for both sides; whoever waits goes on.
    fn shut(&self);

    /// Lets another thread receive, until `word` is no longer `seen`, or for `ns` nanoseconds.
    fn doze(&self, word: &AtomicU32, seen: u32, ns: u64) {
        futex_wait(word, seen, Some(ns));
    }

    /// Nanoseconds of the clock that waits go by.
    fn now(&self) -> u64 {
        now_ns()
    }
}

/// How long a thread waits for the other side.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Patience {
    /// So many nanoseconds it looks again and again, because to wake up takes longer than most answers.
    spin_ns: u64,
    end: End,
}

/// When a thread gives up.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum End {
    /// When the connection's clock shows this.
    At(u64),
    /// So many nanoseconds after it has had to wait for the first time.
    After(u64),
}

impl Patience {
    /// Looks again and again for `spin_ns`, and gives up when the connection's clock shows `end`.
    pub const fn until(spin_ns: u64, end: u64) -> Self {
        Self { spin_ns, end: End::At(end) }
    }

    /// Looks again and again for `spin_ns`, and waits for `wait_ns` in all. The clock is looked at only by those who have
    /// to wait: most do not.
    pub const fn of(spin_ns: u64, wait_ns: u64) -> Self {
        Self { spin_ns, end: End::After(wait_ns) }
    }
}

/// Receives until `parts` are full.
///
/// # Errors
/// [`io::ErrorKind::TimedOut`] if that takes too long, [`io::ErrorKind::UnexpectedEof`] if the other side hung up.
/// Either way what has arrived so far is lost.
pub fn receive_all(
    stream: &dyn Stream,
    mut parts: &mut [IoSliceMut<'_>],
    patience: Patience,
) -> io::Result<()> {
    let mut spin = Spin::new(patience);
    while parts.iter().any(|part| !part.is_empty()) {
        match stream.receive(parts) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(done) => {
                IoSliceMut::advance_slices(&mut parts, done);
                spin.begin_again();
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                spin.pause(stream, Interest::Receive)?
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sends all of `parts`; calls `stuck` whenever nothing goes, since the other side may wait for this one to receive.
///
/// # Errors
/// As [`receive_all`]; and those of `stuck`.
pub fn send_all(
    stream: &dyn Stream,
    mut parts: &mut [IoSlice<'_>],
    patience: Patience,
    mut stuck: impl FnMut() -> io::Result<()>,
) -> io::Result<()> {
    let mut spin = Spin::new(patience);
    loop {
        let done = if parts.iter().all(|part| part.is_empty()) {
            match stream.flush() {
                Ok(()) => return Ok(()),
                Err(error) => Err(error),
            }
        } else {
            stream.send(parts)
        };
        match done {
            Ok(done) => IoSlice::advance_slices(&mut parts, done),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                stuck()?;
                spin.pause(stream, Interest::Send)?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// A wait that begins with looking again and again.
#[derive(Debug)]
pub struct Spin {
    patience: Patience,
    /// When it gives up, and how long it looks; known since it had to wait for the first time.
    until: Option<u64>,
    spin_until: Option<u64>,
}

impl Spin {
    /// Begins to wait.
    pub fn new(patience: Patience) -> Self {
        Self { patience, until: None, spin_until: None }
    }

    /// Something has come: looks again and again for what follows, but not beyond the end.
    pub fn begin_again(&mut self) {
        self.spin_until = None;
    }

    /// Lets some time pass.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if none is left.
    pub fn pause(&mut self, stream: &dyn Stream, interest: Interest) -> io::Result<()> {
        let Patience { spin_ns, end } = self.patience;
        let now = stream.now();
        let until = *self.until.get_or_insert_with(|| match end {
            End::At(end) => end,
            End::After(ns) => now.saturating_add(ns),
        });
        if now >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if now < *self.spin_until.get_or_insert(now.saturating_add(spin_ns)) {
            std::hint::spin_loop();
        } else {
            stream.wait(interest, until);
        }
        Ok(())
    }
}
