//! The exam, one module per program. One executable, because linking is the slow part.

mod all_local;
mod bad_days;
mod balance;
mod bench_compile;
mod bench_pointers;
mod bench_tune;
mod gcc;
mod git;
mod heap;
mod java;
mod memcached;
mod node;
mod offload;
mod perl;
mod pointers;
mod python;
mod redis;
mod regions;
mod shell;
mod sort;
mod sqlite;
mod streams;
mod tracking;
mod tune;
mod unmanaged;
mod xz;
