//! Lines that are neither here nor far.

use rustc_hash::FxHashMap;

use crate::transfer::Reading;

/// Lines that are neither here nor far. Each that comes or leaves is looked for several times, so that what is long of them
/// lies elsewhere, where what was used last is used first.
#[derive(Default)]
pub(crate) struct Transit {
    lines: FxHashMap<u32, Way>,
    readings: Vec<Reading>,
    /// Places of these that are free.
    free: Vec<u32>,
}

/// What is on with a line.
#[derive(Copy, Clone)]
enum Way {
    /// It was asked for, and nobody waits for it.
    Flight { slot: u32, reading: u32 },
    /// Somebody deals with it.
    Busy,
}

impl Transit {
    /// Whether a line is one of them.
    pub fn has(&self, line: u32) -> bool {
        self.lines.contains_key(&line)
    }

    /// Whether somebody deals with a line.
    pub fn is_busy(&self, line: u32) -> bool {
        matches!(self.lines.get(&line), Some(Way::Busy))
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// All of them.
    pub fn lines(&self) -> impl Iterator<Item = u32> {
        self.lines.keys().copied()
    }

    /// Those that were asked for and that nobody waits for, with their slots.
    pub fn flights(&self) -> impl Iterator<Item = (u32, u32)> {
        self.lines.iter().filter_map(|(line, way)| match way {
            Way::Flight { slot, .. } => Some((*line, *slot)),
            Way::Busy => None,
        })
    }

    /// What a line needs that was asked for, if nobody waits for it.
    pub fn flight(&self, line: u32) -> Option<&Reading> {
        match self.lines.get(&line) {
            Some(Way::Flight { reading, .. }) => self.readings.get(*reading as usize),
            _ => None,
        }
    }

    /// Somebody deals with a line, which is here, far, or one that [was asked for](Self::take_flight).
    pub fn deal_with(&mut self, line: u32) {
        let before = self.lines.insert(line, Way::Busy);
        debug_assert!(before.is_none(), "line {line} is dealt with already");
    }

    /// Whoever deals with a line has asked for it, and does not wait for it.
    pub fn let_fly(&mut self, line: u32, slot: u32, reading: Reading) {
        let reading = match self.free.pop() {
            Some(place) => {
                self.readings[place as usize] = reading;
                place
            }
            None => {
                self.readings.push(reading);
                self.readings.len() as u32 - 1
            }
        };
        let before = self.lines.insert(line, Way::Flight { slot, reading });
        debug_assert!(matches!(before, Some(Way::Busy)), "nobody deals with line {line}");
    }

    /// Takes over a line that was asked for: its slot, and what it needs. It is dealt with.
    pub fn take_flight(&mut self, line: u32) -> Option<(u32, Reading)> {
        let way = self.lines.get_mut(&line)?;
        let Way::Flight { slot, reading } = *way else { return None };
        *way = Way::Busy;
        self.free.push(reading);
        Some((slot, std::mem::take(&mut self.readings[reading as usize])))
    }

    /// Whoever dealt with a line has done so: it is here, or far.
    pub fn end(&mut self, line: u32) {
        let before = self.lines.remove(&line);
        debug_assert!(!matches!(before, Some(Way::Flight { .. })), "line {line} is on its way");
    }
}
