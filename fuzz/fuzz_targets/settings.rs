//! Arbitrary text as a configuration file, a size and a far memory: a value or one line that says why
//! not.
#![no_main]

use std::path::Path;

use farside_cli::options::{Layer, Local, Options};
use farside_far::FarUrl;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Layer::from_toml(text, Path::new("f")) {
        Ok(layer) => drop(Options::from_layer(&layer)),
        Err(failure) => assert_eq!(failure.message.lines().count(), 1, "{failure}"),
    }
    if let Ok(local) = text.parse::<Local>() {
        assert_eq!(local.to_string().parse(), Ok(local));
    }
    let _ = text.parse::<FarUrl>();
});
