//! Sections of the program: what is behind `farside/section.h`.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt::Display;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use farside_pager::cached::{Asked, Sections};
use farside_pager::held::LONGEST_NAME;
use farside_pager::service::Service;
use farside_pager::stop::{stop, stop_because};
use farside_sections::{
    AddError, Field, OpenError, PagerHost, Registry, RemotePtr, Section, SectionError, Shape,
    Structure, Uncounted, View,
};

use crate::{far, hint, sys, thread};

/// The version of [`View`] and [`Options`] that programs may have been compiled with at most.
const VERSION: c_int = 2;

/// The first in which a section can share the memory of another one.
const WITH_SHARING: c_int = 2;

pub static SECTIONS: Registry = Registry::new();

/// `struct farside_section_options`, as far as it is in all versions.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct Options {
    name: *const c_char,
    capacity: usize,
    line: usize,
    ways: c_uint,
    shared: c_int,
}

/// The same from [`WITH_SHARING`] on.
#[repr(C)]
struct SharingOptions {
    options: Options,
    with: *const View,
}

/// The number of the section whose memory a new one is to share: none, if that is plain memory.
///
/// # Safety
/// `options` lead to what they are in that version, and `with` of it to a section or nowhere.
unsafe fn shares_with(options: *const Options, version: c_int) -> Option<u32> {
    if version < WITH_SHARING {
        return None;
    }
    // SAFETY: what the caller says; both may be far memory.
    let with = unsafe { (*options.cast::<SharingOptions>()).with.as_ref() };
    with.map(|view| view.id).filter(|id| *id != 0)
}

fn structure_of(ways: c_uint) -> Structure {
    match ways {
        0 => Structure::Full,
        1 => Structure::Direct,
        ways => Structure::Set(ways),
    }
}

/// Most fields of a record.
const MOST_FIELDS: usize = 64;

/// What is asked of lines.
const FETCH: c_int = 1;
const FLUSH: c_int = 2;
const SOON: c_int = 3;
const WANT: c_int = 4;
const DONE: c_int = 5;

/// Which sections are caches.
static CACHED: OnceLock<Sections> = OnceLock::new();

/// By its number, where a section is shown among what sections held, counted from one.
static SHOWN: [AtomicU8; 256] = [const { AtomicU8::new(0) }; 256];

/// Decides from now on which sections are caches.
pub fn open(sections: Sections) {
    let _ = CACHED.set(sections);
}

/// Has what a section holds shown.
fn show(service: &Service, name: &Name, id: u32) {
    let at = service.pager().counters().held.enter(name.bytes(), 0, false);
    // Another section may have had this number, and been closed.
    SHOWN[id as usize].store(at.map_or(0, |at| at as u8 + 1), Relaxed);
}

/// Names of sections that could not be opened, as numbers; 0 where there is none yet.
static TOLD: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// A section's name, where looking at it fetches nothing.
struct Name {
    bytes: [u8; LONGEST_NAME],
    len: usize,
}

