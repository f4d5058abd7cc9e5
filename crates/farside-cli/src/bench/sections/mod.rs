//! `farside bench sections`: what looking into a section costs, and what lines of all lengths move (Mira, sections 3.2 and 3.3).
//!
//! A program with sections by hand reads records of 64 bytes here and there of an array. Where all of them are here it is held
//! against plain loads, where a part is against paged memory. Runs that are compared alternate, figures are medians, and
//! each run has to print what the first one printed.

use std::path::PathBuf;
use std::process::Command;

use clap::{Args, ValueEnum};

use super::cache::{Cache, Source, compile};
use super::launch::{Outcome, Place, Program};
use super::measure::{Measure, Way, figure_of, options};
use super::network::Network;
use super::programs::installed;
use super::row::Row;
use super::{Failure, Shared, skip};
use crate::progress::Progress;

const SOURCES: [Source; 2] = [
    ("gather.c", include_str!("sources/gather.c")),
    ("include/farside/section.h", include_str!("../../../../../include/farside/section.h")),
];

const OPTIONS: [&str; 4] = ["-std=gnu11", "-O2", "-Wall", "-Iinclude"];

/// Structures with the lookup that suits them, and as the program takes them.
const STRUCTURES: [(&str, &str, &str); 5] = [
    ("direct", "1", "-DLOOKUP=farside_at_direct"),
    ("sets of 2", "2", "-DLOOKUP=farside_at_set"),
    ("sets of 16", "16", "-DLOOKUP=farside_at_set"),
    ("any line anywhere", "0", "-DLOOKUP=farside_at_full"),
    ("sets of 2, told at run time", "2", "-DLOOKUP=farside_at"),
];

/// Lines that are tried, from the shortest to the longest.
const LINES: [u64; 9] = [64, 128, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 2 << 20];

/// Bytes that are far, and how many of them are local, in per cent.
const LOCAL: u64 = 20;

/// What the paged region keeps.
const PAGED: u64 = 2 << 20;

/// Options of `farside bench sections`.
#[derive(Debug, Args)]
pub(crate) struct SectionsArgs {
    /// How large the data are
    #[arg(long, value_enum, default_value_t = Scale::Full)]
    scale: Scale,
    /// Only these parts of the table
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<Part>,
    /// The network that far memory is put behind, by its latency and bandwidth
    #[arg(long, value_name = "LATENCY,BANDWIDTH", default_value = "5us,25gbit")]
    network: Network,
    /// Where the programs are built and kept [default: farside/bench in the user's cache directory]
    #[arg(long, value_name = "DIRECTORY")]
    cache: Option<PathBuf>,
}

/// How large the data are.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Scale {
    /// Some 250 MB
    Full,
    /// Some 40 MB, to try the benchmark out
    Small,
}

/// A part of the table that can be asked for by itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Lookups of what is here, beside plain loads.
    Hits,
    /// Records here and there, most of them far, beside paged memory.
    Lines,
}

/// A benchmark of sections under way.
struct Bench<'a> {
    args: &'a SectionsArgs,
    measure: Measure<'a>,
    cache: Cache,
    rows: Vec<Row>,
}

/// Measures the whole table, or the parts asked for.
pub(crate) fn run(
    args: &SectionsArgs,
    shared: &Shared,
    progress: &Progress,
) -> Result<Vec<Row>, Failure> {
    let cache = Cache::at(args.cache.as_deref())?;
    let measure = Measure::new(shared, progress)?;
    let mut bench = Bench { args, measure, cache, rows: Vec::new() };
    if let Err(why) = installed("gcc", "gcc") {
        skip("sections", &why);
        return Ok(Vec::new());
    }
    for part in Part::value_variants() {
        if args.only.is_empty() || args.only.contains(part) {
            match part {
                Part::Hits => bench.hits(),
                Part::Lines => bench.lines(),
            }
        }
    }
    Ok(bench.rows)
}

