//! From what was measured to a configuration (Mira, sections 3.2 to 3.4).

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use farside_tune::trace::{self, Record};
use farside_tune::{
    Calibration, Candidates, Choice, Configuration, Layout, Network, Part, Pattern, Profile,
    Proposal, Sampled, Section, SitePlace, Uses, WINDOW, Ways, layouts, solve, usual,
};

use super::plain;
use super::room::{PAGED, Room, whole};
use crate::Failure;

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

/// A section that is decided on.
#[derive(Debug)]
pub struct LookedAt<'a> {
    /// What it is used for.
    pub proposal: &'a Proposal,
    /// Its number in the profile.
    pub place: usize,
    /// The best lines and structure for each capacity.
    pub layouts: Vec<Layout>,
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

/// Sections as they usually are for how they are used: what is needed to measure them.
pub fn first(
    candidates: &Candidates,
    proposals: &[Proposal],
    network: &Network,
    room: Room,
) -> Configuration {
    let inside: u64 = proposals.iter().map(|it| it.bytes).sum();
    let outside = room.footprint.saturating_sub(inside);
    // What is paged keeps its share; streams get a window, others what is left by their bytes.
    let mut left = room.most().saturating_sub(room.share(outside));
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
        batch: None,
        keep: false,
        with: None,
        fields: false,
        each: None,
    }
}

