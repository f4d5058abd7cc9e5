//! Threads and processors: where a thread runs, its scheduling class, waiting for descriptors.

use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::AtomicU32;

use crate::Result;
use crate::error::{check, last_errno};
use crate::memory;

/// Where and how the calling thread may be scheduled.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// As any thread.
    Normal,
    /// Only when the processor would otherwise be idle.
    Idle,
}

/// Kernel id of the calling thread.
pub fn id() -> u32 {
    // SAFETY: takes no arguments and cannot fail.
    (unsafe { libc::syscall(libc::SYS_gettid) }) as u32
}

/// How the kernel names threads that it makes in a process to carry out requests of its rings.
const RING_WORKER: &[u8] = b"iou-";

/// Kernel ids of this process's threads whose names do not begin with `prefix`. Those that the kernel makes for rings run no
/// code of the process, and are none of them.
pub fn all_but(prefix: &[u8]) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id: &u32| {
        let name = std::fs::read(format!("/proc/self/task/{id}/comm"));
        name.is_ok_and(|name| !name.starts_with(prefix) && !name.starts_with(RING_WORKER))
    })
    .collect()
}

/// The address of the instruction at which a thread of this process waits, if it does so outside of system
/// calls, as a thread that faulted does.
pub fn instruction(thread: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).ok()?;
    // "-1 STACK INSTRUCTION".
    let address = text.trim().strip_prefix("-1 ")?.split(' ').nth(1)?;
    u64::from_str_radix(address.trim_start_matches("0x"), 16).ok()
}

/// The address of the instruction at which a thread of this process waits, or after the one by which it made the system
/// call in which it waits.
pub fn program_counter(thread: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).ok()?;
    // The last of several numbers; a thread that runs has none.
    let (_, address) = text.trim().rsplit_once(' ')?;
    u64::from_str_radix(address.trim_start_matches("0x"), 16).ok()
}

/// Whether a thread of this process waits for a lock, or anything else that is waited for by a futex. Allocates nothing.
pub fn waits_for_lock(thread: u32) -> bool {
    let mut path = [0u8; 48];
    if write!(&mut path[..], "/proc/self/task/{thread}/syscall\0").is_err() {
        return false;
    }
    // SAFETY: the path ends with a zero.
    let fd = unsafe { libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if fd < 0 {
        return false;
    }
    // SAFETY: the descriptor was just opened, and is nobody else's.
    let file = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    let mut text = [0u8; 16];
    let len = (&file).read(&mut text).unwrap_or(0);
    // The number of the system call comes first.
    let number = text[..len].split(|byte| *byte == b' ').next().unwrap_or_default();
    std::str::from_utf8(number).is_ok_and(|number| number.parse() == Ok(libc::SYS_futex))
}

/// Whether there is a process with this id.
pub fn process_lives(pid: u32) -> bool {
    // SAFETY: signal 0 is not sent, only checked.
    let result = unsafe { libc::syscall(libc::SYS_kill, pid, 0) };
    result == 0 || last_errno() == libc::EPERM
}

/// The processor the calling thread runs on.
pub fn processor() -> usize {
    // SAFETY: takes no pointers; fails only on kernels without the call.
    let cpu = unsafe { libc::sched_getcpu() };
    usize::try_from(cpu).unwrap_or(0)
}

/// The processors the calling thread may use, at most `most` of them.
pub fn allowed_processors(most: usize) -> Vec<usize> {
    let mut set = [0u64; 128];
    // SAFETY: the mask is valid for writes of the size that is passed.
    let filled = unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(&set), set.as_mut_ptr())
    };
    if filled <= 0 {
        return vec![processor()];
    }
    let bit_set = |cpu: &usize| set[cpu / 64] >> (cpu % 64) & 1 == 1;
    (0..set.len() * 64).filter(bit_set).take(most).collect()
}

/// Tells on which processor a waiting thread of this process ran last.
///
/// The kernel keeps that number up to date in the thread's own memory, in the area that the C library
/// registers for restartable sequences; reading it costs a fraction of what asking the kernel does.
#[derive(Copy, Clone, Debug)]
pub struct Whereabouts {
    /// From a thread's list of robust mutexes, whose address the kernel tells, to that area.
    area: Option<isize>,
}

/// Where the processor's number lies in the area (`cpu_id` of `struct rseq`).
const CPU_ID: usize = 4;

impl Whereabouts {
    /// Finds out where this C library keeps the area.
    pub fn new() -> Self {
        Self { area: Self::area_from_robust_list() }
    }

