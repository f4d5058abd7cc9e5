//! Taking a block's columns apart again; nothing in them is trusted.

use super::{ALL_WRITES, APPEARED, VANISHED, WEIGHTS, WRITE_BITS, WRITE_MASK};
use crate::file::varint::{Cursor, unzigzag};
use crate::file::{MAX_BLOCK_EVENTS, MAX_NAME_BYTES};
use crate::{Access, Block, Mapping, MappingChange, MappingEvent, PageId, PageRange};

/// Reads the columns in `raw`: `accesses` accesses and `events` events from access `first` on.
///
/// # Errors
/// What is wrong with the bytes.
pub(in crate::file) fn decode(
    raw: &[u8],
    first: u64,
    accesses: usize,
    events: usize,
    block: &mut Block,
) -> Result<(), &'static str> {
    block.clear(first);
    let mut cursor = Cursor::new(raw);
    let flags = cursor.bytes(1).ok_or("it is empty")?[0];
    if flags & !(WRITE_MASK | WEIGHTS) != 0 || flags & WRITE_MASK > WRITE_BITS {
        return Err("it has unknown flags");
    }
    let threads = decode_threads(&mut cursor, accesses).ok_or("its threads make no sense")?;
    let runs = decode_runs(&mut cursor, accesses, threads.len()).ok_or("its runs make no sense")?;
    let bits = match flags & WRITE_MASK {
        WRITE_BITS => cursor.bytes(accesses.div_ceil(8)).ok_or("its write bits are cut short")?,
        _ => &[],
    };
    let mut weights = Cursor::new(&[]);
    if flags & WEIGHTS != 0 {
        weights = skip_numbers(&mut cursor, accesses).ok_or("its weights are cut short")?;
    }
    let write = flags & WRITE_MASK == ALL_WRITES;
    decode_pages(&mut cursor, threads, &runs, write, block).ok_or("its pages are cut short")?;
    for (i, access) in block.accesses.iter_mut().enumerate().take(bits.len() * 8) {
        access.write = bits[i / 8] >> (i % 8) & 1 != 0;
    }
    if flags & WEIGHTS != 0 {
        decode_weights(&mut weights, block).ok_or("a weight is too large")?;
    }
    decode_events(&mut cursor, accesses, events, block).ok_or("its mappings make no sense")?;
    if cursor.is_empty() { Ok(()) } else { Err("it has bytes left over") }
}

/// Thread and last page by index.
fn decode_threads(cursor: &mut Cursor<'_>, accesses: usize) -> Option<Vec<(u32, u64)>> {
    let count = cursor.at_most(accesses as u64)?;
    (0..count)
        .map(|_| cursor.at_most(u64::from(u32::MAX)).map(|thread| (thread as u32, 0)))
        .collect()
}

fn decode_runs(
    cursor: &mut Cursor<'_>,
    accesses: usize,
    threads: usize,
) -> Option<Vec<(usize, usize)>> {
    let count = cursor.at_most(accesses as u64)?;
    let mut left = accesses;
    let runs = (0..count).map(|_| {
        let index = cursor.number().filter(|&index| index < threads as u64)?;
        let length = cursor.at_most(left as u64)?;
        left -= length as usize;
        Some((index as usize, length as usize))
    });
    let runs = runs.collect::<Option<Vec<_>>>()?;
    (left == 0).then_some(runs)
}

/// A cursor on the next `count` numbers, which are passed over.
fn skip_numbers<'a>(cursor: &mut Cursor<'a>, count: usize) -> Option<Cursor<'a>> {
    let rest = cursor.rest();
    for _ in 0..count {
        cursor.number()?;
    }
    Some(Cursor::new(rest))
}

fn decode_pages(
    cursor: &mut Cursor<'_>,
    mut threads: Vec<(u32, u64)>,
    runs: &[(usize, usize)],
    write: bool,
    block: &mut Block,
) -> Option<()> {
    for &(index, length) in runs {
        let (thread, mut last) = threads[index];
        block.accesses.reserve(length);
        for _ in 0..length {
            last = last.wrapping_add(unzigzag(cursor.number()?));
            block.accesses.push(Access { page: PageId(last), write, thread, weight: 1 });
        }
        threads[index].1 = last;
    }
    Some(())
}

fn decode_weights(weights: &mut Cursor<'_>, block: &mut Block) -> Option<()> {
    for access in &mut block.accesses {
        access.weight = weights.at_most(u64::from(u32::MAX))? as u32;
    }
    Some(())
}

fn decode_events(
    cursor: &mut Cursor<'_>,
    accesses: usize,
    events: usize,
    block: &mut Block,
) -> Option<()> {
    let mut left = accesses as u64;
    debug_assert!(events <= MAX_BLOCK_EVENTS);
    for _ in 0..events {
        left -= cursor.at_most(left)?;
        let access = block.first + (accesses as u64 - left);
        let kind = cursor.bytes(1)?[0];
        let first = PageId(cursor.number()?);
        let count = cursor.number()?;
        let change = match kind {
            APPEARED => {
                let length = cursor.at_most(MAX_NAME_BYTES as u64)?;
                let name = std::str::from_utf8(cursor.bytes(length as usize)?).ok()?.to_owned();
                MappingChange::Appeared(Mapping { first, count, name })
            }
            VANISHED => MappingChange::Vanished(PageRange { first, count }),
            _ => return None,
        };
        block.events.push(MappingEvent { access, change });
    }
    Some(())
}
