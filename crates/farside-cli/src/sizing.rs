//! How much local memory a running program needs, by its live miss-rate curve (PATH, section 3.2).

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use farside_os::memory::PAGE;
use farside_pager::curve;
use farside_pager::settings::LEAST_LIMIT;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Failure;
use crate::options::{Local, Size};
use crate::output;
use crate::run::Report;
use crate::top;

/// Slowdowns for which a size is told unless others are asked for, in per cent.
const SLOWDOWNS: [f64; 4] = [5.0, 10.0, 25.0, 100.0];

/// The share of its time that a program is taken to wait at most: threads may wait at the same time.
const MOST_WAITING: f64 = 0.99;

/// What a miss is taken to cost where there are none yet, in seconds: about a fault and a round trip.
const MISS_SECONDS: f64 = 10e-6;

/// So long has to have been looked before a program that waited, and was not seen to use any page again, is taken to need
/// next to nothing: one that goes over all of its memory comes back to what is tracked only after that.
const SURE_AFTER_NS: u64 = 10_000_000_000;

/// What is known of how a program would do with other limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveCurve {
    /// Seconds that it is of; earlier ones count for less.
    pub seconds: f64,
    /// The share of its time that the program waits for pages, with the limit that it has.
    pub waiting: f64,
    /// Limits in ascending order.
    pub points: Vec<Point>,
}

/// Misses by memory as they were in the last seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recent {
    /// Seconds that it is of; earlier ones count for less.
    pub seconds: f64,
    /// Bytes up to which the points reach, at equal distances from none on.
    pub bytes: u64,
    /// Misses a second at each point.
    pub misses_per_second: Vec<f64>,
}

impl Recent {
    /// From a curve in shared memory.
    pub fn new(curve: &curve::Curve) -> Self {
        let misses = curve.points().map(|(_, misses)| (misses * 10.0).round() / 10.0);
        Self {
            seconds: curve.span_ns as f64 / 1e9,
            bytes: curve.pages * PAGE as u64,
            misses_per_second: misses.collect(),
        }
    }

    /// Sizes in bytes, and misses a second.
    pub fn points(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let last = self.misses_per_second.len().saturating_sub(1).max(1) as u128;
        let size = move |point: usize| (u128::from(self.bytes) * point as u128 / last) as u64;
        self.misses_per_second.iter().enumerate().map(move |(i, misses)| (size(i), *misses))
    }
}

/// What a program gains and loses by its limit now (PATH, section 4.2).
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// Uses of pages that are not there, a second, by the order in which pages were used in the last seconds.
    pub misses_per_second: f64,
    /// How much memory more or less the next two are about: a tenth of the limit.
    pub step_bytes: u64,
    /// Misses a second that so much more would save.
    pub benefit: f64,
    /// Misses a second that so much less would cost.
    pub penalty: f64,
    /// The share of the time that seeing this takes.
    pub tracking: f64,
}

impl Pressure {
    /// By a curve, for a limit in bytes, and what seeing it has taken of all the time.
    pub fn new(curve: &curve::Curve, limit: u64, tracking_ns: u64, elapsed: Duration) -> Self {
        let (pages, step) = (limit / PAGE as u64, limit / PAGE as u64 / 10);
        let now = curve.rate(pages);
        Self {
            misses_per_second: now,
            step_bytes: step * PAGE as u64,
            benefit: (now - curve.rate(pages.saturating_add(step))).max(0.0),
            penalty: (curve.rate(pages.saturating_sub(step)) - now).max(0.0),
            tracking: tracking_ns as f64 / elapsed.as_nanos().max(1) as f64,
        }
    }
}

/// How a program would do with a limit.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The limit.
    pub bytes: u64,
    /// Uses of pages that would not be there, a second.
    pub misses_per_second: f64,
    /// How much longer it would take than with all its memory local: 0 for as long, 1 for twice as long.
    pub slowdown: f64,
}

