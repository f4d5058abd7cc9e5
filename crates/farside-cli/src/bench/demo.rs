//! `farside bench demo`: two real programs with a fifth of their memory, beside a plain run and beside
//! the kernel's own swap.

use std::fs;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use comfy_table::{CellAlignment, Table, presets::ASCII_MARKDOWN};

use crate::run::grouped;

use super::launch::{Outcome, Place, Program, Scratch};
use super::paging::CGROUP_EXTRA;
use super::row::{self, Goal, Row, figure, median};
use super::stats::Stats;
use super::swap::Swap;
use super::{Failure, Shared, programs, skip};
use crate::progress::Progress;

/// Options of `farside bench demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Text to sort, in MiB
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=16384))]
    text: u32,
    /// Share of a program's footprint that may be resident
    #[arg(long, default_value_t = 20, value_name = "PERCENT",
          value_parser = clap::value_parser!(u32).range(5..=100))]
    local: u32,
}

/// One line of the demo's table.
struct Line {
    program: &'static str,
    place: &'static str,
    seconds: f64,
    ratio: f64,
    peak: Option<u64>,
    stats: Option<Stats>,
    identical: bool,
}

/// Runs both programs in all three places; the answer is the table, or JSON rows.
pub(crate) fn run(
    args: &DemoArgs,
    shared: &Shared,
    progress: &Progress,
) -> Result<String, Failure> {
    let scratch = Scratch::new()?;
    progress.say("collecting text from this machine");
    let text = scratch.join("text");
    let bytes = collect_text(&text, u64::from(args.text) << 20)
        .map_err(|e| Failure::io("cannot collect text", &e))?;
    let sort = ["sort", "--parallel=2", "--buffer-size=4G"].map(Into::into);
    let sort = Program::new(sort.into_iter().chain([text.into_os_string()])).env("LC_ALL", "C");
    let mut subjects = vec![("sort", sort)];
    match programs::has_numpy() {
        Ok(()) => {
            let numpy = Program::new([programs::PYTHON, "-c", programs::NUMPY, "1500"]);
            subjects.push(("python3 numpy", numpy));
        }
        Err(why) => skip("python3 numpy", &why),
    }
    let mut lines = Vec::new();
    let mut rows = Vec::new();
    for (name, program) in &subjects {
        let own = subject(name, program, args, shared, progress, &scratch)?;
        rows.extend(comparison(name, args.local, &own));
        lines.extend(own);
    }
    progress.finish();
    if shared.json {
        return Ok(row::json(&rows));
    }
    Ok(format!(
        "sort: {} MiB of text found on this machine; python3 numpy: matrix product, transform, sort\n{}",
        bytes >> 20,
        table(args.local, &lines)
    ))
}

/// One program in all three places, each once after a run that warms up.
fn subject(
    name: &'static str,
    program: &Program,
    args: &DemoArgs,
    shared: &Shared,
    progress: &Progress,
    scratch: &Scratch,
) -> Result<Vec<Line>, Failure> {
    progress.say(format!("{name}: learning its footprint"));
    let all = ["--local".to_string(), "100%".to_string()];
    let learnt = program.run(Place::Far(&all), shared, scratch)?;
    let footprint = learnt.stats.as_ref().and_then(|stats| stats.get("footprint_peak_bytes"));
    let footprint = footprint.ok_or_else(|| Failure::new("the counters lack a footprint"))? as u64;
    let limit = ((footprint * u64::from(args.local)) / 100).max(1 << 20) & !4095;
    let options = ["--local".to_string(), limit.to_string()];

    progress.say(format!("{name}: plain"));
    let plain = program.run(Place::Plain, shared, scratch)?;
    let seconds = plain.wall.as_secs_f64();
    let line = |place, run: Outcome, peak| Line {
        program: name,
        place,
        seconds: run.wall.as_secs_f64(),
        ratio: run.wall.as_secs_f64() / seconds,
        peak,
        identical: run.stdout == plain.stdout,
        stats: run.stats,
    };

    progress.say(format!("{name}: far memory"));
    let far = program.run(Place::Far(&options), shared, scratch)?;
    let far_peak = far.stats.as_ref().and_then(|stats| stats.get("resident_peak_bytes"));
    let mut lines = vec![line("far memory", far, far_peak.map(|bytes| bytes as u64))];

    progress.say(format!("{name}: kernel swap"));
    match Swap::set_up(limit + CGROUP_EXTRA, 2 * footprint + (256 << 20)) {
        Ok(swap) => match program.run(Place::Swap(&swap), shared, scratch) {
            Ok(run) => {
                let peak = run.peak_resident;
                lines.push(line("kernel swap", run, Some(peak)));
            }
            Err(why) => skip(&format!("{name} on kernel swap"), &why.to_string()),
        },
        Err(why) => skip(&format!("{name} on kernel swap"), &why),
    }
    let peak = plain.peak_resident;
    lines.insert(
        0,
        Line {
            program: name,
            place: "plain",
            seconds,
            ratio: 1.0,
            peak: Some(peak),
            stats: None,
            identical: true,
        },
    );
    Ok(lines)
}