    fn area_from_robust_list() -> Option<isize> {
        // SAFETY: the names are valid C strings; where the symbols exist they are an integer each.
        let (offset, size) = unsafe {
            let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr());
            let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr());
            if offset.is_null() || size.is_null() {
                return None;
            }
            (*offset.cast::<isize>(), *size.cast::<u32>())
        };
        // A size of 0 says that nothing is registered.
        if size == 0 {
            return None;
        }
        let own = thread_pointer()?.wrapping_add_signed(offset);
        Some(own.wrapping_sub(robust_list(0)?) as isize)
    }

    /// The processor on which `thread` ran last. `readable` tells whether the caller may read at an
    /// address without waiting for itself.
    pub fn of(&self, thread: u32, readable: impl Fn(usize) -> bool) -> Option<usize> {
        let Some(from_list) = self.area else { return processor_of(thread) };
        let area = robust_list(thread)?.wrapping_add_signed(from_list);
        if !readable(area) {
            return processor_of(thread);
        }
        let number = read_own(area + CPU_ID)?;
        // Negative numbers say that the thread has no number yet.
        usize::try_from(number).ok()
    }
}

impl Default for Whereabouts {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads an integer of this process that may be gone at any moment.
fn read_own(addr: usize) -> Option<i32> {
    // SAFETY: plain system call without side effects.
    let own = unsafe { libc::syscall(libc::SYS_getpid) } as u32;
    let mut number = [0; size_of::<i32>()];
    memory::read_other(own, addr, &mut number).ok()?;
    Some(i32::from_ne_bytes(number))
}

/// Address of a thread's list of robust mutexes, 0 for the calling one; `None` if it has none.
fn robust_list(thread: u32) -> Option<usize> {
    let (mut head, mut len) = (0usize, 0usize);
    // SAFETY: both pointers are valid for the call's writes.
    let result =
        unsafe { libc::syscall(libc::SYS_get_robust_list, thread, &raw mut head, &raw mut len) };
    (result == 0 && head != 0).then_some(head)
}

#[cfg(target_arch = "x86_64")]
fn thread_pointer() -> Option<usize> {
    let pointer;
    // SAFETY: the first word of a thread's block is its own address, by the ABI.
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, readonly));
    }
    Some(pointer)
}

#[cfg(not(target_arch = "x86_64"))]
fn thread_pointer() -> Option<usize> {
    None
}

/// The processor on which a thread of this process runs, or ran last.
fn processor_of(thread: u32) -> Option<usize> {
    let mut path = [0u8; 40];
    {
        use std::io::Write as _;
        let mut rest = &mut path[..39];
        write!(rest, "/proc/self/task/{thread}/stat").ok()?;
    }
    // SAFETY: the path ends in a zero byte, and the descriptor is closed below.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        )
    };
    if fd < 0 {
        return None;
    }
    let mut text = [0u8; 512];
    // SAFETY: the buffer is valid for writes of its length.
    let n = unsafe { libc::syscall(libc::SYS_read, fd, text.as_mut_ptr(), text.len()) };
    // SAFETY: the descriptor is ours and not used again.
    unsafe { libc::syscall(libc::SYS_close, fd) };
    let text = std::str::from_utf8(text.get(..usize::try_from(n).ok()?)?).ok()?;
    // The name in parentheses may hold spaces; the processor is field 39, the 37th behind the name.
    text.rsplit_once(')')?.1.split_ascii_whitespace().nth(36)?.parse().ok()
}

/// Binds the calling thread to one processor.
pub fn bind_to(processor: usize) -> Result<()> {
    bind_to_any(std::iter::once(processor))
}

/// Binds the calling thread to some processors. Those with numbers beyond 1023 do not count; without
/// any other nothing changes.
pub fn bind_to_any(processors: impl Iterator<Item = usize>) -> Result<()> {
    let mut set = [0u64; 16];
    for processor in processors {
        if let Some(word) = set.get_mut(processor / 64) {
            *word |= 1 << (processor % 64);
        }
    }
    if set == [0; 16] {
        return Ok(());
    }
    // SAFETY: the mask is valid for reads of the size that is passed.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&set), set.as_ptr()) };
    check(result, "sched_setaffinity", "a thread of the runtime").map(drop)
}

