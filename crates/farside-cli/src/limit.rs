//! `farside limit`: another local limit for a program that runs.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use farside_wire::control::{LimitState, OrderLimit, order_limit, watch};

use crate::Failure;
use crate::options::{Local, Size};
use crate::run::{Report, complain, registered};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long is waited until the limit is in force.
const UNTIL: Duration = Duration::from_secs(60);

/// How often is looked whether it is.
const LOOK: Duration = Duration::from_millis(10);

/// Gives the program with this id another limit, and waits until it is in force.
pub fn limit(pid: u32, size: &str) -> Result<ExitCode, Failure> {
    let bytes = match size.parse::<Local>() {
        Ok(Local::Bytes(bytes)) => bytes,
        Ok(Local::Percent(_)) => {
            return Err(Failure::usage(format!("{size}: give a size, such as 400M")));
        }
        Err(bad) => return Err(Failure::usage(format!("{size}: {bad}"))),
    };
    let control = control_of(pid)?;
    let order = |bytes| {
        order_limit(&control, OrderLimit { bytes }, PATIENCE, None).map_err(|error| {
            Failure::own(format!("cannot change the limit of process {pid}: {error}"))
        })
    };
    let LimitState { refused, least, .. } = order(Some(bytes))?;
    if refused {
        return Err(Failure::usage(format!(
            "{size}: too little for process {pid} to run with; the least is {}",
            Size(least)
        )));
    }
    let begun = Instant::now();
    while order(None)?.claim() > bytes {
        if begun.elapsed() > UNTIL {
            complain("it is not in force yet; the program goes on towards it");
            return Ok(ExitCode::FAILURE);
        }
        std::thread::sleep(LOOK);
    }
    Ok(ExitCode::SUCCESS)
}

/// The control socket of the run of a program.
fn control_of(pid: u32) -> Result<String, Failure> {
    let cannot = |error| Failure::own(format!("cannot list the running programs: {error}"));
    let is_it = |control: &str| {
        let report = watch(control).ok().and_then(|it| serde_json::from_str::<Report>(&it).ok());
        report.is_some_and(|report| report.pid == pid)
    };
    let runs = registered().map_err(cannot)?;
    let control = runs.into_iter().map(|(_, run)| run.control).find(|control| is_it(control));
    control.ok_or_else(|| {
        Failure::own(format!(
            "no program with process id {pid} runs under Farside; `farside top` shows those that do"
        ))
    })
}
