//! UCX as this process has it, and the workers made of it.

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, PoisonError};

use super::ffi::{self, Calls, Status};
use super::space::Space;

/// The oldest version that will do: its active messages are those that are used here.
const LEAST: (u32, u32) = (1, 11);

/// The one kind of active message.
pub const MESSAGE: u32 = 1;

/// UCX, and a context in it.
pub struct Library {
    space: Space,
    pub calls: Calls,
    context: ffi::Context,
}

// SAFETY: the context was made for workers of several threads; workers themselves are made one at a time.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// The process that has loaded the library, and what it has loaded. A forked child has to load its own.
static LOADED: Mutex<Option<(u32, &'static Library)>> = Mutex::new(None);

/// UCX, loaded if this process has not done so yet.
///
/// # Errors
/// If it is not installed, or too old, or finds nothing that it could use.
pub fn library() -> io::Result<&'static Library> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((of, library)) = *loaded
        && of == process
    {
        return Ok(library);
    }
    let library = Library::load().map_err(io::Error::other)?;
    let library: &'static Library = Box::leak(Box::new(library));
    *loaded = Some((process, library));
    Ok(library)
}

impl Library {
    fn load() -> Result<Self, String> {
        let space = Space::load()?;
        let calls = Calls::find(|name| space.find(name))
            .map_err(|name| format!("the installed UCX is of another make: it has no {name}"))?;
        let mut version = [0; 3];
        let [major, minor, release] = &mut version;
        // SAFETY: there is room for three numbers.
        unsafe { (calls.ucp_get_version)(major, minor, release) };
        if (version[0], version[1]) < LEAST || version[0] != LEAST.0 {
            let [major, minor, release] = version;
            let (of, least) = LEAST;
            return Err(format!(
                "the installed UCX is version {major}.{minor}.{release}; needed is {of}.{least} or a later {of}"
            ));
        }
        let mut library = Self { space, calls, context: null_mut() };
        library.enter();
        library.open()?;
        // Opening has loaded what the devices of this machine need.
        library.space.settle();
        Ok(library)
    }

    fn open(&mut self) -> Result<(), String> {
        let mut config = null_mut();
        // SAFETY: the pointers are valid, and null where that stands for what is usual.
        let read = unsafe { (self.calls.ucp_config_read)(null(), null(), &mut config) };
        self.check(read).map_err(|error| format!("UCX's settings: {error}"))?;
        // SAFETY: all fields may be zero; those that count are set and named.
        let mut parameters: ffi::Params = unsafe { std::mem::zeroed() };
        parameters.field_mask = ffi::PARAM_FEATURES | ffi::PARAM_MT_WORKERS_SHARED;
        parameters.features = ffi::FEATURE_AM | ffi::FEATURE_WAKEUP;
        parameters.mt_workers_shared = 1;
        let (major, minor) = LEAST;
        let calls = &self.calls;
        // SAFETY: the settings were read, and are given back once the context has taken what it wants.
        let made = unsafe {
            let made =
                (calls.ucp_init_version)(major, minor, &parameters, config, &mut self.context);
            (calls.ucp_config_release)(config);
            made
        };
        self.check(made).map_err(|error| format!("UCX finds nothing to use: {error}"))
    }

    /// To be called by a thread before it calls UCX.
    pub fn enter(&self) {
        self.space.enter();
    }

    /// What a status is called.
    pub fn name(&self, status: Status) -> String {
        // SAFETY: the string is a constant of the library's.
        let name = unsafe { CStr::from_ptr((self.calls.ucs_status_string)(status)) };
        name.to_string_lossy().into_owned()
    }

    /// The error that a status is, if it is one.
    pub fn check(&self, status: Status) -> io::Result<()> {
        if status >= 0 { Ok(()) } else { Err(io::Error::other(self.name(status))) }
    }
}

/// A worker: what makes progress when it is told to, by one thread at a time.
pub struct Worker {
    pub library: &'static Library,
    pub handle: ffi::Worker,
    efd: c_int,
    process: u32,
}

// SAFETY: workers are made for several threads, one at a time, which is seen to by a lock around whatever has one.
unsafe impl Send for Worker {}

impl Worker {
    /// A worker of this process's library, which is not to be made while another one is.
    ///
    /// # Errors
    /// If there is no library, or the machine has no more of what a worker needs.
    pub fn new() -> io::Result<Self> {
        let library = library()?;
        library.enter();
        // SAFETY: all fields may be zero; those that count are set and named.
        let mut parameters: ffi::WorkerParams = unsafe { std::mem::zeroed() };
        parameters.field_mask = ffi::WORKER_PARAM_THREAD_MODE | ffi::WORKER_PARAM_FLAGS;
        parameters.thread_mode = ffi::THREAD_MODE_SERIALIZED;
        parameters.flags = ffi::WORKER_IGNORE_REQUEST_LEAK;
        let mut handle = null_mut();
        let calls = &library.calls;
        // SAFETY: the context lives as long as the process.
        let made = unsafe { (calls.ucp_worker_create)(library.context, &parameters, &mut handle) };
        library.check(made)?;
        let mut worker = Self { library, handle, efd: -1, process: std::process::id() };
        // SAFETY: the worker is live, and there is room for the descriptor.
        library.check(unsafe { (calls.ucp_worker_get_efd)(handle, &mut worker.efd) })?;
        Ok(worker)
    }

    /// Has `callback` called with `argument` for each message that arrives.
    ///
    /// # Safety
    /// Whatever the argument points to lives as long as the worker.
    pub unsafe fn receive_by(
        &self,
        callback: ffi::AmCallback,
        argument: *mut c_void,
    ) -> io::Result<()> {
        let parameters = ffi::AmHandlerParam {
            field_mask: ffi::AM_HANDLER_PARAM_ID
                | ffi::AM_HANDLER_PARAM_CB
                | ffi::AM_HANDLER_PARAM_ARG,
            id: MESSAGE,
            flags: 0,
            cb: Some(callback),
            arg: argument,
        };
        let calls = &self.library.calls;
        // SAFETY: the caller's contract.
        let set = unsafe { (calls.ucp_worker_set_am_recv_handler)(self.handle, &parameters) };
        self.library.check(set)
    }

    /// Lets the worker do what there is to do; returns whether there was anything.
    pub fn progress(&self) -> bool {
        // SAFETY: the worker is live, and whoever has it has locked it.
        unsafe { (self.library.calls.ucp_worker_progress)(self.handle) != 0 }
    }

    /// Has the descriptor become readable at the next event; false if there is something to do already.
    pub fn arm(&self) -> bool {
        // SAFETY: as above.
        unsafe { (self.library.calls.ucp_worker_arm)(self.handle) == ffi::OK }
    }

    /// Wakes who waits for the descriptor.
    pub fn signal(&self) {
        // It cannot fail but for want of the descriptor.
        // SAFETY: as above.
        let _ = unsafe { (self.library.calls.ucp_worker_signal)(self.handle) };
    }

    /// The descriptor that tells of events.
    pub fn descriptor(&self) -> BorrowedFd<'static> {
        // SAFETY: it is open as long as the worker lives; who waits for it in vain comes back at its deadline.
        unsafe { BorrowedFd::borrow_raw(self.efd) }
    }

    /// Whether the worker is this process's, and not that of the parent which it was forked from.
    pub fn is_own(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.is_own() {
            self.library.enter();
            // SAFETY: nobody else has it any more.
            unsafe { (self.library.calls.ucp_worker_destroy)(self.handle) };
        }
    }
}
