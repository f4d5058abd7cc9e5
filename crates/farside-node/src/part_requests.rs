//! Requests about parts of pages.

use std::io::{self, IoSlice, IoSliceMut};
use std::sync::Arc;

use farside_wire::frame::{BLOCK, Code, DRAINING, Header, Record, page_check};
use farside_wire::page_part::PagePart;
use farside_wire::transport::send_all;
use smallvec::SmallVec;

use crate::counters::Counters;
use crate::frames::{Frames, Pinned};
use crate::pool::Pool;
use crate::session::{REST, Session, senseless};

/// Parts with what is to be stored of them.
type Contents<'a> = SmallVec<[(PagePart, &'a [u8]); 2]>;

impl Session {
    /// What the records of a request are about.
    pub(crate) fn parts(&self) -> io::Result<SmallVec<[PagePart; 2]>> {
        let parts: Option<_> = self.records.iter().map(PagePart::of).collect();
        parts.ok_or_else(|| senseless("a part that no page has"))
    }

    pub(crate) fn read_parts(&mut self, header: Header) -> io::Result<()> {
        let node = Arc::clone(&self.node);
        let parts = self.parts()?;
        let Some(seat) = &self.seat else { return Ok(()) };
        let mut pinned: SmallVec<[(PagePart, Pinned<'_>); 2]> =
            SmallVec::with_capacity(parts.len());
        for (record, part) in self.records.iter_mut().zip(parts) {
            match seat.pool.read_since(&node.frames, part.slot, record.version) {
                Ok(page) => {
                    record.code = 0;
                    pinned.push((part, page));
                }
                Err(code) => record.code = u32::from(code as u16),
            }
        }
        let missed = self.records.len() - pinned.len();
        Counters::add(&node.counters.parts_read, pinned.len() as u64);
        Counters::add(&node.counters.pages_missed, missed as u64);
        let flags = if node.is_draining() { DRAINING } else { 0 };
        let len: usize = pinned.iter().map(|(part, _)| part.len()).sum();
        let reply = Header { flags, pages: (len / BLOCK) as u16, ..header.reply() };
        let len = reply.encode(&self.records, &mut self.head[..]);
        let mut slices: SmallVec<[IoSlice<'_>; 4]> = SmallVec::with_capacity(1 + pinned.len());
        slices.push(IoSlice::new(&self.head[..len]));
        slices.extend(pinned.iter().map(|(part, page)| IoSlice::new(&page.bytes()[part.range()])));
        send_all(&*self.stream, &mut slices, REST, || Ok(()))
    }

    pub(crate) fn write_parts(&mut self, header: Header) -> io::Result<()> {
        let node = Arc::clone(&self.node);
        let parts = self.parts()?;
        self.scratch.resize(header.content_len(), 0);
        let content = &mut [IoSliceMut::new(&mut self.scratch)];
        self.arrived.receive_all(&*self.stream, content, REST)?;
        let Some(seat) = &self.seat else { return Ok(()) };
        if seat.pool.epoch != header.epoch {
            return self.reply(Header { code: Code::OtherEpoch, ..header.reply() }, &[]);
        }
        let (mut at, mut start, mut failed) = (0, 0, 0);
        while at < parts.len() {
            // The parts of a page.
            let same = |place: &usize| {
                parts[*place].slot == parts[at].slot
                    && self.records[*place].version == self.records[at].version
            };
            let end = at + (at..parts.len()).take_while(same).count();
            let mut contents = Contents::with_capacity(end - at);
            for part in &parts[at..end] {
                contents.push((*part, &self.scratch[start..start + part.len()]));
                start += part.len();
            }
            let records = &mut self.records[at..end];
            if let Err(code) = store(&seat.pool, &node.frames, records, &contents) {
                failed += end - at;
                records.iter_mut().for_each(|record| record.code = u32::from(code as u16));
                let counters = &node.counters;
                let counter = match code {
                    Code::Damaged => &counters.pages_damaged,
                    _ => &counters.pages_refused,
                };
                Counters::add(counter, 1);
            } else {
                records.iter_mut().for_each(|record| record.code = 0);
            }
            at = end;
        }
        Counters::add(&node.counters.parts_written, (parts.len() - failed) as u64);
        let records = std::mem::take(&mut self.records);
        let replied = self.reply(header.reply(), if failed > 0 { &records } else { &[] });
        self.records = records;
        replied
    }
}

/// Stores parts of one page, all of them or none.
fn store(
    pool: &Pool,
    frames: &Frames,
    records: &[Record],
    contents: &Contents<'_>,
) -> Result<(), Code> {
    let is_whole =
        |(record, (_, bytes)): (&Record, &(PagePart, &[u8]))| page_check(bytes) == record.check;
    if !records.iter().zip(contents).all(is_whole) {
        return Err(Code::Damaged);
    }
    // Who names several versions wants the youngest of what it names.
    let before = records.iter().filter_map(PagePart::before).max();
    let (Some(first), Some(before)) = (records.first(), before) else {
        return Err(Code::Senseless);
    };
    pool.write_parts(frames, (first.version, before), contents)
}
