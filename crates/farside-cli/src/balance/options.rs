//! How memory is to be shared out.

use std::time::Duration;

use clap::{Args, ValueEnum};
use farside_pager::settings::LEAST_LIMIT;
use farside_sharing::Rule;

use super::gate::Scope;
use crate::Failure;
use crate::options::{Size, parse_size};

/// What stands below the options in the help.
pub const HELP: &str = "\
Rules:
  throughput  the fewest misses of all programs together: memory goes from the program that loses least by it to the one
              that gains most (PATH, section 4.2), and --weight says what a program's misses count
  fairness    the program that is slowed down most is slowed down as little as can be
  weights     in proportion to --weight, whatever programs miss

What programs miss is seen if they run with --track always (or pressure); one of which nothing is known has its share by
weight. Programs that begin get their limits before they run; those that run have new ones within a second or two. When
this ends, however it ends, they keep the limits that they have.

NAME is the name of a program's file, or a process id. The first floor without a name is that of all others.";

/// Options of `farside balance`.
#[derive(Debug, Args)]
pub struct BalanceArguments {
    /// Local memory of all programs together: 64G.
    #[arg(long, value_name = "SIZE")]
    local: String,
    /// What shares are for.
    #[arg(long, value_enum, default_value = "throughput")]
    rule: RuleName,
    /// The weight of a program; 1 if none is given.
    #[arg(long, value_name = "NAME=NUMBER")]
    weight: Vec<String>,
    /// What a program has at least, as soon as it uses so much: a size, or a percentage of the share that weights alone
    /// would give it [default: 10% for all].
    #[arg(long, value_name = "[NAME=]SIZE|PERCENT")]
    floor: Vec<String>,
    /// How often programs are looked at: 500ms, 1s, up to a minute.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: String,
    /// Serve what it knows at /metrics there, for Prometheus: 127.0.0.1:9464.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<String>,
    /// The programs of all users, for the administrator: no user gets more than an equal part while others can use
    /// theirs.
    #[arg(long)]
    all_users: bool,
    /// Share memory out once, tell how, and end.
    #[arg(long)]
    pub once: bool,
    /// Tell how memory would be shared out now, and change nothing.
    #[arg(long, conflicts_with_all = ["metrics", "once"])]
    pub dry_run: bool,
    /// Print an object: for each change a line, or one with --once or --dry-run.
    #[arg(long)]
    pub json: bool,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum RuleName {
    Throughput,
    Fairness,
    Weights,
}

/// A floor.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Floor {
    /// So many bytes.
    Bytes(u64),
    /// So much, from 0 to 1, of the share by weight.
    Share(f64),
}

/// What programs that have none of their own have as a floor: nobody is starved because of what others say of themselves.
const FLOOR: Floor = Floor::Share(0.1);

/// [`BalanceArguments`], understood.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Bytes of all programs together.
    pub total: u64,
    /// What shares are for.
    pub rule: Rule,
    weights: Vec<(String, f64)>,
    floors: Vec<(String, Floor)>,
    floor: Floor,
    /// How often programs are looked at.
    pub interval: Duration,
    /// Whose programs.
    pub scope: Scope,
}

impl Plan {
    /// Reads the options.
    pub fn read(arguments: &BalanceArguments) -> Result<Self, Failure> {
        let total = size("--local", &arguments.local)?;
        let weights = arguments.weight.iter().map(|text| weight(text));
        let (mut floors, mut floor) = (Vec::new(), None);
        for text in &arguments.floor {
            match text.rsplit_once('=') {
                Some((name, value)) => floors.push((name.to_owned(), read_floor(text, value)?)),
                None => floor = Some(floor.unwrap_or(read_floor(text, text)?)),
            }
        }
        let plan = Self {
            total,
            rule: match arguments.rule {
                RuleName::Throughput => Rule::Throughput,
                RuleName::Fairness => Rule::Fairness,
                RuleName::Weights => Rule::Weights,
            },
            weights: weights.collect::<Result<_, _>>()?,
            floors,
            floor: floor.unwrap_or(FLOOR),
            interval: interval(&arguments.interval)?,
            scope: if arguments.all_users { Scope::All } else { Scope::Own },
        };
        plan.check()?;
        Ok(plan)
    }

    /// Floors have to fit.
    fn check(&self) -> Result<(), Failure> {
        let bytes = self.floors.iter().filter_map(|(_, floor)| match floor {
            Floor::Bytes(bytes) => Some(*bytes),
            Floor::Share(_) => None,
        });
        let all = bytes.fold(0, u64::saturating_add);
        if all > self.total {
            return Err(Failure::usage(format!(
                "--floor: all of them are {}, and --local only {}",
                Size(all),
                Size(self.total)
            )));
        }
        Ok(())
    }

