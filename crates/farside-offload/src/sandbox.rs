//! One call in a process of its own.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use farside_os::isolation::{self, End};
use farside_os::memory::{self, PAGE};
use farside_os::{OsError, Result};
use farside_wire::offload::{Area, Call};
use thiserror::Error;

use crate::image::Image;

const SUBJECT: &str = "memory of a function";

/// Where values in what goes into a call and comes out of it begin.
const ALIGN: usize = 64;

/// Areas lie at multiples of this, as they do in the program: what is aligned there is so here.
const AREA_ALIGN: usize = 4 << 20;

/// Most mappings of a call: the kernel has 65,530 for a process.
const MOST_RUNS: usize = 60_000;

/// Exit codes of the process.
const DONE: i32 = 0;
const NOT_SHUT_IN: i32 = 2;

/// Why a call was not done.
#[derive(Debug, Error)]
pub enum CallError {
    /// It is no call of what was loaded.
    #[error("there is no such function, or section")]
    Unknown,
    /// What it reads lies in too many places.
    #[error("its data lies in {0} pieces, more than {MOST_RUNS}")]
    Scattered(usize),
    /// Places are no pages.
    #[error("its data does not lie in pages")]
    NoPages,
    /// It did what it may not, or came to what is not there.
    #[error("it was ended by signal {0}")]
    Killed(i32),
    /// Its time was over.
    #[error("it took longer than {0:?}")]
    Late(Duration),
    /// Nobody waits for it any more.
    #[error("nobody waits for it any more")]
    Forsaken,
    /// This machine cannot shut it in.
    #[error("it cannot be shut in here")]
    NotShutIn,
    /// A system call failed.
    #[error(transparent)]
    Os(#[from] OsError),
}

/// Memory that both processes see.
struct Exchange {
    at: usize,
    len: usize,
    output: usize,
}

impl Exchange {
    fn with(input: &[u8], output: usize) -> Result<Self> {
        let place = input.len().next_multiple_of(ALIGN);
        let len = (place + output).max(1).next_multiple_of(PAGE);
        let file = memory::anonymous_file(c"farside-call", len as u64)?;
        memory::write_at(file.as_fd(), 0, input, SUBJECT)?;
        let at = memory::map_shared(file.as_fd(), len, SUBJECT)?;
        Ok(Self { at, len, output: at + place })
    }

    fn output(&self, len: usize) -> Vec<u8> {
        // SAFETY: the mapping is ours and as long; the process that wrote into it has ended.
        unsafe { std::slice::from_raw_parts(self.output as *const u8, len) }.to_vec()
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // Failing to unmap costs address space only.
        let _ = memory::unmap(self.at, self.len, SUBJECT);
    }
}

/// Memory of one area: zeros, and over them what lies in the file.
fn map(area: &Area, pages: BorrowedFd<'_>) -> Result<usize> {
    let at = memory::reserve(area.len as usize, AREA_ALIGN, SUBJECT)?;
    memory::protect(at, area.len as usize, libc::PROT_READ, SUBJECT)?;
    for run in &area.runs {
        memory::map_to_read(at + run.offset as usize, pages, run.place, run.len as usize)?;
    }
    Ok(at)
}

/// What the process does.
fn work(image: &mut Image, call: &Call, pages: BorrowedFd<'_>, exchange: &Exchange) -> Result<()> {
    for (section, area) in call.areas.iter().enumerate().filter(|(_, area)| area.len > 0) {
        let at = map(area, pages)?;
        image.set_base(section, (at as u64).wrapping_sub(area.tag));
    }
    isolation::bound_time(u64::from(call.most_ms / 1000) + 1)?;
    isolation::forget_handlers();
    isolation::close_all()?;
    isolation::shut_in()?;
    // SAFETY: from here on this process can write to its own memory and to what it leaves, and end; who waits for it expects
    // either.
    unsafe { image.call(call.entry as usize, exchange.at, exchange.output) };
    Ok(())
}

fn check(image: &Image, call: &Call) -> std::result::Result<(), CallError> {
    let areas = &call.areas;
    if call.entry as usize >= image.entries() || areas.len() > image.sections() {
        return Err(CallError::Unknown);
    }
    let runs: usize = areas.iter().map(|area| area.runs.len()).sum();
    if runs > MOST_RUNS {
        return Err(CallError::Scattered(runs));
    }
    let page = PAGE as u64;
    let is_page = |number: u64| number.is_multiple_of(page);
    let in_pages = |area: &Area| {
        let runs = area.runs.iter();
        is_page(area.len)
            && area.len < 1 << 46
            && runs.into_iter().all(|run| {
                is_page(run.offset)
                    && is_page(run.place)
                    && is_page(run.len)
                    && run.place < i64::MAX as u64
            })
    };
    if areas.iter().all(in_pages) { Ok(()) } else { Err(CallError::NoPages) }
}

/// Runs a call whose pages are in `pages`; returns what it left, and how long it took. It goes on no longer than the
/// other end of `master` is there.
///
/// # Errors
/// If it is no call, or does not come to its end. Nothing was changed then.
pub fn run(
    image: &mut Image,
    call: &Call,
    pages: BorrowedFd<'_>,
    master: BorrowedFd<'_>,
) -> std::result::Result<(Vec<u8>, Duration), CallError> {
    check(image, call)?;
    let exchange = Exchange::with(&call.input, call.output as usize)?;
    let start = Instant::now();
    let most = Duration::from_millis(call.most_ms.into());
    let work = || match work(image, call, pages, &exchange) {
        Ok(()) => DONE,
        Err(_) => NOT_SHUT_IN,
    };
    // SAFETY: it makes system calls and computes; nothing of it allocates, or prints.
    let child = unsafe { isolation::fork(work) }?;
    match child.wait(most, master)? {
        End::Exited(DONE) => Ok((exchange.output(call.output as usize), start.elapsed())),
        End::Exited(_) => Err(CallError::NotShutIn),
        End::Killed(signal) => Err(CallError::Killed(signal)),
        End::Late => Err(CallError::Late(most)),
        End::Forsaken => Err(CallError::Forsaken),
    }
}
