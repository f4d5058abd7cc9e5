//! The shared object put under an unmodified program.
