//! Keeps the system calls of everything linked into the shared object away from the names it
//! interposes.

/// What the allocator underneath calls, and what must reach the kernel (or, for thread creation, mark
/// the new thread as one of the runtime's) instead of the interposed function of the same name.
const WRAPPED: &[&str] =
    &["mmap", "mmap64", "munmap", "mprotect", "madvise", "sbrk", "pthread_create"];

fn main() {
    for name in WRAPPED {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--wrap={name}");
    }
    // Our own references bind to our own definitions, whatever the program exports.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo:rerun-if-changed=build.rs");
}
