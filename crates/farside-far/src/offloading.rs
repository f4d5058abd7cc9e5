//! Functions that run where their pages are: the program's side of it.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, TryLockError};

use farside_os::OsError;
use farside_os::memory::PAGE;
use farside_os::stream;
use farside_os::thread::now_ns;
use farside_wire::offload::{Area, BadMessage, Call, HEADER, Reply, Request, Run, content_len};
use thiserror::Error;

/// How much longer than a function may take its answer is waited for, in nanoseconds.
const PATIENCE_NS: u64 = 5_000_000_000;

/// Why a function was not run elsewhere. It can be run here: nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OffloadError {
    /// Another call is under way.
    #[error("another function is being run there")]
    Busy,
    /// What would run it cannot, or did not come to its end.
    #[error("{0}")]
    Failed(String),
    /// What would run it is gone.
    #[error("what would run it is gone")]
    Gone,
    /// A system call failed.
    #[error(transparent)]
    Os(OsError),
}

impl From<OsError> for OffloadError {
    fn from(error: OsError) -> Self {
        match error.errno {
            libc::ECONNRESET | libc::EPIPE => Self::Gone,
            _ => Self::Os(error),
        }
    }
}

impl From<BadMessage> for OffloadError {
    fn from(bad: BadMessage) -> Self {
        Self::Failed(bad.to_string())
    }
}

/// Memory that a function reads: pages of the far region that follow one another there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The pointer to its first byte; 0 if it is not read.
    pub tag: u64,
    /// Runs of pages: the first, and how many.
    pub pages: Vec<(u64, u64)>,
}

/// A call of a function.
#[derive(Debug)]
pub struct RemoteCall<'a> {
    /// What [`load`](Offload::load) returned.
    pub image: u32,
    /// Which of its functions.
    pub entry: u32,
    /// Longest time that it may take, in milliseconds.
    pub most_ms: u32,
    /// What it reads.
    pub places: &'a [Place],
    /// Its arguments.
    pub input: &'a [u8],
}

/// Runs functions where pages are.
pub trait Offload {
    /// Has machine code ready there; returns its number.
    ///
    /// # Errors
    /// If it cannot be run there.
    fn load(&self, code: &[u8]) -> Result<u32, OffloadError>;

    /// Runs a function of it, and fills in what it leaves. The caller sees to it that all is stored that it reads.
    ///
    /// # Errors
    /// If it does not come to its end. Then nothing was changed.
    fn call(&self, call: &RemoteCall<'_>, output: &mut [u8]) -> Result<(), OffloadError>;
}

/// What carries requests to who runs functions.
pub(crate) trait Carry {
    /// Sends a frame; returns the content of the one that comes back, by the time that `until` is.
    fn exchange(&mut self, frame: &[u8], until: u64) -> Result<Vec<u8>, OffloadError>;
}

/// A connection to who runs functions.
pub(crate) struct Offloading<L> {
    link: Mutex<Link<L>>,
}

impl<L> Default for Offloading<L> {
    fn default() -> Self {
        Self { link: Mutex::new(Link::None) }
    }
}

enum Link<L> {
    None,
    Open(L),
    /// It failed once, and is not tried again.
    Gone,
}

impl<L: Carry> Offloading<L> {
    /// Looks at the connection; `None` if there is none, or it is in use.
    pub fn with<R>(&self, look: impl FnOnce(&L) -> R) -> Option<R> {
        match &*self.link.try_lock().ok()? {
            Link::Open(open) => Some(look(open)),
            _ => None,
        }
    }