impl Name {
    /// # Safety
    /// `text` is null or a string.
    unsafe fn copy(text: *const c_char) -> Self {
        let mut name = Self { bytes: [0; LONGEST_NAME], len: 0 };
        if !text.is_null() {
            // SAFETY: the caller's string.
            let text = unsafe { CStr::from_ptr(text) }.to_bytes();
            name.len = text.len().min(LONGEST_NAME);
            name.bytes[..name.len].copy_from_slice(&text[..name.len]);
        }
        name
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Of sections that each thread has of its own, and that have one name, the first that is none is told of.
    fn complain(&self, why: &dyn Display) {
        if !self.is_told_first() {
            return;
        }
        let shown = String::from_utf8_lossy(&self.bytes[..self.len]);
        let text = format!("farside: no section \"{shown}\", its data is paged: {why}\n");
        sys::complain(&[&text]);
    }

    /// Takes note of a name. What has none, and what there is no more room to know of, is always told.
    fn is_told_first(&self) -> bool {
        let mut hasher = DefaultHasher::new();
        hasher.write(self.bytes());
        let hash = hasher.finish();
        let known =
            TOLD.iter().find_map(|told| match told.compare_exchange(0, hash, Relaxed, Relaxed) {
                Ok(_) => Some(false),
                Err(other) => (other == hash).then_some(true),
            });
        self.len == 0 || known != Some(true)
    }
}

/// Of the C interface: opens a section, and fills in how the program sees it.
///
/// # Safety
/// Both pointers lead to what they say, of this version; the name is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farside_section_open_(
    view: *mut View,
    options: *const Options,
    version: c_int,
) -> c_int {
    if view.is_null() || options.is_null() || !(1..=VERSION).contains(&version) {
        return fail(libc::EINVAL);
    }
    let Some(service) = far::service() else { return 0 };
    // SAFETY: the caller's options; they may be far memory, and are read before the pager is entered.
    let (options, name, with) =
        unsafe { (*options, Name::copy((*options).name), shares_with(options, version)) };
    let Ok(with) = with.map(u8::try_from).transpose() else { return fail(libc::EINVAL) };
    let structure = structure_of(options.ways);
    let shape = Shape { structure, line: options.line as u64, capacity: options.capacity as u64 };
    let opened = hint::act(|_| {
        let opened = SECTIONS.add(Box::new(PagerHost(service)), shape, with);
        if let Err(why) = &opened {
            name.complain(why);
        }
        Some(opened.map(|section| section.view(options.shared != 0)))
    });
    match opened {
        // In a signal handler inside the runtime.
        None => fail(libc::EBUSY),
        Some(Ok(filled)) => {
            show(service, &name, filled.id);
            // SAFETY: the caller's view.
            unsafe { view.write(filled) };
            0
        }
        Some(Err(AddError::TooMany)) => fail(libc::ENOSPC),
        Some(Err(AddError::Open(OpenError::Shape(_)) | AddError::Unknown(_))) => fail(libc::EINVAL),
        Some(Err(AddError::Open(_))) => fail(libc::ENOMEM),
    }
}

/// `struct farside_rt_asked` of compiler/runtime/sections.c.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct AskedView {
    name: *const c_char,
    capacity: u64,
    together: u64,
    holds: u64,
    paged: u64,
}

/// For compiled programs: whether a section holds no more than it has room for, and so can be plain memory.
///
/// # Safety
/// `asked` leads to what it says; the name is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farside_section_fits_(asked: *const AskedView) -> c_int {
    let (Some(service), Some(cached)) = (far::service(), CACHED.get()) else { return 0 };
    // SAFETY: the caller's; both may be far memory, and are read before the pager is entered.
    let (asked, name) = unsafe { (*asked, Name::copy((*asked).name)) };
    let counters = service.pager().counters();
    let AskedView { capacity, together, holds, paged, .. } = asked;
    let local = service.pager().limit_bytes();
    let fits = str::from_utf8(name.bytes())
        .ok()
        .and_then(|name| cached.fits(&Asked { name, capacity, together, holds, paged, local }));
    let Some(holds) = fits else { return 0 };
    counters.held.enter(name.bytes(), holds, true);
    1
}

/// Of the C interface: closes a section.
///
/// # Safety
/// No thread uses the section any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farside_section_close_(id: u32) -> c_int {
    let Ok(id) = u8::try_from(id) else { return fail(libc::EINVAL) };
    let closed = hint::act(|_| {
        // SAFETY: as the caller says.
        let result = unsafe { SECTIONS.remove(id) };
        if let Some(Err(error)) = &result {
            give_up(error);
        }
        result.is_some()
    });
    if closed { 0 } else { fail(libc::EINVAL) }
}

/// The calling thread, as sections know it.
fn this_thread() -> usize {
    // SAFETY: it only looks.
    unsafe { libc::pthread_self() as usize }
}

/// For compiled programs: opens a copy of section `id` for the calling thread, which only reads there, and fills in how the
/// thread sees it. Where there is no room for as much as is asked for, it gets the least that there can be, beyond the limit:
/// what it reads is nowhere else.
///
/// # Safety
/// Both pointers lead to what they say, of version 2.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farside_section_copy_(view: *mut View, options: *const Options, id: u32) {
    let (Some(service), Ok(id)) = (far::service(), u8::try_from(id)) else { return };
    // SAFETY: the caller's options; they may be far memory, and are read before the pager is entered.
    let options = unsafe { *options };
    let structure = structure_of(options.ways);
    let line = options.line as u64;
    let shape = Shape { structure, line, capacity: options.capacity as u64 };
    let least = Shape { capacity: line * u64::from(options.ways.max(1)), ..shape };
    let host = PagerHost(service);
    let filled = hint::act(|_| {
        let thread = this_thread();
        let copy = SECTIONS
            .add_copy(id, thread, Box::new(host), shape)
            .or_else(|_| SECTIONS.add_copy(id, thread, Box::new(Uncounted(host)), least))
            .unwrap_or_else(|error| {
                stop_because(&format_args!("a thread has no copy of section {id}: {error}"))
            });
        Some(copy.view(false))
    });
    match filled {
        // SAFETY: the caller's view.
        Some(filled) => unsafe { view.write(filled) },
        None => stop_because(&"a signal handler uses a section"),
    }
}

