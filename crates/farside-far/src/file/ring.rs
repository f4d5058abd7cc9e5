//! Pages on their way between the file and buffers: several at once through a ring of the kernel's, or one after the
//! other where there is none.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farside_os::memory::PAGE;
use farside_os::storage;
use farside_os::uring::{Buffer, Direction, MOST_PARTS, Part, Transfer, Uring};

use crate::FarError;

const SUBJECT: &str = "the file for pages";

/// Most pages of a buffer.
pub const MOST: usize = MOST_PARTS;

/// The file, and how it is read and written.
pub struct Disk {
    file: OwnedFd,
    depth: u32,
    /// None if the kernel has none for this process, or it is not wanted.
    ring: Mutex<Option<Arc<Uring>>>,
    /// Buffers that nobody uses now.
    idle: Mutex<Vec<Buffer>>,
}

/// Where the pages of a buffer belong.
#[derive(Debug)]
pub struct Plan {
    parts: [Part; MOST],
    count: usize,
}

impl Plan {
    /// Nothing.
    pub fn new() -> Self {
        Self { parts: [Part::default(); MOST], count: 0 }
    }

    /// Page `at` of the buffer, which comes after those named so far, belongs to `offset` of the file.
    pub fn add(&mut self, at: usize, offset: u64) {
        let from = at * PAGE;
        if let Some(last) = self.parts[..self.count].last_mut()
            && last.from + last.len == from
            && last.offset + last.len as u64 == offset
        {
            last.len += PAGE;
            return;
        }
        self.parts[self.count] = Part { from, len: PAGE, offset };
        self.count += 1;
    }

    fn parts(&self) -> &[Part] {
        &self.parts[..self.count]
    }
}

/// Pages under way.
pub struct Way {
    plan: Plan,
    direction: Direction,
    progress: Progress,
}

/// What came of pages that were under way.
pub struct Arrived {
    /// Where they are, or came from.
    pub buffer: Buffer,
    plan: Plan,
    /// By bits: the parts that are where they belong.
    done: u64,
    /// Why some are not, if that is so.
    pub result: Result<(), FarError>,
}

impl Arrived {
    /// Whether page `at` of the buffer is where it belongs.
    pub fn has(&self, at: usize) -> bool {
        let from = at * PAGE;
        let parts = self.plan.parts().iter();
        let part = parts.take_while(|part| part.from <= from).count();
        part > 0 && self.done >> (part - 1) & 1 == 1
    }
}

enum Progress {
    Begun(Transfer),
    /// There is no ring.
    Waiting(Buffer),
}

fn ring(depth: u32) -> Option<Arc<Uring>> {
    if depth == 0 { None } else { Uring::new(depth).ok().map(Arc::new) }
}

impl Disk {
    /// Takes the file; so many parts are under way at once, and each by itself if that is 0.
    pub fn new(file: OwnedFd, depth: u32) -> Self {
        Self { file, depth, ring: Mutex::new(ring(depth)), idle: Mutex::default() }
    }

    /// The file itself.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn ring(&self) -> MutexGuard<'_, Option<Arc<Uring>>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is a ring.
    pub fn has_ring(&self) -> bool {
        self.ring().is_some()
    }

    /// In a forked child: the ring is the parent's.
    pub fn leave_to_parent(&self) {
        *self.ring() = ring(self.depth);
    }

    /// Room for [`MOST`] pages.
    ///
    /// # Errors
    /// If there is none.
    pub fn take_buffer(&self) -> Result<Buffer, FarError> {
        match self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            Some(buffer) => Ok(buffer),
            None => Ok(Buffer::new(MOST * PAGE)?),
        }
    }

    /// Gives back what was [taken](Self::take_buffer).
    pub fn give_buffer(&self, buffer: Buffer) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }

    /// Sends pages on their way.
    pub fn begin(&self, direction: Direction, buffer: Buffer, plan: Plan) -> Way {
        let ring = self.ring().clone();
        let progress = match ring {
            Some(ring) => Progress::Begun(ring.begin(self.file(), direction, buffer, plan.parts())),
            None => Progress::Waiting(buffer),
        };
        Way { plan, direction, progress }
    }

    /// Whether that need not be waited for.
    pub fn has_ended(&self, way: &Way) -> bool {
        match &way.progress {
            Progress::Begun(transfer) => transfer.has_ended(),
            Progress::Waiting(_) => true,
        }
    }

    /// Waits until all pages are where they belong; those with which the ring was of no help are brought there by simple
    /// calls, which tell what is wrong if something is.
    pub fn finish(&self, way: Way) -> Arrived {
        let Way { plan, direction, progress } = way;
        let (mut buffer, mut done) = match progress {
            Progress::Begun(transfer) => transfer.finish(),
            Progress::Waiting(buffer) => (buffer, 0),
        };
        let mut result = Ok(());
        for (at, part) in plan.parts().iter().enumerate() {
            if done >> at & 1 == 0 {
                let brought = self.bring(direction, &mut buffer, *part);
                done |= u64::from(brought.is_ok()) << at;
                result = result.and(brought);
            }
        }
        Arrived { buffer, plan, done, result }
    }

    fn bring(&self, direction: Direction, buffer: &mut Buffer, part: Part) -> Result<(), FarError> {
        let range = part.from..part.from + part.len;
        let result = match direction {
            Direction::Read => {
                let into = &mut buffer.bytes_mut()[range];
                storage::read_at(self.file(), part.offset, into, SUBJECT)
            }
            Direction::Write => {
                storage::write_at(self.file(), part.offset, &buffer.bytes()[range], SUBJECT)
            }
        };
        result.map_err(|error| match error.errno {
            libc::ENOSPC | libc::EDQUOT | libc::EFBIG if direction == Direction::Write => {
                FarError::Full
            }
            _ => error.into(),
        })
    }
}
