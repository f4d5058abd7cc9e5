//! A simulated address space: which pages are present, protected, shared or pinned, and who waits.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use farside_os::OsError;
use farside_os::space::AddressSpace;
use farside_os::userfault::Partial;
use farside_pager::counters::Counters;

use crate::PAGE;
use crate::arena::{Arena, REGION};
use crate::config::Config;
use crate::random::Random;
use crate::scheduler::{Scheduler, Wait};

/// What absent pages hold, so that nobody reads them unnoticed.
pub const POISON: u8 = 0xDB;

/// Protection that the program gave a page.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum Protection {
    #[default]
    ReadWrite,
    Read,
    None,
}

/// One page of the address space.
#[derive(Copy, Clone, Debug, Default)]
pub struct PageState {
    pub present: bool,
    /// The pager wants to see the first write.
    pub guarded: bool,
    pub protection: Protection,
    /// The frame is shared with another process.
    pub shared: bool,
    /// How often the kernel holds the frame.
    pub pins: u32,
}

/// A fault message.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    pub page: u64,
    /// Where in the page the program came.
    pub offset: usize,
    pub protected: bool,
}

struct Memory {
    pages: Vec<PageState>,
    present: u64,
    /// Content of pages that nobody may read.
    hidden: BTreeMap<usize, Vec<u8>>,
    messages: Vec<Message>,
    /// Actors that have copied a frame instead of moving it, and not dropped the original yet.
    copying: BTreeSet<usize>,
    used_before: u64,
}

/// The simulated kernel.
pub struct SimSpace {
    arena: Arena,
    scheduler: Arc<Scheduler>,
    counters: &'static Counters,
    config: Config,
    memory: RefCell<Memory>,
}

// SAFETY: everything runs on one thread; the bounds come from traits made for threads.
unsafe impl Send for SimSpace {}
// SAFETY: as above.
unsafe impl Sync for SimSpace {}

impl SimSpace {
    pub fn new(
        arena: Arena,
        scheduler: Arc<Scheduler>,
        counters: &'static Counters,
        config: Config,
    ) -> Self {
        let memory = Memory {
            pages: vec![PageState::default(); Arena::accounted()],
            present: 0,
            hidden: BTreeMap::new(),
            messages: Vec::new(),
            copying: BTreeSet::new(),
            used_before: 0,
        };
        Self { arena, scheduler, counters, config, memory: RefCell::new(memory) }
    }

    /// Leaves the arena as a new run wants it.
    pub fn clear(&self) {
        for (index, page) in self.memory.borrow().pages.iter().enumerate() {
            if page.present {
                self.arena.page(index).fill(POISON);
            }
        }
    }

    /// The number of the page at an address, those of the frame area behind those of the region.
    pub fn index(&self, addr: usize) -> usize {
        assert_eq!(addr % PAGE, 0, "{addr:#x} is not the address of a page");
        let index = addr.wrapping_sub(self.arena.base) / PAGE;
        assert!(index < Arena::accounted(), "{addr:#x} is not the pager's");
        index
    }

    /// The state of a page of the region, or behind it of the frame area.
    pub fn state(&self, index: usize) -> PageState {
        self.memory.borrow().pages[index]
    }

    /// Whether a position of the frame area holds a frame.
    pub fn in_area(&self, position: u32) -> bool {
        self.state(REGION + position as usize).present
    }

    /// Frames present.
    pub fn present(&self) -> u64 {
        self.memory.borrow().present
    }

    /// The content of a present page, whatever its protection.
    pub fn content(&self, index: usize) -> Vec<u8> {
        match self.memory.borrow().hidden.get(&index) {
            Some(content) => content.clone(),
            None => self.arena.page(index).to_vec(),
        }
    }

    /// Sees to it that a buffer that lies in accounted memory is present.
    pub fn check_buffer(&self, buffer: &[u8]) {
        let addr = buffer.as_ptr() as usize;
        if addr.wrapping_sub(self.arena.base) < Arena::accounted() * PAGE {
            for i in 0..buffer.len() / PAGE {
                let present = self.state(self.index(addr + i * PAGE)).present;
                assert!(present, "a buffer of the store is not there");
            }
        }
    }