/// The rows of `--json`: far memory beside kernel swap.
fn comparison(name: &str, local: u32, lines: &[Line]) -> Option<Row> {
    let seconds = |place| {
        let all: Vec<f64> =
            lines.iter().filter(|line| line.place == place).map(|line| line.seconds).collect();
        (!all.is_empty()).then(|| median(&all))
    };
    Some(Row {
        work: format!("{name}, {local} % local, beside kernel swap"),
        ours: seconds("far memory")?,
        partner: seconds("kernel swap"),
        unit: "s",
        goal: Some(Goal::Faster(1.0)),
    })
}

fn table(local: u32, lines: &[Line]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header([
        "program",
        &format!("{local} % local"),
        "run time s",
        "to plain",
        "peak resident MiB",
        "demand faults",
        "late hits",
        "fetched MiB",
        "written back MiB",
        "outputs identical",
    ]);
    let mib = |bytes: f64| figure(bytes / f64::from(1 << 20));
    for line in lines {
        let count = |name: &str| line.stats.as_ref().and_then(|stats| stats.get(name));
        let dash = || "-".to_string();
        table.add_row([
            line.program.to_string(),
            line.place.to_string(),
            format!("{:.2}", line.seconds),
            format!("{:.2}x", line.ratio),
            line.peak.map_or_else(dash, |bytes| mib(bytes as f64)),
            count("demand_faults").map_or_else(dash, |number| grouped(number as u64)),
            count("late_hits").map_or_else(dash, |number| grouped(number as u64)),
            count("fetched_bytes").map_or_else(dash, mib),
            count("written_bytes").map_or_else(dash, mib),
            if line.identical { "yes" } else { "NO" }.to_string(),
        ]);
    }
    for column in 2..9 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}

/// Where a Debian machine keeps text: headers, scripts, documentation, word lists.
const SOURCES: [&str; 5] =
    ["/usr/include", "/usr/share", "/usr/lib/python3", "/usr/lib/python3.11", "/usr/lib/gcc"];

/// Writes about `wanted` bytes of lines found on this machine to `to`. When all of it has been seen,
/// it starts over with the round put before each line, so that lines stay different.
fn collect_text(to: &Path, wanted: u64) -> std::io::Result<u64> {
    let mut files = Vec::new();
    for source in SOURCES {
        text_files(Path::new(source), &mut files);
    }
    files.sort();
    let mut out = BufWriter::new(fs::File::create(to)?);
    let mut written = 0u64;
    for round in 0u64.. {
        let before = written;
        for file in &files {
            written += append_lines(file, round, &mut out)?;
            if written >= wanted {
                out.flush()?;
                return Ok(written);
            }
        }
        if written == before {
            return Err(std::io::Error::other("no text in /usr/include, /usr/share, /usr/lib"));
        }
    }
    Ok(written)
}

fn append_lines(file: &PathBuf, round: u64, out: &mut impl Write) -> std::io::Result<u64> {
    let Ok(file) = fs::File::open(file) else { return Ok(0) };
    let mut written = 0;
    for line in BufReader::new(file).split(b'\n') {
        // A file that turns out not to be text, or not readable, ends here.
        let Ok(line) = line else { break };
        if line.contains(&0) || line.len() > 4096 {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if round > 0 {
            write!(out, "{round} ")?;
        }
        out.write_all(&line)?;
        out.write_all(b"\n")?;
        written += line.len() as u64 + 1;
    }
    Ok(written)
}

/// Appends the regular files below `directory` that look like text by their name.
fn text_files(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() {
            text_files(&path, files);
        } else if kind.is_file() && !is_compressed(&path) {
            files.push(path);
        }
    }
}

fn is_compressed(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    matches!(end, "gz" | "xz" | "zst" | "bz2" | "zip" | "jar" | "png" | "so" | "a" | "o" | "pyc")
}
