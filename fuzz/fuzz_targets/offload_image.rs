//! Code that a memory node is to run for somebody.

#![no_main]

use farside_offload::Image;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(image) = Image::link(bytes) {
        assert!(image.entries() <= bytes.len());
    }
});
