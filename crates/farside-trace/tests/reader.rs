//! Reading page lists in all their formats, and what is said about broken ones.

use std::io::{self, Cursor, Read};

use farside_trace::{PageId, TraceError, TraceFormat, TraceReader};
use proptest::prelude::*;

fn read(bytes: &[u8], format: TraceFormat) -> Result<Vec<u64>, TraceError> {
    TraceReader::new(Cursor::new(bytes.to_vec()), format, "list")?.map(|r| r.map(|p| p.0)).collect()
}

fn message(bytes: &[u8], format: TraceFormat) -> String {
    read(bytes, format).unwrap_err().to_string()
}

fn binary(pages: &[u64]) -> Vec<u8> {
    pages.iter().flat_map(|page| page.to_le_bytes()).collect()
}

/// Hands out one byte per read, each after an interruption.
struct Trickle {
    bytes: Cursor<Vec<u8>>,
    interrupted: bool,
}

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let end = buffer.len().min(1);
        self.bytes.read(&mut buffer[..end])
    }
}

/// Reads five bytes of zeros and then fails.
struct Failing(Cursor<[u8; 5]>);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("disk on fire")),
            count => Ok(count),
        }
    }
}

#[test]
fn text_takes_comments_blanks_and_a_missing_last_line_feed() {
    let text = b"# a comment of any kind \xff\n* 12\n\n  7 \r\n\t0018446744073709551615\n  # x\n0";
    assert_eq!(read(text, TraceFormat::Text).unwrap(), [7, u64::MAX, 0]);
    assert!(read(b"", TraceFormat::Text).unwrap().is_empty());
}

#[test]
fn text_errors_name_file_line_and_byte() {
    let said = message(b"1\n2\n3x\n", TraceFormat::Text);
    assert!(said.starts_with("list:3: unexpected 'x' at byte 5;"), "{said}");
    let said = message(b"1 2\n", TraceFormat::Text);
    assert!(said.starts_with("list:1: unexpected '2' at byte 2;"), "{said}");
    let said = message(b"-1\n", TraceFormat::Text);
    assert!(said.starts_with("list:1: unexpected '-' at byte 0;"), "{said}");
    let said = message(b"5\n18446744073709551616\n", TraceFormat::Text);
    assert!(said.starts_with("list:2: the page number is too large at byte 21;"), "{said}");
}

#[test]
fn binary_of_no_multiple_of_8_is_refused_after_the_whole_numbers() {
    let mut bytes = binary(&[1, u64::MAX]);
    bytes.extend([9; 3]);
    let mut reader =
        TraceReader::new(Cursor::new(bytes.clone()), TraceFormat::U64, "list").unwrap();
    assert_eq!(reader.next().unwrap().unwrap(), PageId(1));
    assert_eq!(reader.next().unwrap().unwrap(), PageId(u64::MAX));
    assert!(matches!(
        reader.next(),
        Some(Err(TraceError::StrayBytes { offset: 16, size: 19, .. }))
    ));
    assert!(reader.next().is_none());

    let packed = zstd::encode_all(&bytes[..], 1).unwrap();
    let said = message(&packed, TraceFormat::U64Zst);
    assert!(said.starts_with("list: the trace has 19 bytes, which is no multiple of 8;"), "{said}");
}

#[test]
fn compressed_traces_may_have_several_frames_but_must_be_whole() {
    let mut packed = zstd::encode_all(&binary(&[1, 2])[..], 1).unwrap();
    packed.extend(zstd::encode_all(&binary(&[3])[..], 1).unwrap());
    assert_eq!(read(&packed, TraceFormat::U64Zst).unwrap(), [1, 2, 3]);

    packed.pop();
    let said = message(&packed, TraceFormat::U64Zst);
    assert!(said.starts_with("list: cannot read the trace beyond byte "), "{said}");
    assert!(message(b"not zstd at all", TraceFormat::U64Zst).starts_with("list: cannot read"));
}

