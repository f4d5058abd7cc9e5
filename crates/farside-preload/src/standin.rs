//! Stand-in for the pager: the same functions over memory that is always resident.

use std::collections::BTreeMap;

use crate::lock::Lock;
use crate::sys;

const LEN: usize = 1 << 40;

pub struct Pager {
    base: usize,
    free: Lock<BTreeMap<usize, usize>>,
}

const RW: i32 = libc::PROT_READ | libc::PROT_WRITE;

impl Pager {
    pub fn start() -> Result<&'static Pager, i32> {
        let base = unsafe { sys::mmap_anonymous(0, LEN, RW, libc::MAP_NORESERVE)? };
        let free = Lock::new(BTreeMap::from([(base, base + LEN)]));
        Ok(Box::leak(Box::new(Pager { base, free })))
    }
    pub fn base(&self) -> usize {
        self.base
    }
    pub fn len(&self) -> usize {
        LEN
    }
    pub fn reserve(&self, len: usize, align: usize) -> Option<usize> {
        let mut free = self.free.lock();
        let (start, end, at) = free.iter().find_map(|(&s, &e)| {
            let at = s.next_multiple_of(align);
            (at + len <= e).then_some((s, e, at))
        })?;
        free.remove(&start);
        if start < at {
            free.insert(start, at);
        }
        if at + len < end {
            free.insert(at + len, end);
        }
        Some(at)
    }
    pub fn claim(&self, addr: usize, len: usize) -> bool {
        let mut free = self.free.lock();
        let Some((&start, &end)) = free.range(..=addr).next_back() else { return false };
        if addr + len > end {
            return false;
        }
        free.remove(&start);
        if start < addr {
            free.insert(start, addr);
        }
        if addr + len < end {
            free.insert(addr + len, end);
        }
        true
    }
    pub fn extend(&self, addr: usize, old_len: usize, new_len: usize) -> bool {
        self.claim(addr + old_len, new_len - old_len)
    }
    fn fresh(&self, addr: usize, len: usize) {
        unsafe {
            sys::mmap_anonymous(addr, len, RW, libc::MAP_NORESERVE | libc::MAP_FIXED).unwrap()
        };
    }
    pub fn release(&self, addr: usize, len: usize) {
        self.fresh(addr, len);
        let mut free = self.free.lock();
        let (mut start, mut end) = (addr, addr + len);
        if let Some((&s, &e)) = free.range(..addr).next_back() {
            if e == addr {
                start = s;
                free.remove(&s);
            }
        }
        if let Some(e) = free.remove(&end) {
            end = e;
        }
        free.insert(start, end);
    }
    pub fn discard(&self, addr: usize, len: usize) {
        unsafe { sys::madvise(addr, len, libc::MADV_DONTNEED) }.unwrap();
    }
    pub fn protect(&self, addr: usize, len: usize, prot: i32) -> Result<(), i32> {
        unsafe { sys::mprotect(addr, len, prot) }
    }
    pub fn relocate(&self, from: usize, to: usize, len: usize) -> Result<(), i32> {
        unsafe {
            sys::mremap(from, len, len, libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED, to)?;
        }
        self.fresh(from, len);
        Ok(())
    }
    pub fn make_foreign(&self, _addr: usize, _len: usize) {}
    pub fn adopt(&self, addr: usize, len: usize) -> Result<(), i32> {
        self.fresh(addr, len);
        Ok(())
    }
    pub fn will_need(&self, _addr: usize, _len: usize) {}
    pub fn cold(&self, _addr: usize, _len: usize) {}
    pub fn before_fork(&self) {
        self.free.hold_for_fork();
    }
    pub fn after_fork_in_parent(&self) {
        unsafe { self.free.release_after_fork() };
    }
    pub fn after_fork_in_child(&self) {
        unsafe { self.free.release_after_fork() };
    }
}
