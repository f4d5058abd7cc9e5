//! Lines on their way: which bytes of the far store they are, and how these are read and written.

use farside_far::{FarError, FarStore, Part, Ticket};
use farside_os::memory::PAGE;
use smallvec::SmallVec;

use crate::select::Selection;
use crate::shape::Geometry;
use crate::space::Space;

/// A line to be read: those parts of it that are stored, with places in the line.
#[derive(Debug, Default)]
pub struct Reading {
    pub parts: SmallVec<[Part; 1]>,
    tickets: SmallVec<[Ticket; 1]>,
    /// Whether the parts are all of the line.
    whole: bool,
    /// When they were asked for, in nanoseconds, if they were.
    pub asked: Option<u64>,
}

/// A line to be written: those parts of it that were, with places in the line.
#[derive(Debug, Default)]
pub struct Writing {
    pub parts: SmallVec<[Part; 1]>,
    /// Whether the page is stored, of a line that is shorter than one.
    pub stored: bool,
}

/// Adds a range of a line, if it is not part of the last one.
fn push(parts: &mut SmallVec<[Part; 1]>, start: u64, place: usize, len: usize) {
    if let Some(last) = parts.last_mut()
        && last.range().end == place
        && last.start + u64::from(last.len) == start
    {
        last.len += len as u32;
        return;
    }
    parts.push(Part { start, len: len as u32, place: place as u32 });
}

/// Number of bytes of parts.
pub fn bytes(parts: &[Part]) -> u64 {
    parts.iter().map(|part| u64::from(part.len)).sum()
}

/// Whether a store moves whole pages only, though lines are shorter: they take turns.
pub fn takes_turns(store: &dyn FarStore, geometry: &Geometry) -> bool {
    store.parts().is_none() && geometry.line() < PAGE
}

/// Bytes of what a store moves at once of lines, each of which is a multiple of it.
fn grain(store: &dyn FarStore, geometry: &Geometry) -> usize {
    store.parts().map_or(PAGE, |by_part| by_part.grain(geometry.line()))
}

/// Makes of parts of a line, which are in order, those that hold them and begin and end at multiples of `grain`.
fn in_grains(parts: SmallVec<[Part; 1]>, grain: usize) -> SmallVec<[Part; 1]> {
    if grain == 1 {
        return parts;
    }
    let mut wider: SmallVec<[Part; 1]> = SmallVec::new();
    for part in parts {
        let before = part.place as usize % grain;
        let (mut from, end) =
            (part.range().start - before, part.range().end.next_multiple_of(grain));
        let mut start = part.start - before as u64;
        // What holds the end of the last one begins no other.
        if let Some(last) = wider.last()
            && last.range().end > from
        {
            let known = last.range().end - from;
            (from, start) = (from + known, start + known as u64);
        }
        if from < end {
            push(&mut wider, start, from, end - from);
        }
    }
    wider
}

/// What of a line is to be read.
pub fn reading(
    store: &dyn FarStore,
    space: &Space,
    geometry: &Geometry,
    selection: Option<&Selection>,
    line: u32,
) -> Reading {
    let start = u64::from(line) << geometry.shift;
    let (len, step) = (geometry.line(), geometry.line().min(PAGE));
    let mut parts = SmallVec::new();
    for place in (0..len).step_by(step) {
        let offset = start + place as u64;
        if space.is_stored(offset) {
            push(&mut parts, space.far(offset), place, step);
        }
    }
    let whole = bytes(&parts) == len as u64;
    match selection.filter(|_| store.parts().is_some()) {
        None => Reading { parts, whole, ..Reading::default() },
        Some(selection) => {
            let parts = in_grains(selection.among(&parts), grain(store, geometry));
            Reading { parts, whole: false, ..Reading::default() }
        }
    }
}

/// What of a line is to be written, of whose blocks those in `blocks` were.
pub fn writing(
    store: &dyn FarStore,
    space: &Space,
    geometry: &Geometry,
    selection: Option<&Selection>,
    (line, blocks): (u32, u64),
) -> Writing {
    let start = u64::from(line) << geometry.shift;
    let (alone, grain) = (store.parts().is_some(), grain(store, geometry));
    let block = 1usize << geometry.block_shift;
    let mut parts = SmallVec::new();
    for place in (0..geometry.line()).step_by(block) {
        if blocks >> (place / block) & 1 == 0 {
            continue;
        }
        // No line that is shorter than what goes at once has blocks.
        let from = place / grain * grain;
        let end = (place + block).next_multiple_of(grain).min(geometry.line());
        if parts.last().is_some_and(|last: &Part| last.range().end >= end) {
            continue;
        }
        push(&mut parts, space.far(start + from as u64), from, end - from);
    }
    let parts = match selection.filter(|_| alone) {
        Some(selection) => in_grains(selection.among(&parts), grain),
        None => parts,
    };
    Writing { parts, stored: space.is_stored(start) }
}

