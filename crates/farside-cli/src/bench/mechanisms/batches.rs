//! Operations on many pages at once, and on memory that is there.

use std::fs::File;
use std::hint::black_box;
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use super::super::uffd::{
    self, FEATURE_MINOR_SHMEM, FEATURE_MISSING_SHMEM, FEATURE_MOVE, FEATURE_WP_ASYNC,
    FEATURE_WP_UNPOPULATED, MINOR, MISSING, PAGE, PROTECT, Pages, Uffd,
};

/// Times `each` for every `step`-th page below `pages`; the answer is in nanoseconds per page.
fn timed(pages: usize, step: usize, mut each: impl FnMut(usize) -> Result<()>) -> Result<f64> {
    let begin = Instant::now();
    for page in (0..pages - pages % step).step_by(step) {
        each(page)?;
    }
    Ok(begin.elapsed().as_nanos() as f64 / (pages - pages % step) as f64)
}

/// Pages that are all there.
fn present(pages: usize) -> Result<Pages> {
    let memory = Pages::anonymous(pages)?;
    memory.fill(1);
    Ok(memory)
}

/// Page number `i` in an order that jumps about: a large prime modulo the number of pages.
fn scatter(i: usize, pages: usize) -> usize {
    i * 7919 % pages
}

/// A file in memory that has all its pages.
fn memory_file(pages: usize) -> Result<OwnedFd> {
    // SAFETY: the name is a C string.
    let fd = unsafe { libc::memfd_create(c"bench".as_ptr(), libc::MFD_CLOEXEC) };
    uffd::check(fd)?;
    // SAFETY: the kernel just gave us this descriptor.
    let file = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: no memory is involved.
    uffd::check(unsafe { libc::ftruncate(fd, (pages * PAGE) as i64) })?;
    Pages::shared(pages, &file)?.fill(1);
    Ok(file)
}

/// Shared memory whose pages the file has and the mapping has not, and the means to map them.
pub(super) fn minor(pages: usize, features: u64) -> Result<(OwnedFd, Pages, Uffd)> {
    let file = memory_file(pages)?;
    let memory = Pages::shared(pages, &file)?;
    let uffd = Uffd::new(FEATURE_MINOR_SHMEM | FEATURE_MISSING_SHMEM | features)?;
    uffd.register(&memory, MISSING | MINOR)?;
    Ok((file, memory, uffd))
}

pub(super) fn memcpy(_: usize) -> Result<f64> {
    // Small enough to stay in the second-level cache, and copied often.
    let (from, to) = (present(128)?, present(128)?);
    timed(32_768, 1, |i| {
        to.copy_from(i % 128, &from, i % 128);
        Ok(())
    })
}

pub(super) fn copy<const BATCH: usize>(pages: usize) -> Result<f64> {
    let (memory, source) = (Pages::anonymous(pages)?, present(BATCH)?);
    let uffd = Uffd::new(0)?;
    uffd.register(&memory, MISSING)?;
    timed(pages, BATCH, |i| uffd::copy(uffd.fd(), memory.at(i), source.at(0), BATCH, true))
}

pub(super) fn mv<const BATCH: usize>(pages: usize) -> Result<f64> {
    let (memory, source) = (Pages::anonymous(pages)?, present(pages)?);
    let uffd = Uffd::new(FEATURE_MOVE)?;
    uffd.register(&memory, MISSING)?;
    timed(pages, BATCH, |i| uffd::mv(uffd.fd(), memory.at(i), source.at(i), BATCH, true))
}

pub(super) fn mv_scattered(pages: usize) -> Result<f64> {
    let (memory, source) = (Pages::anonymous(pages)?, present(pages)?);
    let uffd = Uffd::new(FEATURE_MOVE)?;
    uffd.register(&memory, MISSING)?;
    timed(pages, 1, |i| {
        let page = scatter(i, pages);
        uffd::mv(uffd.fd(), memory.at(page), source.at(page), 1, true)
    })
}

pub(super) fn resume<const BATCH: usize>(pages: usize) -> Result<f64> {
    let (_file, memory, uffd) = minor(pages, 0)?;
    timed(pages, BATCH, |i| uffd::resume(uffd.fd(), memory.at(i), BATCH, true))
}

