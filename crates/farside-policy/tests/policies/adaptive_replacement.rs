//! Adaptive replacement in runs in which pages are fetched ahead, beside each policy that it chooses from.

use crate::support::fetching::{Counts, Fetching};
use farside_policy::prefetch;
use farside_policy::replacement::{Adaptive, in_run};

/// Local memory, in pages.
const CAPACITY: usize = 8000;

/// Most pages that a fault fetches besides its own.
const READAHEAD: u32 = 32;

/// The policies whose counts are kept.
const POLICIES: [&str; 4] = ["second-chance", "bimodal", "lirs", "adaptive"];

/// Numbers that look like chance, the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

/// What a program does for a while: the pages that it uses while policies find out, and then.
struct Phase {
    name: &'static str,
    uses: [Vec<u64>; 2],
}

impl Phase {
    /// A phase whose uses are counted from the `found`th on.
    fn new(name: &'static str, mut uses: Vec<u64>, found: usize) -> Self {
        let counted = uses.split_off(found);
        Self { name, uses: [uses, counted] }
    }
}

/// A program from its beginning to its end.
struct Program {
    name: &'static str,
    phases: Vec<Phase>,
}

fn alone(phase: Phase) -> Program {
    Program { name: "alone", phases: vec![phase] }
}

/// From the first to the last page, again and again.
fn a_loop(name: &'static str, pages: u64, passes: u64) -> Phase {
    let uses: Vec<_> = (0..passes * pages).map(|at| at % pages).collect();
    let half = uses.len() / 2;
    Phase::new(name, uses, half)
}

/// Those pages of 40,000 that begin each sixteen, and again and again in one order of those: of what is beside them, and
/// read ahead, most is not used.
fn clusters(passes: usize) -> Phase {
    let mut blocks: Vec<u64> = (0..2500).collect();
    let mut chance = Chance(7);
    for at in (1..blocks.len()).rev() {
        blocks.swap(at, chance.below(at as u64 + 1) as usize);
    }
    let pass = || blocks.iter().flat_map(|block| (0..4).map(move |page| block * 16 + page));
    // All of them have content.
    let uses = (0..40_000).chain((0..passes).flat_map(|_| pass())).collect();
    Phase::new("clusters", uses, 40_000 + passes / 2 * 10_000)
}

/// Again and again in one order by chance.
fn an_order(passes: usize) -> Phase {
    let mut order: Vec<u64> = (0..10_000).collect();
    let mut chance = Chance(3);
    for at in (1..order.len()).rev() {
        order.swap(at, chance.below(at as u64 + 1) as usize);
    }
    let uses = (0..passes).flat_map(|_| order.iter().copied()).collect();
    Phase::new("an order", uses, passes / 2 * 10_000)
}

/// Each as likely as any other.
fn by_chance(uses: usize) -> Phase {
    let mut chance = Chance(5);
    let uses: Vec<_> = (0..uses).map(|_| chance.below(12_000)).collect();
    let half = uses.len() / 2;
    Phase::new("by chance", uses, half)
}

/// By chance of a stretch of 6,000, which moves on by half of its length after each has been used 20 times.
fn wandering(steps: usize) -> Phase {
    let mut chance = Chance(1);
    let uses = (0..steps * 120_000).map(|at| {
        let from = at as u64 / 120_000 * 3000;
        (from + chance.below(6000)) % 60_000
    });
    Phase::new("wandering", uses.collect(), steps / 2 * 120_000)
}

/// Few pages often, many seldom, until `2 << bits` of them: twice as many are used as often as half of them, together.
fn often(chance: &mut Chance, bits: u64) -> u64 {
    let from = 1 << chance.below(bits + 1);
    // An odd factor leaves no two of them on one page, and none beside another.
    (from + chance.below(from)) * 12_289 % (2 << bits)
}

/// Few pages often, many seldom.
fn skewed(uses: usize) -> Phase {
    let mut chance = Chance(11);
    let uses: Vec<_> = (0..uses).map(|_| often(&mut chance, 14)).collect();
    let half = uses.len() / 2;
    Phase::new("skewed", uses, half)
}