#[test]
fn short_and_interrupted_reads_change_nothing() {
    let trickle = |bytes: &[u8]| Trickle { bytes: Cursor::new(bytes.to_vec()), interrupted: false };
    let pages: Vec<_> = TraceReader::new(trickle(&binary(&[5, 6])), TraceFormat::U64, "list")
        .unwrap()
        .map(|page| page.unwrap().0)
        .collect();
    assert_eq!(pages, [5, 6]);
    let pages: Vec<_> = TraceReader::new(trickle(b"10\n#\n11"), TraceFormat::Text, "list")
        .unwrap()
        .map(|page| page.unwrap().0)
        .collect();
    assert_eq!(pages, [10, 11]);
}

#[test]
fn a_failing_source_is_named_with_the_offset_and_ends_the_trace() {
    let source = Failing(Cursor::new([0; 5]));
    let mut reader = TraceReader::new(source, TraceFormat::U64, "list").unwrap();
    let said = reader.next().unwrap().unwrap_err().to_string();
    assert_eq!(said, "list: cannot read the trace beyond byte 5: disk on fire");
    assert!(reader.next().is_none());
}

#[test]
fn files_are_opened_by_their_ending() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = binary(&[8, 9]);
    let files: [(&str, Vec<u8>); 3] = [
        ("a.u64", bytes.clone()),
        ("a.u64.zst", zstd::encode_all(&bytes[..], 1).unwrap()),
        ("a.txt", b"8\n9\n".to_vec()),
    ];
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let pages: Result<Vec<_>, _> = TraceReader::open(&path).unwrap().collect();
        assert_eq!(pages.unwrap(), [PageId(8), PageId(9)], "{name}");
    }

    let absent = folder.path().join("absent.u64");
    let error = TraceReader::open(&absent).unwrap_err();
    assert!(matches!(error, TraceError::Open { .. }));
    assert!(error.to_string().contains("absent.u64"));
    let strange = folder.path().join("a.csv");
    let error = TraceReader::open(&strange).unwrap_err();
    assert!(matches!(error, TraceError::Open { .. }));
    std::fs::write(&strange, "8\n9\n").unwrap();
    let error = TraceReader::open(&strange).unwrap_err();
    assert!(matches!(error, TraceError::UnknownFormat { .. }));
    let error = TraceReader::open(folder.path()).unwrap_err();
    assert!(error.to_string().ends_with("cannot open the trace: is a directory"), "{error}");
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_and_errors_are_final(bytes: Vec<u8>) {
        for format in [TraceFormat::U64, TraceFormat::U64Zst, TraceFormat::Text] {
            let source = Cursor::new(bytes.clone());
            let mut reader = TraceReader::new(source, format, "list").unwrap();
            let items = reader.by_ref().count();
            prop_assert!(format == TraceFormat::U64Zst || items <= bytes.len() + 1);
            prop_assert!(reader.next().is_none());
        }
    }

    #[test]
    fn binary_is_read_iff_its_length_is_a_multiple_of_8(bytes: Vec<u8>) {
        let read = read(&bytes, TraceFormat::U64);
        prop_assert_eq!(read.is_ok(), bytes.len() % 8 == 0);
        if let Ok(pages) = read {
            prop_assert_eq!(binary(&pages), bytes);
        }
    }

    #[test]
    fn text_gives_back_the_numbers(pages: Vec<u64>, blank in "[ \t\r]{0,3}", comment in "[#*].{0,9}") {
        let text: String =
            pages.iter().map(|page| format!("{blank}{page}{blank}\n{comment}\n")).collect();
        prop_assert_eq!(read(text.as_bytes(), TraceFormat::Text).unwrap(), pages);
    }

    #[test]
    fn text_of_likely_bytes_agrees_with_a_line_parser(text in "[0-9#* \n]{0,60}") {
        let expected: Option<Vec<u64>> = text
            .split('\n')
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with(['#', '*']))
            .map(|line| line.parse().ok())
            .collect();
        prop_assert_eq!(read(text.as_bytes(), TraceFormat::Text).ok(), expected);
    }
}
