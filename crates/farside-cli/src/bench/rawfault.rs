//! The least a fault served by another thread can cost: a thread waiting in `poll`, one message, one
//! `UFFDIO_COPY` of a warm page. Nothing is kept, evicted, counted or fetched.

use std::io::{Error, ErrorKind, Result};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use clap::Args;

use super::Failure;
use super::row::median;
use super::uffd::{self, MESSAGE, MISSING, PAGE, Pages, Uffd};

/// Options of the hidden `farside bench rawfault`.
#[derive(Debug, Args)]
pub(crate) struct RawfaultArgs {
    /// Size of the array whose pages are touched at random.
    #[arg(long, default_value_t = 512)]
    mib: usize,
    /// Number of faults.
    #[arg(long, default_value_t = 60_000)]
    faults: usize,
}

/// Answers with the median time of a fault in nanoseconds, seen by the thread that faults.
///
/// Both threads share one processor, because a fault costs far less there than across two.
pub(crate) fn run(args: &RawfaultArgs) -> std::result::Result<String, Failure> {
    farside_os::thread::bind_to(farside_os::thread::processor())
        .map_err(|e| Failure::new(format!("one processor for both threads: {e}")))?;
    let ns = faults(args).map_err(|e| Failure::io("userfaultfd", &e))?;
    Ok(format!("{ns:.0}"))
}

fn faults(args: &RawfaultArgs) -> Result<f64> {
    let pages = Pages::anonymous(args.mib << 20 >> 12)?;
    // The machine below gets its memory now, not while faults are timed.
    pages.fill(1);
    pages.advise(0, pages.len(), libc::MADV_DONTNEED)?;
    let source = Pages::anonymous(1)?;
    source.fill(7);
    let uffd = Uffd::new(0)?;
    uffd.register(&pages, MISSING)?;
    let mut order = scattered(pages.len());
    order.truncate(args.faults);
    let mut took = vec![0.0; order.len()];
    served(uffd.fd(), source.at(0), true, || {
        for (ns, &page) in took.iter_mut().zip(&order) {
            let begin = Instant::now();
            pages.read(page);
            *ns = begin.elapsed().as_nanos() as f64;
        }
    })?;
    Ok(median(&took))
}

/// All page numbers below `count` in an order without any pattern.
fn scattered(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state = 88_172_645_463_325_252u64;
    for i in (1..count).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(i, (state % (i as u64 + 1)) as usize);
    }
    order
}

/// Runs `work` while another thread serves every fault of `fd` with a copy of the page at `source`.
pub(crate) fn served(fd: RawFd, source: usize, waits: bool, work: impl FnOnce()) -> Result<()> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let handler = scope.spawn(|| handle(fd, source, waits, &stop));
        work();
        stop.store(true, Relaxed);
        handler.join().unwrap_or_else(|_| Err(Error::other("the fault handler panicked")))
    })
}

fn handle(fd: RawFd, source: usize, waits: bool, stop: &AtomicBool) -> Result<()> {
    let mut messages = [[0u8; MESSAGE]; 16];
    while !stop.load(Relaxed) {
        if waits {
            let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid entry.
            if unsafe { libc::poll(&mut poll, 1, 50) } <= 0 {
                continue;
            }
        }
        let room = size_of_val(&messages);
        // SAFETY: the buffer is writable for its size.
        let got = unsafe { libc::read(fd, messages.as_mut_ptr().cast(), room) };
        for message in messages.iter().take(usize::try_from(got).unwrap_or(0) / MESSAGE) {
            // A fault's address is the third word of its message.
            let mut word = [0; 8];
            word.copy_from_slice(&message[16..24]);
            let page = usize::from_ne_bytes(word) & !(PAGE - 1);
            match uffd::copy(fd, page, source, 1, false) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}
