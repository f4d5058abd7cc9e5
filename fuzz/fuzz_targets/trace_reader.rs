//! Arbitrary bytes as a list of pages: never a panic, and after the first error nothing more.
#![no_main]

use std::io::Cursor;

use farside_trace::{TraceFormat, TraceReader};
use libfuzzer_sys::fuzz_target;

/// A few compressed bytes can stand for gigabytes of pages.
const MOST_PAGES: usize = 1 << 18;

fuzz_target!(|input: (u8, &[u8])| {
    let (choice, bytes) = input;
    let format = match choice % 3 {
        0 => TraceFormat::U64,
        1 => TraceFormat::U64Zst,
        _ => TraceFormat::Text,
    };
    let Ok(mut reader) = TraceReader::new(Cursor::new(bytes.to_vec()), format, "fuzz") else {
        return;
    };
    let mut pages = 0;
    for item in reader.by_ref().take(MOST_PAGES) {
        match item {
            Ok(_) => pages += 1,
            Err(error) => {
                let _ = error.to_string();
                break;
            }
        }
    }
    if pages < MOST_PAGES {
        assert!(reader.next().is_none());
    }
    if format != TraceFormat::U64Zst {
        assert!(pages <= bytes.len());
    }
});