/// For compiled programs: the calling thread's copy of a section is to be as new as this call.
#[unsafe(no_mangle)]
pub extern "C" fn farside_section_renew_(id: u32) {
    let Ok(id) = u8::try_from(id) else { return };
    hint::act(|_| {
        // SAFETY: the thread that it is.
        if let Some(copy) = unsafe { SECTIONS.get_for(id, this_thread) } {
            copy.renew().unwrap_or_else(|error| give_up(&error));
        }
    });
}

/// For compiled programs: the calling thread has no copy of a section any more.
#[unsafe(no_mangle)]
pub extern "C" fn farside_section_copy_close_(id: u32) {
    let Ok(id) = u8::try_from(id) else { return };
    hint::act(|_| {
        SECTIONS.remove_copy(id, this_thread()).unwrap_or_else(|error| give_up(&error));
    });
}

/// Of the C interface: takes far memory in a section; 0 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn farside_section_alloc_(id: u32, size: usize, align: usize) -> u64 {
    let Some(section) = u8::try_from(id).ok().and_then(|id| SECTIONS.get(id)) else { return 0 };
    let block = hint::act(|_| section.allocate(size as u64, align as u64).map_or(0, |ptr| ptr.0));
    if let (Some(service), at @ 1..) =
        (far::service(), SHOWN[usize::from(section.id())].load(Relaxed))
    {
        service.pager().counters().held.note(usize::from(at) - 1, section.peak());
    }
    block
}

/// Of the C interface: gives far memory back.
#[unsafe(no_mangle)]
pub extern "C" fn farside_section_free_(pointer: u64) -> c_int {
    let (section, ptr) = section_of(pointer);
    hint::act(|_| section.free(ptr).unwrap_or_else(|error| give_up(&error)));
    0
}

/// Of the C interface: bytes of what was allocated; 0 if that is nothing.
#[unsafe(no_mangle)]
pub extern "C" fn farside_section_size_(pointer: u64) -> usize {
    let (section, ptr) = section_of(pointer);
    hint::act(|_| section.size(ptr).unwrap_or(0)) as usize
}

/// Of the C interface: the address of what is not here, or not known to be used.
#[unsafe(no_mangle)]
pub extern "C" fn farside_section_miss_(pointer: u64) -> *mut c_void {
    let (section, ptr) = section_of(pointer);
    let address = section
        .address_here(ptr)
        .unwrap_or_else(|| inside(|| section.address(ptr).unwrap_or_else(|error| give_up(&error))));
    address as *mut c_void
}

/// For compiled programs: the same if the line is here, and nobody has to be waited for; else null.
#[unsafe(no_mangle)]
pub extern "C" fn farside_section_here_(pointer: u64) -> *mut c_void {
    let (section, ptr) = section_of(pointer);
    section.address_here(ptr).unwrap_or(0) as *mut c_void
}

/// Of the C interface: as [`farside_section_miss_`], pinned; null if so many lines cannot be pinned.
#[unsafe(no_mangle)]
pub extern "C" fn farside_section_pin_(pointer: u64) -> *mut c_void {
    let (section, ptr) = section_of(pointer);
    let address = inside(|| match section.pin(ptr) {
        Ok(address) => address,
        Err(SectionError::Pinned(_)) => 0,
        Err(error) => give_up(&error),
    });
    if address == 0 {
        sys::set_errno(libc::ENOMEM);
    }
    address as *mut c_void
}

/// Of the C interface: fetches, flushes or gives up the lines of a range.
#[unsafe(no_mangle)]
pub extern "C" fn farside_section_do_(pointer: u64, size: usize, what: c_int) {
    let (section, ptr) = section_of(pointer);
    let size = size as u64;
    hint::act(|_| {
        let done = match what {
            FETCH => section.fetch(ptr, size),
            FLUSH => section.flush(ptr, size),
            SOON => section.evict_soon(ptr, size),
            WANT => section.want(&[ptr]),
            DONE => section.done_with(ptr, size),
            _ => Ok(()),
        };
        done.unwrap_or_else(|error| give_up(&error));
    });
}

