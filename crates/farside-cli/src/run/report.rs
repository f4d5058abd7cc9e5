//! What a run leaves behind: the summary on stderr and the statistics as JSON.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use farside_pager::held::Held;
use serde::{Deserialize, Serialize};

use super::following::{Followed, Following};
use super::limit::{Basis, ChosenLimit};
use crate::figures::{FaultTimes, Figures};
use crate::options::Size;
use crate::sizing::{LiveCurve, Pressure, Recent};

/// Version of the layout of [`Report`]; grows when a key changes its meaning or goes.
pub const VERSION: u32 = 1;

/// How the program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It still runs.
    #[default]
    Running,
    /// It exited with this code.
    Exited(i32),
    /// It died by this signal.
    Killed(i32),
}

/// A run so far, or as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`VERSION`].
    pub version: u32,
    /// Program as it was named.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Process id of the program.
    pub pid: u32,
    /// How it ended.
    pub ending: Ending,
    /// Wall-clock time.
    pub elapsed_seconds: f64,
    /// The limit and where it came from.
    pub limit: ChosenLimit,
    /// The far memory.
    pub far: String,
    /// Processes that ran on far memory.
    pub processes: u64,
    /// Those of them that live.
    #[serde(default)]
    pub living: Living,
    /// All counters by name.
    pub counters: serde_json::Map<String, serde_json::Value>,
    /// How long demand faults took.
    pub fault_times: FaultTimes,
    /// What sections of the program held; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<SectionHeld>,
    /// How the program would do with other limits; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<LiveCurve>,
    /// The same by the last seconds alone, where changes are seen sooner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent: Option<Recent>,
    /// What it gains and loses by its limit; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
    /// What came of following a tape; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tape: Option<Following>,
}

/// Processes that live.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Living {
    /// How many there are.
    pub processes: u64,
    /// Their limits, added up; when all have gone, the greatest that one had.
    pub limit_bytes: u64,
}

/// What a section of the program held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionHeld {
    /// Its name.
    pub name: String,
    /// Most bytes that were allocated in it at once; if it is plain memory, what that was expected to be.
    pub peak_bytes: u64,
    /// Whether it was plain memory, since there was room for all of it.
    pub plain: bool,
}

impl SectionHeld {
    fn new(held: &Held) -> Self {
        let Held { name, peak_bytes, plain } = held.clone();
        Self { name, peak_bytes, plain }
    }
}

/// What is known of a run before it starts.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Program as it was named.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The limit and where it came from.
    pub limit: ChosenLimit,
    /// The far memory.
    pub far: String,
    /// The tape that is followed, if there is one.
    pub tape: Option<Followed>,
}

impl Report {
    /// Puts a run's figures together.
    pub fn new(
        subject: &Subject,
        pid: u32,
        ending: Ending,
        elapsed: Duration,
        figures: &Figures,
    ) -> Self {
        let counters = figures.fields().iter();
        let (limit, recent) = (figures.limit(), figures.recent());
        let living = u32::try_from(figures.living()).unwrap_or(u32::MAX);
        let (waited, tracking) = (figures.get("waiting_ns"), figures.get("tracking_ns"));
        let of_all = (waited, elapsed.saturating_mul(living.max(1)));
        let curve = figures.curve().and_then(|curve| LiveCurve::new(&curve, limit, of_all, living));
        let pressure = recent.as_ref().map(|it| Pressure::new(it, limit, tracking, elapsed));
        Self {
            version: VERSION,
            program: subject.program.clone(),
            arguments: subject.arguments.clone(),
            pid,
            ending,
            elapsed_seconds: elapsed.as_secs_f64(),
            limit: subject.limit.clone(),
            far: subject.far.clone(),
            processes: figures.processes,
            living: Living { processes: figures.living(), limit_bytes: limit },
            counters: counters.map(|(name, value)| ((*name).to_owned(), (*value).into())).collect(),
            fault_times: figures.fault_times(),
            sections: figures.held().iter().map(SectionHeld::new).collect(),
            curve,
            recent: recent.as_ref().map(Recent::new),
            pressure,
            tape: subject.tape.as_ref().map(|tape| Following::new(tape, figures)),
        }
    }

    /// Takes note of the limit that was ordered while the program ran, if one was.
    pub fn note_ordered(&mut self, bytes: Option<u64>) {
        if bytes.is_some() {
            self.limit = ChosenLimit { basis: Basis::Ordered, bytes, ..self.limit.clone() };
        }
    }