    fn set_present(&self, index: usize, present: bool) {
        let memory = &mut *self.memory.borrow_mut();
        let page = &mut memory.pages[index];
        assert_ne!(page.present, present);
        page.present = present;
        (page.guarded, page.shared, page.pins) = (false, false, 0);
        if present {
            memory.present += 1;
        } else {
            memory.present -= 1;
        }
    }

    fn put(&self, index: usize, content: &[u8]) {
        if self.state(index).protection == Protection::None {
            self.memory.borrow_mut().hidden.insert(index, content.to_vec());
        } else {
            self.arena.page(index).copy_from_slice(content);
        }
        self.set_present(index, true);
    }

    fn drop_page(&self, index: usize) {
        if self.state(index).present {
            self.memory.borrow_mut().hidden.remove(&index);
            self.arena.page(index).fill(POISON);
            self.set_present(index, false);
        }
    }

    /// Checks after every step that no more frames are there than may be.
    pub fn check_limit(&self) {
        let memory = &mut *self.memory.borrow_mut();
        let snapshot = |counter: &std::sync::atomic::AtomicU64| {
            counter.load(std::sync::atomic::Ordering::Relaxed) / PAGE as u64
        };
        let used = snapshot(&self.counters.resident_bytes);
        let limit = snapshot(&self.counters.limit_bytes);
        let copying = memory.copying.len() as u64;
        assert!(
            memory.present <= used + copying,
            "{} frames are there, {used} are accounted for",
            memory.present
        );
        assert!(used <= limit.max(memory.used_before), "{used} frames used of {limit}");
        memory.used_before = used;
    }

    /// One access of the program: faults until it succeeds. False if the program protected the page.
    pub fn access(&self, page: u64, write: bool, operate: impl FnOnce(&mut [u8])) -> bool {
        self.access_at(page, 0, write, operate)
    }

    /// The same from an offset in the page on.
    pub fn access_at(
        &self,
        page: u64,
        offset: usize,
        write: bool,
        operate: impl FnOnce(&mut [u8]),
    ) -> bool {
        let index = page as usize;
        loop {
            let state = self.state(index);
            match state.protection {
                Protection::None => return false,
                Protection::Read if write => return false,
                _ => {}
            }
            if state.present && !(write && state.guarded) {
                break;
            }
            let message = Message { page, offset, protected: state.present };
            self.scheduler.note("faults", page, u64::from(write));
            self.post(message);
            self.scheduler.wait(Wait::Page(page));
        }
        if write {
            self.memory.borrow_mut().pages[index].shared = false;
        }
        operate(self.arena.page(index));
        true
    }

    /// The kernel writes to a page that it pinned.
    pub fn write_pinned(&self, page: u64, operate: impl FnOnce(&mut [u8])) {
        let state = self.state(page as usize);
        assert!(state.present && state.pins > 0, "pinned page {page} was taken away");
        operate(self.arena.page(page as usize));
    }

    /// Pins a present page, or unpins it.
    pub fn pin(&self, page: u64, pin: bool) {
        let pins = &mut self.memory.borrow_mut().pages[page as usize].pins;
        *pins = if pin { *pins + 1 } else { pins.saturating_sub(1) };
    }

    /// Shares a page with another process, if it is there.
    pub fn share(&self, page: u64) {
        let state = &mut self.memory.borrow_mut().pages[page as usize];
        state.shared = state.present && state.pins == 0;
    }

    fn post(&self, message: Message) {
        let messages = &mut self.memory.borrow_mut().messages;
        messages.push(message);
        self.scheduler.set_messages(messages.len());
    }

    /// Reads some messages, in any order, some of them not for the last time.
    pub fn read_messages(&self, random: &mut Random) -> Vec<Message> {
        let waiting = &mut self.memory.borrow_mut().messages;
        let mut read = Vec::new();
        for _ in 0..random.between(1, 4) {
            if waiting.is_empty() {
                break;
            }
            let at = random.below(waiting.len() as u64) as usize;
            let message = waiting.swap_remove(at);
            if random.permille(self.config.duplicate) {
                waiting.push(message);
            }
            read.push(message);
        }
        self.scheduler.set_messages(waiting.len());
        read
    }

