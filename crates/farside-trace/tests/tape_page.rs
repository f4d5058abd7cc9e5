//! A reader of tapes that knows nothing but `docs/tape-format.md`, against the one that Farside
//! has.

#[path = "support/tapes.rs"]
mod tapes;

use std::collections::BTreeMap;

use farside_trace::tape::{BLOCK_STEPS, Step, StepKind, TapeInfo, TapeRegion};
use proptest::prelude::*;
use tapes::{any_steps, by_thread, info, region, tape, walk};

/// Thread, and kind and page of its steps.
type Threads = BTreeMap<u32, Vec<(u64, u64)>>;

/// What the page says is in a tape.
#[derive(Default)]
struct Page {
    description: serde_json::Value,
    threads: Threads,
    /// Touches, fetches and evicts of each thread.
    counts: BTreeMap<u32, [u64; 3]>,
    /// Site, nth, first and count.
    regions: Vec<[u64; 4]>,
}

/// The number in the `bytes` bytes from `at` on.
fn number(file: &[u8], at: usize, bytes: usize) -> u64 {
    file[at..at + bytes].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Checks the checksum that stands behind `checked`.
fn check(file: &[u8], checked: std::ops::Range<usize>) {
    let sum = twox_hash::XxHash3_64::oneshot(&file[checked.clone()]);
    assert_eq!(number(file, checked.end, 8), sum);
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let length = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
    let (groups, rest) = bytes.split_at(length);
    *bytes = rest;
    groups.iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f))
}

fn read(file: &[u8]) -> Page {
    assert_eq!(&file[..10], b"\x89TAP\r\n\x1a\n\x02\x00");
    let (end, index) = (file.len() - 16, number(file, file.len() - 16, 8) as usize);
    assert_eq!(&file[end + 8..], b"TAP.END\n");
    let m = number(file, 12, 4) as usize;
    check(file, 0..16 + m);
    let mut page =
        Page { description: serde_json::from_slice(&file[16..16 + m]).unwrap(), ..Page::default() };
    assert_eq!(&file[index..index + 4], b"TIDX");
    check(file, index..end - 8);
    let [blocks, threads, regions] = [4, 8, 12].map(|at| number(file, index + at, 4) as usize);
    assert_eq!(index + 16 + 32 * threads + 12 * blocks + 8, end);
    for at in (index + 16..).step_by(32).take(threads) {
        let counts = [8, 16, 24].map(|place| number(file, at + place, 8));
        page.counts.insert(number(file, at, 8) as u32, counts);
    }
    let mut begin = 16 + m + 8;
    for at in (index + 16 + 32 * threads..).step_by(12).take(blocks) {
        let [length, thread, steps] = [0, 4, 8].map(|place| number(file, at + place, 4));
        let block = &file[begin..begin + length as usize];
        let read = page.threads.entry(thread as u32).or_default();
        assert_eq!([number(block, 12, 4), number(block, 16, 4)], [steps, thread]);
        assert_eq!(number(block, 24, 8), read.len() as u64);
        read_steps(&columns(block, b"TBLK"), steps as usize, read);
        begin += length as usize;
    }
    while begin < index {
        let part = &file[begin..begin + 40 + number(file, begin + 4, 4) as usize];
        assert_eq!(number(part, 24, 8), page.regions.len() as u64);
        read_regions(&columns(part, b"TREG"), number(part, 12, 4) as usize, &mut page.regions);
        begin += part.len();
    }
    assert_eq!((begin, page.regions.len()), (index, regions));
    page
}

/// The columns of a block or of a part of the regions.
fn columns(block: &[u8], magic: &[u8]) -> Vec<u8> {
    assert_eq!(&block[..4], magic);
    assert_eq!(block.len(), 40 + number(block, 4, 4) as usize);
    let checked = [&block[..32], &block[40..]].concat();
    assert_eq!(number(block, 32, 8), twox_hash::XxHash3_64::oneshot(&checked));
    let columns = zstd::stream::decode_all(&block[40..]).unwrap();
    assert_eq!(columns.len() as u64, number(block, 8, 4));
    columns
}