impl Reading {
    /// Asks for what is stored, if that can be waited for elsewhere. It is `now`, in nanoseconds.
    pub fn begin(
        &mut self,
        store: &dyn FarStore,
        geometry: &Geometry,
        now: u64,
    ) -> Result<(), FarError> {
        if self.parts.is_empty() {
            return Ok(());
        }
        if let Some(by_part) = store.parts() {
            self.tickets.push(by_part.begin_read_parts(&self.parts)?);
        } else if !takes_turns(store, geometry) {
            for part in &self.parts {
                let (first, count) = pages_of(part);
                self.tickets.push(store.begin_read(first, count)?);
            }
        }
        self.asked = (!self.tickets.is_empty()).then_some(now);
        Ok(())
    }

    /// Whether it need not be waited for.
    pub fn is_ready(&self, store: &dyn FarStore) -> bool {
        self.tickets.iter().all(|ticket| store.is_ready(ticket))
    }

    /// Waits for the line and puts it into `into`.
    pub fn finish(self, store: &dyn FarStore, into: &mut [u8]) -> Result<(), FarError> {
        if !self.whole {
            into.fill(0);
        }
        match (store.parts(), self.tickets.as_slice()) {
            (_, []) => self.parts.iter().try_for_each(|part| {
                let mut page = [0; PAGE];
                let (first, inside) = page_around(part);
                let ticket = store.begin_read(first, 1)?;
                store.finish_read(ticket, &mut page)?;
                into[part.range()].copy_from_slice(&page[inside]);
                Ok(())
            }),
            (Some(by_part), [ticket]) => by_part.finish_read_parts(*ticket, &self.parts, into),
            (_, tickets) => tickets
                .iter()
                .zip(&self.parts)
                .try_for_each(|(ticket, part)| store.finish_read(*ticket, &mut into[part.range()])),
        }
    }
}

impl Writing {
    /// Stores the parts of a line, which is in `from`; returns how many bytes went.
    pub fn write(
        &self,
        store: &dyn FarStore,
        geometry: &Geometry,
        from: &[u8],
    ) -> Result<u64, FarError> {
        if let Some(by_part) = store.parts() {
            by_part.write_parts(&self.parts, from, geometry.line())?;
            return Ok(bytes(&self.parts));
        }
        if !takes_turns(store, geometry) {
            let runs: SmallVec<[(u64, &[u8]); 4]> =
                self.parts.iter().map(|part| (pages_of(part).0, &from[part.range()])).collect();
            store.write_runs(&runs)?;
            return Ok(bytes(&self.parts));
        }
        for part in &self.parts {
            let mut page = [0; PAGE];
            let (first, inside) = page_around(part);
            if self.stored {
                let ticket = store.begin_read(first, 1)?;
                store.finish_read(ticket, &mut page)?;
            }
            page[inside].copy_from_slice(&from[part.range()]);
            store.write(first, &page)?;
        }
        Ok((self.parts.len() * PAGE) as u64)
    }
}

/// The pages that a part is.
fn pages_of(part: &Part) -> (u64, u32) {
    (part.start / PAGE as u64, part.len / PAGE as u32)
}

/// The page that a part lies in, and where in it.
fn page_around(part: &Part) -> (u64, std::ops::Range<usize>) {
    let place = (part.start % PAGE as u64) as usize;
    (part.start / PAGE as u64, place..place + part.len as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_grow_to_what_is_moved_at_once() {
        let part = |place: u32, len: u32| Part { start: 8192 + u64::from(place), len, place };
        let wider = |parts: &[Part]| in_grains(parts.iter().copied().collect(), 128).to_vec();
        assert_eq!(wider(&[part(0, 8), part(32, 8), part(120, 16)]), [part(0, 256)]);
        assert_eq!(wider(&[part(130, 1), part(640, 128)]), [part(128, 128), part(640, 128)]);
        // Places in the line may follow one another where those in the store do not.
        let apart = [part(0, 128), Part { start: 0, len: 8, place: 128 }];
        assert_eq!(wider(&apart), [part(0, 128), Part { start: 0, len: 128, place: 128 }]);
    }
}
