//! Functions of the program that can run where their data is: what is behind the calls that the compiler puts in their
//! place (`compiler/lib/Offload`).

use std::ffi::{CStr, c_char, c_void};
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU64};

use farside_far::{Offload, OffloadError, Place, RemoteCall};
use farside_os::thread::now_ns;
use farside_pager::counters::Counters;
use farside_pager::service::Service;
use farside_pager::settings::Offloading;
use farside_sections::{Experience, RemotePtr, Side};

use crate::section::SECTIONS;
use crate::{hint, sys, thread};

/// For the code that asks: the program is to run the function itself, and it does not matter how long that takes. 0 is
/// that it need not, and greater numbers are times at which it starts.
const HERE: u64 = 1;

/// Most bytes of arguments, and of what is left.
const MOST_VALUES: u64 = 1 << 20;

/// Most sections that are known to one unit.
const MOST_SECTIONS: u32 = 255;

/// Most reasons that the user is told of.
const MOST_TOLD: usize = 8;

/// Longest time that a function may take there: so many times what it took here, and within these bounds, in milliseconds.
const MOST_SLOWER: u64 = 10;
const LEAST_MS: u64 = 10_000;
const MOST_MS: u64 = 600_000;

/// `struct farside_rt_offload` of compiler/runtime/sections.c.
#[repr(C)]
pub struct Offloaded {
    code: *const c_void,
    code_size: u64,
    name: *const c_char,
    sections: *const *const SectionView,
    section_count: u32,
    entry: u32,
    input: u64,
    output: u64,
    /// Which of [`Known::functions`] it is, counted from one; 0 before it was called.
    handle: AtomicU64,
}

/// As much of `struct farside_section` as is looked at.
type SectionView = farside_sections::View;

/// What is known of functions and of the code that they are in.
struct Known {
    functions: Vec<Function>,
    /// By where the program has it, the number of what was loaded, or why it cannot be run there.
    images: Vec<(usize, Result<u32, OffloadError>)>,
    /// Reasons that the user was told of.
    told: Vec<String>,
}

struct Function {
    name: String,
    experience: Experience,
    /// Longest time that it took here.
    here_ns: u64,
}

static KNOWN: Mutex<Known> =
    Mutex::new(Known { functions: Vec::new(), images: Vec::new(), told: Vec::new() });

static WHEN: AtomicU8 = AtomicU8::new(0);

/// Functions run there as the user wants.
pub fn open(when: Offloading) {
    WHEN.store(when as u8, Relaxed);
}

/// Does something with what is known; `None` if another thread does.
fn with_known<R>(act: impl FnOnce(&mut Known) -> R) -> Option<R> {
    KNOWN.try_lock().ok().map(|mut known| act(&mut known))
}

/// A call, taken apart where the program's memory may be looked at.
struct Asked {
    code: &'static [u8],
    handle: usize,
    ids: Vec<u8>,
    entry: u32,
    input: Vec<u8>,
    output: Vec<u8>,
}

/// Of compiled programs: runs a function where its data is, and fills in what it leaves. Returns 0 if it did. Else the
/// program is to run it, and to say so to [`farside_offload_ran_here_`].
///
/// # Safety
/// `what` describes the function, and stays; `input` and `output` have as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farside_offload_(
    what: *const Offloaded,
    input: *const u8,
    output: *mut u8,
) -> u64 {
    let when = WHEN.load(Relaxed);
    if when == Offloading::Never as u8 || thread::in_runtime() || what.is_null() {
        return HERE;
    }
    // SAFETY: the caller's description, which nobody changes but here.
    let what = unsafe { &*what };
    if what.input.max(what.output) > MOST_VALUES || what.section_count > MOST_SECTIONS {
        return HERE;
    }
    let began = now_ns();
    let Some((handle, side)) = hint::act(|_| with_known(|known| known.choose(what))) else {
        return HERE;
    };
    if side == Side::Here && when != Offloading::Always as u8 {
        return began;
    }
    // SAFETY: as above; what is copied may be far memory, and is, before the pager is entered.
    let mut asked = unsafe { take_apart(what, handle, input) };
    let done = hint::act(|service| attempt(service, &mut asked, began).is_some());
    if !done {
        return now_ns();
    }
    // SAFETY: the caller's bytes, as many.
    unsafe { output.copy_from_nonoverlapping(asked.output.as_ptr(), asked.output.len()) };
    0
}

/// Of compiled programs: a function that was asked about came to its end here.
///
/// # Safety
/// As [`farside_offload_`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farside_offload_ran_here_(what: *const Offloaded, began: u64) {
    if what.is_null() || thread::in_runtime() {
        return;
    }
    // SAFETY: the caller's description.
    let handle = unsafe { &*what }.handle.load(Relaxed) as usize;
    let took = now_ns().saturating_sub(began);
    hint::act(|service| {
        Counters::add(&service.pager().counters().offload_here, 1);
        with_known(|known| {
            if let Some(function) = known.functions.get_mut(handle.wrapping_sub(1)) {
                function.here_ns = function.here_ns.max(took);
                function.experience.note(Side::Here, took);
            }
        });
    });
}