    /// The counter called `name`; 0 if there is none.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0)
    }

    /// Writes the report to a file.
    pub fn write_to(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        std::fs::File::create(path)?.write_all(text.as_bytes())
    }

    /// The short block for stderr.
    pub fn summary(&self) -> String {
        let how = match &self.ending {
            Ending::Running => "still running".to_owned(),
            Ending::Exited(code) => format!("exit code {code}"),
            Ending::Killed(signal) => format!("killed by {}", signal_name(*signal)),
        };
        let processes = match self.processes {
            1 => "1 process".to_owned(),
            many => format!("{many} processes"),
        };
        let counted = |name: &str, one: &str| match self.counter(name) {
            1 => format!("1 {one}"),
            many => format!("{} {one}s", grouped(many)),
        };
        let median = match self.fault_times.median_ns {
            Some(ns) => format!(" (median {})", nanoseconds(ns)),
            None => String::new(),
        };
        let bytes = |name: &str| Size(self.counter(name));
        let count = |name: &str| grouped(self.counter(name));
        format!(
            "farside: {}: {:.2} s, {processes}, {how}\n\
             farside: {}; peak resident {} of a peak footprint of {}\n\
             farside: {}{median}, {}; {} prefetched ({} used, {} unused)\n\
             farside: fetched {}, written back {}\n{}{}{}{}{}{}{}",
            self.program,
            self.elapsed_seconds,
            self.limit.describe(self.counter("limit_bytes")),
            bytes("resident_peak_bytes"),
            bytes("footprint_peak_bytes"),
            counted("demand_faults", "demand fault"),
            counted("late_hits", "late hit"),
            count("prefetched_pages"),
            count("prefetched_used"),
            count("prefetched_unused"),
            bytes("fetched_bytes"),
            bytes("written_bytes"),
            self.pointers(),
            self.hints(),
            self.sections(),
            self.plain_sections(),
            self.offloaded(),
            self.tape.as_ref().map(Following::summary).unwrap_or_default(),
            self.curve.as_ref().map(LiveCurve::summary).unwrap_or_default(),
        )
    }

    /// What came of following pointers, if any were followed.
    fn pointers(&self) -> String {
        let count = |name: &str| grouped(self.counter(name));
        if self.counter("pointer_pages") == 0 {
            return String::new();
        }
        format!(
            "farside: {} places looked at for pointers; {} pages came for them ({} used, {} late, {} unused)\n",
            count("pointer_scanned"),
            count("pointer_pages"),
            count("pointer_used"),
            count("pointer_late"),
            count("pointer_unused"),
        )
    }

    /// What came of hints, if the program gave any.
    fn hints(&self) -> String {
        let count = |name: &str| grouped(self.counter(name));
        if self.counter("hints") == 0 {
            return String::new();
        }
        format!(
            "farside: {} hints found pages missing; {} pages came for them ({} hints astray)\n",
            count("hints_missing"),
            count("hinted_pages"),
            count("hints_astray"),
        )
    }

    /// Which functions ran where their data is, if any can.
    fn offloaded(&self) -> String {
        let count = |name: &str| grouped(self.counter(name));
        if self.counter("offload_calls") + self.counter("offload_here") == 0 {
            return String::new();
        }
        format!(
            "farside: {} calls ran where their data is, {} here ({} failed there)\n",
            count("offload_calls"),
            count("offload_here"),
            count("offload_failed"),
        )
    }

    /// Which sections are plain memory, if any.
    fn plain_sections(&self) -> String {
        let plain = self.sections.iter().filter(|section| section.plain);
        let shown: Vec<String> = plain
            .map(|section| format!("{} ({})", section.name, Size(section.peak_bytes)))
            .collect();
        if shown.is_empty() {
            return String::new();
        }
        format!(
            "farside: plain memory, since there is room for all of them: sections {}\n",
            shown.join(", ")
        )
    }

    /// What came and went in sections, if the program has any.
    fn sections(&self) -> String {
        let count = |name: &str| grouped(self.counter(name));
        if self.counter("section_misses") + self.counter("section_ahead") == 0 {
            return String::new();
        }
        format!(
            "farside: sections: {} misses, {} lines late; {} asked for ahead ({} used, {} unused); fetched {}, written back {}\n",
            count("section_misses"),
            count("section_late"),
            count("section_ahead"),
            count("section_ahead_used"),
            count("section_ahead_unused"),
            Size(self.counter("section_fetched_bytes")),
            Size(self.counter("section_written_bytes")),
        )
    }
}

/// The name of a signal, or its number if it has none.
pub fn signal_name(signal: i32) -> String {
    nix::sys::signal::Signal::try_from(signal)
        .map_or_else(|_| format!("signal {signal}"), |signal| signal.as_str().to_owned())
}

/// A time in a readable unit.
pub fn nanoseconds(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

/// A number with its thousands set apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
