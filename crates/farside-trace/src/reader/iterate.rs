//! One access after the other.

use super::TraceReader;
use crate::{Access, MappingChange, TraceError};

/// An access or a change of what is mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// An access.
    Access(Access),
    /// A mapping appeared or vanished before the next access.
    Mapping(MappingChange),
}

/// The accesses of a trace in order.
#[derive(Debug)]
pub struct Accesses(TraceReader);

/// The accesses and mapping events of a trace in order.
#[derive(Debug)]
pub struct Records {
    reader: TraceReader,
    /// Events of the present block that were given out.
    events: usize,
}

impl TraceReader {
    /// The accesses in order, with everything that is known of each.
    pub fn accesses(self) -> Accesses {
        Accesses(self)
    }

    /// The accesses and the mapping events in order.
    pub fn records(self) -> Records {
        Records { reader: self, events: 0 }
    }

    #[inline]
    pub(super) fn next_access(&mut self) -> Option<Result<Access, TraceError>> {
        loop {
            if let Some(&access) = self.block.accesses.get(self.given) {
                self.given += 1;
                return Some(Ok(access));
            }
            match self.refill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Accesses {
    /// The trace that the accesses are from.
    pub fn reader(&self) -> &TraceReader {
        &self.0
    }
}

impl Iterator for Accesses {
    type Item = Result<Access, TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next_access()
    }
}

impl std::iter::FusedIterator for Accesses {}

impl Records {
    /// The trace that the records are from.
    pub fn reader(&self) -> &TraceReader {
        &self.reader
    }
}

impl Iterator for Records {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let block = &self.reader.block;
            let here = block.first + self.reader.given as u64;
            if let Some(event) = block.events.get(self.events)
                && event.access <= here
            {
                self.events += 1;
                return Some(Ok(Record::Mapping(event.change.clone())));
            }
            if let Some(&access) = block.accesses.get(self.reader.given) {
                self.reader.given += 1;
                return Some(Ok(Record::Access(access)));
            }
            self.events = 0;
            match self.reader.refill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl std::iter::FusedIterator for Records {}