fn read_steps(mut columns: &[u8], n: usize, steps: &mut Vec<(u64, u64)>) {
    let lengths = [varint(&mut columns) as usize, varint(&mut columns) as usize];
    let (kinds, columns) = columns.split_at(n.div_ceil(4));
    let (touched, columns) = columns.split_at(lengths[0]);
    let (fetched, evicted) = columns.split_at(lengths[1]);
    let mut pages = [touched, fetched, evicted].map(|column| pages(column).into_iter());
    for i in 0..n {
        let kind = kinds[i / 4] >> (2 * (i % 4)) & 3;
        steps.push((u64::from(kind), pages[[0, 1, 2, 1][usize::from(kind)]].next().unwrap()));
    }
    assert!(pages.iter().all(|rest| rest.len() == 0));
}

fn pages(mut column: &[u8]) -> Vec<u64> {
    let (mut pages, mut page) = (Vec::new(), 0_u64);
    while !column.is_empty() {
        let v = varint(&mut column);
        let times = if v % 2 == 1 { varint(&mut column) + 2 } else { 1 };
        let zigzag = v / 2;
        let distance = zigzag.div_ceil(2);
        for _ in 0..times {
            page = if zigzag % 2 == 1 {
                page.wrapping_sub(distance)
            } else {
                page.wrapping_add(distance)
            };
            pages.push(page);
        }
    }
    pages
}

fn read_regions(columns: &[u8], n: usize, regions: &mut Vec<[u64; 4]>) {
    let (sites, mut rest) = columns.split_at(8 * n);
    let mut column = || (0..n).map(|_| varint(&mut rest)).collect::<Vec<_>>();
    let (nths, gaps, counts) = (column(), column(), column());
    assert!(rest.is_empty());
    for i in 0..n {
        let end = regions.last().map_or(0, |region| region[2] + region[3]);
        regions.push([number(sites, 8 * i, 8), nths[i], end + gaps[i], counts[i]]);
    }
}

/// Writes a tape with Farside, reads it by the page, and compares.
fn compare(info: &TapeInfo, regions: &[TapeRegion], steps: &[(u32, Step)]) {
    let page = read(&tape(info, regions, steps));
    let kind = |kind| match kind {
        StepKind::Touch => 0,
        StepKind::Fetch => 1,
        StepKind::Evict => 2,
        StepKind::FetchToWrite => 3,
    };
    let plain =
        |steps: Vec<Step>| steps.iter().map(|step| (kind(step.kind), step.page.0)).collect();
    let expected: Threads =
        by_thread(steps).into_iter().map(|(thread, steps)| (thread, plain(steps))).collect();
    assert!(page.threads == expected);
    for (thread, steps) in &expected {
        let count =
            |kinds: &[u64]| steps.iter().filter(|step| kinds.contains(&step.0)).count() as u64;
        assert_eq!(page.counts[thread], [&[0][..], &[1, 3], &[2]].map(count));
    }
    assert_eq!(page.counts.len(), expected.len());
    let regions: Vec<_> =
        regions.iter().map(|r| [r.site, u64::from(r.nth), r.first.0, r.count]).collect();
    assert_eq!(page.regions, regions);
    let described = &page.description;
    assert_eq!(described["policy"], *info.policy);
    for (key, value) in [
        ("capacity", info.capacity),
        ("local_pages", info.local_pages),
        ("microset", info.microset),
        ("threads", u64::from(info.threads)),
    ] {
        assert_eq!(described[key], value, "{key}");
    }
}

#[test]
fn a_reader_written_from_the_page_reads_long_tapes() {
    let mut steps = Vec::new();
    for (thread, count, seed) in [(3, 2 * BLOCK_STEPS + 5, 1), (1, BLOCK_STEPS + 1, 2), (9, 2, 3)] {
        steps.extend(walk(count, seed).into_iter().map(|step| (thread, step)));
    }
    let regions: Vec<_> =
        (0..70_000).map(|i| region((i % 3) << 50, i as u32, i * 200 + i % 7, i % 190)).collect();
    let described = TapeInfo {
        capacity: 12,
        local_pages: u64::MAX,
        microset: 1024,
        policy: "min".into(),
        ..info(3)
    };
    compare(&described, &regions, &steps);
    compare(&info(1), &[], &[]);
}

proptest! {
    #[test]
    fn a_reader_written_from_the_page_reads_any_tape(
        threads in prop::collection::vec((any::<u32>(), any_steps()), 0..4),
    ) {
        let steps: Vec<_> = threads
            .iter()
            .flat_map(|(thread, steps)| steps.iter().map(|&step| (*thread, step)))
            .collect();
        compare(&info(4), &[region(1, 2, 3, 4)], &steps);
    }
}
