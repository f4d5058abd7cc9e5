//! Looks where a program's faults come from, at two sizes of its local memory.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::input::{Invocation, Place};
use super::programs::Program;
use super::serve::serve;
use crate::Failure;

/// Local memory in percent of the footprint: as in the paper, and more.
pub const LEVELS: [u64; 2] = [10, 30];

/// A program's faults at both sizes.
#[derive(Debug)]
pub struct Looked {
    pub program: &'static Program,
    /// Bytes that it uses at its peak.
    pub footprint: u64,
    pub levels: [Sites; LEVELS.len()],
}

/// Where faults come from: places, with all their faults and those on far pages.
#[derive(Clone, Debug, Default)]
pub struct Sites(BTreeMap<String, Faults>);

/// What stands between the function of a place and where in the function it is.
const INSIDE: &str = " at ";

/// Faults of a place.
#[derive(Copy, Clone, Debug, Default)]
pub struct Faults {
    /// All that have to wait.
    pub all: u64,
    /// Those on pages that are far or on their way.
    pub far: u64,
}

/// The place of all code that a program made for itself.
const GENERATED: &str = "generated code";

impl Sites {
    /// Reads what `farside faults --json` wrote.
    fn read(text: &str) -> Option<Self> {
        let found: Value = serde_json::from_str(text).ok()?;
        let mut sites = BTreeMap::new();
        for site in found["sites"].as_array()? {
            let place = match site["unknown"].as_str() {
                Some(what) => what.to_owned(),
                None => {
                    let of = |keys: &[&str]| {
                        keys.iter().map(|key| site[*key].to_string()).collect::<Vec<_>>().join(" ")
                    };
                    of(&["image", "file", "function"]) + INSIDE + &of(&["line", "address"])
                }
            };
            let faults: &mut Faults = sites.entry(place).or_default();
            for kind in site["kinds"].as_array()? {
                let count = kind["faults"].as_u64()?;
                faults.all += count;
                if matches!(kind["answer"].as_str()?, "demand" | "late") {
                    faults.far += count;
                }
            }
        }
        Some(Self(sites))
    }

    /// The functions that the places are in.
    pub fn functions(&self) -> Self {
        let mut functions: BTreeMap<String, Faults> = BTreeMap::new();
        for (place, faults) in &self.0 {
            let function = place.rsplit_once(INSIDE).map_or(place.as_str(), |(name, _)| name);
            let sum = functions.entry(function.to_owned()).or_default();
            sum.all += faults.all;
            sum.far += faults.far;
        }
        Self(functions)
    }

    /// How many places there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Faults at all places.
    pub fn faults(&self, of: fn(&Faults) -> u64) -> u64 {
        self.0.values().map(of).sum()
    }

    /// Faults of the places, those with most first.
    pub fn ranked(&self, of: fn(&Faults) -> u64) -> Vec<(&str, u64)> {
        let faults = self.0.iter().map(|(place, faults)| (place.as_str(), of(faults)));
        let mut faults: Vec<_> = faults.filter(|(_, count)| *count > 0).collect();
        faults.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        faults
    }

    /// The fewest places that have so large a share of the faults.
    pub fn most(&self, of: fn(&Faults) -> u64, share: f64) -> Vec<&str> {
        let wanted = self.faults(of) as f64 * share;
        let mut sum = 0.0;
        let enough = |(place, count)| {
            let more = sum < wanted;
            sum += count as f64;
            more.then_some(place)
        };
        self.ranked(of).into_iter().map_while(enough).collect()
    }

    /// The share of the faults that these places have.
    pub fn share(&self, of: fn(&Faults) -> u64, places: &[&str]) -> f64 {
        let here = |place: &&str| self.0.get(*place).map_or(0, of);
        places.iter().map(here).sum::<u64>() as f64 / self.faults(of).max(1) as f64
    }

    /// The share of the faults that code has which the program made for itself.
    pub fn generated(&self, of: fn(&Faults) -> u64) -> f64 {
        self.share(of, &[GENERATED])
    }
}

/// Looks at a program.
///
/// # Errors
/// If it cannot be run, or prints another thing on far memory than when all its memory is local.
pub fn look(
    program: &'static Program,
    place: &Place,
    say: &dyn Fn(&str),
) -> Result<Looked, Failure> {
    let failed = |why: String| Failure::usage(format!("cannot study {}: {why}", program.name));
    say("making its input");
    let call = (program.call)(place).map_err(failed)?;
    say("with room for everything");
    let (footprint, printed) = run(&call, place).map_err(failed)?;
    let mut levels: [Sites; LEVELS.len()] = Default::default();
    for (sites, percent) in levels.iter_mut().zip(LEVELS) {
        say(&format!("with {percent} % of {} MiB", footprint >> 20));
        let local = (footprint * percent / 100).max(1 << 20);
        let (found, again) = faults(&call, local, place).map_err(failed)?;
        if call.load.is_none() && again != printed {
            return Err(failed(format!("with {percent} % it prints something else")));
        }
        *sites = found;
    }
    Ok(Looked { program, footprint, levels })
}