/// Few pages often, and between any two of them the next one of a scan.
fn beside_a_scan(uses: u64) -> Phase {
    let mut chance = Chance(13);
    let of_scan = |at: u64| 40_000 + at / 2 % 20_000;
    let uses: Vec<_> = (0..uses)
        .map(|at| if at % 2 == 0 { of_scan(at) } else { often(&mut chance, 12) })
        .collect();
    let half = uses.len() / 2;
    Phase::new("beside a scan", uses, half)
}

fn programs() -> Vec<Program> {
    let mixed = vec![
        a_loop("a loop", 10_000, 24),
        wandering(24),
        an_order(24),
        beside_a_scan(800_000),
        a_loop("a loop again", 12_000, 24),
        by_chance(600_000),
    ];
    let mut all = vec![
        alone(a_loop("a loop", 10_000, 30)),
        alone(a_loop("a long loop", 30_000, 14)),
        alone(an_order(30)),
        alone(clusters(30)),
        alone(by_chance(400_000)),
        alone(wandering(40)),
        alone(skewed(600_000)),
        alone(beside_a_scan(800_000)),
    ];
    all.push(Program { name: "mixed", phases: mixed });
    all
}

/// What each phase makes come, from when policies have had time.
fn counts(program: &Program, policy: &str, prefetcher: &str) -> Vec<Counts> {
    let prefetcher = prefetch::by_name(prefetcher, READAHEAD).expect("a listed prefetcher");
    let policy = in_run(policy).expect("a policy of runs");
    let mut run = Fetching::new(policy, prefetcher, CAPACITY);
    let phases = program.phases.iter().map(|phase| {
        run.counts(phase.uses[0].iter().copied());
        run.counts(phase.uses[1].iter().copied())
    });
    phases.collect()
}

/// Of a loop over more than fits most stays as soon as it is found out, however its pages come.
#[test]
fn a_loop_is_found_out_while_pages_are_fetched_ahead() {
    for prefetcher in ["none", "readahead", "linux", "adaptive"] {
        let fetches = prefetch::by_name(prefetcher, READAHEAD).expect("a listed prefetcher");
        let mut run = Fetching::new(Adaptive::new(), fetches, CAPACITY);
        let phase = a_loop("a loop", 10_000, 30);
        run.counts(phase.uses[0].iter().copied());
        assert_eq!(run.policy.in_force(), "bimodal", "{prefetcher}");
        let adaptive = run.counts(phase.uses[1].iter().copied()).cost();
        let alone = alone(phase);
        let [usual, bimodal] =
            ["second-chance", "bimodal"].map(|policy| counts(&alone, policy, prefetcher)[0].cost());
        assert!(adaptive < bimodal * 14 / 10, "{prefetcher}: {adaptive} beside {bimodal}");
        assert!(adaptive * 2 < usual, "{prefetcher}: {adaptive} beside {usual}");
    }
}

/// Holds what comes with one prefetcher against the table.
fn check(prefetcher: &str) {
    let table = include_str!("adaptive_replacement.tsv").lines();
    let expected: Vec<_> = table.filter(|row| row.split('\t').nth(2) == Some(prefetcher)).collect();
    let mut found = Vec::new();
    for program in programs() {
        for policy in POLICIES {
            let counts = counts(&program, policy, prefetcher);
            for (phase, counts) in program.phases.iter().zip(counts) {
                let (program, phase) = (program.name, phase.name);
                let Counts { demand, ahead, unused } = counts;
                let counts = format!("{demand}\t{ahead}\t{unused}");
                found.push(format!("{program}\t{phase}\t{prefetcher}\t{policy}\t{counts}"));
            }
        }
    }
    let is_changed = |row: &&String| !expected.contains(&row.as_str());
    let changed: Vec<_> = found.iter().filter(is_changed).map(String::as_str).collect();
    let changed = changed.join("\n");
    assert!(changed.is_empty(), "rows of adaptive_replacement.tsv now read:\n{changed}");
    assert_eq!(found.len(), expected.len());
}

#[test]
fn what_comes_without_a_prefetcher_is_what_it_was() {
    check("none");
}

#[test]
fn what_comes_with_all_that_is_beside_is_what_it_was() {
    check("readahead");
}

#[test]
fn what_comes_with_streams_is_what_it_was() {
    check("linux");
}

#[test]
fn what_comes_with_what_proves_itself_is_what_it_was() {
    check("adaptive");
}
