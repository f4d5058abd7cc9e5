//! Moving frames in and out of the region, whatever the kernel says to it.

use farside_os::memory::PAGE;
use farside_os::userfault::Partial;

use crate::counters::Counters;
use crate::frames::Run;
use crate::frames::bytes_at;
use crate::pager::Pager;
#[cfg(doc)]
use crate::word::Word;

/// How often a frame that the kernel holds is made our own before it counts as pinned.
const UNSHARE_TRIES: u32 = 2;

/// Pages of a run that were not simply moved out, as offsets within the run.
#[derive(Default)]
pub(crate) struct Exceptions {
    /// They stayed where they were.
    pub refused: Vec<u32>,
    /// The program could write to them unseen before they went.
    pub opened: Vec<u32>,
}

impl Pager {
    /// Maps the frames at `src` (in the frame area or a worker's fresh range) at `count` absent pages
    /// from `first` on. Every frame at `src` is gone afterwards. The caller wakes who waits, after it
    /// published the pages: a thread that is woken earlier may take the processor from the caller.
    ///
    /// Some may be missing then, because the program took their place away.
    pub(crate) fn map_frames(&self, first: u64, src: usize, count: u64) {
        let mut done = 0;
        let mut tries = 0;
        while done < count {
            let dst = self.address(first + done);
            let from = src + done as usize * PAGE;
            let len = (count - done) as usize * PAGE;
            match self.space.move_frames(dst, from, len, false) {
                Ok(()) => break,
                Err(partial) => {
                    let moved = (partial.done / PAGE) as u64;
                    done += moved;
                    tries = if moved > 0 { 0 } else { tries + 1 };
                    if done < count
                        && self.mend_map(first + done, src + done as usize * PAGE, partial, tries)
                    {
                        done += 1;
                        tries = 0;
                    }
                }
            }
        }
    }

    /// Deals with one frame that would not move in; true if the page is served now.
    fn mend_map(&self, page: u64, src: usize, partial: Partial, tries: u32) -> bool {
        match partial.errno {
            libc::EAGAIN => {
                self.space.rest(0);
                false
            }
            libc::EBUSY if tries <= UNSHARE_TRIES => {
                self.unshare(src);
                false
            }
            libc::EEXIST => {
                // Somebody else mapped the page; it is as good as ours, which is dropped.
                self.discard_frame(src);
                true
            }
            _ => {
                Counters::add(&self.counters.move_fallbacks, 1);
                // SAFETY: the frame is out of the program's reach and belongs to this transition.
                let bytes = unsafe { bytes_at(src, PAGE) };
                self.copy_pages(page, bytes, false, false);
                self.discard_frame(src);
                true
            }
        }
    }

    fn discard_frame(&self, src: usize) {
        // A frame that cannot be dropped is dropped with the next use of its place.
        let _ = self.space.drop_pages(&[(src, PAGE)]);
    }

    /// Breaks the sharing of a frame, of the region or of our own.
    fn unshare(&self, addr: usize) {
        if self.contains(addr) {
            // Breaking the sharing is a write, which must not wait for a handler.
            self.allow_writes(addr);
        }
        // A failure shows in the next attempt to move the frame.
        let _ = self.space.unshare(addr, PAGE);
    }

    /// Makes a page writable and wakes its writers.
    pub(crate) fn allow_writes(&self, addr: usize) {
        while let Err(error) = self.space.allow_writes(addr, PAGE) {
            if error.errno != libc::EAGAIN {
                // The program unmapped the page, or is ending.
                return;
            }
            self.space.rest(0);
        }
    }

    fn forbid_writes(&self, addr: usize, len: usize) -> farside_os::Result<()> {
        loop {
            match self.space.forbid_writes(addr, len) {
                Err(error) if error.errno == libc::EAGAIN => self.space.rest(0),
                result => return result,
            }
        }
    }

