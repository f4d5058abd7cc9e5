//! From what was measured to a configuration (Mira, sections 3.2 to 3.4).

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use farside_pager::settings::LEAST_LIMIT;
use farside_tune::trace::{self, Record};
use farside_tune::{
    Calibration, Candidates, Choice, Configuration, Layout, Network, Part, Pattern, Profile,
    Proposal, STEP, Sampled, Section, SitePlace, WINDOW, Ways, layouts, solve, usual,
};

use crate::Failure;

/// What paged memory keeps in any case: its least, and what a program has besides.
const PAGED: u64 = LEAST_LIMIT + (256 << 10);

/// The room that there is.
#[derive(Copy, Clone, Debug)]
pub struct Room {
    /// Bytes of local memory.
    pub local: u64,
    /// Bytes of far memory that the program uses.
    pub footprint: u64,
}

/// A section that was decided on, and why.
#[derive(Clone, Debug)]
pub struct Decided {
    /// What it is used for.
    pub proposal: Proposal,
    /// What was looked at: the best lines and structure for each capacity.
    pub layouts: Vec<Layout>,
    /// The one that was taken.
    pub taken: Layout,
}

/// A configuration with what is foreseen of it.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// The configuration.
    pub configuration: Configuration,
    /// Its sections.
    pub sections: Vec<Decided>,
    /// Seconds that sections and paged memory cost together, as foreseen.
    pub seconds: f64,
}

impl Room {
    /// Bytes for sections, if paged memory has only its least.
    pub fn most(&self) -> u64 {
        self.local.saturating_sub(PAGED) & !(STEP - 1)
    }
}

/// Sections as they usually are for how they are used: what is needed to measure them.
pub fn first(
    candidates: &Candidates,
    proposals: &[Proposal],
    network: &Network,
    room: Room,
) -> Configuration {
    let inside: u64 = proposals.iter().map(|it| it.bytes).sum();
    let outside = room.footprint.saturating_sub(inside);
    let share = |bytes: u64| {
        (u128::from(room.most()) * u128::from(bytes) / u128::from(room.footprint.max(1))) as u64
    };
    // What is paged keeps its share; streams get a window, others what is left by their bytes.
    let mut left = room.most().saturating_sub(share(outside));
    let shape = |it: &Proposal| {
        let (line, ways) = usual(it.pattern, network);
        match it.pattern {
            Pattern::Stream { at_once, .. } => {
                // All windows together stay small.
                let lines = WINDOW * u64::from(at_once.max(1)) * proposals.len() as u64;
                let most = (room.most() / 8 / lines).max(1 << 10);
                (line.min(1 << most.ilog2()), ways)
            }
            Pattern::Random { .. } => (line, ways),
        }
    };
    let shapes: Vec<(u64, u32)> = proposals.iter().map(shape).collect();
    let window = |proposal: &Proposal, line: u64| match proposal.pattern {
        Pattern::Stream { at_once, .. } => {
            Some(whole(WINDOW * line * u64::from(at_once)).min(whole(proposal.bytes)))
        }
        Pattern::Random { .. } => None,
    };
    let windows: Vec<Option<u64>> =
        proposals.iter().zip(&shapes).map(|(it, (line, _))| window(it, *line)).collect();
    left = left.saturating_sub(windows.iter().flatten().sum());
    let random: u64 =
        proposals.iter().zip(&windows).filter(|(_, it)| it.is_none()).map(|(it, _)| it.bytes).sum();
    let of = |bytes: u64| (u128::from(left) * u128::from(bytes) / u128::from(random.max(1))) as u64;
    let sections =
        proposals.iter().zip(shapes).zip(windows).map(|((proposal, (line, ways)), window)| {
            let capacity = window.unwrap_or_else(|| whole(of(proposal.bytes).min(proposal.bytes)));
            section(candidates, proposal, line, ways, capacity)
        });
    Configuration { sections: sections.collect(), paged: outside, ..Configuration::default() }
}

/// Whole steps, at least one.
fn whole(bytes: u64) -> u64 {
    (bytes & !(STEP - 1)).max(STEP)
}

fn section(
    candidates: &Candidates,
    proposal: &Proposal,
    line: u64,
    ways: u32,
    capacity: u64,
) -> Section {
    let sites: Vec<SitePlace> =
        proposal.sites.iter().map(|it| (&candidates.sites[*it]).into()).collect();
    Section {
        name: proposal.name.clone(),
        sites,
        capacity,
        line,
        ways,
        capacities: Vec::new(),
        holds: proposal.bytes,
        ahead: None,
    }
}

