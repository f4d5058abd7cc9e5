//! The programs' traces: what misses a translation buffer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::personality::{self, Persona};
use serde::Deserialize;

use super::compile::compile;
use super::layout::Layout;
use super::model::TLB_ENTRIES;
use super::programs::{Program, Scale};
use crate::Failure;

/// A captured program.
#[derive(Clone, Debug)]
pub struct Captured {
    pub trace: PathBuf,
    /// Data accesses that the program made.
    pub accesses: u64,
    /// Records in the trace.
    pub records: u64,
    pub layout: Layout,
}

/// What `farside capture --json` says, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Summary {
    accesses: u64,
    records: u64,
}

/// Programs started from now on lie at the same addresses each time, so that pages fall into the same
/// sets of the hardware.
pub fn fix_addresses() -> Result<(), Failure> {
    let failed = |error| Failure::own(format!("cannot fix the addresses of programs: {error}"));
    let persona = personality::get().map_err(failed)?;
    personality::set(persona | Persona::ADDR_NO_RANDOMIZE).map_err(failed)?;
    Ok(())
}

/// Builds, captures and checks a program, or takes what an earlier study left.
///
/// # Errors
/// If it cannot be built or captured, or prints what it must not.
pub fn capture(
    program: &Program,
    scale: Scale,
    sources: &Path,
    work: &Path,
    reuse: bool,
) -> Result<Captured, Failure> {
    let trace = work.join(program.name).with_extension("fpt");
    let summary = trace.with_extension("json");
    if !(reuse && summary.is_file() && trace.is_file()) {
        super::tell(&format!("capturing {}", program.name));
        let said = run(program, scale, sources, work, &trace)?;
        super::write(&summary, &said)?;
    }
    let text = fs::read_to_string(&summary)
        .map_err(|error| Failure::own(format!("cannot read {}: {error}", summary.display())))?;
    let said: Summary = serde_json::from_str(&text)
        .map_err(|error| Failure::own(format!("{}: {error}", summary.display())))?;
    let layout = Layout::of(&trace)?;
    Ok(Captured { trace, accesses: said.accesses, records: said.records, layout })
}

/// Captures a program; what the capture says at its end.
fn run(
    program: &Program,
    scale: Scale,
    sources: &Path,
    work: &Path,
    trace: &Path,
) -> Result<String, Failure> {
    let input = program.input(scale);
    let farside = std::env::current_exe()
        .map_err(|error| Failure::own(format!("cannot find my own executable: {error}")))?;
    let output = Command::new(farside)
        .args(["capture", "--json", "--tlb", &TLB_ENTRIES.to_string(), "-o"])
        .arg(trace)
        .arg("--")
        .args(compile(program, sources, work)?)
        .args(input.arguments)
        .output()
        .map_err(|error| Failure::own(format!("cannot capture {}: {error}", program.name)))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    let last = said.lines().last().unwrap_or_default();
    if !output.status.success() {
        return Err(Failure::usage(format!("cannot capture {}: {last}", program.name)));
    }
    if printed.trim() != input.prints {
        return Err(Failure::own(format!(
            "{} prints {:?} instead of {:?}; its trace cannot be trusted",
            program.name,
            printed.trim(),
            input.prints
        )));
    }
    Ok(last.to_owned())
}
