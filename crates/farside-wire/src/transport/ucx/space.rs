//! UCX in a space of its own.
//!
//! UCX is loaded with a C library of its own (`dlmopen`), beside whatever it is loaded into, which may be a program that
//! nobody prepared for it. So its memory comes from an allocator of its own, and never from the program's; it reads an
//! environment of its own; what it replaces when it finds it (functions that map memory, handlers of signals) is its
//! own; and a forked process, in which the threads of its parent's copy are gone, loads another one.
//!
//! Threads come from [`threads`](super::threads), and descriptors pass through [`descriptors`](super::descriptors).
//! Nothing is ever unloaded, and nothing of it is run when the program
//! ends, because the program's own last steps may still need its pages.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use farside_os::memory::{PAGE, protect};

use super::{descriptors, environment, threads};

const LMID: c_int = libc::RTLD_DI_LMID;
const LINK_MAP: c_int = 2;

/// What is set for UCX whatever the environment says: nothing is to be replaced, handled or watched in the process that
/// it is loaded into.
const FORCED: [(&CStr, &CStr); 7] = [
    (c"UCX_HANDLE_ERRORS", c"none"),
    (c"UCX_MEM_EVENTS", c"n"),
    (c"UCX_MEMTYPE_CACHE", c"n"),
    (c"UCX_RCACHE_ENABLE", c"n"),
    (c"UCX_VFS_ENABLE", c"n"),
    (c"UCX_WARN_UNUSED_ENV_VARS", c"n"),
    (c"UCX_LOG_FILE", c"stderr"),
];

/// What is set unless the environment says something else. Shared memory tells of peers that are gone only if asked to.
const PREFERRED: [(&CStr, &CStr); 3] = [
    (c"UCX_LOG_LEVEL", c"fatal"),
    (c"UCX_POSIX_ERROR_HANDLING", c"y"),
    (c"UCX_SYSV_ERROR_HANDLING", c"y"),
];

/// The package that has the library, for those that do not.
const MISSING: &str = "UCX is not installed (Debian, Ubuntu: libucx0; Fedora, RHEL: ucx)";

/// Libraries beside those of the process.
pub struct Space {
    libc: *mut c_void,
    ucp: *mut c_void,
    start_thread: Option<unsafe extern "C" fn()>,
}

// SAFETY: handles of libraries that stay loaded may be used by all threads.
unsafe impl Send for Space {}
// SAFETY: as above.
unsafe impl Sync for Space {}

fn why() -> String {
    // SAFETY: the string, if there is one, is this thread's until its next call.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            return "no reason is given".into();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}

impl Space {
    /// Loads UCX.
    ///
    /// # Errors
    /// A line for the user.
    pub fn load() -> Result<Self, String> {
        let flags = libc::RTLD_NOW | libc::RTLD_LOCAL;
        // SAFETY: initialisers of the C library only set up the library. The program has not begun, or this process has
        // just been forked and has no other thread.
        let libc = unsafe {
            let name = c"libc.so.6".as_ptr();
            environment::with_kept(|| libc::dlmopen(libc::LM_ID_NEWLM, name, flags))
        };
        if libc.is_null() {
            return Err(format!("UCX cannot be loaded once more: {}", why()));
        }
        let mut space = Self { libc, ucp: std::ptr::null_mut(), start_thread: None };
        space.prepare_environment()?;
        let mut id: libc::Lmid_t = 0;
        // SAFETY: the handle is open, and there is room for the answer.
        if unsafe { libc::dlinfo(libc, LMID, (&raw mut id).cast()) } != 0 {
            return Err(why());
        }
        threads::Carriers::install();
        descriptors::install(|name| space.find_in(libc, name))
            .map_err(|name| format!("the C library has no {name}"))?;
        // SAFETY: its initialisers find a C library and an environment of their own, with nothing to do in the process.
        space.ucp = unsafe { libc::dlmopen(id, c"libucp.so.0".as_ptr(), flags) };
        if space.ucp.is_null() {
            return Err(format!("{MISSING}: {}", why()));
        }
        let start = space.find_in(libc, "__ctype_init");
        // SAFETY: the C library's function of this name has this type.
        space.start_thread = (!start.is_null())
            .then(|| unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn()>(start) });
        space.settle();
        Ok(space)
    }

    fn prepare_environment(&self) -> Result<(), String> {
        type SetEnv = unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> c_int;
        let setenv = self.find_in(self.libc, "setenv");
        if setenv.is_null() {
            return Err("the C library has no environment".into());
        }
        // SAFETY: the C library's function of this name has this type; the environment that it changes is that of the
        // space, which nobody else knows yet.
        unsafe {
            let setenv = std::mem::transmute::<*mut c_void, SetEnv>(setenv);
            for (all, overwrite) in [(&FORCED[..], 1), (&PREFERRED[..], 0)] {
                for (name, value) in all {
                    setenv(name.as_ptr(), value.as_ptr(), overwrite);
                }
            }
        }
        Ok(())
    }

    fn find_in(&self, handle: *mut c_void, name: &str) -> *mut c_void {
        let Ok(name) = CString::new(name) else { return std::ptr::null_mut() };
        // SAFETY: the handle is open and the name ends in a zero byte.
        unsafe { libc::dlsym(handle, name.as_ptr()) }
    }

    /// A function of UCX; null if it has none of that name.
    pub fn find(&self, name: &str) -> *mut c_void {
        self.find_in(self.ucp, name)
    }

    /// To be called by a thread before it calls UCX: the thread is none of the space's C library, which keeps some
    /// tables by thread that it sets up only for its own.
    pub fn enter(&self) {
        if let Some(start) = self.start_thread {
            // SAFETY: it sets three pointers that belong to the calling thread.
            unsafe { start() };
        }
    }

    /// Makes what has been loaded so far a part of the space: its threads come from us, and it does nothing at the end of
    /// the process. What UCX loads later is to be settled, too.
    pub fn settle(&self) {
        let mut map: *mut LinkMap = std::ptr::null_mut();
        // SAFETY: the handle is open, and there is room for the answer. The loader's list of libraries changes only when
        // something is loaded into the space, which nobody else does now.
        unsafe {
            if libc::dlinfo(self.libc, LINK_MAP, (&raw mut map).cast()) != 0 {
                return;
            }
            while let Some(before) = (*map).prev.as_mut() {
                map = before;
            }
            while let Some(library) = map.as_ref() {
                settle(library);
                map = library.next;
            }
        }
    }
}