/// Sets the scheduling class of a thread of this process, 0 for the calling one.
pub fn set_class(thread: u32, class: Class) -> Result<()> {
    let policy = match class {
        Class::Normal => libc::SCHED_OTHER,
        Class::Idle => libc::SCHED_IDLE,
    };
    let priority = 0i32;
    // SAFETY: `sched_param` is one int, which the pointer is valid for.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, thread, policy, &raw const priority) };
    check(result, "sched_setscheduler", "a handler thread").map(drop)
}

/// Names the calling thread, as seen in `ps` and `top`.
pub fn set_name(name: &std::ffi::CStr) {
    // SAFETY: the kernel copies at most 16 bytes from a valid C string. A thread without its name
    // works as well, so the result does not matter.
    unsafe { libc::syscall(libc::SYS_prctl, libc::PR_SET_NAME, name.as_ptr(), 0, 0, 0) };
}

/// Blocks all signals in the calling thread and returns the mask that was in force.
pub fn block_signals() -> libc::sigset_t {
    // SAFETY: both sets are valid for the calls; a zeroed set is a valid initial value.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut old: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        old
    }
}

/// Restores a mask returned by [`block_signals`].
pub fn restore_signals(mask: &libc::sigset_t) {
    // SAFETY: the set is valid and came from the kernel.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

/// Waits until one of `fds` (at most 4) is readable or hung up, for at most `timeout_ms` (-1: for
/// ever); returns the `poll` results per descriptor.
pub fn wait_readable(fds: &[RawFd], timeout_ms: i32) -> Result<[i16; 4]> {
    let mut polled = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; 4];
    for (slot, fd) in polled.iter_mut().zip(fds) {
        slot.fd = *fd;
    }
    // SAFETY: the array is valid for reads and writes of the four entries.
    let result = unsafe { libc::syscall(libc::SYS_poll, polled.as_mut_ptr(), 4usize, timeout_ms) };
    if result < 0 && last_errno() != libc::EINTR {
        check(result, "poll", "the fault descriptor")?;
    }
    if result <= 0 {
        return Ok([0; 4]);
    }
    Ok(std::array::from_fn(|i| polled[i].revents))
}

/// Nanoseconds of the monotonic clock.
#[inline]
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid; CLOCK_MONOTONIC always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Waits longer than this are slept through but for their end; shorter ones are spun, since the
/// scheduler's timer slack is 50 us.
const SPIN_NS: u64 = 120_000;

/// Waits until the monotonic clock shows `deadline`, to well under a microsecond.
pub fn wait_until(deadline: u64) {
    loop {
        let now = now_ns();
        if now >= deadline {
            return;
        }
        let left = deadline - now;
        if left > SPIN_NS {
            sleep_ns(left - SPIN_NS);
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Sleeps for about `ns` nanoseconds.
pub fn sleep_ns(ns: u64) {
    let time = libc::timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    };
    // SAFETY: the pointer is valid; an interrupted sleep is as good as a shorter one.
    unsafe {
        libc::syscall(libc::SYS_nanosleep, &raw const time, std::ptr::null_mut::<libc::timespec>())
    };
}

/// Waits while `word` holds `expected`, for at most `timeout_ns`.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout_ns: Option<u64>) {
    wait_on(word, expected, timeout_ns, libc::FUTEX_PRIVATE_FLAG);
}

/// As [`futex_wait`], on a word in memory that processes share.
pub fn futex_wait_shared(word: &AtomicU32, expected: u32, timeout_ns: Option<u64>) {
    wait_on(word, expected, timeout_ns, 0);
}

fn wait_on(word: &AtomicU32, expected: u32, timeout_ns: Option<u64>, flag: i32) {
    let time = timeout_ns.map(|ns| libc::timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as i64,
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word outlives the call; every outcome sends the caller back to look at the word.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT | flag, expected, time)
    };
}

/// Wakes up to `count` threads that wait on `word`.
pub fn futex_wake(word: &AtomicU32, count: u32) {
    wake_on(word, count, libc::FUTEX_PRIVATE_FLAG);
}

/// As [`futex_wake`], on a word in memory that processes share.
pub fn futex_wake_shared(word: &AtomicU32, count: u32) {
    wake_on(word, count, 0);
}

fn wake_on(word: &AtomicU32, count: u32, flag: i32) {
    // SAFETY: the word is valid; waking nobody is fine.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | flag, count) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_never_returns_early() {
        for ns in [0, 1_000, 5_000, 200_000] {
            let deadline = now_ns() + ns;
            wait_until(deadline);
            assert!(now_ns() >= deadline);
        }
    }
}
