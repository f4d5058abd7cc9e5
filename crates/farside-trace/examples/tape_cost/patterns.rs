//! Orders in which programs use pages, and the tapes they lead to.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use farside_trace::tape::{Step, StepKind};
use farside_trace::{PageId, synthetic};

/// Pages of a row of a matrix: 4,096 numbers of eight bytes.
const ROW: u64 = 8;
const ROWS: u64 = 4096;

/// A product of matrices of 128 MiB by panels, as linear algebra libraries do it: a panel of B is
/// packed, then block after block of A, and each is multiplied into the rows of C.
pub fn panels() -> Vec<u64> {
    let (panel, block) = (256, 512);
    let matrix = ROW * ROWS;
    let mut pages = Vec::new();
    for k in (0..ROWS).step_by(panel as usize) {
        pages.extend((k * ROW..(k + panel) * ROW).map(|page| matrix + page));
        for i in (0..ROWS).step_by(block as usize) {
            pages.extend((i..i + block).map(|row| row * ROW + k * ROW / ROWS));
            pages.extend((i * ROW..(i + block) * ROW).map(|page| 2 * matrix + page));
        }
    }
    pages
}

/// A Fourier transform of 256 MiB, radix 4: each pass uses pages that lie further apart or closer
/// together than those of the pass before.
pub fn strides() -> Vec<u64> {
    let count = 1 << 16;
    let passes = (0..8).rev().map(|pass| 1 << (2 * pass));
    let pass = |stride: u64| {
        let groups = (0..count).step_by(4 * stride as usize);
        groups.flat_map(move |group| {
            (group..group + stride).flat_map(move |at| (0..4).map(move |leg| at + leg * stride))
        })
    };
    passes.flat_map(pass).collect()
}

/// 256 MiB from beginning to end, ten times.
pub fn scan() -> Vec<u64> {
    synthetic::cycle(10 << 16, 1 << 16).map(|page| page.0).collect()
}

/// Any page of 512 MiB.
pub fn random() -> Vec<u64> {
    let mut state = 1_u64;
    let draw = |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 47
    };
    (0..1 << 20).map(draw).collect()
}

/// Some pages of 512 MiB more often than others.
pub fn zipf() -> Vec<u64> {
    synthetic::zipf(1 << 20, 1 << 17, 1).map(|page| page.0).collect()
}

/// What a recording notes of `pages`: in each microset of `size` pages the first use of each.
pub fn recorded(pages: &[u64], size: usize) -> Vec<u64> {
    let mut microset = HashSet::new();
    let mut records = Vec::new();
    for &page in pages {
        if microset.insert(page) {
            records.push(page);
            if microset.len() == size {
                microset.clear();
            }
        }
    }
    records
}

/// The tape for `records` with room for `capacity` pages, of which the least recently used is
/// evicted.
pub fn lru(records: &[u64], capacity: usize) -> Vec<Step> {
    plan(records, capacity, |now| now as u64)
}

/// As [`lru`]; the page that is used again last is evicted.
pub fn min(records: &[u64], capacity: usize) -> Vec<Step> {
    let mut coming = HashMap::new();
    let mut next: Vec<u64> = records
        .iter()
        .enumerate()
        .rev()
        .map(|(i, &page)| u64::MAX - coming.insert(page, i as u64).unwrap_or(1 << 40))
        .collect();
    next.reverse();
    plan(records, capacity, |now| next[now])
}

/// Evicts the page whose last use had the lowest `rank`.
fn plan(records: &[u64], capacity: usize, rank: impl Fn(usize) -> u64) -> Vec<Step> {
    let mut here: HashMap<u64, u64> = HashMap::new();
    let mut order: BTreeSet<(u64, u64)> = BTreeSet::new();
    let mut seen = HashSet::new();
    let mut steps = Vec::new();
    for (now, &page) in records.iter().enumerate() {
        match here.insert(page, rank(now)) {
            Some(before) => drop(order.remove(&(before, page))),
            None => {
                if here.len() > capacity {
                    let (_, victim) = order.pop_first().expect("pages that are here");
                    here.remove(&victim);
                    steps.push(Step { kind: StepKind::Evict, page: PageId(victim) });
                }
                let kind = if seen.insert(page) { StepKind::Touch } else { StepKind::Fetch };
                steps.push(Step { kind, page: PageId(page) });
            }
        }
        order.insert((rank(now), page));
    }
    steps
}

/// The patterns by name.
pub fn all() -> BTreeMap<&'static str, fn() -> Vec<u64>> {
    BTreeMap::from([
        ("panels", panels as fn() -> Vec<u64>),
        ("strides", strides),
        ("scan", scan),
        ("random", random),
        ("zipf", zipf),
    ])
}