    /// The weight of a program.
    pub fn weight(&self, name: &str, pid: Option<u32>) -> f64 {
        named(&self.weights, name, pid).unwrap_or(1.0)
    }

    /// The floor of a program, in bytes, if weights alone would give it so much.
    pub fn floor(&self, name: &str, pid: Option<u32>, by_weight: u64) -> u64 {
        match named(&self.floors, name, pid).unwrap_or(self.floor) {
            Floor::Bytes(bytes) => bytes,
            Floor::Share(share) => (by_weight as f64 * share) as u64,
        }
    }
}

/// The value for a program: for its process rather than for its name, and the last if there are several.
fn named<T: Copy>(all: &[(String, T)], name: &str, pid: Option<u32>) -> Option<T> {
    let pid = pid.map(|pid| pid.to_string());
    let of = |wanted: &str| all.iter().rev().find(|(name, _)| name == wanted).map(|(_, it)| *it);
    pid.as_deref().and_then(of).or_else(|| of(name))
}

/// A size that programs can run with.
fn size(option: &str, text: &str) -> Result<u64, Failure> {
    let bad = |why: String| Failure::usage(format!("{option} {text}: {why}"));
    let bytes = parse_size(text).map_err(|_| bad("not a size such as 64G or 500M".to_owned()))?;
    if bytes < LEAST_LIMIT {
        let least = Size(LEAST_LIMIT);
        return Err(bad(format!(
            "too little to run with; the least is {least}, and a number without a unit (64G) is bytes"
        )));
    }
    Ok(bytes)
}

fn weight(text: &str) -> Result<(String, f64), Failure> {
    let pair = text.rsplit_once('=').and_then(|(name, weight)| {
        let weight: f64 = weight.parse().ok()?;
        ((0.001..=1000.0).contains(&weight) && !name.is_empty()).then(|| (name.to_owned(), weight))
    });
    pair.ok_or_else(|| {
        Failure::usage(format!(
            "--weight {text}: give NAME=NUMBER with a number from 0.001 to 1000, as in redis-server=2"
        ))
    })
}

fn read_floor(text: &str, value: &str) -> Result<Floor, Failure> {
    let Some(percent) = value.strip_suffix('%') else {
        return size("--floor", value).map(Floor::Bytes);
    };
    let percent = percent.parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.map(|percent| Floor::Share(percent / 100.0)).ok_or_else(|| {
        Failure::usage(format!("--floor {text}: give a size, or a percentage from 0% to 100%"))
    })
}

fn interval(text: &str) -> Result<Duration, Failure> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let seconds = match text.strip_suffix("ms") {
        Some(ms) => number(ms).map(|ms| ms / 1000.0),
        None => number(text.strip_suffix('s').unwrap_or(text)),
    };
    let seconds = seconds.filter(|seconds| (0.1..=60.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| {
        Failure::usage(format!("--interval {text}: not a time from 100ms to 60s, such as 1s"))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: BalanceArguments,
    }

    fn read(line: &str) -> Result<Plan, Failure> {
        let words = std::iter::once("balance").chain(line.split_whitespace());
        Plan::read(&Line::try_parse_from(words).expect("it can be parsed").arguments)
    }

    #[test]
    fn weights_and_floors_are_by_name_and_process() {
        let plan = read("--local 64G --weight redis=2 --weight 17=3 --floor redis=1G --floor 5%");
        let plan = plan.expect("a plan");
        assert_eq!(plan.total, 64 << 30);
        assert_eq!((plan.weight("redis", None), plan.weight("redis", Some(17))), (2.0, 3.0));
        assert_eq!(plan.weight("other", Some(18)), 1.0);
        assert_eq!(plan.floor("redis", None, 100), 1 << 30);
        assert_eq!(plan.floor("other", None, 100), 5);
        assert_eq!(plan.interval, Duration::from_secs(1));
        let plain = read("--local 1M --interval 250ms").expect("a plan");
        assert_eq!((plain.floor("x", None, 1000), plain.interval.as_millis()), (100, 250));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (line, word) in [
            ("--local 1000K", "1 MiB"),
            ("--local much", "64G"),
            ("--local 64G --weight redis", "NAME=NUMBER"),
            ("--local 64G --weight redis=0", "0.001"),
            ("--local 64G --weight redis=NaN", "0.001"),
            ("--local 64G --floor redis=1K", "1 MiB"),
            ("--local 64G --floor 101%", "100%"),
            ("--local 4G --floor a=3G --floor b=2G", "5 GiB"),
            ("--local 64G --interval 5ms", "100ms"),
            ("--local 64G --interval infs", "100ms"),
        ] {
            let failure = read(line).expect_err(line);
            assert!(failure.message.contains(word) && failure.code == 2, "{line}: {failure}");
        }
    }
}
