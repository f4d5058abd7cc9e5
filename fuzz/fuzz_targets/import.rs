//! Arbitrary bytes as another tool's trace, in every format: never a panic, and after the first error
//! nothing more.
#![no_main]

use std::io::Cursor;
use std::path::Path;

use farside_trace::import::{Column, ImportFormat, ImportOptions, Importer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (choice, options, bytes) = input;
    let (format, ..) = ImportFormat::ALL[usize::from(choice) % ImportFormat::ALL.len()];
    let options = ImportOptions {
        page_shift: u32::from(options % 64),
        merge: [None, Some(true), Some(false)].into_iter().nth(usize::from(options / 64)).flatten(),
        object_column: (options >= 192).then_some(Column::Number(usize::from(options % 8))),
    };
    ImportFormat::guess(Path::new("fuzz"), bytes);
    let source = Box::new(Cursor::new(bytes.to_vec()));
    let mut importer = Importer::new(source, format, &options, "fuzz");
    // Pages of one byte make many of one access.
    for item in importer.by_ref().take(1 << 21) {
        if let Err(error) = item {
            let _ = error.to_string();
            break;
        }
    }
});
