//! Lines and structures of sections (Mira, sections 3.2 and 3.3): what is usual for a pattern, and what is best by a
//! trace.

use rayon::prelude::*;

use crate::cache::{Counts, Sampled, Ways};
use crate::cost::{Calibration, Network, touched};
use crate::grouping::Pattern;
use crate::lines::Lines;

/// What a section may be like, and what it would do.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Layout {
    /// Bytes of a line.
    pub line: u64,
    /// Lines of a set: 1 is direct, 0 is all.
    pub ways: u32,
    /// Bytes of local memory.
    pub capacity: u64,
    /// Lookups, misses, and stores.
    pub counts: Counts,
    /// Seconds that they cost, and its memory.
    pub seconds: f64,
}

impl Layout {
    /// Such lines in such memory, with what they would do.
    fn new(
        (line, ways, capacity): (u64, u32, u64),
        counts: Counts,
        network: &Network,
        calibration: Calibration,
    ) -> Self {
        let waited = calibration.seconds(counts, line, Ways::of(ways), network);
        Self { line, ways, capacity, counts, seconds: waited + touched(capacity) }
    }
}

/// Capacities are multiples of this.
pub const STEP: u64 = 64 << 10;

/// What a stream needs, in lines for each one that is used at once: it is filled while it is used.
pub const WINDOW: u64 = 16;

/// The shortest line, and the longest one for data that are used here and there.
const LINES: [u64; 2] = [64, 4096];

/// The longest line that is looked at.
const LONGEST: u64 = 64 << 10;

/// The share of lookups, or of misses, by loops that hold lines from which on it is a stream, whatever the compiler
/// says.
const STREAMS: f64 = 0.9;

/// Most lines of a set; more of them are better looked for anywhere.
const MOST_WAYS: u32 = 16;

/// This share, over that, is nearly all.
const NEARLY_ALL: (u64, u64) = (19, 20);

/// Bytes of a structure that describes lines should stay below this share of them, which bounds lines from below.
const DESCRIPTION: u64 = 16;

/// Line and structure before anything is measured.
///
/// What is used in order has the line that the network carries best, and as many lines in a set as are used at the
/// same time. What is used here and there has a line as long as what is used together, and at least such that what
/// describes it is small.
pub fn usual(pattern: Pattern, network: &Network) -> (u64, u32) {
    match pattern {
        Pattern::Stream { at_once, .. } => (network.balanced_line(), structure(at_once)),
        Pattern::Random { granularity, at_once } => {
            let least = (DESCRIPTION * 6).next_power_of_two();
            (granularity.next_power_of_two().clamp(least, LINES[1]), structure(at_once.min(2)))
        }
    }
}

/// The simplest structure that holds so many lines at the same time.
fn structure(at_once: u32) -> u32 {
    match at_once {
        0 | 1 => 1,
        few if few <= MOST_WAYS => few.next_power_of_two(),
        _ => 0,
    }
}

/// For each capacity from a few lines to all that is used, the best line and structure by a trace; the smallest first.
///
/// Capacities are tenths of what is used of `holds` bytes, and halvings of the smallest of these; none is above `most`. With
/// `only` this line and structure are looked at.
pub fn layouts(
    sampled: &Sampled,
    holds: u64,
    pattern: Pattern,
    network: &Network,
    calibration: Calibration,
    most: u64,
    only: Option<(u64, u32)>,
) -> Vec<Layout> {
    let (lengths, structures) =
        only.map_or_else(|| shapes(sampled, pattern), |(line, ways)| (vec![line], vec![ways]));
    let at_once = match pattern {
        Pattern::Stream { at_once, .. } => u64::from(at_once.max(1)),
        Pattern::Random { .. } => 1,
    };
    let capacities = capacities(used(sampled.footprint(), holds), most);
    let mut of_shapes = Vec::new();
    for lengths in lengths.chunk_by(|one, other| told(sampled, *one) == told(sampled, *other)) {
        let all = simulated(&sampled.lines(told(sampled, lengths[0])), &structures, &capacities);
        let of_length = |line: u64| {
            all.iter().map(move |&(ways, capacity, counts)| {
                let counts = counts_of(counts, told(sampled, line), line);
                Layout::new((line, ways, capacity), counts, network, calibration)
            })
        };
        of_shapes.extend(lengths.iter().flat_map(|line| of_length(*line)));
    }
    of_shapes.retain(|it| it.line * 2 <= it.capacity);
    let of = |capacity: u64| {
        let all = of_shapes.iter().filter(|it| it.capacity == capacity).copied();
        // What is sent for ahead needs room until it is used.
        let has_room = |it: &Layout| {
            let is_stream = at_once > 1 || 2.0 * it.counts.held > it.counts.misses;
            !is_stream || WINDOW * at_once * it.line <= it.capacity
        };
        all.filter(has_room).min_by(|one, other| one.seconds.total_cmp(&other.seconds))
    };
    capacities.iter().copied().filter_map(of).collect()
}

/// The same lines and structure with so many bytes.
pub fn larger(
    layout: Layout,
    sampled: &Sampled,
    network: &Network,
    calibration: Calibration,
    capacity: u64,
) -> Layout {
    let Layout { line, ways, .. } = layout;
    let told = told(sampled, line);
    let counts = counts_of(sampled.simulate(told, Ways::of(ways), capacity), told, line);
    Layout::new((line, ways, capacity), counts, network, calibration)
}

/// The longest line of at most so many bytes that the sample tells about.
fn told(sampled: &Sampled, line: u64) -> u64 {
    line.min(sampled.largest_line())
}