/// The accesses to each section of a profile.
pub fn accesses(profile: &Profile, trace: &Path) -> Result<Vec<Sampled>, Failure> {
    let mut all: Vec<Sampled> =
        profile.sections.iter().map(|it| Sampled::new(it.unit, it.rate)).collect();
    let failed = |error| Failure::own(format!("cannot read {}: {error}", trace.display()));
    let mut now = 0;
    let mut strange = false;
    trace::read(File::open(trace).map_err(failed)?, |record| match record {
        Record::Time(time) => now = time,
        Record::Access { section, block, blocks, written } => match all.get_mut(section) {
            Some(sampled) => sampled.add(block, blocks, written, now),
            None => strange = true,
        },
    })
    .map_err(failed)?;
    if strange {
        let trace = trace.display();
        return Err(Failure::own(format!(
            "{trace} has accesses to a section that its profile does not"
        )));
    }
    all.iter_mut().for_each(Sampled::number);
    Ok(all)
}

/// What is known when sizes are decided on.
pub struct Known<'a> {
    /// The program.
    pub candidates: &'a Candidates,
    /// What goes to sections.
    pub proposals: &'a [Proposal],
    /// A run with these sections.
    pub profile: &'a Profile,
    /// The accesses to each section of it.
    pub accesses: &'a [Sampled],
    /// The network.
    pub network: &'a Network,
    /// The room.
    pub room: Room,
    /// Lines and structures that are not to change: those of sections by the same name.
    pub shapes: Option<&'a Configuration>,
    /// Seconds that what stays in paged memory waits when all is paged.
    pub paged_seconds: f64,
}

impl Known<'_> {
    /// The best lines, structures and sizes. A proposal whose section was never looked into has none.
    ///
    /// # Errors
    /// If not even the smallest sections fit.
    pub fn decide(&self) -> Result<Decision, Failure> {
        let mut looked_at = Vec::new();
        for proposal in self.proposals {
            let place = self.profile.sections.iter().position(|it| it.name == proposal.name);
            let Some(place) = place.filter(|place| !self.accesses[*place].is_empty()) else {
                continue;
            };
            let layouts = self.layouts(proposal, place);
            if !layouts.is_empty() {
                looked_at.push((proposal, layouts));
            }
        }
        let part = |(proposal, layouts): &(&Proposal, Vec<Layout>)| Part {
            name: proposal.name.clone(),
            choices: layouts
                .iter()
                .map(|it| Choice { bytes: it.capacity, seconds: it.seconds })
                .collect(),
            // Sections are opened when the program starts, and stay.
            lives: 0.0..=1.0,
        };
        let mut parts: Vec<Part> = looked_at.iter().map(part).collect();
        let inside: u64 = looked_at.iter().map(|(it, _)| it.bytes).sum();
        parts.push(self.paged(self.room.footprint.saturating_sub(inside)));
        let sizes = solve(&parts, self.room.local)
            .map_err(|no_room| Failure::usage(format!("--local: {no_room}")))?;
        let mut decision = Decision { seconds: sizes.seconds, ..Decision::default() };
        if let Some(shapes) = self.shapes {
            decision.configuration.offload.clone_from(&shapes.offload);
        }
        for ((proposal, layouts), pick) in looked_at.into_iter().zip(sizes.picks) {
            let taken = layouts[pick];
            let made = section(self.candidates, proposal, taken.line, taken.ways, taken.capacity);
            decision.configuration.sections.push(made);
            decision.sections.push(Decided { proposal: proposal.clone(), layouts, taken });
        }
        Ok(decision)
    }

    fn layouts(&self, proposal: &Proposal, place: usize) -> Vec<Layout> {
        let (measured, sampled) = (&self.profile.sections[place], &self.accesses[place]);
        let line = measured.line.min(sampled.largest_line());
        let foreseen = sampled.simulate(line, Ways::of(measured.ways), measured.capacity);
        let calibration =
            Calibration::of((measured.misses, measured.miss_seconds), foreseen, line, self.network);
        let section = self.shapes.and_then(|shapes| shapes.section(&proposal.name));
        let only = section.map(|it| (it.line, it.ways));
        layouts(sampled, proposal.pattern, self.network, calibration, self.room.most(), only)
    }

    /// Paged memory as one more section: what waits in it falls with its size, as far as is known in a straight line.
    fn paged(&self, bytes: u64) -> Part {
        let share = (self.room.local as f64 / self.room.footprint.max(1) as f64).min(0.95);
        let most = self.paged_seconds / (1.0 - share);
        let choices = (0..=10).map(|tenth| {
            let left = 1.0 - f64::from(tenth) / 10.0;
            Choice { bytes: PAGED + bytes / 10 * tenth as u64, seconds: most * left }
        });
        let choices = choices.filter(|it| it.bytes <= self.room.local).collect();
        Part { name: "paged memory".to_owned(), choices, lives: 0.0..=1.0 }
    }
}

/// Sites of a configuration, by their numbers.
pub fn sites_of(proposals: &[Proposal]) -> BTreeSet<usize> {
    proposals.iter().flat_map(|it| &it.sites).copied().collect()
}
