//! Runs programs of studies on far memory.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::input::{Invocation, Place};
use super::serve::serve;

/// Runs a program with room for everything: how many bytes it uses, and what it prints.
pub fn footprint(call: &Invocation, place: &Place) -> Result<(u64, Vec<u8>), String> {
    let (counters, printed) = counters(call, 16 << 30, &[], place)?;
    let used = counters["footprint_peak_bytes"].as_u64();
    used.filter(|used| *used > 0).map(|used| (used, printed)).ok_or("it uses no far memory".into())
}

/// Runs it with `local` bytes; its counters, and what it prints.
pub fn counters(
    call: &Invocation,
    local: u64,
    options: &[&str],
    place: &Place,
) -> Result<(Value, Vec<u8>), String> {
    let stats = place.work("stats.json");
    let local = (local & !4095).to_string();
    let verb = [&["run", "--quiet", "--local", &local], options, &["--stats"]].concat();
    let printed = under(&verb, &stats, call, place)?;
    Ok((read(&stats)?["counters"].take(), printed))
}

/// Runs it with `local` bytes; what `farside faults --json` tells, and what it prints.
pub fn faults(
    call: &Invocation,
    local: u64,
    options: &[&str],
    place: &Place,
) -> Result<(Value, Vec<u8>), String> {
    let file = place.work("faults.json");
    let local = (local & !4095).to_string();
    let verb = ["faults", "--quiet", "--json", "--local", &local];
    let printed = under(&[&verb, options, &["--output"]].concat(), &file, call, place)?;
    Ok((read(&file)?, printed))
}

fn read(file: &Path) -> Result<Value, String> {
    serde_json::from_str(&text(file)?).map_err(|e| format!("cannot read {}: {e}", file.display()))
}

fn text(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|e| format!("cannot read {}: {e}", file.display()))
}

/// Runs a program under this very command; what it prints.
fn under(verb: &[&str], file: &Path, call: &Invocation, place: &Place) -> Result<Vec<u8>, String> {
    let farside = std::env::current_exe().map_err(|e| format!("where is farside? {e}"))?;
    let socket = place.socket();
    let _ = fs::remove_file(&socket);
    let mut command = Command::new(farside);
    command.args(verb).arg(file).arg("--").args(&call.argv).envs(call.env);
    command.stdin(match &call.stdin {
        Some(file) => Stdio::from(
            fs::File::open(file).map_err(|e| format!("cannot open {}: {e}", file.display()))?,
        ),
        None => Stdio::null(),
    });
    let errors = place.work("errors.txt");
    let said = fs::File::create(&errors).map_err(|e| format!("{}: {e}", errors.display()))?;
    command.stdout(Stdio::piped()).stderr(said);
    let mut child = command.spawn().map_err(|e| format!("cannot start farside: {e}"))?;
    if let Some(load) = call.load
        && let Err(why) = serve(load, &mut child, &socket, place.is_small())
    {
        let _ = child.kill();
        let _ = child.wait();
        return Err(why);
    }
    let output = child.wait_with_output().map_err(|e| format!("waiting for it: {e}"))?;
    // A server is ended by a signal, which it may or may not catch.
    let stopped = call.load.is_some() && output.status.signal() == Some(libc::SIGTERM);
    if !output.status.success() && !stopped {
        let said = text(&errors)?;
        let last = said.lines().last().unwrap_or("it says nothing").to_owned();
        return Err(format!("{}: {last}", output.status));
    }
    Ok(output.stdout)
}
