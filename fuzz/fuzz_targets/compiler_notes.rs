//! Arbitrary bytes as what the compiler has noted in a program: units, or one line that says why not.
#![no_main]

use farside_cli::explain::notes::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(units) = read(bytes) {
        // Nothing is lost or made up.
        let again: Vec<u8> = units
            .iter()
            .flat_map(|unit| serde_json::to_vec(unit).expect("a unit").into_iter().chain([b'\n']))
            .collect();
        let again = read(&again).expect("what was written");
        assert!(units.iter().all(|unit| again.contains(unit)));
    }
});
