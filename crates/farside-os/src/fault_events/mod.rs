//! The page faults of a process as the kernel's performance events tell of them: which instruction touched which
//! address, and now and then from where it was called.
//!
//! The kernel writes a small sample for each fault before it asks anybody to serve it, and a large one, with the upper
//! end of the stack, for one in so many. The kernel could also be asked for so many a second, but it learns a rate from
//! what came before, and a burst of faults may leave what comes after it without a single stack.

mod ring;
mod sample;

use std::os::fd::{FromRawFd, OwnedFd};

use perf_event_open_sys as sys;
use sys::bindings::{
    PERF_COUNT_SW_PAGE_FAULTS, PERF_FLAG_FD_CLOEXEC, PERF_SAMPLE_ADDR, PERF_SAMPLE_REGS_USER,
    PERF_SAMPLE_STACK_USER, PERF_SAMPLE_TID, PERF_TYPE_SOFTWARE, perf_event_attr,
};

use crate::error::check;
use crate::{OsError, Result};
use ring::Ring;
use sample::{Size, decode};

/// Bytes of the stack in a large sample: a multiple of 8.
const STACK_BYTES: u32 = 16 << 10;

/// Bytes of all rings together, at most, and of one; twice that for samples with all registers.
const ALL_RINGS: usize = 128 << 20;
const LARGEST_RING: usize = 16 << 20;

/// The user's registers of a thread, as far as unwinding starts from them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The instruction.
    pub instruction: u64,
    /// The stack pointer.
    pub stack: u64,
    /// The frame pointer, or whatever the program uses its register for.
    pub frame: u64,
}

/// All general registers of a thread, by their numbers in instructions: `rax`, `rcx`, `rdx`, `rbx`, `rsp`, `rbp`, `rsi`,
/// `rdi`, `r8` to `r15`.
pub type General = [u64; 16];

/// What the kernel tells.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FaultEvent<'a> {
    /// A thread touched an address that was not mapped, or not for writing.
    Fault {
        /// The kernel's id of the thread.
        thread: u32,
        /// What it touched.
        address: u64,
        /// Its registers: the instruction is the one that did so, or follows the one that made the system call that did.
        registers: Registers,
        /// All of them, if they were asked for.
        general: Option<General>,
    },
    /// The same fault again, and the stack of the thread.
    Stack {
        /// The kernel's id of the thread.
        thread: u32,
        /// What it touched.
        address: u64,
        /// Its registers.
        registers: Registers,
        /// The stack from the stack pointer on, as much of it as could be read.
        stack: &'a [u8],
    },
    /// The process mapped a file, to execute it.
    Mapped {
        /// The process.
        pid: u32,
        /// Where.
        address: u64,
        /// How many bytes.
        length: u64,
        /// From where in the file.
        offset: u64,
        /// The file; not always text.
        path: &'a [u8],
    },
    /// So many faults were lost, because nobody read them in time.
    Lost(u64),
}

/// The events of a process and the threads and children that it makes from now on.
#[derive(Debug)]
pub struct FaultEvents {
    rings: Vec<(Ring, Size)>,
    /// Whether samples hold all general registers.
    general: bool,
    /// Held because events end with their descriptors.
    _events: Vec<OwnedFd>,
    bytes: Vec<u8>,
}

impl FaultEvents {
    /// Begins with the thread `pid`, the first of a process, and asks for the stack of one in `period` faults on each
    /// processor. Its other threads are looked at if they are made later. With `general`, each fault comes with all
    /// general registers.
    ///
    /// # Errors
    /// `EACCES` or `EPERM` if this user may not look at the process, or at faults at all
    /// (`kernel.perf_event_paranoid`); `ENOSYS` if the kernel has no performance events.
    pub fn open(pid: u32, period: u64, general: bool) -> Result<Self> {
        let processors = online_processors();
        let bytes = Vec::with_capacity(1 << 16);
        let mut all = Self { rings: Vec::new(), general, _events: Vec::new(), bytes };
        // Samples with all registers are three times as large.
        let (all_rings, largest) =
            (ALL_RINGS << u32::from(general), LARGEST_RING << u32::from(general));
        let ring_bytes = (all_rings / 2 / processors.len().max(1)).clamp(1 << 16, largest);
        for processor in processors {
            match all.add(pid, processor, period, ring_bytes) {
                Ok(()) => {}
                // It went away.
                Err(error) if error.errno == libc::ENODEV => {}
                Err(error) => return Err(error),
            }
        }
        if all.rings.is_empty() {
            return Err(OsError {
                call: "perf_event_open",
                subject: "page faults",
                errno: libc::ENODEV,
            });
        }
        Ok(all)
    }

