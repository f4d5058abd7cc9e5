//! `farside bench pointers`: what following pointers gains (CHERI-picking, sections 5 and 6), beside the other prefetchers.
//!
//! All prefetchers run each program in turn; times and demand faults are those of the part of a run that is measured, and
//! medians. What share of the faults a prefetcher covered is counted in runs of their own, in which all prefetched pages
//! stay unmapped until they are used, as in the paper. Each run has to print what a plain one prints.

mod build;
mod chance;
mod compare;
mod counted;
mod details;
mod lists;
mod parts;
mod scan;
mod works;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::cache::Cache;
use super::launch::Scratch;
use super::network::Network;
use super::row::Row;
use super::{Failure, Shared, skip};
use crate::progress::Progress;
use details::Details;
use parts::Subject;
use works::Work;

/// The prefetcher that is measured, and the one of the kernel that it is held against.
const OURS: &str = "pointer";
const PARTNER: &str = "linux";

/// The one that chooses among others.
const CHOOSING: &str = "adaptive";

/// All prefetchers that a program runs with.
const COMPARED: [&str; 5] = ["none", PARTNER, "leap", OURS, CHOOSING];

/// Options of `farside bench pointers`.
#[derive(Debug, Args)]
pub(crate) struct PointersArgs {
    /// How large the programs' data are
    #[arg(long, value_enum, default_value_t = Scale::Full)]
    scale: Scale,
    /// Only these parts of the table
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<Section>,
    /// The network that far memory is put behind, by its latency and bandwidth
    #[arg(long, value_name = "LATENCY,BANDWIDTH", default_value = "5us,25gbit")]
    network: Network,
    /// Write the medians of times and counters with each prefetcher to this file, tab-separated
    #[arg(long, value_name = "FILE")]
    details: Option<PathBuf>,
    /// Where the programs are built and kept [default: farside/bench in the user's cache directory]
    #[arg(long, value_name = "DIRECTORY")]
    cache: Option<PathBuf>,
}

/// How large the programs' data are.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Scale {
    /// 2 GB for lists of pages, some 100 to 500 MB for the others
    Full,
    /// Some 10 MB each, to try the benchmark out
    Small,
}

/// A part of the table that can be asked for by itself.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Section {
    /// What it takes to look at a page.
    Scan,
    /// The list of pages in an order by chance.
    Random,
    /// The same in the order of memory.
    Sequential,
    /// Lists of small nodes.
    Small,
    /// Simulated annealing on a netlist.
    Annealing,
    /// Breadth-first search, on compressed rows and on objects.
    Search,
    /// LRANGE over the lists of a redis-server.
    Redis,
    /// An array and a hash table, where there is nothing to gain.
    Nothing,
}

/// A benchmark of pointers under way.
struct Bench<'a> {
    args: &'a PointersArgs,
    shared: &'a Shared,
    progress: &'a Progress,
    scratch: Scratch,
    cache: Cache,
    rows: Vec<Row>,
    details: Details,
}

/// Measures the whole table, or the parts asked for.
pub(crate) fn run(
    args: &PointersArgs,
    shared: &Shared,
    progress: &Progress,
) -> Result<Vec<Row>, Failure> {
    let cache = Cache::at(args.cache.as_deref())?;
    let scratch = Scratch::new()?;
    let mut bench = Bench {
        args,
        shared,
        progress,
        scratch,
        cache,
        rows: Vec::new(),
        details: Details::default(),
    };
    // A file that cannot be written is noticed before anything is measured.
    bench.write_details()?;
    for section in Section::value_variants() {
        if args.only.is_empty() || args.only.contains(section) {
            bench.measure(*section);
        }
    }
    bench.write_details()?;
    Ok(bench.rows)
}

impl Bench<'_> {
    fn write_details(&self) -> Result<(), Failure> {
        self.args.details.as_deref().map_or(Ok(()), |path| self.details.write(path))
    }

    fn measure(&mut self, section: Section) {
        match section {
            Section::Scan => self.scan(),
            Section::Random => self.compare_program(&works::random_list(self.args.scale)),
            Section::Sequential => self.compare_program(&works::sequential_list(self.args.scale)),
            Section::Small => {
                works::small_nodes(self.args.scale)
                    .iter()
                    .for_each(|work| self.compare_program(work));
            }
            Section::Annealing => self.compare_program(&works::annealing(self.args.scale)),
            Section::Search => {
                works::searches(self.args.scale).iter().for_each(|work| self.compare_program(work));
            }
            Section::Redis => self.compare_lists(),
            Section::Nothing => {
                works::nothing_to_gain(self.args.scale)
                    .iter()
                    .for_each(|work| self.compare_program(work));
            }
        }
    }

    /// Compares the prefetchers in one of the programs that are built.
    fn compare_program(&mut self, work: &Work) {
        if let Err(why) = build::possible() {
            skip(&work.name, &why);
            return;
        }
        self.progress.say(format!("building {}", work.name));
        match build::program(&self.cache, work.program) {
            Ok(path) => self.compare(work, &parts::Program::new(&path, &work.arguments)),
            Err(why) => self.failed(work, &why),
        }
    }

    fn compare_lists(&mut self) {
        let work = works::redis(self.args.scale);
        match lists::Lists::new(self.args.scale) {
            Ok(lists) => self.compare(&work, &lists),
            Err(why) => skip(&work.name, &why),
        }
    }

    /// Compares the prefetchers in something; if a run fails, the rows say so.
    fn compare(&mut self, work: &Work, subject: &dyn Subject) {
        match compare::figures(self, work, subject) {
            Ok(figures) => {
                self.details.add(work, &figures);
                self.rows.extend(works::rows(work, &figures));
            }
            Err(why) => self.failed(work, &why.to_string()),
        }
    }

    fn failed(&mut self, work: &Work, why: &str) {
        self.rows.extend(works::failed(work, why));
    }
}
