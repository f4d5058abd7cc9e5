//! The search: profile, decide, build, measure, keep or roll back, until nothing is gained (Mira, sections 2.2 and
//! 3.1).

use std::collections::BTreeSet;
use std::time::Duration;

use farside_tune::{
    Candidates, Chosen, Configuration, Network, Profile, Proposal, SitePlace, Thresholds, choose,
    group, rank,
};

use super::apart;
use super::beside::Beside;
use super::build::{Builder, Built, Variant};
use super::changes::step_of;
use super::decide::{self, Decision, Known, sites_of};
use super::journal::{Outcome, Stays, Step, Tuning, median};
use super::measure::{LONG, Measured};
use super::plain;
use super::report;
use super::room::Room;
use super::stop;
use super::trial::{Broken, Printed, Trials, counter, misses_a_second};
use super::variations::variations;
use super::waits::{self, Waits};
use crate::Failure;
use crate::options::Size;
use crate::progress::Progress;

/// How far the search goes.
#[derive(Copy, Clone, Debug)]
pub struct Effort {
    /// Most steps.
    pub iterations: u32,
    /// A step that gains less than this share is the last of its kind.
    pub gain: f64,
    /// Runs of each build, at least; three times as many where they do not tell.
    pub repetitions: u32,
    /// What is looked at.
    pub thresholds: Thresholds,
}

/// A program that is tuned for an amount of local memory.
pub struct Search<'a> {
    /// Builds it.
    pub builder: &'a mut Builder,
    /// Runs it.
    pub trials: &'a mut Trials,
    /// What may go to sections.
    pub candidates: &'a Candidates,
    /// The build with all in paged memory.
    pub paged: &'a Built,
    /// The same, measuring itself.
    pub profiled: &'a Built,
    /// What it prints.
    pub printed: &'a Printed,
    /// Seconds with room for everything.
    pub all_local: f64,
    /// The network.
    pub network: Network,
    /// The room.
    pub room: Room,
    /// How far it goes.
    pub effort: Effort,
    /// Lines and structures that are not to change, so that one program has capacities for several amounts of memory.
    pub shapes: Option<Configuration>,
    /// Whether one program is to be tuned for several amounts of local memory.
    pub is_for_several: bool,
    /// Says what is being done.
    pub progress: &'a Progress,
}

/// A run may take so many times as long as in paged memory, and so many seconds more.
const PATIENCE: (f64, f64) = (10.0, 10.0);

/// What is no smaller than this part of all is told if it cannot go to sections.
const LARGE: u64 = 50;

/// That sections share memory is tried if it is foreseen to save this part of what they cost.
const SHARING_GAINS: f64 = 0.02;

/// What a run in paged memory told.
struct Suffered {
    profile: Profile,
    waits: Waits,
    ranked: Vec<farside_tune::Suffering>,
}