/// Most pointers that are wanted in one go.
const MOST_WANTED: usize = 64;

/// Of the C interface: sends for the lines of pointers, which may be ones that nobody follows.
///
/// # Safety
/// `pointers` leads to `count` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farside_section_want_(pointers: *const u64, count: usize) {
    if pointers.is_null() {
        return;
    }
    let mut wanted = [RemotePtr(0); MOST_WANTED];
    let count = count.min(MOST_WANTED);
    for (at, wanted) in wanted[..count].iter_mut().enumerate() {
        // SAFETY: what the caller says; it may be far memory, and is read before the pager is entered.
        *wanted = RemotePtr(unsafe { *pointers.add(at) });
    }
    // Those of a section together, in their order.
    wanted[..count].sort_by_key(|ptr| ptr.id());
    hint::act(|_| {
        for some in wanted[..count].chunk_by(|one, next| one.id() == next.id()) {
            // SAFETY: the thread that it is.
            if let Some(section) = unsafe { SECTIONS.get_for(some[0].id(), this_thread) } {
                section.want(some).unwrap_or_else(|error| give_up(&error));
            }
        }
    });
}

/// For compiled programs: how long a line of section `id` takes that is sent for, in nanoseconds; 0 if that is not known.
#[unsafe(no_mangle)]
pub extern "C" fn farside_section_latency_(id: u32) -> u64 {
    let section = u8::try_from(id).ok().and_then(|id| SECTIONS.get(id));
    section.map_or(0, Section::latency_ns)
}

/// Of the C interface: only some fields of records come and go.
///
/// # Safety
/// `fields` leads to `count` fields. No other thread uses the section.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farside_section_select_(
    id: u32,
    record: u32,
    fields: *const [u32; 2],
    count: usize,
) -> c_int {
    let Some(section) = u8::try_from(id).ok().and_then(|id| SECTIONS.get(id)) else {
        return fail(libc::EINVAL);
    };
    if count > MOST_FIELDS {
        return fail(libc::EINVAL);
    }
    let mut known = [Field { start: 0, len: 0 }; MOST_FIELDS];
    for (i, known) in known.iter_mut().enumerate().take(count) {
        // SAFETY: the caller's list is that long. It may be far memory.
        let [start, len] = unsafe { fields.add(i).read() };
        *known = Field { start, len };
    }
    let known = &known[..count];
    let selected = hint::act(|_| {
        Some(match section.select(record, known) {
            Ok(Ok(())) => 0,
            Ok(Err(_)) => libc::EINVAL,
            Err(SectionError::Pinned(_)) => libc::EBUSY,
            Err(error) => give_up(&error),
        })
    });
    match selected {
        Some(0) => 0,
        Some(errno) => fail(errno),
        None => fail(libc::EBUSY),
    }
}

/// The section of a pointer, as the calling thread has it; the program ends if there is none.
fn section_of(pointer: u64) -> (&'static Section, RemotePtr) {
    let ptr = RemotePtr(pointer);
    // SAFETY: the thread that it is.
    match unsafe { SECTIONS.get_for(ptr.id(), this_thread) } {
        Some(section) => (section, ptr),
        None => stop_because(&format_args!(
            "a remote pointer leads to section {}, and there is none of this number",
            ptr.id()
        )),
    }
}

/// Acts as a part of the runtime; a signal handler that interrupted it has no way to wait.
fn inside(act: impl FnOnce() -> usize) -> usize {
    if thread::in_runtime() {
        stop_because(&"a signal handler uses a section");
    }
    hint::act(|_| act())
}

/// The program cannot go on.
pub fn give_up(error: &SectionError) -> ! {
    match error {
        SectionError::Far(error) => stop(error),
        error => stop_because(error),
    }
}

/// Prepares for a fork: what is on its way arrives.
pub fn before_fork() {
    for section in SECTIONS.all() {
        section.before_fork().unwrap_or_else(|error| give_up(&error));
    }
}

fn fail(errno: c_int) -> c_int {
    sys::set_errno(errno);
    -1
}
