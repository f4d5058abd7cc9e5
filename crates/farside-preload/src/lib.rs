//! The shared object put under an unmodified program: its malloc family, mmap family, `brk` and
//! `fork`, answered from far memory; what closes descriptors, kept from ours; and what installs signal
//! handlers, noticed.
//!
//! Three kinds of memory, told apart by address alone:
//!
//! - the **far region** ([`far`]), managed by the pager: what the program allocates and maps;
//! - the **local range** ([`local`]): the allocator's metadata, what was allocated before start-up,
//!   the loader's records ([`loader`]), and the runtime's own heap ([`runtime_heap`]);
//! - everything else: the kernel's and the C library's, passed on to them.
//!
//! Lock order, outermost first: the allocator's locks, the table of mappings ([`space`]), the pager's
//! locks, the runtime heap's lock. Code under any of them never calls the interposed allocator, and
//! `fork` takes them in this order ([`fork`]).

// The crate is a shared object: nothing outside links against its Rust items.
#![allow(unreachable_pub)]
// Whoever reads these pages reads the private modules too.
#![allow(rustdoc::private_intra_doc_links)]

mod brk;
mod descriptor;
mod exit;
mod far;
mod fork;
mod heap;
mod hint;
mod imports;
mod loader;
mod local;
mod lock;
mod malloc;
mod malloc_tuning;
mod mmap;
mod mremap;
mod next;
mod offload;
mod part;
mod region;
mod runtime_heap;
mod section;
mod signals;
mod site;
mod space;
mod stack;
mod start;
mod sys;
mod tag;
mod thread;
