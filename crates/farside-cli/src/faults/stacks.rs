//! The stacks of all faults, with names: samples, weighted so that each instruction has as many as it has faults.

use farside_report::stacks::{AccessKind, FaultStacks, Function, Stack};
use farside_symbols::{Callers, Frame, Names, Place};
use farside_wire::fault_log::Answer;

use super::samples::Samples;
use super::sites::Wanted;
use super::tally::Kind;
use super::watcher::Watched;

/// Stands for functions that are not known.
const UNKNOWN: &str = "[unknown]";

fn access(kind: Kind) -> AccessKind {
    match kind {
        Kind { answer: Answer::Protection, .. } => AccessKind::Protection,
        Kind { write: true, .. } => AccessKind::Write,
        Kind { write: false, .. } => AccessKind::Read,
    }
}

/// The stacks of all faults that are `wanted`.
pub fn stacks(
    watched: &Watched,
    samples: &Samples<'_>,
    names: &mut Names,
    wanted: Wanted<'_>,
    title: &str,
) -> FaultStacks {
    let mut stacks = Vec::new();
    for (stream, leaf) in &watched.tally.leaves {
        for (kind, count) in leaf.counts.iter().filter(|(kind, _)| wanted(kind.answer)) {
            let nearest = samples.nearest(*stream, Some(*kind)).unwrap_or_default();
            let above = |callers: &Callers| callers.places.iter().skip(1).copied().collect();
            let mut its: Vec<(Vec<_>, u64)> =
                nearest.iter().map(|(callers, weight)| (above(callers), *weight)).collect();
            if its.is_empty() {
                its.push((Vec::new(), 1));
            }
            for (above, count) in weighted(its, *count) {
                let places: Vec<_> = std::iter::once(stream.place).chain(above).collect();
                let functions = functions(&places, watched, names);
                stacks.push(Stack { functions, kind: access(*kind), count });
            }
        }
    }
    for (kind, count) in watched.tally.unseen.iter().filter(|(kind, _)| wanted(kind.answer)) {
        let functions = vec![Function { name: UNKNOWN.to_owned(), ..Function::default() }];
        stacks.push(Stack { functions, kind: access(*kind), count: *count });
    }
    stacks.sort_by(|a, b| (&a.functions, a.kind).cmp(&(&b.functions, b.kind)));
    stacks.retain(|stack| stack.count > 0);
    FaultStacks { title: title.to_owned(), stacks }
}

/// Divides a count by the frequencies of samples; what does not divide goes to the most frequent one.
fn weighted<T>(mut samples: Vec<(T, u64)>, count: u64) -> Vec<(T, u64)> {
    let all: u64 = samples.iter().map(|(_, share)| share).sum();
    samples.sort_by_key(|(_, share)| std::cmp::Reverse(*share));
    let mut left = count;
    for (_, share) in samples.iter_mut() {
        *share = (u128::from(count) * u128::from(*share) / u128::from(all.max(1))) as u64;
        left -= *share;
    }
    if let Some((_, share)) = samples.first_mut() {
        *share += left;
    }
    samples
}

/// The functions of a stack, the outermost one first.
fn functions(places: &[Option<Place>], watched: &Watched, names: &mut Names) -> Vec<Function> {
    let mut functions = Vec::new();
    for place in places {
        match place {
            Some(place) => {
                functions.extend(names.frames(&watched.images, *place).iter().map(named));
            }
            None => functions.push(Function { name: UNKNOWN.to_owned(), ..Function::default() }),
        }
    }
    functions.reverse();
    functions
}

fn named(frame: &Frame) -> Function {
    Function {
        name: frame.function.clone(),
        image: frame.image.clone(),
        file: frame.file.clone(),
        line: frame.line,
    }
}