pub(super) fn protect<const BATCH: usize>(pages: usize) -> Result<f64> {
    let memory = present(pages)?;
    let uffd = Uffd::new(0)?;
    uffd.register(&memory, PROTECT)?;
    timed(pages, BATCH, |i| uffd::protect(uffd.fd(), memory.at(i), BATCH))
}

pub(super) fn scan<const PROTECT_AGAIN: bool>(pages: usize) -> Result<f64> {
    let memory = present(pages)?;
    let uffd = Uffd::new(FEATURE_WP_ASYNC | FEATURE_WP_UNPOPULATED)?;
    uffd.register(&memory, PROTECT)?;
    uffd::protect(uffd.fd(), memory.at(0), pages)?;
    // Every other page is written, so that no two findings merge.
    (0..pages).step_by(2).for_each(|page| memory.write(page, 2));
    let pagemap = File::open("/proc/self/pagemap")?;
    timed(pages, pages, |_| {
        let found = uffd::scan_written(pagemap.as_raw_fd(), &memory, PROTECT_AGAIN)?;
        if found < pages / 2 { Err(Error::other("written pages were missed")) } else { Ok(()) }
    })
}

pub(super) fn drop_run<const BATCH: usize>(pages: usize) -> Result<f64> {
    let memory = present(pages)?;
    timed(pages, BATCH, |i| memory.advise(i, BATCH, libc::MADV_DONTNEED))
}

pub(super) fn drop_scattered(pages: usize) -> Result<f64> {
    let memory = present(2 * pages)?;
    timed(pages, 1, |i| memory.advise(2 * i, 1, libc::MADV_DONTNEED))
}

/// Does something while another thread of this process computes, if it is to.
pub(super) fn while_running<R>(runs: bool, body: impl FnOnce() -> Result<R>) -> Result<R> {
    let ended = AtomicBool::new(!runs);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        let result = body();
        ended.store(true, Relaxed);
        result
    })
}

pub(super) fn drop_vector<const BATCH: usize>(pages: usize) -> Result<f64> {
    let memory = present(2 * pages)?;
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) } as i32;
    uffd::check(fd)?;
    // SAFETY: the kernel just gave us this descriptor.
    let own = unsafe { OwnedFd::from_raw_fd(fd) };
    timed(pages, BATCH, |i| {
        let vector: [libc::iovec; BATCH] = std::array::from_fn(|k| libc::iovec {
            iov_base: memory.at(2 * (i + k)) as *mut _,
            iov_len: PAGE,
        });
        let (fd, list) = (own.as_raw_fd(), vector.as_ptr());
        // SAFETY: all pages of the vector are ours, and may lose their contents.
        let done = unsafe {
            libc::syscall(libc::SYS_process_madvise, fd, list, BATCH, libc::MADV_DONTNEED, 0)
        };
        match done {
            -1 => Err(Error::last_os_error()),
            n if n as usize == BATCH * PAGE => Ok(()),
            n => Err(Error::other(format!("only {n} bytes were dropped"))),
        }
    })
}

pub(super) fn zap_shared(pages: usize) -> Result<f64> {
    let file = memory_file(pages)?;
    let memory = Pages::shared(pages, &file)?;
    memory.fill(1);
    timed(pages, 1024, |i| memory.advise(i, 1024, libc::MADV_DONTNEED))
}

pub(super) fn punch(pages: usize) -> Result<f64> {
    let file = memory_file(pages)?;
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    timed(pages, 64, |i| {
        let (at, bytes) = ((i * PAGE) as i64, (64 * PAGE) as i64);
        // SAFETY: no memory is involved.
        uffd::check(unsafe { libc::fallocate(file.as_raw_fd(), mode, at, bytes) })
    })
}

pub(super) fn pointers(_: usize) -> Result<f64> {
    let memory = present(128)?;
    let words = memory.words();
    let (low, size) = (memory.at(0) as u64, 1u64 << 40);
    timed(32_768, 1, |i| {
        let start = i % 128 * (PAGE / 8);
        let page = black_box(&words[start..start + PAGE / 8]);
        black_box(page.iter().filter(|&&word| word.wrapping_sub(low) < size).count());
        Ok(())
    })
}