/// `struct link_map`, as `<link.h>` has it.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: *mut Entry,
    next: *mut LinkMap,
    prev: *mut LinkMap,
}

/// An entry of a dynamic section.
#[repr(C)]
struct Entry {
    tag: i64,
    value: usize,
}

const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;
const DT_FINI_ARRAYSZ: i64 = 28;

/// Kinds of references that hold the address of a function.
#[cfg(target_arch = "x86_64")]
const ADDRESSES: [u64; 3] = [1, 6, 7];
#[cfg(target_arch = "aarch64")]
const ADDRESSES: [u64; 3] = [257, 1025, 1026];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ADDRESSES: [u64; 0] = [];

/// What stands in for a function of the space's C library. Values that are kept by thread lie in a table that all C
/// libraries of a process share, so that one library has to number them.
fn substitute(name: &CStr) -> Option<usize> {
    Some(match name.to_bytes() {
        b"pthread_create" => threads::create as *const () as usize,
        b"pthread_join" => threads::join as *const () as usize,
        b"pthread_setname_np" => threads::set_name as *const () as usize,
        b"pthread_key_create" => libc::pthread_key_create as *const () as usize,
        b"pthread_key_delete" => libc::pthread_key_delete as *const () as usize,
        b"pthread_getspecific" => libc::pthread_getspecific as *const () as usize,
        b"pthread_setspecific" => libc::pthread_setspecific as *const () as usize,
        b"socket" => descriptors::socket as *const () as usize,
        b"accept" => descriptors::accept as *const () as usize,
        b"close" => descriptors::close as *const () as usize,
        b"pipe" => descriptors::pipe as *const () as usize,
        b"epoll_create" => descriptors::epoll_create as *const () as usize,
        b"eventfd" => descriptors::eventfd as *const () as usize,
        b"timerfd_create" => descriptors::timerfd_create as *const () as usize,
        _ => return None,
    })
}

/// Writes a word where the loader may have taken away the right to write.
///
/// # Safety
/// There is such a word, and nobody else uses it now.
unsafe fn put(at: *mut usize, value: usize) {
    let page = at as usize & !(PAGE - 1);
    let write = libc::PROT_READ | libc::PROT_WRITE;
    if protect(page, PAGE, write, "a table of UCX").is_ok() {
        // SAFETY: the word is there, can be written now, and is nobody else's.
        unsafe { at.write(value) };
    }
}

/// # Safety
/// The library is loaded, and nobody runs anything of it now.
unsafe fn settle(library: &LinkMap) {
    let (mut symbols, mut names) =
        (std::ptr::null::<libc::Elf64_Sym>(), std::ptr::null::<c_char>());
    let mut references = [(0, 0), (0, 0)];
    let mut entry = library.dynamic;
    // SAFETY: the loader has read the section, made its addresses absolute, and found its end.
    unsafe {
        while let Some(Entry { tag, value }) = entry.as_mut().filter(|entry| entry.tag != 0) {
            match *tag {
                DT_SYMTAB => symbols = *value as *const _,
                DT_STRTAB => names = *value as *const _,
                DT_RELA => references[0].0 = *value,
                DT_RELASZ => references[0].1 = *value,
                DT_JMPREL => references[1].0 = *value,
                DT_PLTRELSZ => references[1].1 = *value,
                DT_FINI_ARRAYSZ if *value != 0 => put(value, 0),
                _ => {}
            }
            entry = entry.add(1);
        }
    }
    if symbols.is_null() || names.is_null() {
        return;
    }
    for (at, len) in references.into_iter().filter(|(at, _)| *at != 0) {
        let count = len / size_of::<libc::Elf64_Rela>();
        // SAFETY: the section says that there are so many, and the loader has read them.
        let all = unsafe { std::slice::from_raw_parts(at as *const libc::Elf64_Rela, count) };
        for reference in all {
            let (kind, symbol) = (reference.r_info & 0xffff_ffff, reference.r_info >> 32);
            if symbol == 0 || !ADDRESSES.contains(&kind) {
                continue;
            }
            // SAFETY: a reference names a symbol that the library has, and a place in it that holds an address.
            unsafe {
                let name =
                    CStr::from_ptr(names.add((*symbols.add(symbol as usize)).st_name as usize));
                let place = (library.base + reference.r_offset as usize) as *mut usize;
                if let Some(other) = substitute(name).filter(|other| *place != *other) {
                    put(place, other);
                }
            }
        }
    }
}
