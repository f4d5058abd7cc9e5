//! A page over UCX, beside UCX's own exchange of as many bytes.

use std::process::Command;

use farside_wire::transport::ucx;

use super::super::launch::{farside, own};
use super::super::row::{Goal, Row, median};
use super::super::{Failure, Shared, skip};
use super::process::Process;
use super::{NodesArgs, of};
use crate::progress::Progress;

/// Ways to carry pages, and the transports that are among them. TCP is with all, since connections begin with it.
const WAYS: [(&str, &str); 2] = [("shared memory", "tcp,posix,cma,self"), ("TCP", "tcp,self")];

/// Adds the rows. UCX reads what it is to use when it is loaded, so that each side is a process of its own.
pub(super) fn rows(
    args: &NodesArgs,
    shared: &Shared,
    progress: &Progress,
    rows: &mut Vec<Row>,
) -> Result<(), Failure> {
    if let Err(why) = ucx::check() {
        skip("4 KiB fetch over ucx://", &why.to_string());
        return Ok(());
    }
    for (way, transports) in WAYS {
        let node = Process::over_ucx(shared, args.memory(), transports)?;
        let (mut ours, mut raw) = (Vec::new(), Vec::new());
        for round in 1..=shared.repetitions {
            progress.say(of(&format!("UCX over {way}"), round, shared));
            ours.push(fetch(shared, &node.address, transports)?);
            let echo = Process::ucx_echo(transports)?;
            raw.push(exchange(&echo.address, transports, args.exchanges)?);
        }
        rows.push(Row {
            work: format!(
                "4 KiB fetch over ucx://, {way}, p50, both sides polling, beside UCX's own exchange"
            ),
            ours: median(&ours),
            partner: Some(median(&raw)),
            unit: "ns",
            goal: Some(Goal::AtMost(1.2)),
        });
    }
    Ok(())
}

/// What a process prints that runs with these transports.
fn output(command: &mut Command, transports: &str) -> Result<Vec<u8>, Failure> {
    let output = command.env("UCX_TLS", transports).output();
    let output = output.map_err(|error| Failure::io("cannot start a client", &error))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(Failure::new(String::from_utf8_lossy(&output.stderr).trim_end().to_owned()))
}

/// The median time of a page from a node, in nanoseconds.
fn fetch(shared: &Shared, node: &str, transports: &str) -> Result<f64, Failure> {
    let far = format!("{node}?spin=100ms");
    let mut command = Command::new(farside(shared)?);
    let found = output(command.args(["doctor", "--json", "--far", &far]), transports)?;
    let found: serde_json::Value =
        serde_json::from_slice(&found).map_err(|error| Failure::new(error.to_string()))?;
    let figure = found["paths"][0]["p50_ns"].as_f64();
    figure.ok_or_else(|| Failure::new("farside doctor gave no figure"))
}

/// The same from an echo.
fn exchange(echo: &str, transports: &str, count: u32) -> Result<f64, Failure> {
    let mut command = Command::new(own()?);
    let count = count.to_string();
    let to = ["bench", "echo", "--ucx", "--to", echo, "--exchanges", &count];
    let found = output(command.args(to), transports)?;
    let figure = String::from_utf8_lossy(&found).trim().parse();
    figure.map_err(|_| Failure::new("an echo gave no figure"))
}