/// What such lines would do in each structure, with each capacity.
fn simulated(lines: &Lines, structures: &[u32], capacities: &[u64]) -> Vec<(u32, u64, Counts)> {
    // Where a line may be anywhere, all capacities are told of at once.
    let once = |ways: u32| if ways == 0 { capacities.len().max(1) } else { 1 };
    let parts: Vec<(u32, &[u64])> = structures
        .iter()
        .flat_map(|ways| capacities.chunks(once(*ways)).map(|part| (*ways, part)))
        .collect();
    let of_part = |&(ways, part): &(u32, &[u64])| {
        let counts = match Ways::of(ways) {
            Ways::Full => lines.anywhere(part),
            one => part.iter().map(|capacity| lines.simulate(one, *capacity)).collect(),
        };
        let of = |(capacity, counts): (&u64, Counts)| (ways, *capacity, counts);
        part.iter().zip(counts).map(of).collect::<Vec<_>>()
    };
    parts.par_iter().flat_map_iter(of_part).collect()
}

/// What lines of some length do, of which is known what shorter ones would. If they are longer than the sample tells
/// about, only loops which come to nearly all of them one after another have as many times fewer.
fn counts_of(counts: Counts, told: u64, line: u64) -> Counts {
    let is_in_order = counts.held > STREAMS * counts.misses;
    let times = if is_in_order { told as f64 / line as f64 } else { 1.0 };
    Counts {
        lookups: counts.lookups * times,
        misses: counts.misses * times,
        held: counts.held * times,
        stored: counts.stored * times,
    }
}

/// How much of what a section holds is used, if a sample tells that it is about so much: nearly all is all, so that a section
/// that has room for what is used has room for all that it holds, and can be plain memory.
fn used(sampled: u64, holds: u64) -> u64 {
    if sampled >= holds / NEARLY_ALL.1 * NEARLY_ALL.0 { holds } else { sampled }
}

/// Capacities that are looked at.
pub fn capacities(footprint: u64, most: u64) -> Vec<u64> {
    let whole = |bytes: u64| bytes.next_multiple_of(STEP);
    let tenths = (1..=10).map(|tenth| whole(footprint / 10 * tenth));
    let halvings = (1..=6).map(|times| whole((footprint / 10) >> times));
    let mut all: Vec<u64> = tenths.chain(halvings).chain([STEP]).filter(|it| *it <= most).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Lengths of lines, the shortest first, and structures that are looked at.
fn shapes(sampled: &Sampled, pattern: Pattern) -> (Vec<u64>, Vec<u32>) {
    // Lines that are longer than the sample tells about are worth a look if there is next to nothing else.
    let most = if sampled.held() > STREAMS { LONGEST } else { sampled.largest_line() };
    let (lines, ways): ([u64; 2], &[u32]) = match pattern {
        Pattern::Stream { at_once, .. } => {
            ([1 << 10, most], if at_once <= 1 { &[1, 2] } else { &[2, 4, 8, 16] })
        }
        Pattern::Random { .. } => ([LINES[0], most], &[1, 2, 4, 8, 16, 0]),
    };
    let lengths = std::iter::successors(Some(lines[0]), |line| Some(line * 2));
    (lengths.take_while(|line| *line <= lines[1]).collect(), ways.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: Network = Network { latency: 10e-6, per_byte: 0.32e-9 };

    #[test]
    fn patterns_have_their_usual_shapes() {
        let stream = |at_once| usual(Pattern::Stream { stride: 16, at_once }, &NETWORK);
        assert_eq!(stream(1), (4096, 1));
        assert_eq!(stream(3), (4096, 4));
        assert_eq!(stream(40), (4096, 0));
        let random = |granularity| usual(Pattern::Random { granularity, at_once: 5 }, &NETWORK);
        assert_eq!(random(24), (128, 2));
        assert_eq!(random(500), (512, 2));
        assert_eq!(random(1 << 20), (4096, 2));
    }

    #[test]
    fn what_has_room_for_nearly_all_has_room_for_all() {
        let top = |sampled, holds| capacities(used(sampled, holds), u64::MAX).pop();
        // The sample tells of a little less, or more, than there is.
        assert_eq!(top(47_972_352, 48_000_000), Some(48_037_888));
        assert_eq!(top(49_000_000, 48_000_000), Some(48_037_888));
        assert_eq!(top(24_000_000, 48_000_000), Some(24_051_712));
    }

    #[test]
    fn records_here_and_there_get_lines_of_their_length() {
        let mut sampled = Sampled::new(4096, 1);
        let mut state = 1_u64;
        for time in 0..20_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Records of 128 bytes, of which both halves are used.
            let block = (state >> 33) % 8192 * 2;
            sampled.add(block, 0, false, time);
            sampled.add(block + 1, 0, false, time);
        }
        sampled.number();
        let pattern = Pattern::Random { granularity: 16, at_once: 2 };
        let all =
            layouts(&sampled, 1 << 20, pattern, &NETWORK, Calibration::default(), 512 << 10, None);
        assert_eq!(all.last().map(|it| it.capacity), Some(512 << 10));
        assert!(all[0].line == 128, "{all:?}");
        assert!(all.is_sorted_by(|one, other| one.seconds >= other.seconds), "{all:?}");
        // With the same lines and structure the next one is what it was found to be.
        let of = |at: usize, capacity| {
            larger(all[at], &sampled, &NETWORK, Calibration::default(), capacity)
        };
        let alike = (1..all.len())
            .filter(|at| (all[*at].line, all[*at].ways) == (all[at - 1].line, all[at - 1].ways));
        assert!(alike.clone().count() > 0, "{all:?}");
        alike.for_each(|at| assert_eq!(of(at - 1, all[at].capacity), all[at]));
    }
}
