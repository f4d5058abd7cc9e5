//! Numbers beyond those that a program may use itself.
//!
//! The limit of a process on open files counts where a descriptor is made, not where it is used. So ours are made under
//! a limit that is raised for a moment, where the hard one allows it: they take nothing from the program, even if it
//! uses all that it may.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

/// Where ours begin unless limits say something else: seldom closed by programs that close all that they know of, nor
/// counted on by those that count on low ones, as shells do: `exec 3< file` closes whatever has that number.
const HIGH: u64 = 800;
/// As many as we may need.
const COUNT: u64 = 256;
/// Ours begin behind the soft limit only if it is below this: the kernel keeps a table as long as the largest number,
/// which each fork copies.
const LARGE: u64 = 4096;

/// How many hold the limit up, what it was before, and what it is meanwhile.
static HELD: AtomicUsize = AtomicUsize::new(0);
static BEFORE: AtomicU64 = AtomicU64::new(0);
static RAISED: AtomicU64 = AtomicU64::new(0);
/// Locks these.
static BUSY: AtomicBool = AtomicBool::new(false);

fn locked<R>(f: impl FnOnce() -> R) -> R {
    while BUSY.swap(true, Acquire) {
        std::thread::yield_now();
    }
    let result = f();
    BUSY.store(false, Release);
    result
}

fn limits() -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills the struct.
    (unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0).then_some(limit)
}

/// Whether it worked is seen where a descriptor is made.
fn set_soft(soft: u64, hard: u64) {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: the kernel reads the struct.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
}

/// The number from which ours begin under such limits.
fn begin(soft: u64, hard: u64) -> u64 {
    if soft < LARGE && soft.max(HIGH) + COUNT <= hard {
        soft.max(HIGH)
    } else if soft < LARGE && soft + COUNT <= hard {
        soft
    } else if soft >= HIGH + COUNT {
        HIGH
    } else {
        soft - soft / 4
    }
}

/// The number from which descriptors of ours begin: behind the program's soft limit where that is not large and the hard
/// one allows it, or else 800, or as high as its limit lets them be.
pub fn high() -> i32 {
    let Some(limit) = limits() else { return HIGH as i32 };
    let soft = locked(|| match HELD.load(Relaxed) {
        0 => limit.rlim_cur,
        _ => BEFORE.load(Relaxed),
    });
    begin(soft, limit.rlim_max).try_into().unwrap_or(HIGH as i32)
}

/// While it lives, there is room for descriptors of ours, even if the program uses all that it may.
#[derive(Debug)]
pub struct Room(());

impl Room {
    /// Raises the limit, as far as that is allowed.
    pub fn make() -> Self {
        locked(|| {
            if let (0, Some(limit)) = (HELD.load(Relaxed), limits()) {
                let needed = begin(limit.rlim_cur, limit.rlim_max).saturating_add(COUNT);
                let raised = needed.min(limit.rlim_max).max(limit.rlim_cur);
                BEFORE.store(limit.rlim_cur, Relaxed);
                RAISED.store(raised, Relaxed);
                if raised != limit.rlim_cur {
                    set_soft(raised, limit.rlim_max);
                }
            }
            HELD.store(HELD.load(Relaxed) + 1, Relaxed);
        });
        Self(())
    }

    /// Of a forked child, which has one thread: gives up this room, which was held over the fork, and with it what other
    /// threads of the parent held.
    pub fn give_up_in_child(self) {
        BUSY.store(false, Relaxed);
        HELD.store(1, Relaxed);
        drop(self);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        locked(|| {
            let held = HELD.load(Relaxed) - 1;
            HELD.store(held, Relaxed);
            if held == 0 {
                put_back();
            }
        });
    }
}

/// Unless the program has set another limit meanwhile.
fn put_back() {
    let (before, raised) = (BEFORE.load(Relaxed), RAISED.load(Relaxed));
    if let Some(limit) = limits()
        && limit.rlim_cur == raised
        && before != raised
    {
        set_soft(before.min(limit.rlim_max), limit.rlim_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_begin_behind_what_the_program_may_use_where_that_is_allowed() {
        assert_eq!(begin(1024, 524_288), 1024);
        assert_eq!(begin(256, 524_288), 800);
        assert_eq!(begin(256, 512), 256);
        assert_eq!(begin(1024, 1024), 768);
        assert_eq!(begin(256, 256), 192);
        assert_eq!(begin(20_000, 20_000), 800);
        assert_eq!(begin(1 << 20, 1 << 20), 800);
        assert_eq!(begin(u64::MAX, u64::MAX), 800);
        assert_eq!(begin(0, 0), 0);
    }

    #[test]
    fn the_limit_is_what_it_was_when_nobody_needs_room() {
        let before = limits().unwrap().rlim_cur;
        let (one, other) = (Room::make(), Room::make());
        drop(one);
        drop(other);
        assert_eq!(limits().unwrap().rlim_cur, before);
    }
}
