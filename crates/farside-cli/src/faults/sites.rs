//! Fault sites: the lines of the program that the faults come from.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use farside_symbols::{Frame, Names, Place};
use farside_wire::fault_log::Answer;

use super::own_code::is_own;
use super::pattern::Pattern;
use super::samples::Samples;
use super::tally::{Kind, Leaf, Stream};
use super::watcher::Watched;

/// A place in the program that is told apart from others.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Spot {
    /// A line of a source file.
    Line {
        /// The function.
        function: String,
        /// The file.
        file: String,
        /// The line, from 1.
        line: u32,
    },
    /// An instruction of a function without debugging information.
    Instruction {
        /// The function, or where it begins.
        function: String,
        /// The executable file or library.
        image: String,
        /// The address in it.
        address: u64,
    },
    /// Code that belongs to no file, as programs make it for themselves.
    Generated,
    /// Nobody saw the instruction.
    Unseen,
}

/// Where faults come from.
#[derive(Clone, Debug)]
pub struct Site {
    /// The place.
    pub spot: Spot,
    /// The functions, called from there, that touched the memory, if it was not the place itself.
    pub inside: BTreeSet<String>,
    /// Faults of each kind.
    pub counts: BTreeMap<Kind, u64>,
    /// Where it read, and where it wrote, one after the other.
    pub patterns: [Pattern; 2],
    /// The instruction with most of them, and how many.
    pub busiest: Option<(Place, u64)>,
}

impl Site {
    /// A place without faults so far.
    pub fn new(spot: Spot) -> Self {
        Self {
            spot,
            inside: BTreeSet::new(),
            counts: BTreeMap::new(),
            patterns: Default::default(),
            busiest: None,
        }
    }

    /// All its faults.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// All it touched.
    pub fn pattern(&self) -> Pattern {
        self.patterns[0].clone().with(&self.patterns[1])
    }

    /// The faults of which this is true.
    pub fn count(&self, is: impl Fn(Kind) -> bool) -> u64 {
        self.counts.iter().filter(|(kind, _)| is(**kind)).map(|(_, count)| count).sum()
    }
}

/// Which faults are of interest.
pub type Wanted<'a> = &'a dyn Fn(Answer) -> bool;

/// A place and what was called from it.
pub type Key = (Spot, Option<String>);

/// Finds the sites of all faults that are `wanted`, those with most first.
pub fn sites(
    watched: &Watched,
    samples: &Samples<'_>,
    names: &mut Names,
    wanted: Wanted<'_>,
) -> Vec<Site> {
    let mut sites: HashMap<Spot, Site> = HashMap::new();
    let mut add =
        |key: &Key, counts: Vec<(Kind, u64)>, place: Option<Place>, patterns: &[Pattern; 2]| {
            let (spot, inside) = key;
            let site = sites.entry(spot.clone()).or_insert_with(|| Site::new(spot.clone()));
            site.inside.extend(inside.clone());
            let faults = counts.iter().map(|(_, count)| count).sum();
            let busiest = place.map(|place| (place, faults));
            if busiest.map(|(_, faults)| faults) > site.busiest.map(|(_, faults)| faults) {
                site.busiest = busiest;
            }
            for (kind, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
                *site.counts.entry(kind).or_default() += count;
            }
            for (ours, theirs) in site.patterns.iter_mut().zip(patterns) {
                *ours = std::mem::take(ours).with(theirs);
            }
        };
    let (mut libraries, nothing) = (BTreeSet::new(), Default::default());
    for (stream, leaf) in &watched.tally.leaves {
        let counts: Vec<(Kind, u64)> = wanted_of(leaf, wanted);
        let Some(place) = stream.place else {
            add(&(Spot::Generated, None), counts, None, &leaf.patterns);
            continue;
        };
        let shares = callers(samples, *stream, place, watched, names);
        let is_bare = is_bare(place, watched, names);
        for (key, counts) in shared(&counts, &shares) {
            // What a library goes through for one call it may go through with many instructions.
            let library = (stream.depth.0, place.image);
            let through = (is_bare && matches!(key.0, Spot::Line { .. }))
                .then(|| watched.tally.libraries.get(&library))
                .flatten();
            let patterns = match through {
                None => &leaf.patterns,
                Some(patterns) if libraries.insert((key.0.clone(), library)) => patterns,
                Some(_) => &nothing,
            };
            add(key, counts, Some(place), patterns);
        }
    }
    let unseen = watched.tally.unseen.iter().filter(|(kind, _)| wanted(kind.answer));
    let unseen = unseen.map(|(kind, count)| (*kind, *count)).collect();
    add(&(Spot::Unseen, None), unseen, None, &Default::default());
    let mut sites: Vec<Site> = sites.into_values().filter(|site| site.total() > 0).collect();
    sites.sort_by(|a, b| b.total().cmp(&a.total()).then_with(|| a.spot.cmp(&b.spot)));
    sites
}

