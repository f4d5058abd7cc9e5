//! Looks which faults of a program follow pointers, and how many are left with prefetchers.

use serde_json::Value;

use super::super::input::Place;
use super::super::run;
use super::programs::Program;
use crate::Failure;

/// Prefetchers that programs are run with.
pub const RUN: [&str; 2] = ["linux", "pointer"];

/// What was seen of a program.
#[derive(Debug)]
pub struct Looked<'a> {
    pub program: &'a Program,
    /// Bytes that it uses at its peak.
    pub footprint: u64,
    pub shares: Shares,
    pub foreseen: Vec<Foreseen>,
    /// The share of its demand faults that is gone in runs with each of [`RUN`].
    pub spared: [f64; RUN.len()],
}

/// Its demand faults, and shares of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    pub faults: u64,
    pub pointer: f64,
    pub other: f64,
    pub undecided: f64,
    /// Of the undecided ones, those of code that the program makes for itself, and those whose instruction nobody saw.
    pub without_code: f64,
    /// Those that registers confirm, and those that they speak against.
    pub agree: f64,
    pub contradict: f64,
    /// Those whose page an index chose that had been loaded.
    pub indexed: f64,
}

/// The shares that a prefetcher would have foreseen; none of what there is not.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreseen {
    pub prefetcher: String,
    pub pointer: Option<f64>,
    pub other: Option<f64>,
}

impl Shares {
    /// Reads what `farside faults --pointers --kinds demand --json` wrote.
    fn read(found: &Value) -> Option<Self> {
        let pointers = &found["pointers"];
        let faults = pointers["faults"].as_u64()?;
        let share = |count: u64| count as f64 / faults.max(1) as f64;
        let of = |name: &str| pointers[name].as_u64().map(share);
        let mut without = 0;
        for site in found["sites"].as_array()? {
            if site["unknown"].is_string() {
                without += site["faults"].as_u64()?;
            }
        }
        Some(Self {
            faults,
            pointer: of("pointer_based")?,
            other: of("other")?,
            undecided: of("undecided")?,
            without_code: share(without),
            agree: of("sample_agrees")?,
            contradict: of("sample_contradicts")?,
            indexed: of("loaded_index")?,
        })
    }
}

impl Foreseen {
    /// The same, for what prefetchers would have foreseen.
    fn read(found: &Value) -> Option<Vec<Self>> {
        let of = |one: &Value| {
            let prefetcher = one["prefetcher"].as_str()?.to_owned();
            let (pointer, other) = (one["pointer_based"].as_f64(), one["other"].as_f64());
            Some(Self { prefetcher, pointer, other })
        };
        found["pointers"]["coverage"].as_array()?.iter().map(of).collect()
    }
}

/// Looks at a program.
///
/// # Errors
/// If it cannot be run, or prints another thing on far memory than when all its memory is local.
pub fn look<'a>(
    program: &'a Program,
    place: &Place,
    say: &dyn Fn(&str),
) -> Result<Looked<'a>, Failure> {
    let failed = |why: String| Failure::usage(format!("cannot study {}: {why}", program.name));
    say("making its input");
    let call = (program.call)(place).map_err(failed)?;
    say("with room for everything");
    let (footprint, printed) = run::footprint(&call, place).map_err(failed)?;
    let is_same = |again: Vec<u8>, with: &str| match call.load.is_some() || again == printed {
        true => Ok(()),
        false => Err(failed(format!("{with} it prints something else"))),
    };
    let local = (footprint * program.local / 100).max(1 << 20);
    say(&format!("with {} % of {} MiB", program.local, footprint >> 20));
    let options = ["--pointers", "--kinds", "demand"];
    let (found, again) = run::faults(&call, local, &options, place).map_err(failed)?;
    is_same(again, "with less memory")?;
    let unreadable = || failed("its faults cannot be read".to_owned());
    let shares = Shares::read(&found).ok_or_else(unreadable)?;
    let foreseen = Foreseen::read(&found).ok_or_else(unreadable)?;
    let mut spared = [0.0; RUN.len()];
    for (spared, prefetcher) in spared.iter_mut().zip(RUN) {
        say(&format!("with --prefetch {prefetcher}"));
        let options = ["--prefetch", prefetcher];
        let (counters, again) = run::counters(&call, local, &options, place).map_err(failed)?;
        is_same(again, prefetcher)?;
        let left = counters["demand_faults"].as_u64().ok_or_else(unreadable)?;
        *spared = 1.0 - left as f64 / shares.faults.max(1) as f64;
    }
    Ok(Looked { program, footprint, shares, foreseen, spared })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_read() {
        let found = serde_json::json!({
            "sites": [{"unknown": "generated code", "faults": 5}, {"function": "f", "faults": 95}],
            "pointers": {
                "faults": 100, "pointer_based": 60, "other": 30, "undecided": 10, "sample_agrees": 80,
                "sample_contradicts": 1, "loaded_index": 7,
                "coverage": [{"prefetcher": "linux", "pointer_based": 0.25, "other": null, "all": 0.25}]
            }
        });
        let shares = Shares::read(&found).expect("well formed");
        assert_eq!((shares.pointer, shares.other, shares.without_code), (0.6, 0.3, 0.05));
        let foreseen = Foreseen::read(&found).expect("well formed");
        assert_eq!((foreseen[0].pointer, foreseen[0].other), (Some(0.25), None));
        assert_eq!(Shares::read(&serde_json::json!({"sites": [], "pointers": null})), None);
    }
}
