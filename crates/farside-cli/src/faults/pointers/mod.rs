//! Which demand faults are pointer-based, and which of them prefetchers would have foreseen: the study that motivates
//! CHERI-picking (Patel and others, section 3), for any program.
//!
//! There, a fault is pointer-based if its page is that of a value that had been loaded into a register; every load of
//! the program was traced to know it. Here the program's code tells, once for each fault site, and the registers that
//! the kernel gives with each fault are the sample that it is checked by: a register that was loaded must hold about the
//! address that faults, and one that advances must be where it was before and a little further.

mod moves;
mod noted;
mod replay;
mod screen;
mod verdict;

use std::collections::HashMap;

use farside_policy::prefetch::{Adaptive, NAMES};
use farside_symbols::{Derivation, Names, Origin, Origins, Place};
use serde_json::{Value, json};

pub use noted::Noted;
pub use replay::Room;
pub use screen::{column, lines, rows, summary};
pub use verdict::{Class, Counts};

use super::samples::Samples;
use super::sites::{Spot, callers};
use super::watcher::Watched;
use noted::{Noting, UNSEEN};
use verdict::Verdict;

/// How many faults a prefetcher would have foreseen.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// Its name.
    pub prefetcher: &'static str,
    /// Of those that are pointer-based, of the others that were decided, and of all.
    pub foreseen: [u64; 3],
}

/// What was found of pointers.
#[derive(Debug)]
pub struct Pointers {
    /// All demand faults.
    pub all: Counts,
    /// By site.
    pub sites: HashMap<Spot, Counts>,
    /// What each prefetcher would have foreseen.
    pub coverage: Vec<Coverage>,
    /// Faults that prefetchers were told of: pointer-based ones, others that were decided, and all.
    pub replayed: [u64; 3],
}

impl Pointers {
    /// Decides all faults that were noted, and plays them to prefetchers.
    pub fn new(
        watched: &Watched,
        samples: &Samples<'_>,
        names: &mut Names,
        room: Room,
    ) -> Option<Self> {
        let noted = watched.noted.as_ref()?;
        let mut origins = Origins::new(&watched.images);
        let code: Vec<_> =
            noted.streams.iter().map(|one| derivation(one, samples, &mut origins)).collect();
        let mut all = Counts::unseen(noted.unseen);
        let mut sites: HashMap<Spot, Counts> = HashMap::new();
        if noted.unseen > 0 {
            sites.insert(Spot::Unseen, all);
        }
        for (noting, code) in noted.streams.iter().zip(&code) {
            let counts = Counts::of(noting, *code);
            all += counts;
            let Some(place) = noting.stream.place else {
                *sites.entry(Spot::Generated).or_default() += counts;
                continue;
            };
            let shares = callers(samples, noting.stream, place, watched, names);
            let sum = shares.values().sum::<u64>().max(1) as f64;
            for ((spot, _), share) in shares {
                *sites.entry(spot).or_default() += counts.times(share as f64 / sum);
            }
        }
        let (coverage, replayed) = coverage(noted, &code, room);
        Some(Self { all, sites, coverage, replayed })
    }

    /// What is said of a site; nothing if it has no demand faults.
    pub fn of(&self, spot: &Spot) -> Counts {
        self.sites.get(spot).copied().unwrap_or_default()
    }

    /// Everything but the sites, for programs.
    pub fn json(&self) -> Value {
        let shares = |counts: &[u64; 3]| {
            let share = |of: usize| {
                (self.replayed[of] > 0).then(|| counts[of] as f64 / self.replayed[of] as f64)
            };
            [share(0), share(1), share(2)]
        };
        let coverage = self.coverage.iter().map(|one| {
            let [pointer, other, all] = shares(&one.foreseen);
            json!({ "prefetcher": one.prefetcher, "pointer_based": pointer, "other": other, "all": all })
        });
        let mut object = json_of(self.all);
        object["faults"] = json!(whole(self.all.all()));
        object["replayed"] = json!(self.replayed[2]);
        object["coverage"] = coverage.collect();
        object
    }
}

/// Counts of a site, or of all, for programs.
pub fn json_of(counts: Counts) -> Value {
    json!({
        "based": counts.most().map(|class| match class {
            Class::Pointer => "yes",
            Class::Other => "no",
            Class::Undecided => "?",
        }),
        "share": counts.share(),
        "pointer_based": whole(counts.pointer),
        "other": whole(counts.other),
        "undecided": whole(counts.undecided),
        "loaded_index": whole(counts.indexed),
        "named": whole(counts.named),
        "sample_agrees": whole(counts.agreed),
        "sample_contradicts": whole(counts.contradicted),
    })
}

fn whole(count: f64) -> u64 {
    count.round() as u64
}

/// What the code says of most faults of a stream, with its callers where they are known.
fn derivation(noting: &Noting, samples: &Samples<'_>, origins: &mut Origins<'_>) -> Derivation {
    let Some(place) = noting.stream.place else { return Derivation::UNDECIDED };
    let mut found: HashMap<Derivation, u64> = HashMap::new();
    for (stack, weight) in samples.nearest(noting.stream, None).unwrap_or_default() {
        let above = stack.places.iter().skip(1).map_while(|place| *place);
        let places: Vec<Place> = std::iter::once(place).chain(above).collect();
        *found.entry(origins.of(&places, noting.write)).or_default() += weight;
    }
    // The same for each run, if two are equally frequent.
    let rank = |(code, weight): &(Derivation, u64)| {
        (*weight, code.origin != Origin::Undecided, code.origin)
    };
    let most = found.into_iter().max_by_key(rank);
    most.map_or_else(|| origins.of(&[place], noting.write), |(code, _)| code)
}

/// What each prefetcher would have foreseen of the faults that were kept, and how many these are.
fn coverage(noted: &Noted, code: &[Derivation], room: Room) -> (Vec<Coverage>, [u64; 3]) {
    let verdicts: Vec<_> =
        noted.streams.iter().zip(code).map(|(one, code)| Verdict::of(*code, &one.moves)).collect();
    let classes: Vec<Class> = noted
        .misses
        .iter()
        .map(|miss| match miss.stream {
            UNSEEN => Class::Undecided,
            stream => verdicts[stream as usize].class(miss.moved),
        })
        .collect();
    let pages: Vec<u64> = noted.misses.iter().map(|miss| miss.page).collect();
    let count = |is: &dyn Fn(usize) -> bool| {
        let mut counts = [0; 3];
        for (_, class) in classes.iter().enumerate().filter(|(index, _)| is(*index)) {
            counts[2] += 1;
            match class {
                Class::Pointer => counts[0] += 1,
                Class::Other => counts[1] += 1,
                Class::Undecided => {}
            }
        }
        counts
    };
    let of = |name: &'static str| {
        let foreseen = replay::foreseen(name, &pages, room)?;
        Some(Coverage { prefetcher: name, foreseen: count(&|index| foreseen[index]) })
    };
    // Those that look into memory cannot be told from faults alone.
    let names = NAMES.iter().map(|(name, _)| *name).filter(|name| *name != Adaptive::NAME);
    let all = names.filter_map(of).collect();
    (all, count(&|_| true))
}