/// The accesses to each section of a profile, and when there are any.
pub fn accesses(profile: &Profile, trace: &Path) -> Result<(Vec<Sampled>, Uses), Failure> {
    let mut uses = Uses::new(profile.sections.len(), profile.seconds);
    let mut all: Vec<Sampled> =
        profile.sections.iter().map(|it| Sampled::new(it.unit, it.rate)).collect();
    let failed = |error| Failure::own(format!("cannot read {}: {error}", trace.display()));
    let mut now = 0;
    let mut strange = false;
    trace::read(File::open(trace).map_err(failed)?, |record| match record {
        Record::Time(time) => {
            now = time;
            uses.time(time);
        }
        Record::Access { section, block, blocks, written } => match all.get_mut(section) {
            Some(sampled) => {
                sampled.add(block, blocks, written, now);
                uses.access(section);
            }
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
    Ok((all, uses))
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
    /// When there were any.
    pub uses: &'a Uses,
    /// The network.
    pub network: &'a Network,
    /// The room.
    pub room: Room,
    /// Lines and structures that are not to change: those of sections by the same name.
    pub shapes: Option<&'a Configuration>,
    /// The best so far, of which is kept what does not follow from a profile.
    pub latest: &'a Configuration,
    /// Sections of it that are plain memory.
    pub plain: &'a BTreeSet<String>,
    /// Seconds that what stays in paged memory waits when all is paged.
    pub paged_seconds: f64,
    /// Bytes of that for which there is to be room, since they were found to be faster so than in sections.
    pub paged_whole: u64,
    /// Whether there was room for everything in that run, so that it does not tell what is waited for.
    pub has_room: bool,
    /// Bytes that it used besides its sections, if that can be told.
    pub paged: Option<u64>,
}

impl Known<'_> {
    /// Names of sections that can share memory, the first of each group first: those that are not used at the same time, or
    /// those that are not to change. What is used in order takes so little that it has its own, and so has what threads have for
    /// themselves.
    pub fn groups(&self) -> Vec<Vec<String>> {
        if let Some(shapes) = self.shapes {
            return groups_of(shapes);
        }
        let place = |it: &Proposal| self.profile.sections.iter().position(|of| of.name == it.name);
        let is_random = |it: &&Proposal| matches!(it.pattern, Pattern::Random { .. });
        let is_common =
            |it: &&Proposal| self.latest.section(&it.name).is_none_or(|it| it.each.is_none());
        let random = self.proposals.iter().filter(is_random).filter(is_common);
        let mut random: Vec<&Proposal> = random.collect();
        random.sort_by_key(|it| std::cmp::Reverse(it.bytes));
        let places: Vec<usize> = random.into_iter().filter_map(place).collect();
        let name = |place: usize| self.profile.sections[place].name.clone();
        let groups = self.uses.groups(&places).into_iter();
        groups.map(|group| group.into_iter().map(name).collect()).collect()
    }

    /// The best lines, structures and sizes, where the sections of each of these groups share memory. A proposal whose
    /// section was never looked into has none.
    ///
    /// # Errors
    /// If not even the smallest sections fit.
    pub fn decide(&self, groups: &[Vec<String>]) -> Result<Decision, Failure> {
        let group_of =
            |name: &str| groups.iter().position(|group| group.iter().any(|it| it == name));
        let looked_at: Vec<LookedAt> =
            self.proposals.iter().filter_map(|it| self.look_at(it)).collect();
        let part = |it: &LookedAt| Part {
            name: it.proposal.name.clone(),
            choices: it
                .layouts
                .iter()
                .map(|it| Choice { bytes: it.capacity, seconds: it.seconds })
                .collect(),
            // Sections are opened when the program starts, and stay.
            lives: 0.0..=1.0,
            group: group_of(&it.proposal.name),
        };
        let mut parts: Vec<Part> = looked_at.iter().map(part).collect();
        let outside = self.outside(looked_at.iter().map(|it| it.proposal));
        parts.push(self.paged(outside));
        let sizes = solve(&parts, self.room.local)
            .map_err(|no_room| Failure::usage(format!("--local: {no_room}")))?;
        let mut decision = Decision { seconds: sizes.seconds, ..Decision::default() };
        decision.configuration.paged = outside;
        if let Some(shapes) = self.shapes {
            decision.configuration.offload.clone_from(&shapes.offload);
        }
        let mut taken: Vec<Layout> =
            looked_at.iter().zip(&sizes.picks).map(|(it, pick)| it.layouts[*pick]).collect();
        if let Some((at, larger)) = self.with_left_over(&looked_at, &taken, &parts, &sizes) {
            decision.seconds -= taken[at].seconds - larger.seconds;
            taken[at] = larger;
        }
        for (LookedAt { proposal, layouts, .. }, taken) in looked_at.into_iter().zip(taken) {
            let taken = plain::as_before(taken, proposal, self.latest, self.plain);
            let mut made =
                section(self.candidates, proposal, taken.line, taken.ways, taken.capacity);
            let first = group_of(&made.name).and_then(|group| groups[group].first());
            made.with = first.filter(|first| **first != made.name).cloned();
            let made = self.as_before(made);
            decision.configuration.sections.push(made);
            decision.sections.push(Decided { proposal: proposal.clone(), layouts, taken });
        }
        decision.configuration.mend();
        Ok(decision)
    }

    /// Bytes that are paged where these proposals have sections. All that was used together in paged memory has pages with it
    /// that were made beside those touched.
    fn outside<'a>(&self, inside: impl Iterator<Item = &'a Proposal>) -> u64 {
        let inside: u64 = inside.map(|it| it.bytes).sum();
        let all: u64 = self.proposals.iter().map(|it| it.bytes).sum();
        let rest = self.room.footprint.saturating_sub(inside);
        self.paged.map_or(rest, |paged| rest.min(paged + all.saturating_sub(inside)))
    }

    /// A section with what does not follow from a profile as it was, in as many bytes.
    fn as_before(&self, made: Section) -> Section {
        let before = self.shapes.unwrap_or(self.latest).section(&made.name);
        let Some(before) = before.filter(|it| it.sites == made.sites) else { return made };
        let Section { fields, batch, keep, .. } = *before;
        // How far ahead depends on lines, which may be others now.
        let ahead = self.shapes.and(before.ahead);
        let made = Section { fields, batch, keep, ahead, ..made };
        let divided = before.each.and_then(|each| made.divided(each, made.capacity));
        divided.unwrap_or(made)
    }

    /// What a proposal's section may be like; none if it was never looked into.
    fn look_at<'a>(&self, proposal: &'a Proposal) -> Option<LookedAt<'a>> {
        let place = self.profile.sections.iter().position(|it| it.name == proposal.name)?;
        let sampled = self.accesses.get(place).filter(|it| !it.is_empty())?;
        let section = self.shapes.and_then(|shapes| shapes.section(&proposal.name));
        let only = section.map(|it| (it.line, it.ways));
        let (most, calibration) = (self.room.most(), self.calibration(place));
        let (holds, pattern) = (proposal.bytes, proposal.pattern);
        let layouts = layouts(sampled, holds, pattern, self.network, calibration, most, only);
        (!layouts.is_empty()).then_some(LookedAt { proposal, place, layouts })
    }

    /// What misses of a section cost, as it was measured.
    pub fn calibration(&self, place: usize) -> Calibration {
        if self.has_room {
            return Calibration::default();
        }
        let (measured, sampled) = (&self.profile.sections[place], &self.accesses[place]);
        let line = measured.line.min(sampled.largest_line());
        let foreseen = sampled.simulate(line, Ways::of(measured.ways), measured.capacity);
        let missed = (measured.misses, measured.miss_seconds);
        Calibration::of(missed, foreseen, line, self.network)
    }

    /// Paged memory as one more section: what waits in it falls with its size, as far as is known in a straight line.
    fn paged(&self, bytes: u64) -> Part {
        let share = (self.room.local as f64 / self.room.footprint.max(1) as f64).min(0.95);
        let most = self.paged_seconds / (1.0 - share);
        let whole = self.paged_whole.min(bytes);
        let choices = (0..=10).map(|tenth| {
            let left = 1.0 - f64::from(tenth) / 10.0;
            Choice {
                bytes: PAGED + whole + (bytes - whole) / 10 * tenth as u64,
                seconds: most * left,
            }
        });
        let choices = choices.filter(|it| it.bytes <= self.room.local).collect();
        Part { name: "paged memory".to_owned(), choices, lives: 0.0..=1.0, group: None }
    }
}

