//! Processes that may do nothing but compute.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::error::check;
use crate::{OsError, Result, last_errno};

const SUBJECT: &str = "a process that is shut in";

/// A child process, which is killed when this is dropped before it ended.
#[derive(Debug)]
pub struct Child {
    pid: libc::pid_t,
    handle: OwnedFd,
    ended: bool,
}

/// How a child ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It did not; the time was over.
    Late,
    /// It did not; whoever waits for it is gone.
    Forsaken,
}

/// Makes a copy of this process: in it, runs `work` and ends with the code that this returns.
///
/// # Errors
/// If there can be no more processes.
///
/// # Safety
/// `work` takes no locks that other threads may have at this moment, and so allocates nothing: in the copy they are never
/// released.
pub unsafe fn fork(work: impl FnOnce() -> i32) -> Result<Child> {
    // SAFETY: what the copy does is up to the caller.
    let pid = check(i64::from(unsafe { libc::fork() }), "fork", SUBJECT)? as libc::pid_t;
    if pid == 0 {
        let code = work();
        // SAFETY: ends the copy without what the original does at its end.
        unsafe { libc::_exit(code) };
    }
    // SAFETY: plain system call; the child was not waited for, so that its number is its own.
    let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    match check(handle, "pidfd_open", SUBJECT) {
        Ok(fd) => {
            // SAFETY: a fresh descriptor that nobody else owns.
            let handle = unsafe { OwnedFd::from_raw_fd(fd as i32) };
            Ok(Child { pid, handle, ended: false })
        }
        Err(error) => {
            kill_and_reap(pid);
            Err(error)
        }
    }
}

fn kill_and_reap(pid: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: the child was not waited for yet; the status is valid for writes.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        while libc::waitpid(pid, &raw mut status, 0) < 0 && last_errno() == libc::EINTR {}
    }
    status
}

impl Child {
    /// Waits until it ends, but no longer than `most`, and no longer than somebody is at the other end of `master`. Unless
    /// it ended it is killed.
    ///
    /// # Errors
    /// If it cannot be waited for.
    pub fn wait(mut self, most: Duration, master: BorrowedFd<'_>) -> Result<End> {
        let deadline = crate::thread::now_ns().saturating_add(most.as_nanos() as u64);
        loop {
            let left = deadline.saturating_sub(crate::thread::now_ns()).div_ceil(1_000_000);
            let mut polled = [
                libc::pollfd { fd: self.handle.as_raw_fd(), events: libc::POLLIN, revents: 0 },
                libc::pollfd { fd: master.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 },
            ];
            // SAFETY: the array is valid for reads and writes of its length.
            let n = unsafe { libc::poll(polled.as_mut_ptr(), 2, left.min(60_000) as i32) };
            if n < 0 && last_errno() != libc::EINTR {
                return Err(OsError::last("poll", SUBJECT));
            }
            if polled[0].revents != 0 {
                self.ended = true;
                return Ok(self.reap());
            }
            if n > 0 && polled[1].revents != 0 {
                return Ok(End::Forsaken);
            }
            if crate::thread::now_ns() >= deadline {
                return Ok(End::Late);
            }
        }
    }