    /// Asks something, over a connection that `connect` makes if there is none yet.
    pub fn ask(
        &self,
        request: &Request,
        most_ns: u64,
        connect: impl FnOnce() -> Result<L, OffloadError>,
    ) -> Result<Reply, OffloadError> {
        let mut link = match self.link.try_lock() {
            Ok(link) => link,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(OffloadError::Busy),
        };
        if let Link::None = *link {
            // It is told once why there is none.
            match connect() {
                Ok(open) => *link = Link::Open(open),
                Err(why) => {
                    *link = Link::Gone;
                    return Err(why);
                }
            }
        }
        let Link::Open(open) = &mut *link else { return Err(OffloadError::Gone) };
        let until = now_ns().saturating_add(most_ns).saturating_add(PATIENCE_NS);
        let content = open.exchange(&request.encode(), until);
        let answered = content.and_then(|content| Ok(Reply::decode(&content)?));
        if answered.is_err() {
            *link = Link::Gone;
        }
        answered
    }
}

/// A socket of this machine.
impl Carry for OwnedFd {
    fn exchange(&mut self, frame: &[u8], until: u64) -> Result<Vec<u8>, OffloadError> {
        let socket = self.as_fd();
        let mut left = frame;
        while !left.is_empty() {
            let sent = stream::send(socket, &[IoSlice::new(left)])?;
            left = &left[sent..];
        }
        let mut header = [0; HEADER];
        fill(socket, &mut header, until)?;
        let mut content = vec![0; content_len(header)?];
        fill(socket, &mut content, until)?;
        Ok(content)
    }
}

fn fill(socket: BorrowedFd<'_>, mut left: &mut [u8], until: u64) -> Result<(), OffloadError> {
    while !left.is_empty() {
        if now_ns() >= until {
            return Err(OffloadError::Gone);
        }
        stream::wait(socket, false, until);
        let mut parts = [IoSliceMut::new(left)];
        // It does not wait: who waited may have been woken by a signal.
        let got = match stream::receive_now(socket, &mut parts) {
            Ok(0) => return Err(OffloadError::Gone),
            Ok(got) => got,
            Err(error) if error.errno == libc::EAGAIN => continue,
            Err(error) => return Err(error.into()),
        };
        left = &mut left[got..];
    }
    Ok(())
}

/// Areas of a call, whose pages lie where `place` says, in bytes from the start of a file; those that it does not know
/// are zeros.
pub(crate) fn areas(places: &[Place], place: impl Fn(u64) -> Option<u64>) -> Vec<Area> {
    let page_len = PAGE as u64;
    places
        .iter()
        .map(|each| {
            let (mut runs, mut offset): (Vec<Run>, u64) = (Vec::new(), 0);
            for page in each.pages.iter().flat_map(|(first, count)| *first..first + count) {
                if let Some(at) = place(page) {
                    match runs.last_mut() {
                        Some(run)
                            if run.offset + run.len == offset && run.place + run.len == at =>
                        {
                            run.len += page_len;
                        }
                        _ => runs.push(Run { offset, place: at, len: page_len }),
                    }
                }
                offset += page_len;
            }
            Area { tag: each.tag, len: offset, runs }
        })
        .collect()
}

/// A call as it is sent.
pub(crate) fn message(call: &RemoteCall<'_>, areas: Vec<Area>, output: usize) -> Request {
    Request::Call(Call {
        image: call.image,
        entry: call.entry,
        most_ms: call.most_ms,
        areas,
        input: call.input.to_vec(),
        output: output as u32,
    })
}

/// Takes the number of what was loaded.
pub(crate) fn loaded(reply: Reply) -> Result<u32, OffloadError> {
    match reply {
        Reply::Loaded(number) => Ok(number),
        Reply::Failed(why) => Err(OffloadError::Failed(why)),
        Reply::Done { .. } => Err(other()),
    }
}

fn other() -> OffloadError {
    OffloadError::Failed("an answer to something else came".into())
}

/// Takes what a function left.
pub(crate) fn take(reply: Reply, output: &mut [u8]) -> Result<(), OffloadError> {
    match reply {
        Reply::Done { output: left, .. } if left.len() == output.len() => {
            output.copy_from_slice(&left);
            Ok(())
        }
        Reply::Failed(why) => Err(OffloadError::Failed(why)),
        _ => Err(other()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_run_and_what_is_not_stored_is_none() {
        let page = PAGE as u64;
        let places = [Place { tag: 1 << 56, pages: vec![(10, 4), (100, 2)] }, Place::default()];
        let known = |number| match number {
            10 => Some(50 * page),
            11 => Some(51 * page),
            13 => Some(52 * page),
            100 => Some(53 * page),
            101 => Some(7 * page),
            _ => None,
        };
        let run = |offset, place, count| Run {
            offset: offset * page,
            place: place * page,
            len: count * page,
        };
        let areas = areas(&places, known);
        assert_eq!(areas[0].runs, [run(0, 50, 2), run(3, 52, 2), run(5, 7, 1)]);
        assert_eq!((areas[0].len, areas[1].len), (6 * page, 0));
    }
}
