//! How many places in the programs cause nearly all faults.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::Bench;
use super::programs::{Hints, Name};
use crate::bench::launch::farside;
use crate::bench::row::{Goal, Row};
use crate::bench::{Failure, push};

impl Bench<'_> {
    /// Sites for 95 % of the faults of each program without hints.
    pub(super) fn sites(&mut self) -> Result<(), Failure> {
        for name in Name::ALL {
            let work = format!(
                "{}, {} % local: lines for 95 % of the faults, beside Eden's hints",
                name.text(),
                name.local()
            );
            let Some([plain]) = self.built(name, [Hints::Off], &work) else { continue };
            let footprint = self.measure.footprint(&work, &plain.program(&[]))?;
            self.measure.progress.say(format!("{work}: looking"));
            let row =
                self.look(&plain.argv(&[]), footprint * name.local() / 100).map(|sites| Row {
                    work: work.clone(),
                    ours: sites,
                    partner: Some(name.hints_of_eden()),
                    unit: "lines",
                    goal: Some(Goal::AtMost(1.0)),
                });
            push(&mut self.rows, &work, row);
        }
        Ok(())
    }

    fn look(&self, argv: &[String], local: u64) -> Result<f64, String> {
        let file = self.measure.scratch.join("sites.json");
        let mut command = Command::new(farside(self.measure.shared).map_err(|e| e.to_string())?);
        command.args([
            "faults",
            "--quiet",
            "--local",
            &(local & !4095).to_string(),
            "--json",
            "-o",
        ]);
        command.arg(&file).arg("--").args(argv).stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status().map_err(|e| format!("cannot start farside: {e}"))?;
        if !status.success() {
            return Err(format!("farside faults failed: {status}"));
        }
        let text = std::fs::read_to_string(&file).map_err(|e| format!("no sites: {e}"))?;
        let found: Value = serde_json::from_str(&text).map_err(|e| format!("bad sites: {e}"))?;
        found["sites_for_95_percent"].as_f64().ok_or_else(|| "no number of sites".to_owned())
    }
}
