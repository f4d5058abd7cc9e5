//! The threads that UCX asks for.
//!
//! They are made here and not by the C library that was loaded with UCX: so they are threads of whatever this code is
//! part of, with no memory but local memory where that matters, and without signals. That library could not do it
//! well, either: it frees what the loader has kept for a thread whose stack it takes again, which is not its to free.

use std::ffi::{c_char, c_int, c_void};
use std::os::unix::thread::JoinHandleExt;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use farside_os::thread::{block_signals, restore_signals};

type Routine = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// What a thread is to do.
struct Job {
    routine: Routine,
    argument: *mut c_void,
    done: Mutex<bool>,
    changed: Condvar,
}

// SAFETY: the argument is handed from one thread to another, as UCX means it to be.
unsafe impl Send for Job {}
// SAFETY: the rest is shared under its lock.
unsafe impl Sync for Job {}

/// A thread, and how it is given something to do.
struct Carrier {
    thread: libc::pthread_t,
    jobs: Sender<Arc<Job>>,
    /// What it does now.
    job: Option<Arc<Job>>,
}

/// The threads of one copy of UCX. They are used again, since UCX ends its thread with the last connection and makes it
/// anew with the next.
#[derive(Default)]
pub struct Carriers {
    all: Mutex<Vec<Carrier>>,
}

/// Those of the copy that this process uses: a forked child has another one than its parent.
static CURRENT: AtomicPtr<Carriers> = AtomicPtr::new(std::ptr::null_mut());

impl Carriers {
    /// Those that are to serve from now on.
    pub fn install() {
        CURRENT.store(Box::into_raw(Box::default()), Ordering::Release);
    }

    fn start(&self, job: Arc<Job>) -> Option<libc::pthread_t> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(idle) = all.iter_mut().find(|carrier| carrier.job.is_none()) {
            idle.job = Some(Arc::clone(&job));
            return idle.jobs.send(job).is_ok().then_some(idle.thread);
        }
        let (jobs, next) = channel::<Arc<Job>>();
        let carrying = move || {
            for job in next {
                // SAFETY: UCX asked for this.
                unsafe { (job.routine)(job.argument) };
                *job.done.lock().unwrap_or_else(PoisonError::into_inner) = true;
                job.changed.notify_all();
            }
        };
        let signals = block_signals();
        let spawned = std::thread::Builder::new().name("farside-ucx".into()).spawn(carrying);
        restore_signals(&signals);
        let thread = spawned.ok()?.into_pthread_t();
        jobs.send(Arc::clone(&job)).ok()?;
        all.push(Carrier { thread, jobs, job: Some(job) });
        Some(thread)
    }

    fn finish(&self, thread: libc::pthread_t) -> bool {
        let job = {
            let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
            all.iter().find(|carrier| carrier.thread == thread).and_then(|found| found.job.clone())
        };
        let Some(job) = job else { return false };
        let mut done = job.done.lock().unwrap_or_else(PoisonError::into_inner);
        while !*done {
            done = job.changed.wait(done).unwrap_or_else(PoisonError::into_inner);
        }
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(carrier) = all.iter_mut().find(|carrier| carrier.thread == thread) {
            carrier.job = None;
        }
        true
    }
}

fn current() -> Option<&'static Carriers> {
    // SAFETY: it is null or was leaked.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

/// Stands for `pthread_create` in UCX. Its threads have no attributes of their own.
///
/// # Safety
/// As `pthread_create`.
pub unsafe extern "C" fn create(
    thread: *mut libc::pthread_t,
    _attributes: *const libc::pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    let job = Job { routine, argument, done: Mutex::new(false), changed: Condvar::new() };
    match current().and_then(|carriers| carriers.start(Arc::new(job))) {
        // SAFETY: the caller has room for it.
        Some(started) => unsafe {
            *thread = started;
            0
        },
        None => libc::EAGAIN,
    }
}

/// Stands for `pthread_join` in UCX, which does not look at what its threads return.
///
/// # Safety
/// As `pthread_join`.
pub unsafe extern "C" fn join(thread: libc::pthread_t, _result: *mut *mut c_void) -> c_int {
    match current().map(|carriers| carriers.finish(thread)) {
        Some(true) => 0,
        _ => libc::ESRCH,
    }
}

/// Stands for `pthread_setname_np` in UCX: its threads keep the name by which they are known as ours.
///
/// # Safety
/// As `pthread_setname_np`.
pub unsafe extern "C" fn set_name(_thread: libc::pthread_t, _name: *const c_char) -> c_int {
    0
}
