//! Processes that share pages because they forked from one another, and the memory they share.

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use farside_os::Result;
use farside_os::huge_file::huge_file;
use farside_os::memory::{anonymous_file, map_shared, punch_hole, read_at, unmap};
use farside_os::random;
use farside_os::socket::{self, Received};
use farside_wire::pool::{
    Block, DATA_BYTES, FIRST_UNIT, LEN, MAX_PAGES, MAX_UNITS, Message, REFS_BYTES, REFS_HEADER,
};

use crate::mover::Mover;
use crate::offload::OffloadServer;

/// A process that uses a family's memory.
pub struct Member {
    /// Its process id.
    pub pid: u32,
    /// Its connection, whose hang-up says that it is gone.
    pub socket: Option<OwnedFd>,
    /// Which page lies where; a forked process sends it after it joined.
    map: Option<OwnedFd>,
    /// Moves its pages, if it asked for that.
    mover: Option<Mover>,
    /// Runs its functions, if it asked for that.
    offload: Option<OffloadServer>,
}

impl Member {
    /// The raw descriptor of the connection.
    pub fn raw(&self) -> RawFd {
        self.socket.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }
}

/// The memory shared by a process and those it forked.
pub struct Family {
    /// What its processes call their pool at nodes across a network.
    pub name: u128,
    data: OwnedFd,
    refs: OwnedFd,
    /// The processes that use it.
    pub members: Vec<Member>,
}

impl Family {
    /// Makes the memory for a new process and tells the process where it is.
    pub fn found(client: &OwnedFd, pid: u32) -> Result<Self> {
        // Only users who may mount file systems get huge pages.
        let data =
            huge_file(DATA_BYTES).or_else(|_| anonymous_file(c"farside-pages", DATA_BYTES))?;
        let refs = anonymous_file(c"farside-references", REFS_BYTES)?;
        let map = anonymous_file(c"farside-map", MAX_PAGES * 4)?;
        let fds = [data.as_fd(), refs.as_fd(), map.as_fd()];
        let name = random::number()?;
        socket::send(client.as_fd(), &Message::Pool { name }.encode(), &fds)?;
        Ok(Self {
            name,
            data,
            refs,
            members: vec![Member { pid, socket: None, map: Some(map), mover: None, offload: None }],
        })
    }

    /// Whether any page was ever stored.
    pub fn has_stored(&self) -> bool {
        let mut next = [0; 8];
        // Whoever is asked in vain says that nothing is stored there.
        read_at(self.refs.as_fd(), 0, &mut next, "reference counts").is_err()
            || u64::from_le_bytes(next) > FIRST_UNIT
    }

    /// Takes in a process that a member forked.
    pub fn join(&mut self, client: OwnedFd, pid: u32) -> Result<()> {
        socket::send(client.as_fd(), &Message::Joined.encode(), &[])?;
        let (socket, map, mover, offload) = (Some(client), None, None, None);
        self.members.push(Member { pid, socket, map, mover, offload });
        Ok(())
    }

    /// Takes a message, or the hang-up, of the member whose connection is `fd`.
    pub fn hear(&mut self, fd: RawFd) {
        let Some(index) = self.members.iter().position(|m| m.raw() == fd) else { return };
        let Some(socket) = &self.members[index].socket else { return };
        let mut bytes = [0; LEN];
        match socket::receive(socket.as_fd(), &mut bytes) {
            Ok(Received { len, descriptors: [first, second, ..] }) if len > 0 => {
                match (Message::decode(&bytes[..len]), first, second) {
                    (Ok(Message::Map), map, _) => self.members[index].map = map,
                    (Ok(Message::Orders), Some(orders), Some(uffd)) => {
                        let (data, pid) = (self.data.as_fd(), self.members[index].pid);
                        // A program that is not told that it can be done goes on without.
                        self.members[index].mover =
                            Mover::start(orders.as_fd(), uffd, data, pid).ok();
                    }
                    (Ok(Message::Offload), Some(link), _) => {
                        // The other end hangs up then, and the program runs its functions itself.
                        self.members[index].offload =
                            OffloadServer::start(link, self.data.as_fd()).ok();
                    }
                    _ => {}
                }
            }
            _ => {
                let gone = self.members.swap_remove(index);
                if let (false, Some(map)) = (self.members.is_empty(), gone.map) {
                    // What cannot be given back now is given back with the whole family.
                    let _ = self.release(&map);
                }
            }
        }
    }

    /// Takes a dead process's share in every block its map names.
    fn release(&self, map: &OwnedFd) -> Result<()> {
        let refs_at = map_shared(self.refs.as_fd(), REFS_BYTES as usize, "reference counts")?;
        // SAFETY: the mapping holds the header and a 16-bit count for each unit, and lives until the
        // end of this function; atomics are valid for any content.
        let refs = unsafe {
            std::slice::from_raw_parts(
                (refs_at + REFS_HEADER) as *const std::sync::atomic::AtomicU16,
                MAX_UNITS as usize,
            )
        };
        let result = for_each_entry(map, |entry| {
            let Some(block) = Block::unpack(entry) else { return Ok(()) };
            let count = &refs[block.unit as usize];
            if count.fetch_sub(1, std::sync::atomic::Ordering::AcqRel) == 1 {
                punch_hole(self.data.as_fd(), block.offset(), block.bytes(), "freed pages")?;
            }
            Ok(())
        });
        unmap(refs_at, REFS_BYTES as usize, "reference counts")?;
        result
    }
}

/// Calls `visit` for the entries in those parts of the map that were ever written.
fn for_each_entry(map: &OwnedFd, mut visit: impl FnMut(u32) -> Result<()>) -> Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    let mut at = 0;
    while let Some((start, end)) = next_data(map, at) {
        let mut offset = start;
        while offset < end {
            let len = buffer.len().min((end - offset) as usize);
            read_at(map.as_fd(), offset, &mut buffer[..len], "a page map")?;
            for entry in buffer[..len].chunks_exact(4) {
                visit(u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]))?;
            }
            offset += len as u64;
        }
        at = end;
    }
    Ok(())
}

/// The next range at or behind `at` that holds data.
fn next_data(file: &OwnedFd, at: u64) -> Option<(u64, u64)> {
    let seek = |offset: u64, whence| {
        // SAFETY: plain system call on a descriptor we own.
        let found = unsafe { libc::lseek(file.as_raw_fd(), offset as libc::off_t, whence) };
        u64::try_from(found).ok()
    };
    let start = seek(at, libc::SEEK_DATA)?;
    let end = seek(start, libc::SEEK_HOLE)?;
    (end > start).then_some((start, end))
}
