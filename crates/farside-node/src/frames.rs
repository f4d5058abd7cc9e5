//! The memory of a node that keeps pages for clients across a network: never more than it was given.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use farside_os::Result;
use farside_os::huge_file::huge_file;
use farside_os::memory::{self, PAGE};

/// Set in a frame's count of users once nothing names it any more.
const DOOMED: u32 = 1 << 31;

/// What is known of a frame's content.
#[repr(C)]
struct Tag {
    version: AtomicU64,
    check: AtomicU32,
    /// How many replies are being sent from it, and [`DOOMED`].
    users: AtomicU32,
}

/// Frames of a page each.
pub struct Frames {
    base: usize,
    /// What the frames are part of, if other processes are to see them.
    file: Option<OwnedFd>,
    tags: &'static [Tag],
    /// Number of the first frame that was never used.
    next: AtomicU32,
    /// Frames that were used, and are not any more; their content is zeros.
    free: Mutex<Vec<u32>>,
    used: AtomicU64,
}

impl Frames {
    /// Room for `bytes` of pages; it is taken from the machine as it is used. If it is `shared`, other processes can see
    /// pages of it.
    ///
    /// # Errors
    /// If there is not so much address space.
    pub fn new(bytes: u64, shared: bool) -> Result<Self> {
        let count = (bytes / PAGE as u64).min(u64::from(DOOMED)) as usize;
        let len = (count * PAGE).max(PAGE);
        let file = if shared {
            let huge = huge_file(len as u64);
            // Only users who may mount file systems get huge pages.
            Some(huge.or_else(|_| memory::anonymous_file(c"farside-pages", len as u64))?)
        } else {
            None
        };
        let base = match &file {
            Some(file) => memory::map_shared(file.as_fd(), len, "the node's pages")?,
            None => memory::reserve(len, PAGE, "the node's pages")?,
        };
        // Without huge pages it works, too.
        let _ = memory::advise(base, count * PAGE, libc::MADV_HUGEPAGE, "the node's pages");
        let tags = memory::reserve((count * size_of::<Tag>()).max(1), PAGE, "the node's table")?;
        // SAFETY: the mapping is as long, is never unmapped, and all zeros are valid tags.
        let tags = unsafe { std::slice::from_raw_parts(tags as *const Tag, count) };
        Ok(Self {
            base,
            file,
            tags,
            next: AtomicU32::new(0),
            free: Mutex::default(),
            used: AtomicU64::new(0),
        })
    }

    /// The file that the frames are part of, one after the other, if other processes are to see them.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }

    /// Number of frames.
    pub fn count(&self) -> u64 {
        self.tags.len() as u64
    }

    /// Number of frames in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn lock_free(&self) -> MutexGuard<'_, Vec<u32>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the frame's content lies.
    fn at(&self, frame: u32) -> *mut u8 {
        (self.base + frame as usize * PAGE) as *mut u8
    }

    /// A frame that nobody uses, if there is one.
    pub fn take(&self) -> Option<Blank<'_>> {
        let reused = self.lock_free().pop();
        let fresh = || {
            let more = |next| (u64::from(next) < self.count()).then_some(next + 1);
            self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()
        };
        let frame = reused.or_else(fresh)?;
        self.used.fetch_add(1, Ordering::Relaxed);
        Some(Blank { frames: self, frame })
    }

    /// The frame's content, of that version: it stays until the answer is dropped. The caller sees to it that the
    /// frame is not [dropped](Self::discard) meanwhile.
    pub fn pin(&self, frame: u32) -> Pinned<'_> {
        self.tags[frame as usize].users.fetch_add(1, Ordering::Acquire);
        Pinned { frames: self, frame }
    }

    /// The version of what a filled frame holds.
    pub fn version(&self, frame: u32) -> u64 {
        self.tags[frame as usize].version.load(Ordering::Relaxed)
    }

    /// The frame to be filled anew, unless it is being sent. The caller sees to it that nobody
    /// [pins](Self::pin) it meanwhile, and names it again once it is filled.
    pub fn reuse(&self, frame: u32) -> Option<Blank<'_>> {
        let users = &self.tags[frame as usize].users;
        (users.load(Ordering::Acquire) == 0).then(|| Blank { frames: self, frame })
    }

    /// Nothing names the frame any more.
    pub fn discard(&self, frame: u32) {
        if self.tags[frame as usize].users.fetch_or(DOOMED, Ordering::AcqRel) == 0 {
            self.release(frame);
        }
    }

    fn release(&self, frame: u32) {
        // SAFETY: the frame lies within the mapping, and nobody else uses it.
        unsafe { self.at(frame).write_bytes(0, PAGE) };
        self.tags[frame as usize].users.store(0, Ordering::Release);
        self.lock_free().push(frame);
        self.used.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A frame that is being filled; what is dropped is given back.
pub struct Blank<'a> {
    frames: &'a Frames,
    frame: u32,
}

impl Blank<'_> {
    /// Where the content goes.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the frame lies within the mapping, and this is the only one that knows it.
        unsafe { std::slice::from_raw_parts_mut(self.frames.at(self.frame), PAGE) }
    }

    /// Says what it holds now; returns its number, which the caller has to keep.
    pub fn fill(self, version: u64, check: u32) -> u32 {
        let tag = &self.frames.tags[self.frame as usize];
        tag.version.store(version, Ordering::Relaxed);
        tag.check.store(check, Ordering::Relaxed);
        let frame = self.frame;
        std::mem::forget(self);
        frame
    }
}

impl Drop for Blank<'_> {
    fn drop(&mut self) {
        self.frames.release(self.frame);
    }
}

/// A frame whose content is being sent.
pub struct Pinned<'a> {
    frames: &'a Frames,
    frame: u32,
}

impl Pinned<'_> {
    /// The content.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the frame lies within the mapping, and nobody changes a frame that is filled.
        unsafe { std::slice::from_raw_parts(self.frames.at(self.frame), PAGE) }
    }

    /// Which frame it is.
    pub fn number(&self) -> u32 {
        self.frame
    }

    /// The content's version.
    pub fn version(&self) -> u64 {
        self.frames.version(self.frame)
    }

    /// The content's CRC32C, as its client gave it.
    pub fn check(&self) -> u32 {
        self.frames.tags[self.frame as usize].check.load(Ordering::Relaxed)
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        let users = &self.frames.tags[self.frame as usize].users;
        if users.fetch_sub(1, Ordering::AcqRel) == DOOMED | 1 {
            self.frames.release(self.frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_more_frames_than_room() {
        let frames = Frames::new(3 * PAGE as u64 + 17, false).unwrap();
        let kept: Vec<_> = std::iter::from_fn(|| frames.take()).collect();
        assert_eq!((kept.len(), frames.used(), frames.count()), (3, 3, 3));
        drop(kept);
        assert_eq!(frames.used(), 0);
        assert!(frames.take().is_some());
    }

    #[test]
    fn a_frame_is_given_back_zeroed_once_it_is_sent() {
        let frames = Frames::new(PAGE as u64, false).unwrap();
        let mut blank = frames.take().unwrap();
        blank.bytes().fill(7);
        let frame = blank.fill(5, 6);
        let (one, two) = (frames.pin(frame), frames.pin(frame));
        assert_eq!((one.version(), one.check()), (5, 6));
        frames.discard(frame);
        assert!(frames.take().is_none());
        drop(one);
        assert!(frames.take().is_none(), "it is still being sent");
        assert!(two.bytes().iter().all(|byte| *byte == 7));
        drop(two);
        assert!(frames.take().unwrap().bytes().iter().all(|byte| *byte == 0));
    }
}
