//! `farside bench balance`: two programs with one amount of local memory (PATH, section 6.2): shared by `farside balance`,
//! beside half for each, and beside one pool in which neither has a share.
//!
//! One program goes round and round through its pages, which may just fit; the other uses its own by chance. The pool is one
//! process that does both in a thread each, under one limit with `--replacement second-chance`, which is what a run has of
//! LRU. What is compared is work per time: of each program, what it gets done as a share of what it gets done beside the other
//! with all memory local, added up - the paper's sum of instructions per cycle, each of which is 1 in isolation.
//!
//! And how soon limits are [in force](in_force) when one joins, ends, or turns out to need something else.

mod in_force;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use clap::{Args, ValueEnum};

use super::cache::{Cache, compile};
use super::launch::{Scratch, farside};
use super::network::Network;
use super::programs::installed;
use super::row::{Goal, Row, median};
use super::{Failure, Shared, warmup};
use crate::progress::Progress;

/// Options of `farside bench balance`.
#[derive(Debug, Args)]
pub(crate) struct BalanceArgs {
    /// How large the programs' data are
    #[arg(long, value_enum, default_value_t = Scale::Full)]
    scale: Scale,
    /// The network that far memory is put behind, by its latency and bandwidth
    #[arg(long, value_name = "LATENCY,BANDWIDTH", default_value = "5us,25gbit")]
    network: Network,
    /// Where the program is built and kept [default: farside/bench in the user's cache directory]
    #[arg(long, value_name = "DIRECTORY")]
    cache: Option<PathBuf>,
}

/// How large the programs' data are.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum Scale {
    /// Some 100 MB each
    Full,
    /// Some MB each, to try the benchmark out
    Small,
}

/// The programs' data and times.
struct Sizes {
    /// Local memory of both together, in bytes.
    total: u64,
    loop_pages: u64,
    chance_pages: u64,
    /// Milliseconds until what is done counts, and in which it does.
    before_ms: u64,
    counted_ms: u64,
}

impl Scale {
    fn sizes(self) -> Sizes {
        let of = |mib: u64, before_ms, counted_ms| Sizes {
            total: mib << 20,
            // Six and fifteen tenths of the whole.
            loop_pages: (mib << 8) * 6 / 10,
            chance_pages: (mib << 8) * 15 / 10,
            before_ms,
            counted_ms,
        };
        match self {
            Self::Full => of(192, 8_000, 8_000),
            Self::Small => of(16, 2_000, 500),
        }
    }
}

/// How memory is shared.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Way {
    Rule,
    Halves,
    Pool,
    /// All of it is local.
    Local,
}

const WAYS: [Way; 4] = [Way::Rule, Way::Halves, Way::Pool, Way::Local];

/// A daemon that ends with this.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have gone by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A benchmark under way.
struct Bench<'a> {
    farside: PathBuf,
    program: PathBuf,
    sizes: Sizes,
    far: String,
    scratch: &'a Scratch,
}

const CURVES: [&str; 2] = ["--track", "always"];

/// Measures all ways by turns.
pub(crate) fn run(
    args: &BalanceArgs,
    shared: &Shared,
    progress: &Progress,
) -> Result<Vec<Row>, Failure> {
    let cache = Cache::at(args.cache.as_deref())?;
    let scratch = Scratch::new()?;
    let program = build(&cache).map_err(Failure::new)?;
    let sizes = args.scale.sizes();
    let far = args.network.far();
    let bench = Bench { farside: farside(shared)?, program, sizes, far, scratch: &scratch };
    warmup::before_run(
        (bench.sizes.loop_pages + bench.sizes.chance_pages) * 4096,
        shared,
        &scratch,
    )?;
    let mut works: [[Vec<f64>; 2]; WAYS.len()] = Default::default();
    for round in 0..shared.repetitions as usize {
        for turn in 0..WAYS.len() {
            // Who goes first changes from round to round.
            let at = (round + turn) % WAYS.len();
            progress.say(format!("{:?}, round {}", WAYS[at], round + 1));
            let done = bench.work(WAYS[at])?;
            works[at].iter_mut().zip(done).for_each(|(all, done)| all.push(done));
        }
    }
    let mut rounds = Vec::new();
    for round in 0..shared.repetitions {
        progress.say(format!("changes, round {}", round + 1));
        rounds.push(bench.round_of_changes()?);
    }
    let [rule, halves, pool, local] = works.map(|each| each.map(|all| median(&all)));
    let shares = |[looped, chance]: [f64; 2]| [looped / local[0], chance / local[1]];
    let sum = |works| shares(works).iter().sum::<f64>();
    let (ours, halves, pool) = (sum(rule), sum(halves), sum(pool));
    let row = |work: &str, ours, partner, goal| Row {
        work: work.to_owned(),
        ours,
        partner,
        unit: "of 2",
        goal,
    };
    let [looped, chance] = shares(rule);
    let mut rows = vec![
        row(
            "work per time of two programs: the throughput rule beside one pool",
            ours,
            Some(pool),
            Some(Goal::NoLess(1.25)),
        ),
        row(
            "work per time of two programs: the throughput rule beside halves",
            ours,
            Some(halves),
            None,
        ),
        row("of this the loop, which fits if it is given enough", looped, None, None),
        row("of this the one that uses its pages by chance", chance, None, None),
    ];
    rows.extend(in_force::rows(&rounds, bench.sizes.total));
    Ok(rows)
}