/// Names of sections that share memory, the first of each group first.
fn groups_of(configuration: &Configuration) -> Vec<Vec<String>> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    for section in configuration.sections.iter().filter(|it| it.with.is_some()) {
        match groups.iter_mut().find(|group| group[0] == section.group()) {
            Some(group) => group.push(section.name.clone()),
            None => groups.push(vec![section.group().to_owned(), section.name.clone()]),
        }
    }
    groups
}

/// Sites of a configuration, by their numbers.
pub fn sites_of(proposals: &[Proposal]) -> BTreeSet<usize> {
    proposals.iter().flat_map(|it| &it.sites).copied().collect()
}

#[cfg(test)]
mod tests {
    use farside_tune::{STEP, SectionProfile};

    use super::*;

    const MIB: u64 = 1 << 20;

    /// A profile of two arrays of 2 MiB that are used here and there: one after the other, or both at once.
    fn profile(at_once: bool) -> (Vec<Proposal>, Profile, Vec<Sampled>, Uses) {
        let names = ["nodes", "rows"];
        let proposal = |(at, name): (usize, &str)| Proposal {
            name: name.to_owned(),
            sites: vec![at],
            pattern: Pattern::Random { granularity: 128, at_once: 1 },
            bytes: 2 * MIB,
        };
        let section = |name: &str| SectionProfile {
            name: name.to_owned(),
            line: 128,
            ways: 2,
            capacity: MIB / 4,
            unit: 4096,
            rate: 1,
            ..SectionProfile::default()
        };
        let sections = names.map(section).into();
        let profile = Profile { seconds: 1.0, sections, ..Profile::default() };
        let mut sampled = [Sampled::new(4096, 1), Sampled::new(4096, 1)];
        let mut uses = Uses::new(2, 1.0);
        let mut random = 1_u64;
        for step in 0..40_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let which = if at_once { step % 2 } else { step / 20_000 } as usize;
            sampled[which].add((random >> 33) % (2 * MIB / 128) * 2, 1, false, step * 25_000);
            uses.access(which);
            if step % 500 == 499 {
                uses.time((step + 1) * 25_000);
            }
        }
        sampled.iter_mut().for_each(Sampled::number);
        let proposals = names.into_iter().enumerate().map(proposal).collect();
        (proposals, profile, sampled.into(), uses)
    }

    /// What is decided with room for little more than one of them; sections that share memory, and alone.
    fn decide(
        at_once: bool,
        shapes: Option<&Configuration>,
        paged: Option<u64>,
    ) -> (Vec<Vec<String>>, [Decision; 2]) {
        decide_beside(at_once, shapes, paged, 0)
    }

    /// The same beside so many bytes for which there is to be room.
    fn decide_beside(
        at_once: bool,
        shapes: Option<&Configuration>,
        paged: Option<u64>,
        paged_whole: u64,
    ) -> (Vec<Vec<String>>, [Decision; 2]) {
        let (proposals, profile, accesses, uses) = profile(at_once);
        let site = r#"{"file":"a.c","function":"main","line":1,"column":1,"class":0}"#;
        let candidates = Candidates {
            sites: vec![serde_json::from_str(site).expect("a site"); 2],
            ..Candidates::default()
        };
        let known = Known {
            candidates: &candidates,
            proposals: &proposals,
            profile: &profile,
            accesses: &accesses,
            uses: &uses,
            network: &Network { latency: 5e-6, per_byte: 1e-9 },
            room: Room { local: PAGED + 9 * MIB / 4, footprint: 5 * MIB },
            shapes,
            latest: &Configuration::default(),
            plain: &BTreeSet::new(),
            paged_seconds: 0.0,
            paged_whole,
            has_room: false,
            paged,
        };
        let groups = known.groups();
        let decide = |groups: &[Vec<String>]| known.decide(groups).expect("there is room");
        let both = [decide(&groups), decide(&[])];
        (groups, both)
    }

    #[test]
    fn sections_of_different_phases_each_have_what_there_is() {
        let (groups, [shared, alone]) = decide(false, None, None);
        assert_eq!(groups, [["nodes", "rows"]]);
        let most = 9 * MIB / 4;
        assert!(shared.configuration.bytes() <= most && alone.configuration.bytes() <= most);
        let sum =
            |it: &Decision| it.configuration.sections.iter().map(|it| it.capacity).sum::<u64>();
        assert!(sum(&shared) > most && sum(&alone) <= most);
        assert!(shared.seconds < 0.5 * alone.seconds, "{} {}", shared.seconds, alone.seconds);
        let with: Vec<_> = shared.configuration.sections.iter().map(|it| it.with.clone()).collect();
        assert_eq!(with, [None, Some("nodes".to_owned())]);
        assert!(!alone.configuration.shares());
        // A section file says what there is besides: 5 MiB without two sections of 2.
        assert_eq!((shared.configuration.paged, alone.configuration.paged), (MIB, MIB));
    }

    #[test]
    fn what_was_seen_to_be_paged_is_all_that_is() {
        let (_, [_, alone]) = decide(false, None, Some(MIB / 8));
        assert_eq!(alone.configuration.paged, MIB / 8);
        // No more than all that there is.
        let (_, [_, alone]) = decide(false, None, Some(9 * MIB));
        assert_eq!(alone.configuration.paged, MIB);
    }

    #[test]
    fn what_is_faster_paged_keeps_its_room() {
        let bytes = |whole| decide_beside(true, None, None, whole).1[1].configuration.bytes();
        assert!(bytes(0) > 5 * MIB / 4, "{}", bytes(0));
        assert!(bytes(MIB) <= 5 * MIB / 4, "{}", bytes(MIB));
    }

    #[test]
    fn what_sizes_leave_over_is_used() {
        // Choices are tenths of 2 MiB.
        for steps in 1..12 {
            let paged = steps * STEP;
            let (_, [_, alone]) = decide_beside(true, None, None, paged);
            assert_eq!(alone.configuration.bytes(), 9 * MIB / 4 - paged);
        }
    }

    #[test]
    fn sections_that_are_used_at_once_do_not_share_memory() {
        let (groups, [shared, alone]) = decide(true, None, None);
        assert_eq!(groups, [[""; 0]; 0]);
        assert_eq!(shared.configuration, alone.configuration);
    }

    #[test]
    fn what_is_not_to_change_is_gone_on_with() {
        let (_, [mut shared, alone]) = decide(false, None, None);
        let first = &mut shared.configuration.sections[0];
        (first.ahead, first.batch, first.keep) = (Some(16), Some(1), true);
        let (groups, [again, _]) = decide(true, Some(&shared.configuration), None);
        assert_eq!(groups, [["nodes", "rows"]]);
        assert!(again.configuration.shares());
        let first = &again.configuration.sections[0];
        assert_eq!((first.ahead, first.batch, first.keep), (Some(16), Some(1), true));
        assert!(decide(false, Some(&alone.configuration), None).0.is_empty());
    }
}