    fn enter(&self, what: &'static str, a: usize, b: u64) {
        self.scheduler.pause_in(what);
        let a = a.wrapping_sub(self.arena.base) / PAGE;
        self.scheduler.note(what, a as u64, b);
    }

    /// How many of `count` pages this call handles before the kernel says "again".
    fn patience(&self, count: usize) -> usize {
        if self.scheduler.permille(self.config.again) {
            self.scheduler.below(count as u64) as usize
        } else {
            count
        }
    }

    fn transfer(
        &self,
        what: &str,
        count: usize,
        one: impl Fn(usize) -> Result<(), i32>,
    ) -> Result<(), Partial> {
        let patience = self.patience(count);
        for i in 0..count {
            let errno = if i >= patience { Err(libc::EAGAIN) } else { one(i) };
            if let Err(errno) = errno {
                self.scheduler.note("...stops", i as u64, errno as u64);
                if errno != libc::EAGAIN {
                    self.memory.borrow_mut().copying.insert(self.scheduler.current());
                }
                self.scheduler.pause_in(what);
                return Err(Partial { done: i * PAGE, errno });
            }
        }
        self.scheduler.pause_in(what);
        Ok(())
    }

    fn move_one(&self, dst: usize, src: usize) -> Result<(), i32> {
        let (to, from) = (self.state(dst), self.state(src));
        assert!(from.present, "page {src} is moved to {dst}, but is not there");
        assert!(!to.present, "page {src} is moved to {dst}, where one is already");
        if to.protection != Protection::ReadWrite || from.protection != Protection::ReadWrite {
            return Err(libc::EINVAL);
        }
        if from.pins > 0 || from.shared {
            return Err(libc::EBUSY);
        }
        self.put(dst, self.arena.page(src));
        self.drop_page(src);
        Ok(())
    }
}

/// The kernel's layout is changing.
fn again() -> OsError {
    OsError { call: "UFFDIO_WRITEPROTECT", subject: "the far region", errno: libc::EAGAIN }
}

impl AddressSpace for SimSpace {
    fn copy_in(&self, dst: usize, src: &[u8], protect: bool, wake: bool) -> Result<(), Partial> {
        let count = src.len() / PAGE;
        self.enter("copy_in", dst, count as u64);
        let first = self.index(dst);
        self.transfer("copy_in", count, |i| {
            let index = first + i;
            assert!(!self.state(index).present, "page {index} is copied in, but is there already");
            self.put(index, &src[i * PAGE..(i + 1) * PAGE]);
            self.memory.borrow_mut().pages[index].guarded = protect;
            if wake {
                self.scheduler.wake(|page| page == index as u64);
            }
            Ok(())
        })
    }

    fn move_frames(&self, dst: usize, src: usize, len: usize, wake: bool) -> Result<(), Partial> {
        let (to, from) = (self.index(dst), self.index(src));
        self.enter("move_frames", src, to as u64);
        self.transfer("move_frames", len / PAGE, |i| {
            self.move_one(to + i, from + i)?;
            if wake {
                self.scheduler.wake(|page| page == (to + i) as u64);
            }
            Ok(())
        })
    }

    fn allow_writes(&self, addr: usize, len: usize) -> farside_os::Result<()> {
        self.enter("allow_writes", addr, (len / PAGE) as u64);
        if self.scheduler.permille(self.config.again) {
            return Err(again());
        }
        let first = self.index(addr);
        for index in first..first + len / PAGE {
            self.memory.borrow_mut().pages[index].guarded = false;
            self.scheduler.wake(|page| page == index as u64);
        }
        self.scheduler.pause_in("allow_writes");
        Ok(())
    }

