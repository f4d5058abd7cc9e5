//! Faults that may become streams.

use farside_trace::PageId;

use super::direction::Direction;

/// Number of isolated faults, or short runs of them, that are remembered.
const KEPT: usize = 32;

/// The latest faults outside all streams, each with the run of neighbours that led to it.
#[derive(Clone, Debug)]
pub(super) struct Approaches {
    runs: [Option<Run>; KEPT],
    clock: u64,
}

#[derive(Copy, Clone, Debug)]
struct Run {
    last: PageId,
    /// Unknown of a single fault.
    direction: Option<Direction>,
    faults: u32,
    seen: u64,
}

impl Run {
    /// The way from this run to its neighbour `page`, if it is one.
    fn leads_to(&self, page: PageId) -> Option<Direction> {
        Direction::BOTH.into_iter().find(|&way| {
            self.direction.is_none_or(|direction| direction == way)
                && way.step(self.last).checked_add(1) == Some(way.step(page))
        })
    }
}

impl Approaches {
    pub(super) const fn new() -> Self {
        Self { runs: [None; KEPT], clock: 0 }
    }

    /// Notes a fault on `page`. If it makes a run of `needed` faults, forgets the run and tells
    /// which way it goes.
    pub(super) fn extend(&mut self, page: PageId, needed: u32) -> Option<Direction> {
        self.clock += 1;
        let longest = (self.runs.iter_mut())
            .filter_map(|place| {
                let run = (*place)?;
                Some((run.faults, run.leads_to(page)?, place))
            })
            .max_by_key(|(faults, ..)| *faults);
        if let Some((faults, direction, place)) = longest {
            let faults = faults + 1;
            if faults >= needed {
                *place = None;
                return Some(direction);
            }
            let direction = Some(direction);
            *place = Some(Run { last: page, direction, faults, seen: self.clock });
            return None;
        }
        // A page that faults again is already known.
        let known = |run: &Option<Run>| run.is_some_and(|run| run.last == page);
        if !self.runs.iter().any(known) {
            let run = Run { last: page, direction: None, faults: 1, seen: self.clock };
            let oldest = self.runs.iter_mut().min_by_key(|run| run.map_or(0, |run| run.seen));
            oldest.into_iter().for_each(|place| *place = Some(run));
        }
        None
    }
}