fn build(cache: &Cache) -> Result<PathBuf, String> {
    const OPTIONS: [&str; 3] = ["-std=gnu11", "-O2", "-pthread"];
    installed("gcc", "gcc")?;
    let source = ("pair.c", include_str!("sources/pair.c"));
    cache.binary("pair", &[source], &OPTIONS, |directory, output| {
        let output =
            std::path::absolute(output).map_err(|e| format!("{}: {e}", output.display()))?;
        let mut command = Command::new("gcc");
        command.current_dir(directory).args(OPTIONS).arg("pair.c").arg("-o").arg(output);
        compile(&mut command)
    })
}

impl Bench<'_> {
    /// What both get done, in pages.
    fn work(&self, way: Way) -> Result<[f64; 2], Failure> {
        let half = (self.sizes.total / 2).to_string();
        let whole = self.sizes.total.to_string();
        match way {
            Way::Pool => {
                let options = ["--local", &whole, "--replacement", "second-chance"];
                let text = output(self.run(&options, "both")?)?;
                Ok([done(&text, "loop")?, done(&text, "chance")?])
            }
            Way::Local => self.plain(),
            Way::Halves => {
                let options = ["--local", &half];
                self.pair(&options)
            }
            Way::Rule => {
                // What it says later nobody reads.
                let (_daemon, _) = self.daemon(&whole)?;
                self.pair(&CURVES)
            }
        }
    }

    /// Two programs at the same time.
    fn pair(&self, options: &[&str]) -> Result<[f64; 2], Failure> {
        let looped = self.run(options, "loop")?;
        let chance = self.run(options, "chance")?;
        let (looped, chance) = (output(looped), output(chance));
        Ok([done(&looped?, "loop")?, done(&chance?, "chance")?])
    }

    /// Both without Farside, at the same time.
    fn plain(&self) -> Result<[f64; 2], Failure> {
        let mut command = Command::new(&self.program);
        let Sizes { before_ms, counted_ms, .. } = self.sizes;
        let arguments = self.arguments("both", before_ms, counted_ms);
        let text = output(start(command.args(arguments))?)?;
        Ok([done(&text, "loop")?, done(&text, "chance")?])
    }

    fn run(&self, options: &[&str], which: &str) -> Result<Child, Failure> {
        self.run_for(options, which, self.sizes.before_ms, self.sizes.counted_ms)
    }

    fn run_for(
        &self,
        options: &[&str],
        which: &str,
        before_ms: u64,
        counted_ms: u64,
    ) -> Result<Child, Failure> {
        let mut command = self.command();
        command.args(["run", "--quiet", "--far", &self.far]).args(options).arg("--");
        start(command.arg(&self.program).args(self.arguments(which, before_ms, counted_ms)))
    }

    /// A daemon, and what it says.
    fn daemon(&self, local: &str) -> Result<(Daemon, BufReader<ChildStdout>), Failure> {
        let mut command = self.command();
        command.args(["balance", "--json", "--local", local, "--interval", "500ms"]);
        let mut daemon = Daemon(start(&mut command)?);
        // Programs that begin knock at it: it has to be there before they do, and says how things stand as soon as it is.
        let mut line = String::new();
        let said = daemon.0.stdout.take().map(BufReader::new);
        let heard = said.map(|mut said| said.read_line(&mut line).map(|bytes| (bytes, said)));
        match heard {
            Some(Ok((1.., said))) => Ok((daemon, said)),
            _ => Err(Failure::new("farside balance ended at once")),
        }
    }

    /// The command, which sees no other programs than those of this benchmark.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.farside);
        command.env("XDG_RUNTIME_DIR", self.scratch.join(""));
        command
    }

    fn arguments(&self, which: &str, before_ms: u64, counted_ms: u64) -> [String; 5] {
        let Sizes { loop_pages, chance_pages, .. } = self.sizes;
        let number = |number: u64| number.to_string();
        [
            which.to_owned(),
            number(loop_pages),
            number(chance_pages),
            number(before_ms),
            number(counted_ms),
        ]
    }
}

fn start(command: &mut Command) -> Result<Child, Failure> {
    let program = Path::new(command.get_program()).display().to_string();
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn().map_err(|e| Failure::io(format!("cannot start {program}"), &e))
}

fn output(child: Child) -> Result<String, Failure> {
    let output = child.wait_with_output().map_err(|e| Failure::io("cannot wait", &e))?;
    if !output.status.success() {
        return Err(Failure::new(format!("a run failed: {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The number behind a name.
fn done(text: &str, name: &str) -> Result<f64, Failure> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
    line.ok_or_else(|| Failure::new(format!("a run did not say what it did: {text}")))
}
