//! `farside top`: the running programs and their counters.

pub mod nodes;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use farside_wire::control::{self, ControlError};

use crate::Failure;
use crate::options::Size;
use crate::output;
use crate::run::{Report, grouped, nanoseconds, registered};
use crate::sizing::Pressure;

/// How often the table is drawn anew.
const REFRESH: Duration = Duration::from_secs(1);

/// What has a terminal show an empty screen.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Shows the running programs: again and again on a terminal, else once.
pub fn top(once: bool, json: bool) -> Result<ExitCode, Failure> {
    if json {
        output::print_json(&reports()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if once || !io::stdout().is_terminal() {
        output::print(table(&reports()?))?;
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        let table = table(&reports()?);
        output::print(format!("{CLEAR}{table}"))?;
        std::thread::sleep(REFRESH);
    }
}

/// The running programs of this user. Entries whose supervisor is gone are removed.
pub fn reports() -> Result<Vec<Report>, Failure> {
    let runs = registered()
        .map_err(|error| Failure::own(format!("cannot list the running programs: {error}")))?;
    let mut reports = Vec::new();
    for (file, run) in runs {
        match control::watch(&run.control) {
            Ok(text) => reports.extend(serde_json::from_str::<Report>(&text).ok()),
            Err(ControlError::Connect(error)) if error.errno == libc::ECONNREFUSED => {
                // Somebody else may have cleaned up first.
                let _ = std::fs::remove_file(file);
            }
            // It ended between the listing and the question.
            Err(_) => {}
        }
    }
    Ok(reports)
}

/// What is told of a program of which it is seen what it misses.
fn of_pressure(report: &Report, text: impl Fn(&Pressure) -> String) -> String {
    report.pressure.as_ref().map(text).unwrap_or_default()
}

fn table(reports: &[Report]) -> String {
    if reports.is_empty() {
        return "no program runs on far memory".to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "PID",
        "PROGRAM",
        "TIME",
        "PROCESSES",
        "LIMIT",
        "RESIDENT",
        "FOOTPRINT",
        "DEMAND FAULTS",
        "MEDIAN",
        "LATE",
        "FETCHED",
        "WRITTEN",
        "MISSES/S",
        "BENEFIT/S",
        "PENALTY/S",
        "TRACKING",
    ]);
    for report in reports {
        let bytes = |name: &str| Size(report.counter(name)).to_string();
        table.add_row([
            report.pid.to_string(),
            report.program.clone(),
            format!("{:.0} s", report.elapsed_seconds),
            report.processes.to_string(),
            bytes("limit_bytes"),
            bytes("resident_bytes"),
            bytes("footprint_bytes"),
            grouped(report.counter("demand_faults")),
            report.fault_times.median_ns.map_or_else(String::new, nanoseconds),
            grouped(report.counter("late_hits")),
            bytes("fetched_bytes"),
            bytes("written_bytes"),
            of_pressure(report, |it| grouped(it.misses_per_second.round() as u64)),
            of_pressure(report, |it| grouped(it.benefit.round() as u64)),
            of_pressure(report, |it| grouped(it.penalty.round() as u64)),
            of_pressure(report, |it| format!("{:.1} %", it.tracking * 100.0)),
        ]);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        if index != 1 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}
