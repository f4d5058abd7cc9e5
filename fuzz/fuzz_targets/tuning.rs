//! Arbitrary bytes as what is known of a program that is tuned: what its compiler says of it, what a run of it measured, and the
//! accesses that it wrote down.
#![no_main]

use farside_tune::trace::{self, Record};
use farside_tune::{Candidates, Profile, Sampled, Ways};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(candidates) = Candidates::read(bytes) {
        assert!(candidates.accesses.iter().flat_map(|it| &it.sites).all(|it| *it < candidates.sites.len()));
    }
    if let Ok(profile) = Profile::read(bytes) {
        assert!(profile.sections.iter().all(|it| it.rate > 0 && it.unit.is_power_of_two()));
    }
    let mut sampled = Sampled::new(4096, 2);
    let mut blocks = 0_u64;
    let read = trace::read(bytes, |record| {
        if let Record::Access { block, blocks: some, written, .. } = record {
            blocks += 1 << some;
            sampled.add(block, some, written, 0);
        }
    });
    if read.is_ok() && !sampled.is_empty() && blocks < 1 << 16 {
        sampled.number();
        let counts = sampled.simulate(64, Ways::Set(2), 1 << 16);
        assert!(counts.misses <= counts.lookups && counts.held <= counts.misses);
    }
});