impl Bench<'_> {
    /// What a lookup costs of what is here, in caches of the processor and out of them.
    fn hits(&mut self) {
        let (few, many, uses) = match self.args.scale {
            Scale::Full => (1, 64, 20_000_000),
            Scale::Small => (1, 8, 500_000),
        };
        for megabytes in [few, many] {
            for (structure, ways, lookup) in STRUCTURES {
                let work = format!(
                    "a record that is here, any of {megabytes} MiB, {structure}, beside a plain load"
                );
                let figures = self.hit(&work, [ways, lookup], megabytes, uses);
                self.add(work, "ns", figures);
            }
        }
    }

    fn hit(
        &self,
        work: &str,
        [ways, lookup]: [&str; 2],
        megabytes: u64,
        uses: u64,
    ) -> Result<[f64; 2], Failure> {
        // Sets of half as many records again hold all that there are.
        let capacity = (megabytes << 20) * 3 / 2;
        let options = options(capacity + (16 << 20), "embedded:", &[]);
        let ways = [
            self.way("hit", lookup, [ways, "64"], capacity, [megabytes, uses], Some(&options))?,
            self.way("hit", "-DPLAIN", [ways, "64"], capacity, [megabytes, uses], None)?,
        ];
        let took = self.measure.in_turn(work, &ways)?;
        Ok([took[0], took[1]])
    }

    /// Records of an array of which a fifth is local, by lines of all lengths, beside paged memory.
    fn lines(&mut self) {
        for line in LINES {
            for (what, how) in [("wait", "waited for"), ("far", "sent for ahead")] {
                let length = crate::options::Size(line);
                let work =
                    format!("a record here and there, {LOCAL} % local, {how}, lines of {length}");
                let figures = self.gather(&work, what, line);
                let (time, bytes) = match figures {
                    Ok([time, bytes]) => (Ok(time), Ok(bytes)),
                    Err(why) => (Err(Failure::new(why.to_string())), Err(why)),
                };
                self.add(format!("{work}, beside paged memory"), "ns", time);
                self.add(
                    format!("{work}: moved for each, filling included, beside paged memory"),
                    "bytes",
                    bytes,
                );
            }
        }
    }

    /// Nanoseconds, and bytes moved, for each use: with sections and with pages.
    fn gather(&self, work: &str, what: &str, line: u64) -> Result<[[f64; 2]; 2], Failure> {
        let (megabytes, uses) = match self.args.scale {
            Scale::Full => (256, 1_000_000),
            Scale::Small => (40, 5000),
        };
        // Long lines take long to move: fewer uses tell as much.
        let uses = (uses * 4096 / line.max(4096)).max(2000);
        let local = (megabytes << 20) * LOCAL / 100;
        let capacity = (local - PAGED) / (2 << 20) * (2 << 20);
        self.measure.uses(megabytes << 20);
        let options = options(local, &self.args.network.far(), &[]);
        let (length, sizes) = (line.to_string(), [megabytes, uses]);
        let lookup = "-DLOOKUP=farside_at_set";
        let ways = [
            self.way(what, lookup, ["2", &length], capacity, sizes, Some(&options))?,
            self.way(what, "-DPLAIN", ["2", &length], capacity, sizes, Some(&options))?,
        ];
        let seen = self.measure.outcomes(work, &ways, |ran| {
            Ok([figure_of(&ran.stderr)?, moved(ran)? / uses as f64])
        })?;
        Ok([[seen[0][0], seen[1][0]], [seen[0][1], seen[1][1]]])
    }

    fn way<'o>(
        &self,
        what: &str,
        macros: &str,
        [ways, line]: [&str; 2],
        capacity: u64,
        sizes: [u64; 2],
        far: Option<&'o [String]>,
    ) -> Result<Way<'o>, Failure> {
        let path = self.program(macros).map_err(Failure::new)?;
        let words = [path.to_string_lossy().into_owned(), what.into(), ways.into(), line.into()];
        let numbers = [capacity, sizes[0], sizes[1]].map(|number| number.to_string());
        let program = Program::new(words.into_iter().chain(numbers)).keep_stderr();
        let place = far.map_or(Place::Plain, Place::Far);
        Ok(Way { name: macros.into(), program, place })
    }

    fn program(&self, macros: &str) -> Result<PathBuf, String> {
        let parts: Vec<&str> = OPTIONS.into_iter().chain([macros]).collect();
        self.cache.binary("gather", &SOURCES, &parts, |directory, output| {
            let output =
                std::path::absolute(output).map_err(|e| format!("{}: {e}", output.display()))?;
            let mut command = Command::new("gcc");
            command.current_dir(directory).args(&parts).arg("gather.c").arg("-o").arg(output);
            compile(&mut command)
        })
    }

    fn add(&mut self, work: String, unit: &'static str, figures: Result<[f64; 2], Failure>) {
        self.rows.push(match figures {
            Ok([ours, partner]) => Row { work, ours, partner: Some(partner), unit, goal: None },
            Err(why) => Row::failed(&work, unit, None, &why.to_string()),
        });
    }
}

/// Bytes that a run moved, in lines and in pages.
fn moved(ran: &Outcome) -> Result<f64, Failure> {
    let stats = ran.stats.as_ref().ok_or_else(|| Failure::new("a run without counters"))?;
    let names =
        ["section_fetched_bytes", "section_written_bytes", "fetched_bytes", "written_bytes"];
    names.into_iter().try_fold(0.0, |sum, name| {
        let bytes = stats.get(name);
        Ok(sum + bytes.ok_or_else(|| Failure::new(format!("a run without a counter {name}")))?)
    })
}