impl LiveCurve {
    /// What a curve means for a program with this limit, in bytes, that has waited for so long of so much time, both of so
    /// many processes together. `None` if it means nothing yet.
    ///
    /// What it waits now is known, or what a miss costs is assumed if it has none. With another limit it would wait as much
    /// more or less as there are more or fewer misses; the rest of its time stays.
    pub fn new(
        curve: &curve::Curve,
        limit: u64,
        (waited_ns, elapsed): (u64, Duration),
        processes: u32,
    ) -> Option<Self> {
        if waited_ns > 0 && curve.misses[0] == 0 && curve.span_ns < SURE_AFTER_NS {
            return None;
        }
        let waiting = waited_ns as f64 / elapsed.as_nanos().max(1) as f64;
        let waiting = waiting.min(MOST_WAITING);
        let misses = curve.rate(limit / PAGE as u64);
        // So much of the time of each process: misses are those of all of them.
        let assumed = MISS_SECONDS / f64::from(processes.max(1));
        let each = if misses > 0.0 { waiting / misses } else { assumed };
        let works = 1.0 - waiting;
        let point = |(pages, misses_per_second): (u64, f64)| Point {
            bytes: pages * PAGE as u64,
            misses_per_second,
            slowdown: misses_per_second * each / works,
        };
        let points = curve.points().map(point).collect();
        Some(Self { seconds: curve.span_ns as f64 / 1e9, waiting, points })
    }

    /// The least limit with which the program takes at most so much longer, as a share.
    pub fn needed(&self, slowdown: f64) -> Option<u64> {
        self.points.iter().find(|point| point.slowdown <= slowdown).map(|point| point.bytes)
    }

    /// How much longer the program takes with so much memory than with all of it, as a share; between points in
    /// proportion.
    pub fn slowdown(&self, bytes: u64) -> f64 {
        let after = self.points.partition_point(|point| point.bytes < bytes);
        match (self.points.get(after.wrapping_sub(1)), self.points.get(after)) {
            (Some(less), Some(more)) => {
                let share = (bytes - less.bytes) as f64 / (more.bytes - less.bytes) as f64;
                less.slowdown + (more.slowdown - less.slowdown) * share
            }
            (None, Some(least)) => least.slowdown,
            (Some(most), None) => most.slowdown,
            (None, None) => 0.0,
        }
    }

    /// The same as [`needed`](Self::needed), as a limit that a program can run with.
    fn limit(&self, slowdown: f64) -> Option<u64> {
        self.needed(slowdown).map(|bytes| bytes.max(LEAST_LIMIT))
    }

    /// A line for the summary of a run.
    pub fn summary(&self) -> String {
        match (self.limit(0.05), self.limit(0.25)) {
            (Some(little), Some(more)) => format!(
                "farside: with {} local it would take 5 % longer than all-local, with {} 25 %\n",
                Size(little),
                Size(more)
            ),
            _ => String::new(),
        }
    }
}

/// What is asked about a program that runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// How much memory it needs to be slowed down by at most so much, in per cent.
    Sizes(Vec<f64>),
    /// How much it would be slowed down with so much memory.
    Slowdowns(Vec<Local>),
}

/// What options ask for.
pub fn asked(slowdowns: Vec<f64>, locals: &[String]) -> Result<Asked, Failure> {
    if locals.is_empty() {
        let usual = || SLOWDOWNS.to_vec();
        return Ok(Asked::Sizes(if slowdowns.is_empty() { usual() } else { slowdowns }));
    }
    let parse = |text: &String| {
        text.parse().map_err(|error| Failure::usage(format!("--local {text}: {error}")))
    };
    Ok(Asked::Slowdowns(locals.iter().map(parse).collect::<Result<_, _>>()?))
}

