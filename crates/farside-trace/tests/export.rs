//! Traces for other programs, read back.

mod support;

use std::collections::HashMap;
use std::io::{self, Cursor, Seek, Write};

use farside_trace::export::{CsvExport, Export, OracleExport, PageList, PagesExport};
use farside_trace::import::{ImportFormat, ImportOptions, Importer};
use farside_trace::{Access, Block, TraceFormat, TraceReader};
use proptest::prelude::*;
use support::{access, program};

fn feed(export: &mut dyn Export, accesses: &[Access]) {
    let mut first = 0;
    for accesses in accesses.chunks(1000) {
        export.block(&Block { first, accesses: accesses.to_vec(), events: vec![] }).unwrap();
        first += accesses.len() as u64;
    }
    let mut part = 0.0;
    export
        .finish(&mut |done| {
            assert!(done > part && done <= 1.0);
            part = done;
        })
        .unwrap();
}

fn oracle(accesses: &[Access]) -> Vec<u8> {
    let mut file = tempfile::tempfile().unwrap();
    feed(&mut OracleExport::new(file.try_clone().unwrap(), 12, "out").unwrap(), accesses);
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    io::copy(&mut file, &mut bytes).unwrap();
    bytes
}

fn imported(bytes: Vec<u8>, format: ImportFormat) -> Vec<Access> {
    let source = Box::new(Cursor::new(bytes));
    let importer = Importer::new(source, format, &ImportOptions::default(), "back");
    importer.collect::<Result<_, _>>().unwrap()
}

fn field<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    record[at..at + N].try_into().unwrap()
}

/// Time, object, size and next use of every record, in the straightforward way.
fn check_oracle(bytes: &[u8], accesses: &[Access]) {
    assert_eq!(bytes.len(), 24 * accesses.len());
    let mut uses: HashMap<u64, i64> = HashMap::new();
    for (i, access) in accesses.iter().enumerate().rev() {
        let record = &bytes[24 * i..][..24];
        assert_eq!(u32::from_le_bytes(field(record, 0)), i as u32);
        assert_eq!(u64::from_le_bytes(field(record, 4)), access.page.0);
        assert_eq!(u32::from_le_bytes(field(record, 12)), 4096);
        let next = uses.insert(access.page.0, i as i64).unwrap_or(-1);
        assert_eq!(i64::from_le_bytes(field(record, 16)), next, "access {i}");
    }
}

#[test]
fn csv_names_its_columns_and_comes_back() {
    let accesses = program(2500);
    let mut bytes = Vec::new();
    feed(&mut CsvExport::new(&mut bytes, "out").unwrap(), &accesses);
    assert!(bytes.starts_with(b"access,page,write,thread,weight\n0,"));
    assert_eq!(imported(bytes, ImportFormat::Csv), accesses);
}

#[test]
fn oracle_general_knows_the_next_use_across_pieces() {
    let accesses = program(200_000);
    let bytes = oracle(&accesses);
    check_oracle(&bytes, &accesses);
    let back = imported(bytes, ImportFormat::OracleGeneral);
    assert!(back.iter().map(|a| a.page).eq(accesses.iter().map(|a| a.page)));
    assert!(oracle(&[]).is_empty());
}

#[test]
fn page_lists_are_read_back_as_traces() {
    let accesses = program(3000);
    for (list, format) in [
        (PageList::Text, TraceFormat::Text),
        (PageList::U64, TraceFormat::U64),
        (PageList::U64Zst, TraceFormat::U64Zst),
    ] {
        let mut bytes = Vec::new();
        feed(&mut PagesExport::new(&mut bytes, list, "out").unwrap(), &accesses);
        let reader = TraceReader::new(Cursor::new(bytes), format, "back").unwrap();
        let pages: Result<Vec<_>, _> = reader.collect();
        assert!(pages.unwrap().into_iter().eq(accesses.iter().map(|access| access.page)));
    }
}

/// A disk that is full.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let error = CsvExport::new(Full, "out").err().unwrap().to_string();
    assert!(error.starts_with("out: cannot write the exported trace: "), "{error}");
    let mut pages = PagesExport::new(Full, PageList::U64Zst, "out").unwrap();
    let block = Block { first: 0, accesses: program(10), events: vec![] };
    assert!(pages.block(&block).and_then(|()| pages.finish(&mut |_| ())).is_err());
}

proptest! {
    #[test]
    fn any_next_use_is_right(pages in prop::collection::vec(prop_oneof![0..5u64, any::<u64>()], 0..200)) {
        let accesses: Vec<_> = pages.iter().map(|&page| access(page, false, 0, 1)).collect();
        check_oracle(&oracle(&accesses), &accesses);
    }
}