impl Search<'_> {
    /// Searches on from where `tuning` is; `save` keeps each step.
    ///
    /// # Errors
    /// If the program cannot be run at all, or a file cannot be written.
    pub fn run(
        &mut self,
        tuning: &mut Tuning,
        mut save: impl FnMut(&Tuning) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let suffered = self.begin(tuning)?;
        // That is known anew at the end.
        tuning.best.tuned.clear();
        let mut thresholds = self.effort.thresholds;
        let mut best = self.rebuild(&tuning.best)?;
        let mut excluded = BTreeSet::new();
        // First what follows from profiles; when that gains nothing more, what can only be tried.
        let mut deciding = true;
        let mut sharing = None;
        if let Some(best) = &best {
            tuning.learn(&tuning.best.clone(), &best.notes());
        }
        while (tuning.steps.len() as u32) < self.effort.iterations && !tuning.is_done {
            let chosen = choose(self.candidates, &suffered.profile, &suffered.ranked, thresholds);
            let stays_out = excluded.union(&self.taken_out(tuning)).copied().collect();
            let proposals = self.propose(&chosen, &suffered, &stays_out);
            let next = match deciding {
                true => self.decide(tuning, &proposals, &suffered, &mut sharing)?,
                false if self.shapes.is_some() => None,
                false => self.variation(tuning, &mut sharing),
            };
            stop::check()?;
            let Some(mut step) = next else {
                if !deciding {
                    tuning.is_done = true;
                } else if thresholds.functions < 1.0 {
                    thresholds = thresholds.widened();
                    let more =
                        choose(self.candidates, &suffered.profile, &suffered.ranked, thresholds);
                    deciding = more != chosen;
                } else {
                    deciding = false;
                }
                continue;
            };
            let built = self.measure(tuning, &mut step, best.as_ref())?;
            stop::check()?;
            let before = median(&tuning.times);
            let is_decided = deciding && step.what != plain::PAGED;
            match (&step.outcome, built) {
                (Outcome::Kept, Some(built)) => {
                    let gains = 1.0 - median(&step.times) / before >= self.effort.gain;
                    deciding &= gains || !is_decided;
                    tuning.best = step.configuration.clone();
                    tuning.times = step.times.clone();
                    best = Some(built);
                }
                (Outcome::Broken(_), _) if is_decided => {
                    excluded.extend(self.culprits(&step, &proposals)?);
                }
                (Outcome::Broken(_), _) => {}
                // What was measured of it may tell more.
                (Outcome::Open, _) => {}
                _ => deciding &= !is_decided,
            }
            tuning.steps.push(step);
            save(tuning)?;
        }
        self.confirm(tuning, best)?;
        tuning.converged = tuning.steps_to_converge(self.effort.gain);
        save(tuning)
    }

    /// Runs the best in turn with paged memory, whose times are of another moment. What is not faster at the end is
    /// not kept.
    fn confirm(&self, tuning: &mut Tuning, best: Option<Built>) -> Result<(), Failure> {
        let Some(built) = best else { return Ok(()) };
        let failed =
            |broken: Broken| Failure::own(format!("what ran before does not any more: {broken}"));
        let (mut beside, mut missed) = (Beside::new(std::mem::take(&mut tuning.paged)), Vec::new());
        for round in 1..=3 * self.effort.repetitions {
            self.progress.say(format!("the best beside paged memory: run {round}"));
            if beside.wants_paged() {
                beside.note_paged(self.one(self.paged).map_err(failed)?);
            }
            let ran = self.ran(&built).map_err(failed)?;
            missed.push((counter(&ran.report, "section_misses"), ran.seconds));
            tuning.best.tuned = vec![(self.room.local, misses_a_second(&missed))];
            beside.note_best(ran.seconds);
            if round >= self.effort.repetitions && beside.is_known() {
                break;
            }
        }
        let is_faster = beside.is_faster();
        (tuning.paged, tuning.times) = beside.into_times();
        if !is_faster {
            tuning.best = Configuration::default();
            tuning.times.clone_from(&tuning.paged);
        }
        Ok(())
    }

    /// Runs it in paged memory: how long that takes, where it waits, and what it allocates.
    fn begin(&mut self, tuning: &mut Tuning) -> Result<Suffered, Failure> {
        let (local, size) = (self.room.local, Size(self.room.local));
        let failed =
            |broken: Broken| Failure::own(format!("with {size} of local memory: {broken}"));
        let mut waited = 0.0;
        let (mut times, mut counted) = (Vec::new(), Vec::new());
        for round in 1..=self.effort.repetitions {
            self.progress.say(format!("{size} local: paged memory, run {round}"));
            let ran = self.trials.run(self.paged, local).map_err(failed)?;
            self.trials.insist(&ran, self.printed).map_err(failed)?;
            times.push(ran.seconds);
            counted.push(counter(&ran.report, "waiting_ns") / 1e9);
            waited = counter(&ran.report, "demand_faults") + counter(&ran.report, "late_hits");
            // It is run again at the end, and beside each step that is not far faster.
            if times.iter().sum::<f64>() > LONG {
                break;
            }
        }
        let longest = times.iter().copied().fold(0.0, f64::max);
        self.trials.paged = Duration::from_secs_f64(longest);
        self.trials.patience = Some(Duration::from_secs_f64(PATIENCE.0 * longest + PATIENCE.1));
        self.progress.say(format!("{size} local: where it waits"));
        let faults = self.trials.faults(self.paged, local).map_err(failed)?;
        self.progress.say(format!("{size} local: what it allocates, and where its time goes"));
        let (_, profile, _) = self.trials.profile(self.profiled, local).map_err(failed)?;
        let wait = waits::seconds(&times, self.all_local, &counted) / f64::max(waited, 1.0);
        let found = faults.report["faults"].as_f64().unwrap_or(0.0);
        // What is foreseen in a usual run is not waited for; faults are told without anything foreseen.
        let waits = Waits::of(self.candidates, &faults.report, wait * waited / found.max(1.0));
        let ranked = rank(self.candidates, &profile, &waits.functions);
        tuning.stays = self.stays(&profile);
        tuning.suffering =
            ranked.iter().map(|it| (it.function.clone(), it.share().min(1.0))).collect();
        if tuning.times.is_empty() {
            tuning.times.clone_from(&times);
        }
        tuning.paged = times;
        Ok(Suffered { profile, waits, ranked })
    }

    /// Large allocations that cannot go to sections, the largest first.
    fn stays(&self, profile: &Profile) -> Vec<Stays> {
        let of = |site: &farside_tune::Site| {
            let bytes = profile.of_site(site)?.peak_bytes;
            let because = site.because.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
            let why = format!("{}{because}", site.stays.as_ref()?);
            Some(Stays { place: report::place(&site.into()), bytes, why })
        };
        let mut all: Vec<Stays> = self.candidates.sites.iter().filter_map(of).collect();
        all.retain(|it| it.bytes >= self.room.footprint / LARGE);
        all.sort_by_key(|it| std::cmp::Reverse(it.bytes));
        all
    }

    /// The best of an earlier search.
    fn rebuild(&mut self, best: &Configuration) -> Result<Option<Built>, Failure> {
        if best.sections.is_empty() {
            return Ok(None);
        }
        self.progress.say("builds the best so far");
        self.builder.build(Variant { sections: best, profiled: false }).map(Some)
    }

    /// Sites of sections that were found to be better off paged.
    fn taken_out(&self, tuning: &Tuning) -> BTreeSet<usize> {
        let kept = tuning.steps.iter().filter(|it| it.outcome == Outcome::Kept);
        let sites = |of: &Configuration| {
            of.sections.iter().flat_map(|it| it.sites.clone()).collect::<Vec<SitePlace>>()
        };
        let before: Vec<SitePlace> = kept.flat_map(|it| sites(&it.configuration)).collect();
        let now = sites(&tuning.best);
        let is_out = |place: &SitePlace| before.contains(place) && !now.contains(place);
        let all = self.candidates.sites.iter().map(SitePlace::from).enumerate();
        all.filter(|(_, place)| is_out(place)).map(|(number, _)| number).collect()
    }

    /// Most bytes that were allocated at once at some sites.
    fn bytes_of(&self, sites: &BTreeSet<usize>, profile: &Profile) -> u64 {
        let sites = sites.iter().map(|number| &self.candidates.sites[*number]);
        sites.filter_map(|site| profile.of_site(site)).map(|it| it.peak_bytes).sum()
    }

    fn propose(
        &self,
        chosen: &Chosen,
        suffered: &Suffered,
        excluded: &BTreeSet<usize>,
    ) -> Vec<Proposal> {
        let sites = chosen.sites.difference(excluded).copied().collect();
        let chosen = Chosen { sites, ..chosen.clone() };
        let bytes = |site: &_| suffered.profile.of_site(site).map_or(0, |it| it.peak_bytes);
        group(self.candidates, &chosen, bytes)
    }

    /// The next step of those that can only be tried: what threads have for themselves gains most. What was foreseen of
    /// sections that share memory was of such as all threads use.
    fn variation(&self, tuning: &Tuning, sharing: &mut Option<Decision>) -> Option<Step> {
        let apart = apart::variations(tuning, self.room).into_iter().next();
        if tuning.base().sections.iter().any(|it| it.each.is_some()) {
            *sharing = None;
        }
        apart
            .or_else(|| sharing.take().and_then(|it| step_of(tuning, it)))
            .or_else(|| variations(tuning, self.candidates).into_iter().next())
    }

    /// The next step by profile; none if it would change nothing. What may be tried later is `sharing`: the same with sections
    /// that share memory. Before that, what has room is tried without a section.
    fn decide(
        &mut self,
        tuning: &mut Tuning,
        proposals: &[Proposal],
        suffered: &Suffered,
        sharing: &mut Option<Decision>,
    ) -> Result<Option<Step>, Failure> {
        if proposals.is_empty() {
            return Ok(None);
        }
        // With more or less local memory it may be another matter what has room.
        let paged = (!self.is_for_several).then(|| plain::without_sections(tuning)).flatten();
        if paged.is_some() {
            return Ok(paged);
        }
        // Sections that there are, are measured as they are.
        let mut measured = decide::first(self.candidates, proposals, &self.network, self.room);
        let latest = tuning.base();
        for section in &mut measured.sections {
            let there = latest.section(&section.name).filter(|it| it.sites == section.sites);
            if let Some(there) = there {
                *section = there.clone();
            }
        }
        measured.mend();
        if measured.bytes() > self.room.most() {
            measured = decide::first(self.candidates, proposals, &self.network, self.room);
        }
        let broken =
            |outcome| Step { outcome, ..Step::new("sections", measured.clone(), Vec::new()) };
        let (decision, shared) = match self.profile_of(tuning, &measured, proposals, suffered) {
            Ok(decisions) => decisions,
            Err(why) => return Ok(Some(broken(Outcome::Broken(why.to_string())))),
        };
        *sharing = shared;
        Ok(step_of(tuning, decision))
    }

    /// Builds with sections that measure themselves, runs that, and decides; also on the same with sections that share
    /// memory, if less is to be expected to be waited for.
    fn profile_of(
        &mut self,
        tuning: &mut Tuning,
        measured: &Configuration,
        proposals: &[Proposal],
        suffered: &Suffered,
    ) -> Result<(Decision, Option<Decision>), Broken> {
        let fails = |failure: Failure| Broken::Fails(failure.message);
        let Measured { profile, trace, has_room, paged } =
            self.measured_run(measured, proposals)?;
        self.progress.say("decides on lines, structures and sizes");
        let (accesses, uses) = decide::accesses(&profile, &trace).map_err(fails)?;
        let _ = std::fs::remove_file(&trace);
        let users = profile.sections.iter().map(|it| (it.name.clone(), it.into()));
        tuning.users.extend(users);
        let plain = tuning.plain();
        let known = Known {
            candidates: self.candidates,
            proposals,
            profile: &profile,
            accesses: &accesses,
            uses: &uses,
            network: &self.network,
            room: self.room,
            shapes: self.shapes.as_ref(),
            latest: tuning.base(),
            plain: &plain,
            paged_seconds: suffered.waits.elsewhere(&sites_of(proposals)),
            paged_whole: self.bytes_of(&self.taken_out(tuning), &suffered.profile),
            has_room,
            paged,
        };
        let groups = known.groups();
        let sharing = match groups.is_empty() {
            true => None,
            false => Some(known.decide(&groups).map_err(fails)?),
        };
        // What was kept, or is not to change, is gone on with.
        if self.shapes.is_some() || measured.shares() {
            return Ok((sharing.map_or_else(|| known.decide(&[]), Ok).map_err(fails)?, None));
        }
        let alone = known.decide(&[]).map_err(fails)?;
        let gains = |it: &Decision| it.seconds < (1.0 - SHARING_GAINS) * alone.seconds;
        let sharing = sharing.filter(gains);
        Ok((alone, sharing))
    }

    /// Sites with which a program does not work: those of the sections that do not work by themselves.
    fn culprits(
        &mut self,
        step: &Step,
        proposals: &[Proposal],
    ) -> Result<BTreeSet<usize>, Failure> {
        let of = |name: &str| proposals.iter().find(|it| it.name == name);
        let mut culprits = BTreeSet::new();
        for section in &step.configuration.sections {
            self.progress.say(format!("is it the section '{}'?", section.name));
            let mut alone =
                Configuration { sections: vec![section.clone()], ..Configuration::default() };
            alone.mend();
            let built = self.builder.build(Variant { sections: &alone, profiled: false });
            let works = built.is_ok_and(|built| self.one(&built).is_ok());
            if !works {
                culprits.extend(of(&section.name).into_iter().flat_map(|it| &it.sites));
            }
        }
        stop::check()?;
        if culprits.is_empty() {
            // It is all of them together: the last is left out.
            let last = step.configuration.sections.last();
            culprits.extend(last.and_then(|it| of(&it.name)).into_iter().flat_map(|it| &it.sites));
        }
        Ok(culprits)
    }
}
