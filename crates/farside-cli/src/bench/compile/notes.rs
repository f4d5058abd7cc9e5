//! What the compiler tells of a program, and what describes the lines of a section.

use super::Bench;
use super::capacities::{all_local, put_in};
use super::local::{informing, program};
use super::works::{EDGE, GRAPH, SOURCES};
use crate::bench::Failure;
use crate::bench::launch::{Outcome, Place, farside};
use crate::bench::measure::{Way, figure_of, options};
use crate::bench::row::{Goal, Row};
use crate::explain::notes::{Access, Kind, Unit};

/// What the part of the source that follows edges begins and ends with.
const TRAVERSAL: [&str; 2] = ["static void update_node(", "int main("];

/// Bytes of a line of edges.
const EDGE_LINE: f64 = 4096.0;

/// Megabytes of the section whose metadata are looked at.
const MEGABYTES: u64 = 32;

impl Bench<'_> {
    /// Lookups that are left for each edge.
    pub(super) fn lookups(&mut self) {
        let lookups = self.lookups_left();
        let held = EDGE as f64 / EDGE_LINE;
        for (at, what, most, unit) in [
            (0, "lookups of nodes for each edge, beside two", 2.0, "lookups"),
            (1, "lookups of edges for 256 edges, beside one", 1.0, "lookups"),
        ] {
            let figures = match &lookups {
                Ok(left) => Ok((if at == 0 { left[0] } else { left[1] / held }, Some(most))),
                Err(why) => Err(Failure::new(why.to_string())),
            };
            let work = format!("{}: {what}", GRAPH.name);
            self.add(Row { goal: Some(Goal::AtMost(1.0)), ..informing(work, unit) }, figures);
        }
    }

    /// Lookups of nodes and of edges for each edge that is followed, as the compiler notes them.
    fn lookups_left(&self) -> Result<[f64; 2], Failure> {
        let sections = put_in(GRAPH.sections, &all_local(&GRAPH.needs(self.args.scale)))?;
        let built = self.compilers.sections(GRAPH.source, "explained", &sections)?;
        let said = std::process::Command::new(farside(self.measure.shared)?)
            .args(["explain", "--json"])
            .arg(&built.path)
            .output()
            .map_err(|e| Failure::io("cannot start farside explain", &e))?;
        if !said.status.success() {
            let why = String::from_utf8_lossy(&said.stderr);
            return Err(Failure::new(format!("farside explain failed: {}", why.trim_end())));
        }
        let units: Vec<Unit> = serde_json::from_slice(&said.stdout)
            .map_err(|e| Failure::new(format!("what farside explain says: {e}")))?;
        Ok([lookups_of(&units, "nodes")?, lookups_of(&units, "edges")?])
    }

    /// What describes lines of 128 bytes, beside what they hold.
    pub(super) fn metadata(&mut self) {
        for (structure, ways) in [("direct", "1"), ("sets of 2", "2"), ("any line anywhere", "0")] {
            let work = format!("memory for lines of 128 bytes besides what they hold, {structure}");
            let goal = (ways != "0").then_some(Goal::Under(6.0));
            let figures = self.memory_besides(ways);
            self.add(Row { goal, ..informing(work, "%") }, figures);
        }
    }

    fn memory_besides(&self, ways: &str) -> Result<(f64, Option<f64>), Failure> {
        let built = self.compilers.plain("metadata.c")?;
        let arguments = [ways, "128", &MEGABYTES.to_string()].map(str::to_owned);
        let options = options((MEGABYTES + 16) << 20, "embedded:", &[]);
        let program = program(&built.path, &arguments);
        let ways = [Way { name: "a section".into(), program, place: Place::Far(&options) }];
        let took = self
            .measure
            .outcomes("metadata", &ways, |ran: &Outcome| Ok([100.0 * figure_of(&ran.stderr)?]))?;
        Ok((took[0][0], None))
    }
}

/// Lookups that the traversal does for each edge in a section.
fn lookups_of(units: &[Unit], section: &str) -> Result<f64, Failure> {
    let lines = traversal().ok_or_else(|| Failure::new("the program has no traversal"))?;
    let of_unit = |unit: &Unit| -> Vec<Access> {
        let is_in = |access: &&Access| {
            line_of(&access.place).is_some_and(|line| lines.contains(&line))
                && access.sites.iter().any(|site| unit.sites[*site].section == section)
                && !matches!(access.kind, Kind::Allocation | Kind::Free)
        };
        unit.accesses.iter().filter(is_in).cloned().collect()
    };
    let all: Vec<Access> = units.iter().flat_map(of_unit).collect();
    if all.is_empty() {
        return Err(Failure::new(format!("the traversal does not come to the section {section}")));
    }
    let looked_up = all.iter().filter(|access| !access.held && !access.shared).count();
    // All that a loop holds of the same edges is looked up once for each of their lines.
    let held = all.iter().any(|access| access.held);
    Ok(looked_up as f64 + if held { EDGE as f64 / EDGE_LINE } else { 0.0 })
}

/// Lines of the source in which edges are followed: functions are inlined, lines stay.
fn traversal() -> Option<std::ops::Range<usize>> {
    let (_, source) = SOURCES.iter().find(|(name, _)| *name == GRAPH.source)?;
    let [from, to] = TRAVERSAL.map(|begin| source.lines().position(|line| line.starts_with(begin)));
    Some(from? + 1..to? + 1)
}

fn line_of(place: &str) -> Option<usize> {
    place.rsplit_once(':')?.1.parse().ok()
}