    fn forbid_writes(&self, addr: usize, len: usize) -> farside_os::Result<()> {
        self.enter("forbid_writes", addr, (len / PAGE) as u64);
        if self.scheduler.permille(self.config.again) {
            return Err(again());
        }
        let first = self.index(addr);
        for index in first..first + len / PAGE {
            let page = &mut self.memory.borrow_mut().pages[index];
            page.guarded = page.present;
        }
        self.scheduler.pause_in("forbid_writes");
        Ok(())
    }

    fn wake(&self, addr: usize, len: usize) -> farside_os::Result<()> {
        self.enter("wake", addr, (len / PAGE) as u64);
        let first = self.index(addr) as u64;
        self.scheduler.wake(|page| page >= first && page < first + (len / PAGE) as u64);
        Ok(())
    }

    fn drop_pages(&self, ranges: &[(usize, usize)]) -> farside_os::Result<()> {
        for (addr, len) in ranges {
            self.enter("drop_pages", *addr, (len / PAGE) as u64);
            let first = self.index(*addr);
            for index in first..first + len / PAGE {
                self.drop_page(index);
            }
        }
        self.memory.borrow_mut().copying.remove(&self.scheduler.current());
        self.scheduler.pause_in("drop_pages");
        Ok(())
    }

    fn populate_zeroed(&self, addr: usize, len: usize) -> farside_os::Result<()> {
        self.enter("populate_zeroed", addr, (len / PAGE) as u64);
        let first = self.index(addr);
        for index in first..first + len / PAGE {
            if !self.state(index).present {
                self.put(index, &[0; PAGE]);
            }
        }
        Ok(())
    }

    fn unshare(&self, addr: usize, len: usize) -> farside_os::Result<()> {
        self.enter("unshare", addr, (len / PAGE) as u64);
        let first = self.index(addr);
        for index in first..first + len / PAGE {
            let state = self.state(index);
            assert!(state.present, "unsharing page {index}, which is not there, waits for ever");
            assert!(!state.guarded, "unsharing page {index}, which is guarded, waits for ever");
            if state.protection != Protection::ReadWrite {
                let (call, subject) = ("madvise", "a shared page");
                return Err(OsError { call, subject, errno: libc::EFAULT });
            }
            self.memory.borrow_mut().pages[index].shared = false;
        }
        Ok(())
    }

    fn read_protected(&self, addr: usize, into: &mut [u8]) -> farside_os::Result<()> {
        self.enter("read_protected", addr, (into.len() / PAGE) as u64);
        let first = self.index(addr);
        for (i, into) in into.chunks_exact_mut(PAGE).enumerate() {
            let present = self.state(first + i).present;
            assert!(present, "page {} is read, but is not there", first + i);
            into.copy_from_slice(&self.content(first + i));
        }
        Ok(())
    }

    fn is_absent(&self, addr: usize) -> bool {
        self.enter("is_absent", addr, 0);
        !self.state(self.index(addr)).present
    }

    fn manage(&self, _addr: usize, _len: usize) -> farside_os::Result<()> {
        Ok(())
    }

    fn protect(&self, addr: usize, len: usize, prot: i32) -> farside_os::Result<()> {
        self.enter("protect", addr, prot as u64);
        let protection = match prot {
            libc::PROT_NONE => Protection::None,
            libc::PROT_READ => Protection::Read,
            _ => Protection::ReadWrite,
        };
        let first = self.index(addr);
        for index in first..first + len / PAGE {
            let content = self.content(index);
            let memory = &mut *self.memory.borrow_mut();
            memory.hidden.remove(&index);
            memory.pages[index].protection = protection;
            if !memory.pages[index].present {
                continue;
            }
            let visible = self.arena.page(index);
            if protection == Protection::None {
                visible.fill(POISON);
                memory.hidden.insert(index, content);
            } else {
                visible.copy_from_slice(&content);
            }
        }
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.scheduler.now()
    }

    fn rest(&self, ns: u64) {
        self.scheduler.wait(Wait::Until(self.scheduler.now() + ns));
    }

    fn contended(&self) -> bool {
        self.scheduler.pause();
        true
    }
}