    fn reap(&self) -> End {
        let mut status = 0;
        // SAFETY: the child ended and was not waited for yet; the status is valid for writes.
        unsafe {
            while libc::waitpid(self.pid, &raw mut status, 0) < 0 && last_errno() == libc::EINTR {}
        }
        if libc::WIFSIGNALED(status) {
            End::Killed(libc::WTERMSIG(status))
        } else {
            End::Exited(libc::WEXITSTATUS(status))
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.ended {
            kill_and_reap(self.pid);
        }
    }
}

/// Faults end this process, whoever wanted to hear of them before.
pub fn forget_handlers() {
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
        // SAFETY: what the kernel does by default needs no handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Closes all descriptors.
///
/// # Errors
/// From kernels before 5.9.
pub fn close_all() -> Result<()> {
    // SAFETY: closes what only this process, which is shut in from now on, could use.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0) };
    check(result, "close_range", SUBJECT).map(drop)
}

/// Leaves no trace of how this process ends, and ends it when it has used so many seconds of a processor.
///
/// # Errors
/// If the kernel refuses.
pub fn bound_time(seconds: u64) -> Result<()> {
    for (what, most) in [(libc::RLIMIT_CORE, 0), (libc::RLIMIT_CPU, seconds)] {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the limit is valid for reads.
        let result = unsafe { libc::setrlimit(what, &raw const limit) };
        check(i64::from(result), "setrlimit", SUBJECT)?;
    }
    Ok(())
}

/// One instruction of a filter.
const fn step(code: u32, jump: (u8, u8), value: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: jump.0, jf: jump.1, k: value }
}

/// The machine whose system calls a filter knows, as the kernel's audit names it.
#[cfg(target_arch = "x86_64")]
const MACHINE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const MACHINE: u32 = 0xc000_00b7;

/// From now on this process can end, and make no other system call: the kernel ends it if it tries.
///
/// # Errors
/// If the kernel has no filters.
pub fn shut_in() -> Result<()> {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    // Offsets in `struct seccomp_data`: the call's number, and the machine that it is meant for.
    let mut filter = [
        step(LOAD, (0, 0), 4),
        step(EQUAL, (0, 3), MACHINE),
        step(LOAD, (0, 0), 0),
        step(EQUAL, (2, 0), libc::SYS_exit_group as u32),
        step(EQUAL, (1, 0), libc::SYS_exit as u32),
        step(RETURN, (0, 0), libc::SECCOMP_RET_KILL_PROCESS),
        step(RETURN, (0, 0), libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: takes no pointers.
    let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    check(i64::from(result), "prctl", SUBJECT)?;
    // SAFETY: the program and its instructions are valid for reads.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program)
    };
    check(result, "seccomp", SUBJECT).map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    /// Runs `work` in a process of its own; nothing in it may take locks that other tests hold.
    fn run(work: impl FnOnce() -> i32, most: Duration) -> End {
        let (ours, _theirs) = crate::socket::pair().expect("there are sockets");
        // SAFETY: the copy takes no locks: it neither allocates nor prints.
        let child = unsafe { fork(work) }.expect("there are processes");
        child.wait(most, ours.as_fd()).expect("it is waited for")
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_is_shut_in_can_only_end() {
        let shut = || i32::from(shut_in().is_err());
        assert_eq!(run(|| if shut() == 0 { 7 } else { 1 }, LONG), End::Exited(7));
        let asks = || {
            shut();
            // SAFETY: asks for the own number.
            unsafe { libc::getppid() }
        };
        assert_eq!(run(asks, LONG), End::Killed(libc::SIGSYS));
    }

    #[test]
    fn who_takes_too_long_is_ended() {
        let hangs = || loop {
            std::hint::spin_loop();
        };
        assert_eq!(run(hangs, Duration::from_millis(20)), End::Late);
        let busy = || {
            if bound_time(1).is_err() {
                return 1;
            }
            loop {
                std::hint::spin_loop();
            }
        };
        assert_eq!(run(busy, LONG), End::Killed(libc::SIGKILL));
    }

    #[test]
    fn who_is_forsaken_is_ended() {
        let (ours, theirs) = crate::socket::pair().expect("there are sockets");
        let hangs = || loop {
            std::hint::spin_loop();
        };
        // SAFETY: the copy takes no locks.
        let child = unsafe { fork(hangs) }.expect("there are processes");
        // The copy has this one, too, but ends with it.
        drop(theirs);
        let end = child.wait(Duration::from_millis(200), ours.as_fd()).expect("it is waited for");
        assert!(matches!(end, End::Forsaken | End::Late), "{end:?}");
    }
}
