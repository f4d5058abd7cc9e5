//! Which functions a programmer can change: a hint belongs there, not into a copying routine that they call.

use std::path::Path;

use farside_symbols::Frame;

/// Beginnings of the names of libraries that come with the system or a language.
const LIBRARIES: [&str; 10] = [
    "libc.so",
    "libc-",
    "libm.so",
    "libm-",
    "libstdc++",
    "libc++",
    "libgcc_s",
    "libpthread",
    "ld-linux",
    "libfarside",
];

/// Folders whose source files come with the system or a language.
const SOURCES: [&str; 4] = ["/usr/include/", "/usr/lib/", "/usr/local/include/", "/rustc/"];

/// What hints are written with: what it does is done where it is used.
const HEADER: &str = "farside.h";

/// Whether a function may be the programmer's own: neither its library nor its source file is known to be others'.
pub fn is_own(frame: &Frame, image: &Path) -> bool {
    let name = image.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let library = LIBRARIES.iter().any(|library| name.starts_with(library));
    let is_header = |file: &str| Path::new(file).file_name().is_some_and(|name| name == HEADER);
    let source = frame.file.as_ref().is_some_and(|file| {
        SOURCES.iter().any(|folder| file.starts_with(folder))
            || file.contains("/include/c++/")
            || is_header(file)
    });
    !library && !source
}