/// Tells what is asked about the program with this id.
pub fn size(pid: u32, asked: &Asked, json: bool) -> Result<ExitCode, Failure> {
    let reports = top::reports()?;
    let report = reports.iter().find(|report| report.pid == pid).ok_or_else(|| {
        Failure::own(format!(
            "no program with process id {pid} runs under Farside; `farside top` shows those that do"
        ))
    })?;
    let curve = report.curve.as_ref().ok_or_else(|| Failure::own(unknown(report)))?;
    match json {
        true => output::print_json(&as_json(report, curve, asked))?,
        false => output::print(as_text(report, curve, asked))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A limit in bytes; shares are of what the program uses now.
fn bytes(local: Local, report: &Report) -> u64 {
    match local {
        Local::Bytes(bytes) => bytes,
        Local::Percent(percent) => {
            let bytes = report.counter("footprint_bytes") as f64 * percent / 100.0;
            (bytes as u64).max(LEAST_LIMIT)
        }
    }
}

fn unknown(report: &Report) -> String {
    format!(
        "nothing is known yet of how {} (process {}) uses its memory: run it with --track pressure, under a limit that \
         it does not fit into, or with --track always, and ask again after a few seconds",
        report.program, report.pid
    )
}

fn as_json(report: &Report, curve: &LiveCurve, asked: &Asked) -> serde_json::Value {
    let mut object = json!({
        "pid": report.pid, "program": report.program, "limit_bytes": report.living.limit_bytes, "curve": curve,
    });
    match asked {
        Asked::Sizes(slowdowns) => {
            let of = |percent: &f64| json!({ "slowdown": percent / 100.0, "bytes": curve.limit(percent / 100.0) });
            object["sizes"] = slowdowns.iter().map(of).collect();
        }
        Asked::Slowdowns(locals) => {
            let bytes = locals.iter().map(|local| bytes(*local, report));
            let of = |bytes| json!({ "bytes": bytes, "slowdown": curve.slowdown(bytes) });
            object["slowdowns"] = bytes.map(of).collect();
        }
    }
    object
}

fn as_text(report: &Report, curve: &LiveCurve, asked: &Asked) -> String {
    let mut text = String::new();
    let (limit, uses) = (report.living.limit_bytes, report.counter("footprint_bytes"));
    let has = if limit < uses {
        format!("{} of {} that it uses", Size(limit), Size(uses))
    } else {
        format!("room for all of the {} that it uses", Size(uses))
    };
    let rest = if limit < uses { "for the rest" } else { "for pages" };
    let _ = writeln!(
        text,
        "{} (process {}) has {has}, and waits {:.0} % of its time {rest}",
        report.program,
        report.pid,
        curve.waiting * 100.0,
    );
    let mut table = Table::new();
    table.load_style(NOTHING);
    let (longer, memory) = ("LONGER THAN ALL-LOCAL", "LOCAL MEMORY");
    match asked {
        Asked::Sizes(slowdowns) => {
            table.set_header([longer, memory]);
            for percent in slowdowns {
                let size = curve.limit(percent / 100.0).map(|bytes| Size(bytes).to_string());
                let size = size.unwrap_or_else(|| "more than it uses".to_owned());
                table.add_row([format!("{percent} %"), size]);
            }
        }
        Asked::Slowdowns(locals) => {
            table.set_header([memory, longer]);
            for bytes in locals.iter().map(|local| bytes(*local, report)) {
                let percent = format!("{:.0} %", curve.slowdown(bytes) * 100.0);
                table.add_row([Size(bytes).to_string(), percent]);
            }
        }
    }
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let _ = writeln!(text, "{table}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known after a second of ten was waited for.
    fn seen(seconds: u64, misses: impl Fn(u64) -> u64, limit_pages: u64) -> Option<LiveCurve> {
        let shown = curve::ShownCurve::new();
        let fading = curve::Fading { all: 0.9, recent: 0.5 };
        shown.show(1280, seconds * 1_000_000_000, fading, misses);
        let (waited, elapsed) = (1_000_000_000, Duration::from_secs(10));
        LiveCurve::new(&shown.snapshot(), limit_pages * PAGE as u64, (waited, elapsed), 1)
    }

    fn live(misses: impl Fn(u64) -> u64, limit_pages: u64) -> LiveCurve {
        seen(2, misses, limit_pages).expect("known")
    }

    #[test]
    fn one_that_waited_and_was_not_seen_to_come_back_may_yet() {
        assert_eq!(seen(2, |_| 0, 640), None);
        let later = seen(12, |_| 0, 640).expect("believed by now");
        assert_eq!(later.limit(0.05), Some(LEAST_LIMIT));
    }

    #[test]
    fn waiting_grows_and_shrinks_with_misses() {
        let curve = live(|pages| 1280 - pages, 640);
        assert!((curve.waiting - 0.1).abs() < 1e-9);
        let at = |pages: u64| curve.points.iter().find(|it| it.bytes == pages * PAGE as u64);
        let slowdown = |pages| at(pages).map_or(f64::NAN, |point| point.slowdown);
        assert!((slowdown(640) - 0.1 / 0.9).abs() < 1e-9);
        assert!((slowdown(0) - 0.2 / 0.9).abs() < 1e-9);
        assert_eq!(slowdown(1280), 0.0);
        let between = curve.slowdown(960 * PAGE as u64);
        assert!((between - 0.05 / 0.9).abs() < 1e-3, "{between}");
        assert_eq!(curve.slowdown(0), slowdown(0));
        assert_eq!(curve.slowdown(u64::MAX), 0.0, "more than it uses");
        assert_eq!(curve.needed(0.2 / 0.9 + 1e-9), Some(0));
        assert_eq!(curve.needed(0.1 / 0.9 + 1e-9), Some(640 * PAGE as u64));
        assert_eq!(curve.needed(0.0), Some(1280 * PAGE as u64));
    }

    #[test]
    fn benefit_and_penalty_are_the_sides_of_the_limit() {
        let shown = curve::ShownCurve::new();
        let fading = curve::Fading { all: 0.9, recent: 0.5 };
        // A cliff just beyond the limit, and a slope below it.
        let misses = |pages| if pages >= 1100 { 0 } else { 20_000 - 10 * pages };
        shown.show(1280, 1_000_000_000, fading, misses);
        let limit = 1000 * PAGE as u64;
        let found = Pressure::new(&shown.recent(), limit, 20_000_000, Duration::from_secs(1));
        assert_eq!(found.step_bytes, 100 * PAGE as u64);
        assert!((found.misses_per_second - 10_000.0).abs() < 10.0, "{found:?}");
        assert!((found.penalty - 1000.0).abs() < 10.0, "{found:?}");
        assert!(found.benefit > 9_000.0, "{found:?}");
        assert!((found.tracking - 0.02).abs() < 1e-9);
    }

    #[test]
    fn a_program_that_fits_needs_more_than_nothing() {
        let curve = live(|pages| if pages < 1000 { 50_000 } else { 0 }, 1280);
        let needed = curve.needed(0.05).map(|bytes| bytes / PAGE as u64);
        assert!(needed.is_some_and(|pages| (1000..1010).contains(&pages)), "{needed:?}");
        assert_eq!(curve.limit(f64::MAX), Some(LEAST_LIMIT), "it has to be a limit");
    }

    #[test]
    fn what_is_lost_with_less_is_told_as_well() {
        let half = asked(vec![], &["50%".to_owned(), "400M".to_owned()]);
        let half = half.expect("sizes");
        assert_eq!(half, Asked::Slowdowns(vec![Local::Percent(50.0), Local::Bytes(400 << 20)]));
        assert_eq!(asked(vec![], &[]), Ok(Asked::Sizes(SLOWDOWNS.to_vec())));
        let error = asked(vec![], &["half".to_owned()]).expect_err("no size");
        assert!(error.message.contains("--local half"), "{error}");
    }

    #[test]
    fn a_loop_needs_all_of_it() {
        let curve = live(|pages| if pages < 1000 { 50_000 } else { 0 }, 640);
        let needed = curve.needed(0.05).map(|bytes| bytes / PAGE as u64);
        assert!(needed.is_some_and(|pages| (1000..1010).contains(&pages)), "{needed:?}");
    }
}
