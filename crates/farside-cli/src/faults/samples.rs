//! Samples of stacks, found by how near they are to a fault: of the same stream, else of the same instruction, else of
//! the same function.

use std::collections::HashMap;

use farside_symbols::{Callers, Place};

use super::tally::{Kind, Stream};
use super::watcher::Watched;

/// Stacks, and how many faults each stands for.
pub type Weighed<'a> = Vec<(&'a Callers, u64)>;

/// A function: its file, and where it begins there.
type Function = (u32, u64);

/// All samples.
#[derive(Debug)]
pub struct Samples<'a> {
    watched: &'a Watched,
    of_kind: HashMap<(Stream, Kind), Weighed<'a>>,
    of_stream: HashMap<Stream, Weighed<'a>>,
    of_place: HashMap<Place, Weighed<'a>>,
    of_function: HashMap<Function, Weighed<'a>>,
}

impl<'a> Samples<'a> {
    /// The samples of what was seen.
    pub fn new(watched: &'a Watched) -> Self {
        let mut samples = Self {
            watched,
            of_kind: HashMap::new(),
            of_stream: HashMap::new(),
            of_place: HashMap::new(),
            of_function: HashMap::new(),
        };
        for ((stream, callers, kind), weight) in &watched.tally.stacks {
            let sample = (callers, *weight);
            samples.of_kind.entry((*stream, *kind)).or_default().push(sample);
            samples.of_stream.entry(*stream).or_default().push(sample);
            let Some(place) = stream.place else { continue };
            samples.of_place.entry(place).or_default().push(sample);
            if let Some(start) = watched.images.function_of(place) {
                samples.of_function.entry((place.image, start)).or_default().push(sample);
            }
        }
        samples
    }

    /// Those that are nearest to faults of a stream, of one kind if there are any of it. Of another instruction, what it
    /// was called from counts, but not where it is itself.
    pub fn nearest(&self, stream: Stream, kind: Option<Kind>) -> Option<Weighed<'a>> {
        let of_kind = kind.and_then(|kind| self.of_kind.get(&(stream, kind)));
        let of_stream = of_kind.or_else(|| self.of_stream.get(&stream));
        let of_place = || self.of_place.get(&stream.place?);
        let of_function = || {
            let place = stream.place?;
            let start = self.watched.images.function_of(place)?;
            self.of_function.get(&(place.image, start))
        };
        of_stream.or_else(of_place).or_else(of_function).cloned()
    }
}
