//! The traversal of a graph of which a part is local.

use super::Bench;
use super::capacities::{Capacity, shared_out};
use super::local::{informing, program, uses_sections};
use super::works::{GRAPH, NODES_ONLY};
use crate::bench::launch::{Outcome, Place, Program};
use crate::bench::measure::{Way, figure_of, options};
use crate::bench::paging::CGROUP_EXTRA;
use crate::bench::row::{Goal, Row};
use crate::bench::swap::Swap;
use crate::bench::{Failure, skip};

/// Local memory in per cent of what the program uses.
const SHARES: [u64; 5] = [10, 20, 30, 40, 50];

/// Where bytes are counted.
const COUNTED: u64 = 20;

/// What the compiled program is held against, if it can be had, and the goal.
const PARTNERS: [(&str, Option<Goal>); 4] = [
    ("kernel swap (zram)", Some(Goal::Faster(6.0))),
    ("paged far memory", Some(Goal::Faster(4.0))),
    ("hints by hand", Some(Goal::Faster(1.0))),
    ("sections by hand", None),
];

impl Bench<'_> {
    /// With 10 to 50 % local, beside the others.
    pub(super) fn graph(&mut self) {
        let footprint = match self.plain(&GRAPH).and_then(|plain| self.footprint(&plain)) {
            Ok(footprint) => footprint,
            Err(why) => return self.add(informing(GRAPH.name.into(), "s"), Err(why)),
        };
        for share in SHARES {
            let local = footprint * share / 100;
            let swap = Swap::set_up(local + CGROUP_EXTRA, 2 * footprint);
            let swap = swap
                .map_err(|why| skip(&format!("{}, {share} % local: swap", GRAPH.name), &why))
                .ok();
            let took = self.beside_others(share, local, swap.as_ref());
            let first = usize::from(swap.is_none());
            for (at, (partner, goal)) in PARTNERS.into_iter().enumerate().skip(first) {
                let work = format!("{}, {share} % local, beside {partner}", GRAPH.name);
                let figures = match &took {
                    Ok(took) => Ok((took[0], Some(took[1 + at - first]))),
                    Err(why) => Err(Failure::new(why.to_string())),
                };
                self.add(Row { goal, ..informing(work, "s") }, figures);
            }
        }
    }

    fn footprint(&self, plain: &Program) -> Result<u64, Failure> {
        self.measure.footprint(GRAPH.name, plain)
    }

    /// Seconds of the compiled program, and of each of the others.
    fn beside_others(
        &self,
        share: u64,
        local: u64,
        swap: Option<&Swap>,
    ) -> Result<Vec<f64>, Failure> {
        let capacities = shared_out(&GRAPH.needs(self.args.scale), local);
        let ours = self.compiled(&GRAPH, &format!("graph-{share}"), GRAPH.sections, &capacities)?;
        let options = options(local, &self.args.network.far(), &[]);
        let far = |name: &str, program| {
            let name = name.to_owned();
            Way { name, program, place: Place::Far(&options) }
        };
        let mut ways = vec![far("farside-cc", ours)];
        if let Some(swap) = swap {
            let (name, program) = ("kernel swap".to_owned(), self.plain(&GRAPH)?);
            ways.push(Way { name, program, place: Place::Swap(swap) });
        }
        ways.push(far("paged far memory", self.plain(&GRAPH)?));
        ways.push(far("hints by hand", self.by_hand("graph_hinted.c", &[])?));
        ways.push(far("sections by hand", self.by_hand("graph_sections.c", &capacities)?));
        let what = format!("{}, {share} % local", GRAPH.name);
        let took = self.measure.outcomes(&what, &ways, |ran| {
            uses_sections(ran)?;
            Ok([figure_of(&ran.stderr)?])
        })?;
        Ok(took.into_iter().map(|[seconds]| seconds).collect())
    }

    /// The same with hints or sections that its source has.
    fn by_hand(&self, source: &str, capacities: &[Capacity]) -> Result<Program, Failure> {
        let capacities = capacities.iter().map(|(_, bytes)| bytes.to_string());
        let arguments = GRAPH.arguments(self.args.scale).into_iter().chain(capacities);
        let built = self.compilers.plain(source)?;
        Ok(program(&built.path, &arguments.collect::<Vec<_>>()))
    }

    /// Bytes that lines of nodes move, beside pages of them.
    pub(super) fn bytes(&mut self) {
        let moved = self.moved();
        for (partner, how, goal) in [
            (1, "in lines of 128 bytes, beside lines of a page", Some(Goal::AtMost(0.2))),
            (2, "in lines of 128 bytes, beside all that paged memory moves", None),
        ] {
            let work = format!("{}, {COUNTED} % local: bytes moved of nodes, {how}", GRAPH.name);
            let figures = match &moved {
                Ok(moved) => Ok((moved[0], Some(moved[partner]))),
                Err(why) => Err(Failure::new(why.to_string())),
            };
            self.add(Row { goal, ..informing(work, "bytes") }, figures);
        }
    }

    /// Bytes moved by lines of nodes, by lines as long as pages, and by pages.
    fn moved(&self) -> Result<[f64; 3], Failure> {
        let plain = self.plain(&GRAPH)?;
        let local = self.footprint(&plain)? * COUNTED / 100;
        // Edges stay in paged memory, and have there what their section would have.
        let mut capacities = shared_out(&GRAPH.needs(self.args.scale), local);
        capacities.truncate(1);
        let options = options(local, &self.args.network.far(), &[]);
        let mut ways = Vec::new();
        for (name, sections) in ["lines", "pages"].into_iter().zip(NODES_ONLY) {
            let program = self.compiled(&GRAPH, name, sections, &capacities)?;
            ways.push(Way { name: name.into(), program, place: Place::Far(&options) });
        }
        ways.push(Way { name: "paged".into(), program: plain, place: Place::Far(&options) });
        let moved = self.measure.outcomes("bytes moved", &ways, |ran| {
            uses_sections(ran)?;
            Ok([
                bytes(ran, "section_fetched_bytes", "section_written_bytes")?,
                bytes(ran, "fetched_bytes", "written_bytes")?,
            ])
        })?;
        Ok([moved[0][0], moved[1][0], moved[2][1]])
    }
}

fn bytes(ran: &Outcome, fetched: &str, written: &str) -> Result<f64, Failure> {
    let stats = ran.stats.as_ref().ok_or_else(|| Failure::new("a run without counters"))?;
    let get = |name: &str| {
        stats.get(name).ok_or_else(|| Failure::new(format!("a run without a counter {name}")))
    };
    Ok(get(fetched)? + get(written)?)
}