/// Runs it with room for everything: how many bytes it uses, and what it prints.
fn run(call: &Invocation, place: &Place) -> Result<(u64, Vec<u8>), String> {
    let stats = place.work("stats.json");
    let verb = ["run", "--quiet", "--local", "16G", "--stats"];
    let printed = under(&verb, &stats, call, place)?;
    let stats: Value =
        serde_json::from_str(&read(&stats)?).map_err(|e| format!("bad counters: {e}"))?;
    let used = stats["counters"]["footprint_peak_bytes"].as_u64();
    used.filter(|used| *used > 0).map(|used| (used, printed)).ok_or("it uses no far memory".into())
}

/// Runs it with `local` bytes; where its faults come from, and what it prints.
fn faults(call: &Invocation, local: u64, place: &Place) -> Result<(Sites, Vec<u8>), String> {
    let file = place.work("faults.json");
    let local = (local & !4095).to_string();
    let verb = ["faults", "--quiet", "--json", "--local", &local, "--output"];
    let printed = under(&verb, &file, call, place)?;
    let sites = Sites::read(&read(&file)?).ok_or("its faults cannot be read")?;
    Ok((sites, printed))
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|e| format!("cannot read {}: {e}", file.display()))
}

/// Runs a program under this very command; what it prints.
fn under(verb: &[&str], file: &Path, call: &Invocation, place: &Place) -> Result<Vec<u8>, String> {
    let farside = std::env::current_exe().map_err(|e| format!("where is farside? {e}"))?;
    let socket = place.socket();
    let _ = fs::remove_file(&socket);
    let mut command = Command::new(farside);
    command.args(verb).arg(file).arg("--").args(&call.argv).envs(call.env);
    command.stdin(match &call.stdin {
        Some(file) => Stdio::from(
            fs::File::open(file).map_err(|e| format!("cannot open {}: {e}", file.display()))?,
        ),
        None => Stdio::null(),
    });
    let errors = place.work("errors.txt");
    let said = fs::File::create(&errors).map_err(|e| format!("{}: {e}", errors.display()))?;
    command.stdout(Stdio::piped()).stderr(said);
    let mut child = command.spawn().map_err(|e| format!("cannot start farside: {e}"))?;
    if let Some(load) = call.load
        && let Err(why) = serve(load, &mut child, &socket, place.is_small())
    {
        let _ = child.kill();
        let _ = child.wait();
        return Err(why);
    }
    let output = child.wait_with_output().map_err(|e| format!("waiting for it: {e}"))?;
    // A server is ended by a signal, which it may or may not catch.
    let stopped = call.load.is_some() && output.status.signal() == Some(libc::SIGTERM);
    if !output.status.success() && !stopped {
        let said = read(&errors)?;
        let last = said.lines().last().unwrap_or("it says nothing").to_owned();
        return Err(format!("{}: {last}", output.status));
    }
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites() -> Sites {
        let text = r#"{"sites": [
            {"function": "a", "line": 1, "kinds": [{"answer": "demand", "faults": 90}]},
            {"function": "a", "line": 2, "kinds": [{"answer": "late", "faults": 5},
                                                   {"answer": "first-touch", "faults": 100}]},
            {"unknown": "generated code", "kinds": [{"answer": "demand", "faults": 5}]}]}"#;
        Sites::read(text).expect("well formed")
    }

    #[test]
    fn the_fewest_places_that_have_most_faults() {
        let sites = sites();
        assert_eq!((sites.count(), sites.functions().count()), (3, 2));
        assert_eq!(sites.most(|faults| faults.all, 0.5).len(), 1);
        assert_eq!(sites.most(|faults| faults.all, 0.95).len(), 2);
        assert_eq!(sites.most(|faults| faults.far, 0.9).len(), 1);
        assert_eq!(sites.most(|faults| faults.far, 0.95).len(), 2);
    }

    #[test]
    fn shares_of_places() {
        let sites = sites();
        assert_eq!(sites.generated(|faults| faults.far), 0.05);
        let most = sites.most(|faults| faults.all, 0.5);
        assert_eq!(sites.share(|faults| faults.far, &most), 0.05);
    }
}
