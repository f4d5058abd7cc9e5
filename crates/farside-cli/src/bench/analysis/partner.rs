//! libCacheSim, where its Python package is installed: the partner of simulations.

use std::path::{Path, PathBuf};

use crate::bench::launch::{Place, Program, Scratch};
use crate::bench::{Failure, Shared};

/// What runs the partner.
const SCRIPT: &str = include_str!("libcachesim.py");

/// A Python in which libCacheSim can be imported.
pub(crate) struct Partner {
    python: PathBuf,
}

/// What the partner says of a policy.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub ns: f64,
    pub miss_ratio: f64,
}

impl Partner {
    /// Finds out whether `python` has the package.
    pub fn find(python: &Path) -> Result<Self, String> {
        let output = std::process::Command::new(python).args(["-c", "import libcachesim"]).output();
        match output {
            Ok(output) if output.status.success() => Ok(Self { python: python.to_owned() }),
            Ok(_) => Err(format!(
                "{} has no libcachesim: install it there with pip, or name another with --python",
                python.display()
            )),
            Err(error) => Err(format!("{}: {error}", python.display())),
        }
    }

    /// Simulates a policy with `pages` pages over a trace in the format oracleGeneral.
    pub fn simulate(
        &self,
        trace: &Path,
        pages: usize,
        policy: &str,
        shared: &Shared,
        scratch: &Scratch,
    ) -> Result<Answer, Failure> {
        let argv = [
            self.python.clone().into_os_string(),
            "-c".into(),
            SCRIPT.into(),
            trace.into(),
            pages.to_string().into(),
            policy.into(),
        ];
        let outcome = Program::new(argv).run(Place::Plain, shared, scratch)?;
        let text = String::from_utf8_lossy(&outcome.stdout.head).into_owned();
        let mut fields = text.lines().last().unwrap_or_default().split(' ');
        let mut number = || fields.next_back().and_then(|field| field.parse().ok());
        match (number(), number()) {
            (Some(miss_ratio), Some(ns)) => Ok(Answer { ns, miss_ratio }),
            _ => Err(Failure::new(format!("libcachesim answered {text:?}"))),
        }
    }
}