    /// Copies `bytes` to absent pages from `first` on, and wakes who waits for them if that is to be done now; else the
    /// caller does, after it published the pages.
    pub(crate) fn copy_pages(&self, first: u64, bytes: &[u8], protect: bool, wake: bool) {
        let mut done = 0;
        let mut most = bytes.len();
        while done < bytes.len() {
            let dst = self.address(first) + done;
            let part = most.min(bytes.len() - done);
            if wake {
                self.note_wake();
            }
            match self.space.copy_in(dst, &bytes[done..done + part], protect, wake) {
                Ok(()) => done += part,
                Err(partial) => {
                    done += partial.done;
                    match partial.errno {
                        libc::EAGAIN => self.space.rest(0),
                        // The kernel keeps neighbours apart that the program treated differently, and
                        // copies to one mapping at a time.
                        libc::ENOENT if part > PAGE => most = PAGE,
                        // EEXIST: somebody else mapped it. Anything else: the program unmapped the
                        // range under us, or is ending; whoever waits sees what the kernel says now.
                        _ => {
                            let page = self.page_of(self.address(first) + done);
                            self.wake(page, 1);
                            done += PAGE;
                        }
                    }
                }
            }
        }
    }

    /// Moves `to.count` mapped pages from `first` on into the frame area.
    pub(crate) fn unmap_frames(&self, first: u64, to: Run) -> Exceptions {
        let mut exceptions = Exceptions::default();
        let (mut done, mut tries) = (0u32, 0);
        while done < to.count {
            let src = self.address(first + u64::from(done));
            let dst = self.area.address(to.start + done);
            let len = (to.count - done) as usize * PAGE;
            match self.space.move_frames(dst, src, len, false) {
                Ok(()) => break,
                Err(partial) => {
                    let moved = (partial.done / PAGE) as u32;
                    done += moved;
                    tries = if moved > 0 { 0 } else { tries + 1 };
                    if done >= to.count {
                        break;
                    }
                    let page = first + u64::from(done);
                    match self.mend_unmap(page, to.start + done, partial.errno, tries) {
                        Mended::Again => {}
                        Mended::Opened => exceptions.opened.push(done),
                        Mended::Moved => (done, tries) = (done + 1, 0),
                        Mended::Refused => {
                            exceptions.refused.push(done);
                            (done, tries) = (done + 1, 0);
                        }
                    }
                }
            }
        }
        exceptions
    }

    fn mend_unmap(&self, page: u64, position: u32, errno: i32, tries: u32) -> Mended {
        let addr = self.address(page);
        match errno {
            libc::EAGAIN => {
                self.space.rest(0);
                Mended::Again
            }
            // Shared with a forked child: a copy of our own can be moved. Pinned by the kernel: no
            // copy helps.
            libc::EBUSY if tries <= UNSHARE_TRIES => {
                self.unshare(addr);
                Mended::Opened
            }
            libc::EBUSY => Mended::Refused,
            errno => self.copy_out(page, position, errno, tries),
        }
    }

    /// Takes out a page that cannot be moved, most often because the program may not write it, or that
    /// could not be moved together with its neighbours, which are protected otherwise.
    fn copy_out(&self, page: u64, position: u32, errno: i32, tries: u32) -> Mended {
        Counters::add(&self.counters.move_fallbacks, 1);
        let addr = self.address(page);
        let mut bytes = [0; PAGE];
        // The program may be given the right to write at any moment; nothing may change after this.
        if self.forbid_writes(addr, PAGE).is_err() {
            return Mended::Refused;
        }
        // It may have been given it already, and had the kernel pin the page.
        match self.space.move_frames(self.area.address(position), addr, PAGE, false) {
            Ok(()) => return Mended::Moved,
            Err(partial) if partial.errno == errno => {}
            Err(partial) if partial.errno == libc::EBUSY && tries <= UNSHARE_TRIES => {
                self.unshare(addr);
                return Mended::Opened;
            }
            Err(_) => {
                self.allow_writes(addr);
                return Mended::Refused;
            }
        }
        if self.space.read_protected(addr, &mut bytes).is_err() {
            return Mended::Refused;
        }
        let dst = self.area.address(position);
        while let Err(partial) = self.space.copy_in(dst, &bytes, false, false) {
            if partial.errno != libc::EAGAIN {
                return Mended::Refused;
            }
            self.space.rest(0);
        }
        if self.space.drop_pages(&[(addr, PAGE)]).is_err() {
            self.discard_frame(dst);
            return Mended::Refused;
        }
        Mended::Moved
    }
}

enum Mended {
    Again,
    Opened,
    Moved,
    Refused,
}
