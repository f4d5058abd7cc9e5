//! Saying when pages have fewer copies than they should.

use std::time::Instant;

use super::complain;
use super::report::grouped;
use crate::figures::Figures;

/// Says when pages begin to lack copies, and when none does any more.
#[derive(Debug)]
pub struct Redundancy {
    wanted: bool,
    since: Option<Instant>,
}

impl Redundancy {
    /// Says so if it is `wanted`.
    pub fn new(wanted: bool) -> Self {
        Self { wanted, since: None }
    }

    /// Whether there may be something to say.
    pub fn is_on(&self) -> bool {
        self.wanted
    }

    /// Looks at the counters.
    pub fn look(&mut self, figures: &Figures) {
        let lacking = figures.get("lacking_pages");
        match self.since {
            None if self.wanted && lacking > 0 => {
                self.since = Some(Instant::now());
                complain(&format!(
                    "redundancy degraded: {} pages have fewer copies than they should; they are being copied",
                    grouped(lacking)
                ));
            }
            Some(since) if lacking == 0 => {
                self.since = None;
                let seconds = since.elapsed().as_secs_f64();
                complain(&format!("redundancy restored after {seconds:.1} s"));
            }
            _ => {}
        }
    }
}
