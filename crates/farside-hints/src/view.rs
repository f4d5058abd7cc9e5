//! How the program sees Farside's table of pages: `struct farside_view` of `farside.h`.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_long, c_uint, c_void};
use std::sync::atomic::{AtomicU8, Ordering};

/// Which version of the view this is.
const VERSION: c_int = 2;

const PAGE_SHIFT: u32 = 12;

/// What is shown of a page: it can be used without waiting, and written.
const HERE: u8 = 1;
const WRITABLE: u8 = 2;

/// Longer ranges are not gone through here.
const MOST: usize = 1 << 18;

type Give = extern "C" fn(*const c_void, usize, c_long, c_uint);

/// What Farside fills in.
#[repr(C)]
pub struct View {
    base: usize,
    length: usize,
    here: *const AtomicU8,
    pub hint: Option<Give>,
    pub start: Option<extern "C" fn(*const c_void, usize, c_long, c_uint) -> c_int>,
    pub arrived: Option<extern "C" fn(*const c_void, usize) -> c_int>,
    pub foresee: Option<extern "C" fn(*const *const c_void, usize)>,
    pub done: Option<extern "C" fn(*const c_void, usize)>,
    pub pin: Option<extern "C" fn(*const c_void, usize) -> c_int>,
    pub unpin: Option<extern "C" fn(*const c_void, usize)>,
}

struct Slot(UnsafeCell<View>);

// SAFETY: it is written before the program's threads begin, by the constructor below or by Farside at its start, and
// read from then on.
unsafe impl Sync for Slot {}

static VIEW: Slot = Slot(UnsafeCell::new(View {
    base: 0,
    length: 0,
    here: std::ptr::null(),
    hint: None,
    start: None,
    arrived: None,
    foresee: None,
    done: None,
    pin: None,
    unpin: None,
}));

/// The table of this program.
#[inline]
pub fn view() -> &'static View {
    // SAFETY: nobody writes to it any more; see `Slot`.
    unsafe { &*VIEW.0.get() }
}

/// Asks Farside, if it is there, to fill in the view.
extern "C" fn attach() {
    type Attach = unsafe extern "C" fn(*mut View, c_int);
    // SAFETY: the name is a string that ends with a zero.
    let attach = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"farside_attach".as_ptr()) };
    if attach.is_null() {
        return;
    }
    // SAFETY: the symbol is Farside's, which declares it so.
    let attach: Attach = unsafe { std::mem::transmute(attach) };
    // SAFETY: a view of that version, which stays where it is.
    unsafe { attach(VIEW.0.get(), VERSION) };
}

/// Called before `main`, or when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static ATTACH: extern "C" fn() = attach;

impl View {
    /// Whether there is far memory at all.
    #[inline]
    pub fn has_far(&self) -> bool {
        self.length != 0
    }

    /// Whether an address may be far memory.
    #[inline]
    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.base) < self.length
    }

    /// Whether there is nothing to be done for a hint at so many bytes.
    #[inline]
    pub fn is_served(&self, address: usize, size: usize, write: bool) -> bool {
        let offset = address.wrapping_sub(self.base);
        if offset >= self.length {
            return true;
        }
        if size <= 1 {
            return self.is_here(offset >> PAGE_SHIFT, write);
        }
        let last = offset.saturating_add(size - 1);
        if size > MOST || last >= self.length {
            return false;
        }
        (offset >> PAGE_SHIFT..=last >> PAGE_SHIFT).all(|page| self.is_here(page, write))
    }

    /// Whether the program can use a page without waiting, and nothing is to be read ahead.
    #[inline]
    fn is_here(&self, page: usize, write: bool) -> bool {
        // SAFETY: the caller's page lies in far memory, for whose pages there are bytes that stay valid.
        let shown = unsafe { &*self.here.add(page) }.load(Ordering::Relaxed);
        let wanted = HERE | if write { WRITABLE } else { 0 };
        shown & wanted == wanted
    }
}