fn wanted_of(leaf: &Leaf, wanted: Wanted<'_>) -> Vec<(Kind, u64)> {
    let counts = leaf.counts.iter().filter(|(kind, _)| wanted(kind.answer));
    counts.map(|(kind, count)| (*kind, *count)).collect()
}

/// From which places the instruction of a stream was called, and how often, as far as samples tell.
pub fn callers(
    samples: &Samples<'_>,
    stream: Stream,
    place: Place,
    watched: &Watched,
    names: &mut Names,
) -> BTreeMap<Key, u64> {
    let mut callers = BTreeMap::new();
    for (stack, weight) in samples.nearest(stream, None).unwrap_or_default() {
        let above = stack.places.iter().skip(1).map_while(|place| *place);
        let known: Vec<Place> = std::iter::once(place).chain(above).collect();
        *callers.entry(key_of(&known, watched, names)).or_default() += weight;
    }
    if callers.is_empty() {
        callers.insert(key_of(&[place], watched, names), 1);
    }
    callers
}

/// Whether an instruction is of a library that may be the programmer's own, but whose lines are not known.
fn is_bare(place: Place, watched: &Watched, names: &mut Names) -> bool {
    let image = watched.images.path(place.image);
    names
        .frames(&watched.images, place)
        .iter()
        .all(|frame| is_own(frame, image) && frame.line.is_none())
}

/// The line that is the programmer's own among an instruction and its callers, and the function that it called. Where
/// no line is known, the instruction that is; the first one if none is his own.
pub fn key_of(places: &[Place], watched: &Watched, names: &mut Names) -> Key {
    let mut first: Option<(Frame, Place)> = None;
    let mut own: Option<Key> = None;
    for place in places {
        let image = watched.images.path(place.image);
        for frame in names.frames(&watched.images, *place) {
            if is_own(frame, image) {
                let key = || {
                    let inside = first.as_ref().map(|(frame, _)| frame.function.clone());
                    (spot_of(frame, *place), inside)
                };
                if frame.line.is_some() {
                    return key();
                }
                own.get_or_insert_with(key);
            }
            first.get_or_insert_with(|| (frame.clone(), *place));
        }
    }
    let first = first.map(|(frame, place)| (spot_of(&frame, place), None));
    own.or(first).unwrap_or((Spot::Generated, None))
}

fn spot_of(frame: &Frame, place: Place) -> Spot {
    let function = frame.function.clone();
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => Spot::Line { function, file: file.clone(), line },
        _ => Spot::Instruction { function, image: frame.image.clone(), address: place.address },
    }
}

/// Divides counts by the shares of the places, so that nothing is lost: what does not divide goes to the largest.
fn shared<'a>(
    counts: &[(Kind, u64)],
    shares: &'a BTreeMap<Key, u64>,
) -> Vec<(&'a Key, Vec<(Kind, u64)>)> {
    let all: u64 = shares.values().sum();
    let part = |count: u64, share: u64| {
        (u128::from(count) * u128::from(share) / u128::from(all.max(1))) as u64
    };
    let mut divided: Vec<(&Key, Vec<(Kind, u64)>)> = shares
        .iter()
        .map(|(key, share)| {
            (key, counts.iter().map(|(kind, count)| (*kind, part(*count, *share))).collect())
        })
        .collect();
    let largest = shares.values().enumerate().max_by_key(|(_, share)| **share);
    let Some((largest, _)) = largest else { return divided };
    for (number, (_, count)) in counts.iter().enumerate() {
        let given: u64 = divided.iter().map(|(_, counts)| counts[number].1).sum();
        divided[largest].1[number].1 += count - given;
    }
    divided
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_counts_are_shared() {
        let key = |line| {
            let (function, file) = ("f".to_owned(), "a.c".to_owned());
            (Spot::Line { function, file, line }, None)
        };
        let shares = BTreeMap::from([(key(1), 1), (key(2), 5), (key(3), 1)]);
        let kind = |write| Kind { answer: Answer::Demand, write };
        let counts = [(kind(false), 100), (kind(true), 3)];
        let divided = shared(&counts, &shares);
        let of = |number: usize| -> Vec<u64> {
            divided.iter().map(|(_, counts)| counts[number].1).collect()
        };
        assert_eq!(of(0), [14, 72, 14]);
        assert_eq!(of(1), [0, 3, 0]);
    }
}
