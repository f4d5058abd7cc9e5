//! Policies beside libCacheSim, and many sizes beside one.

use std::path::{Path, PathBuf};

use super::Bench;
use super::partner::Partner;
use super::reckon::Method;
use super::synthetic::Synthetic;
use crate::bench::launch::{Place, Program, farside};
use crate::bench::row::{Goal, Row, median};
use crate::bench::{Failure, skip};

/// A policy here, its name there, how much faster it is to be, and by how much the miss ratios of the two
/// may differ.
const POLICIES: [(&str, &str, f64, f64); 7] = [
    ("lru", "LRU", 4.0, SAME),
    ("clock0", "Clock", 4.0, SAME),
    ("arc", "ARC", 4.0, SAME),
    ("2q", "TwoQ", 6.0, SAME),
    // There it is a bounded variant, and its bound not quite ours.
    ("lirs", "LIRS", 8.0, 0.03),
    ("lirs-bounded", "LIRS", 8.0, 0.001),
    ("opt", "Belady", 4.0, SAME),
];

/// How far equal ratios may differ.
const SAME: f64 = 1e-9;

/// Sizes simulated at once.
const SIZES: usize = 10;

impl Bench<'_> {
    /// Appends the rows of simulations.
    pub(super) fn simulations(&mut self) -> Result<(), Failure> {
        self.many_sizes()?;
        let partner = match Partner::find(&self.args.python) {
            Ok(partner) => partner,
            Err(why) => {
                skip("policies beside libCacheSim", &why);
                return Ok(());
            }
        };
        for synthetic in Synthetic::ALL {
            let trace = self.trace(synthetic)?;
            let theirs = self.exported(&trace)?;
            for policy in POLICIES {
                self.beside(&partner, synthetic, &trace, &theirs, policy)?;
            }
        }
        Ok(())
    }

    /// The trace in the partner's format.
    fn exported(&self, trace: &Path) -> Result<PathBuf, Failure> {
        self.progress.say(format!("exporting {}", trace.display()));
        let path = trace.with_extension("oracleGeneral.bin");
        let argv = [
            farside(self.shared)?.into_os_string(),
            "export".into(),
            trace.into(),
            "-o".into(),
            path.clone().into(),
        ];
        Program::new(argv).run(Place::Plain, self.shared, &self.scratch)?;
        Ok(path)
    }

    fn beside(
        &mut self,
        partner: &Partner,
        synthetic: Synthetic,
        trace: &Path,
        theirs: &Path,
        (policy, name, goal, apart): (&str, &str, f64, f64),
    ) -> Result<(), Failure> {
        let work = format!(
            "{policy} over {}, beside libCacheSim's {name}",
            synthetic.name(self.references())
        );
        let pages = synthetic.memory(self.references());
        let method = if policy == "opt" { Method::Min } else { Method::Simulate };
        let (mut own, mut other) = (Vec::new(), Vec::new());
        for round in 1..=self.shared.repetitions {
            self.progress.say(format!("{work}, round {round} of {}", self.shared.repetitions));
            let (mine, _) = self.reckon(trace, method, policy, &[pages])?;
            let its = partner.simulate(theirs, pages, name, self.shared, &self.scratch)?;
            let ratio = mine.miss_ratios.first().copied().unwrap_or(f64::NAN);
            if (ratio - its.miss_ratio).abs() > apart {
                let text = format!("{work}: miss ratios {ratio} and {} differ", its.miss_ratio);
                return Err(Failure::new(text));
            }
            own.push(mine.ns / mine.references as f64);
            other.push(its.ns / mine.references as f64);
        }
        self.rows.push(Row {
            work,
            ours: median(&own),
            partner: Some(median(&other)),
            unit: "ns/reference",
            goal: Some(Goal::Faster(goal)),
        });
        Ok(())
    }

    /// LRU with ten sizes at once, beside the largest of them.
    fn many_sizes(&mut self) -> Result<(), Failure> {
        let synthetic = Synthetic::Zipf;
        let trace = self.trace(synthetic)?;
        let largest = synthetic.memory(self.references());
        let sizes: Vec<_> = (1..=SIZES).map(|i| largest * i / SIZES).collect();
        let (mut all, mut one) = (Vec::new(), Vec::new());
        for _ in 0..self.shared.repetitions {
            let (many, _) = self.reckon(&trace, Method::Simulate, "lru", &sizes)?;
            let (single, _) = self.reckon(&trace, Method::Simulate, "lru", &[largest])?;
            if many.miss_ratios.last() != single.miss_ratios.last() {
                return Err(Failure::new("LRU at ten sizes and at one differ"));
            }
            all.push(many.ns / many.references as f64);
            one.push(single.ns / single.references as f64);
        }
        self.rows.push(Row {
            work: format!("LRU with {SIZES} sizes of memory at once, beside one"),
            ours: median(&all),
            partner: Some(median(&one)),
            unit: "ns/reference",
            goal: Some(Goal::AtMost(1.5)),
        });
        Ok(())
    }
}
