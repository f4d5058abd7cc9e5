//! How soon limits are in force when programs come, go, and turn out to need something else, and that all together never
//! have more than there is: as one sees it who reads what `farside balance --json` says, and when.

use std::io::BufRead;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::Failure;
use super::super::row::{Goal, Row};
use super::{Bench, CURVES, output};

/// Most seconds that a change may take.
const SOON: Goal = Goal::Under(2.0);

/// What the daemon said once.
#[derive(Copy, Clone, Debug)]
struct Said {
    at: Instant,
    programs: usize,
    in_force: bool,
    claimed: u64,
}

impl Said {
    fn read(at: Instant, line: &str) -> Option<Self> {
        let view: Value = serde_json::from_str(line).ok()?;
        Some(Self {
            at,
            programs: view["programs"].as_array()?.len(),
            in_force: view["in_force"].as_bool()?,
            claimed: view["claimed_bytes"].as_u64()?,
        })
    }
}

/// Seconds of one round, and what was claimed at most.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Round {
    /// From the start of a second program until both have limits; none if that was not seen.
    joins: Option<f64>,
    /// From its end until the first one has all of it.
    leaves: Option<f64>,
    /// From any decision until it is in force, the longest.
    changes: f64,
    /// Bytes.
    claimed: u64,
}

impl Round {
    fn of(said: &[Said], began: Instant, ended: Instant) -> Self {
        let since = |event: Instant, programs: usize| {
            let is_it = |it: &&Said| it.at >= event && it.programs == programs && it.in_force;
            said.iter().find(is_it).map(|it| (it.at - event).as_secs_f64())
        };
        // The daemon may see it end before we do.
        let left = said.iter().rposition(|it| it.programs == 2).map(|last| &said[last + 1..]);
        let alone = left.and_then(|it| it.iter().find(|it| it.programs == 1 && it.in_force));
        Self {
            joins: since(began, 2),
            leaves: alone.map(|it| it.at.saturating_duration_since(ended).as_secs_f64()),
            changes: longest(said).as_secs_f64(),
            claimed: said.iter().map(|it| it.claimed).max().unwrap_or(0),
        }
    }
}

/// The longest that limits were on their way.
fn longest(said: &[Said]) -> Duration {
    let mut since = None;
    let mut most = Duration::ZERO;
    for it in said {
        match (it.in_force, since) {
            (false, None) => since = Some(it.at),
            (true, Some(from)) => (since, most) = (None, most.max(it.at - from)),
            _ => {}
        }
    }
    most
}

impl Bench<'_> {
    /// A second program joins one that runs already, and ends before it.
    pub(super) fn round_of_changes(&self) -> Result<Round, Failure> {
        let (daemon, said) = self.daemon(&self.sizes.total.to_string())?;
        let reader = std::thread::spawn(move || {
            let lines = said.lines().map_while(Result::ok);
            lines.filter_map(|line| Said::read(Instant::now(), &line)).collect::<Vec<_>>()
        });
        let (before, counted) = (self.sizes.before_ms, self.sizes.counted_ms);
        let looped = self.run_for(&CURVES, "loop", before, counted)?;
        std::thread::sleep(Duration::from_millis(before / 2));
        let began = Instant::now();
        output(self.run_for(&CURVES, "chance", 0, counted)?)?;
        let ended = Instant::now();
        output(looped)?;
        drop(daemon);
        let said = reader.join().map_err(|_| Failure::new("the daemon could not be heard"))?;
        Ok(Round::of(&said, began, ended))
    }
}

/// The rows of all rounds, each of the worst.
pub(super) fn rows(rounds: &[Round], total: u64) -> Vec<Row> {
    let seconds = |work: &str, figures: Option<Vec<f64>>| match figures {
        Some(figures) => Row {
            work: format!("{work}, at worst"),
            ours: figures.into_iter().fold(0.0, f64::max),
            partner: None,
            unit: "s",
            goal: Some(SOON),
        },
        None => Row::failed(work, "s", Some(SOON), "the daemon did not say so"),
    };
    let all = |of: fn(&Round) -> Option<f64>| rounds.iter().map(of).collect::<Option<Vec<f64>>>();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let claimed = rounds.iter().map(|it| it.claimed).max().unwrap_or(0);
    vec![
        seconds("a program joins: until limits are in force", all(|it| it.joins)),
        seconds("a program ends: until limits are in force", all(|it| it.leaves)),
        seconds("shares change: until limits are in force", all(|it| Some(it.changes))),
        Row {
            work: "what programs have or may have at any time, beside what there is".to_owned(),
            ours: mib(claimed),
            partner: Some(mib(total)),
            unit: "MiB",
            goal: Some(Goal::AtMost(1.0)),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_from_what_happened_until_limits_are_in_force() {
        let zero = Instant::now();
        let at = |ms: u64| zero + Duration::from_millis(ms);
        let view = |programs: usize, in_force: bool, claimed: u64| {
            let programs = vec!["{}"; programs].join(",");
            format!(
                r#"{{"programs":[{programs}],"in_force":{in_force},"claimed_bytes":{claimed}}}"#
            )
        };
        let said: Vec<Said> = [
            (0, view(0, true, 0)),
            (100, view(1, true, 50)),
            (1000, view(2, false, 60)),
            (1300, view(2, true, 70)),
            (2000, view(2, false, 65)),
            (2050, view(2, false, 65)),
            (2900, view(2, true, 65)),
            (4000, view(1, false, 40)),
            (4250, view(1, true, 70)),
        ]
        .iter()
        .filter_map(|(ms, line)| Said::read(at(*ms), line))
        .collect();
        assert_eq!(said.len(), 9);
        let round = Round::of(&said, at(800), at(4050));
        assert_eq!((round.joins, round.leaves), (Some(0.5), Some(0.2)));
        assert_eq!((round.changes, round.claimed), (0.9, 70));
        let rows = rows(&[round], 64 << 20);
        assert!(rows.iter().all(|row| row.met() == Some(true)), "{rows:?}");
        let silent = Round::of(&said[..7], at(800), at(4050));
        assert_eq!((silent.joins, silent.leaves), (Some(0.5), None));
        assert!(super::rows(&[silent], 64 << 20)[1].has_failed());
        assert!(Said::read(zero, "farside: nothing of this").is_none());
    }
}