    fn add(&mut self, pid: u32, processor: usize, period: u64, bytes: usize) -> Result<()> {
        // Events with one ring could not be told apart: kernels write the number of the event before.
        let mut each = attributes(0, self.general);
        each.__bindgen_anon_1.sample_period = 1;
        each.set_mmap(1);
        each.set_mmap2(1);
        self.begin(&mut each, pid, processor, bytes, Size::Small)?;
        let mut some = attributes(u64::from(PERF_SAMPLE_STACK_USER), self.general);
        some.__bindgen_anon_1.sample_period = period;
        some.sample_stack_user = STACK_BYTES;
        self.begin(&mut some, pid, processor, bytes, Size::Large)
    }

    fn begin(
        &mut self,
        attributes: &mut perf_event_attr,
        pid: u32,
        processor: usize,
        bytes: usize,
        size: Size,
    ) -> Result<()> {
        let event = open(attributes, pid, processor)?;
        self.rings.push((Ring::new(&event, bytes)?, size));
        self._events.push(event);
        Ok(())
    }

    /// Tells of all events that have come. Of two events of one thread the earlier one comes first, unless it changed
    /// to another processor in between.
    pub fn read(&mut self, mut tell: impl FnMut(FaultEvent<'_>)) {
        for (ring, size) in &self.rings {
            ring.take(&mut self.bytes);
            let mut rest = &self.bytes[..];
            while let Some((event, length)) = decode(rest, *size, self.general) {
                event.into_iter().for_each(&mut tell);
                rest = &rest[length..];
            }
        }
    }
}

/// Whether this user may look at the faults of own processes, and those in system calls, too.
///
/// # Errors
/// As [`FaultEvents::open`].
pub fn allowed() -> Result<bool> {
    let mut attributes = attributes(0, false);
    attributes.set_disabled(1);
    let event = open(&mut attributes, 0, 0)?;
    drop(event);
    Ok(attributes.exclude_kernel() == 0)
}

/// Attributes of an event for each page fault, whose samples have these fields besides thread, address and registers.
fn attributes(fields: u64, general: bool) -> perf_event_attr {
    let mut attributes = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: u64::from(PERF_COUNT_SW_PAGE_FAULTS),
        // Not the period: asked to tell it, kernels take a sample of each fault, whatever the period is.
        sample_type: u64::from(PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_USER) | fields,
        ..perf_event_attr::default()
    };
    // The same for all events: kernels reckon the length of a sample with the registers of the event before.
    attributes.sample_regs_user = sample::registers(general);
    attributes.set_inherit(1);
    attributes.set_exclude_hv(1);
    attributes
}

/// Opens an event on one processor; without the kernel's own faults if these may not be looked at.
fn open(attributes: &mut perf_event_attr, pid: u32, processor: usize) -> Result<OwnedFd> {
    loop {
        // SAFETY: the attributes are complete, and the kernel writes nothing but their size on failure.
        let result = unsafe {
            sys::perf_event_open(
                attributes,
                pid as libc::pid_t,
                processor as libc::c_int,
                -1,
                u64::from(PERF_FLAG_FD_CLOEXEC),
            )
        };
        match check(i64::from(result), "perf_event_open", "page faults") {
            // SAFETY: a new descriptor that nobody else owns.
            Ok(fd) => return Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) }),
            Err(OsError { errno: libc::EACCES | libc::EPERM, .. })
                if attributes.exclude_kernel() == 0 =>
            {
                attributes.set_exclude_kernel(1);
            }
            Err(error) => return Err(error),
        }
    }
}

fn online_processors() -> Vec<usize> {
    // SAFETY: takes no pointers.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    (0..usize::try_from(count).unwrap_or(1).max(1)).collect()
}
