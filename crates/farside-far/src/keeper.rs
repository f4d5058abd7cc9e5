//! The process beside a run that keeps its tables: which page lies where, and who uses what.

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use farside_os::socket::{self, Received};
use farside_os::{OsError, memory, random};
use farside_wire::pool::{LEN, MAX_PAGES, Message, REFS_BYTES};

use crate::FarError;
use crate::slots::Slots;

const SUBJECT: &str = "the embedded memory node";

/// This process's connection to it.
pub(crate) struct Keeper {
    socket: Mutex<OwnedFd>,
    raw: AtomicI32,
    /// What this process, and those it forks, call their pool at nodes across a network.
    pub name: u128,
}

impl Keeper {
    /// Takes up the connection, for a far region of `pages` pages; returns the memory for pages, too, and the tables.
    pub fn join(socket: OwnedFd, pages: u64) -> Result<(Self, OwnedFd, Slots), FarError> {
        let mut bytes = [0; LEN];
        let Received { len, descriptors } = socket::receive(socket.as_fd(), &mut bytes)?;
        let (name, [data, refs, map]) = match (Message::decode(&bytes[..len]), descriptors) {
            (Ok(Message::Pool { name }), [Some(data), Some(refs), Some(map), None]) => {
                (name, [data, refs, map])
            }
            (Ok(Message::Refused { reason }), _) => {
                return Err(FarError::Os(OsError {
                    call: "attach",
                    subject: SUBJECT,
                    errno: reason as i32,
                }));
            }
            _ => return Err(FarError::NodeLost),
        };
        let slots = Slots::new(pages, refs.as_fd(), map)?;
        let raw = AtomicI32::new(socket.as_raw_fd());
        Ok((Self { socket: Mutex::new(socket), raw, name }, data, slots))
    }

    /// Nobody: for a process that keeps its tables itself.
    pub fn alone(pages: u64) -> Result<(Self, Slots), FarError> {
        let (socket, other) = socket::pair()?;
        let refs = memory::anonymous_file(c"farside-references", REFS_BYTES)?;
        let map = memory::anonymous_file(c"farside-map", MAX_PAGES * 4)?;
        let slots = Slots::new(pages, refs.as_fd(), map)?;
        // Whoever looks whether the connection hung up finds that it did not.
        std::mem::forget(other);
        let raw = AtomicI32::new(socket.as_raw_fd());
        let name = random::number()?;
        Ok((Self { socket: Mutex::new(socket), raw, name }, slots))
    }

    /// The connection itself.
    pub fn socket(&self) -> MutexGuard<'_, OwnedFd> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its number.
    pub fn raw(&self) -> RawFd {
        self.raw.load(Ordering::Acquire)
    }

    /// In a forked child: takes up its own connection, with its own tables.
    pub fn rejoin(&self, link: OwnedFd, slots: &Slots) -> Result<(), FarError> {
        let map = slots.after_fork_in_child()?;
        let mut bytes = [0; LEN];
        let len = socket::receive(link.as_fd(), &mut bytes)?.len;
        if Message::decode(&bytes[..len]) != Ok(Message::Joined) {
            return Err(FarError::NodeLost);
        }
        socket::send(link.as_fd(), &Message::Map.encode(), &[map.as_fd()])?;
        self.raw.store(link.as_raw_fd(), Ordering::Release);
        *self.socket() = link;
        Ok(())
    }
}
