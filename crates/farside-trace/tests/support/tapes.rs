//! Made-up tapes.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use farside_trace::PageId;
use farside_trace::tape::{
    Step, StepKind, TapeError, TapeInfo, TapeReader, TapeRegion, TapeSummary, TapeWriter,
};
use proptest::prelude::*;

pub fn step(kind: StepKind, page: u64) -> Step {
    Step { kind, page: PageId(page) }
}

pub fn region(site: u64, nth: u32, first: u64, count: u64) -> TapeRegion {
    TapeRegion { site, nth, first: PageId(first), count }
}

pub fn info(threads: u32) -> TapeInfo {
    TapeInfo { threads, ..TapeInfo::default() }
}

/// Steps of a thread that walks, jumps and comes back; deterministic, pages below 2,000,000.
pub fn walk(steps: usize, seed: u64) -> Vec<Step> {
    let mut state = seed;
    let kinds = [StepKind::Evict, StepKind::Fetch, StepKind::Evict, StepKind::Touch];
    (0..steps as u64)
        .map(|i| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let page = if state >> 60 == 0 { state >> 44 } else { 1_000_000 + i / 2 % 700 * 3 };
            step(kinds[((i % 2) | ((state >> 63) << 1)) as usize], page)
        })
        .collect()
}

/// Writes a tape; the steps in the order given.
pub fn write(
    path: &Path,
    info: &TapeInfo,
    regions: &[TapeRegion],
    steps: &[(u32, Step)],
) -> Result<TapeSummary, TapeError> {
    let mut writer = TapeWriter::create(path, info)?;
    steps.iter().try_for_each(|&(thread, step)| writer.push(thread, step))?;
    regions.iter().try_for_each(|&region| writer.region(region))?;
    writer.finish()
}

/// The bytes of a tape.
pub fn tape(info: &TapeInfo, regions: &[TapeRegion], steps: &[(u32, Step)]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.tape");
    write(&path, info, regions, steps).unwrap();
    fs::read(path).unwrap()
}

/// Opens `bytes` as a file.
pub fn opened(bytes: &[u8]) -> Result<TapeReader, TapeError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.tape");
    fs::write(&path, bytes).unwrap();
    // What is open stays readable when its name is gone.
    TapeReader::open(path)
}

/// The steps by thread.
pub fn by_thread(steps: &[(u32, Step)]) -> BTreeMap<u32, Vec<Step>> {
    let mut threads: BTreeMap<_, Vec<_>> = BTreeMap::new();
    steps.iter().for_each(|&(thread, step)| threads.entry(thread).or_default().push(step));
    threads
}

/// Any step, with likely and unlikely pages.
pub fn any_step() -> impl Strategy<Value = Step> {
    let kind = prop::sample::select(StepKind::ALL.to_vec());
    let page = prop_oneof![0..100u64, 0..(1u64 << 62), Just((1u64 << 62) - 1)];
    (kind, page).prop_map(|(kind, page)| step(kind, page))
}

/// Steps in runs: walks with any stride, and any others.
pub fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop::sample::select(StepKind::ALL.to_vec());
    let walk =
        (kind, 1 << 40..1u64 << 41, -9..9i64, 1..50u64).prop_map(|(kind, first, stride, count)| {
            (0..count).map(|i| step(kind, first.wrapping_add_signed(stride * i as i64))).collect()
        });
    let part = prop_oneof![walk, prop::collection::vec(any_step(), 0..20)];
    prop::collection::vec(part, 0..8).prop_map(|parts: Vec<Vec<Step>>| parts.concat())
}

/// What stands behind what it covers.
pub fn checksum(bytes: &[u8]) -> [u8; 8] {
    twox_hash::XxHash3_64::oneshot(bytes).to_le_bytes()
}

/// A block or a part of the table of regions, whatever its columns are.
fn block(magic: &[u8; 4], columns: &[u8], count: u32) -> Vec<u8> {
    let packed = zstd::bulk::compress(columns, 1).unwrap();
    let mut bytes = magic.to_vec();
    for number in [packed.len() as u32, columns.len() as u32, count, 0, 0, 0, 0] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    let sum = checksum(&[&bytes[..], &packed].concat());
    [bytes, sum.to_vec(), packed].concat()
}

/// A tape whose checksums are right: a block of `kinds` touches, fetches and evicts with these
/// columns, and a table of so many regions with those.
pub fn sealed(columns: &[u8], kinds: [u32; 3], table: &[u8], regions: u32) -> Vec<u8> {
    let mut bytes = tape(&info(1), &[], &[]);
    bytes.truncate(bytes.len() - 40);
    let steps = kinds.iter().sum();
    let (block, table) = (block(b"TBLK", columns, steps), block(b"TREG", table, regions));
    let mut index = b"TIDX".to_vec();
    for number in [1, 1, regions, 0, 0, kinds[0], 0, kinds[1], 0, kinds[2], 0] {
        index.extend_from_slice(&number.to_le_bytes());
    }
    for number in [block.len() as u32, 0, steps] {
        index.extend_from_slice(&number.to_le_bytes());
    }
    let sum = checksum(&index);
    bytes.extend([block, table].concat());
    let offset = bytes.len() as u64;
    bytes.extend([&index[..], &sum, &offset.to_le_bytes(), b"TAP.END\n"].concat());
    bytes
}