/// # Safety
/// As [`farside_offload_`].
unsafe fn take_apart(what: &Offloaded, handle: usize, input: *const u8) -> Asked {
    // SAFETY: the lists are as long as their numbers say, the code is a constant of the program, and views are variables of
    // it that are filled in before it starts.
    unsafe {
        let sections = std::slice::from_raw_parts(what.sections, what.section_count as usize);
        let id = |view: &*const SectionView| view.as_ref().map_or(0, |view| view.id as u8);
        Asked {
            code: std::slice::from_raw_parts(what.code.cast(), what.code_size as usize),
            handle,
            ids: sections.iter().map(id).collect(),
            entry: what.entry,
            input: std::slice::from_raw_parts(input, what.input as usize).to_vec(),
            output: vec![0; what.output as usize],
        }
    }
}

impl Known {
    fn choose(&mut self, what: &Offloaded) -> (usize, Side) {
        let mut handle = what.handle.load(Relaxed) as usize;
        if handle == 0 {
            // SAFETY: the compiler's constant string, which is no far memory.
            let name = unsafe { CStr::from_ptr(what.name) }.to_string_lossy().into_owned();
            let experience = Experience::default();
            self.functions.push(Function { name, experience, here_ns: 0 });
            handle = self.functions.len();
            what.handle.store(handle as u64, Relaxed);
        }
        (handle, self.functions[handle - 1].experience.choose())
    }

    /// A function was not run there; the user is told once for each reason.
    fn fail(&mut self, handle: usize, why: &OffloadError) {
        let function = &mut self.functions[handle - 1];
        function.experience.note_failure();
        let why = why.to_string();
        if self.told.len() < MOST_TOLD && !self.told.contains(&why) {
            let name = &function.name;
            let parts = ["farside: \"", name, "\" runs here, not where its data is: ", &why, "\n"];
            sys::complain(&parts);
            self.told.push(why);
        }
    }

    /// The number under which code is loaded there.
    fn image(&mut self, store: &dyn Offload, code: &[u8]) -> Result<u32, OffloadError> {
        let at = code.as_ptr() as usize;
        if let Some((_, image)) = self.images.iter().find(|(known, _)| *known == at) {
            return image.clone();
        }
        let loaded = store.load(code);
        if !matches!(loaded, Err(OffloadError::Busy)) {
            self.images.push((at, loaded.clone()));
        }
        loaded
    }
}

/// Runs a function there; `None` if the program has to.
fn attempt(service: &Service, asked: &mut Asked, began: u64) -> Option<()> {
    let counters = service.pager().counters();
    let store = service.pager().store().offload()?;
    let Some(places) = places_of(&asked.ids) else {
        // To store all for nothing is dear: it is tried again ever more rarely.
        with_known(|known| known.functions[asked.handle - 1].experience.note_failure());
        return None;
    };
    let most_ms = with_known(|known| {
        let here_ms = known.functions[asked.handle - 1].here_ns / 1_000_000;
        (here_ms * MOST_SLOWER).clamp(LEAST_MS, MOST_MS) as u32
    })?;
    let image = with_known(|known| known.image(store, asked.code))?;
    let ran = image.and_then(|image| {
        let (input, entry) = (&asked.input, asked.entry);
        let call = RemoteCall { image, entry, most_ms, places: &places, input };
        store.call(&call, &mut asked.output)
    });
    match ran {
        Ok(()) => {
            Counters::add(&counters.offload_calls, 1);
            let took = now_ns().saturating_sub(began);
            with_known(|known| {
                known.functions[asked.handle - 1].experience.note(Side::There, took);
            });
            Some(())
        }
        // That is nobody's fault, and over soon.
        Err(OffloadError::Busy) => None,
        Err(why) => {
            Counters::add(&counters.offload_failed, 1);
            with_known(|known| known.fail(asked.handle, &why));
            None
        }
    }
}

/// Where what a function reads is stored; `None` if not all of it can be.
fn places_of(ids: &[u8]) -> Option<Vec<Place>> {
    ids.iter()
        .map(|id| {
            if *id == 0 {
                return Some(Place::default());
            }
            let section = SECTIONS.get(*id)?;
            match section.store_all() {
                Ok(true) => Some(Place { tag: RemotePtr::new(*id, 0).0, pages: section.pages() }),
                // Somebody may be writing to it.
                Ok(false) => None,
                Err(error) => crate::section::give_up(&error),
            }
        })
        .collect()
}
