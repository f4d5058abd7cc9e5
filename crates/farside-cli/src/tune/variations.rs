//! What can only be tried: functions that run where their data is, fields in place of whole lines, simpler structures, other
//! lines, what is sent for ahead, and sections that may be better off in paged memory (Mira, sections 3.1, 3.3, 5.3, 5.5 and
//! 5.6).

use std::cmp::Ordering;
use std::collections::BTreeSet;

use farside_tune::{Apart, Candidates, Configuration, Section};

use super::changes::structure;
use super::journal::{Outcome, Step, Tuning};
use crate::options::Size;

/// The shortest and the longest line that is tried.
const LINES: [u64; 2] = [64, 64 << 10];

/// How many lines loops send for ahead if a section file does not say, and at most.
const USUALLY_AHEAD: u32 = 8;
const MOST_AHEAD: u32 = 64;

/// How many lines that are found by indices and pointers go together: as few and as many as can be.
const BATCHES: [u32; 2] = [1, 16];

/// Part of its time that a function waits from which on it may be better off elsewhere.
const LEAST_SHARE: f64 = 0.05;

/// The longest line that a sample tells about.
const SAMPLED: u64 = 4096;

/// Variations of the [configuration to go on from](Tuning::base) that were not tried yet: those of the largest
/// sections first, to which most misses come. Of those that are plain memory nothing makes a difference.
pub fn variations(tuning: &Tuning, candidates: &Candidates) -> Vec<Step> {
    let best = tuning.base();
    let mut all: Vec<&Section> = best.sections.iter().collect();
    all.sort_by_key(|it| std::cmp::Reverse(it.capacity));
    let plain = tuning.plain();
    let sections: Vec<&Section> =
        all.iter().copied().filter(|it| !plain.contains(&it.name)).collect();
    let gone_on = sections.iter().filter_map(|section| {
        let line = further(tuning, section).filter(|line| is_fit(section, *line))?;
        Some(with_line(best, section, line))
    });
    // What a sample does not tell may be far off, and matters most where there is most.
    let untold = usize::from(sections.first().is_some_and(|it| it.line > SAMPLED));
    let lengths = |section: &&Section| with_lengths(tuning, section);
    let (long_lines, lines) = sections.split_at(untold);
    let ahead = sections.iter().flat_map(|section| distances(best, section));
    let together = sections.iter().filter(|it| tuning.gathered.contains(&it.name));
    let together = together.flat_map(|section| batches(best, section));
    let tried = |step: &Step| tuning.steps.iter().any(|it| it.configuration == step.configuration);
    gone_on
        .chain(offloaded(tuning, candidates))
        .chain(without_costliest(tuning))
        .chain(long_lines.iter().flat_map(lengths))
        .chain(with_fields(tuning, &sections))
        .chain(with_simpler_structures(best, &sections))
        .chain(lines.iter().flat_map(lengths))
        .chain(ahead)
        .chain(together)
        .chain(with_nothing_leaving_first(tuning, &sections))
        .chain(without_one(best, &all))
        .filter(|step| !tried(step))
        .collect()
}

/// Of records of which loops use only some fields, these alone come and go.
fn with_fields(tuning: &Tuning, sections: &[&Section]) -> Vec<Step> {
    let is_whole = |it: &&&Section| !it.fields && it.apart() != Some(Apart::Copies);
    let whole = sections.iter().filter(is_whole).filter(|it| tuning.divisible.contains(&it.name));
    let step = |section: &&Section| {
        let words = "fields that are used come and go, gathered there, instead of whole lines";
        let what = "fields of records";
        changed(tuning.base(), section, what, words.to_owned(), &|it| it.fields = true)
    };
    whole.map(step).collect()
}

fn with_simpler_structures(best: &Configuration, sections: &[&Section]) -> Vec<Step> {
    let step = |section: &&Section| {
        let ways = simpler(section)?;
        let words = format!("{} instead of {}", structure(ways), structure(section.ways));
        Some(changed(best, section, "a simpler structure", words, &|it| it.ways = ways))
    };
    sections.iter().filter_map(step).collect()
}

/// Of sections of which loops let leave first what they are through with, nothing does.
fn with_nothing_leaving_first(tuning: &Tuning, sections: &[&Section]) -> Vec<Step> {
    let leaving = sections.iter().filter(|it| tuning.leaving.contains(&it.name));
    let step = |section: &&Section| {
        let words = "what loops have gone through stays as long as anything else".to_owned();
        changed(tuning.base(), section, "nothing leaves first", words, &|it| it.keep = true)
    };
    leaving.filter(|it| !it.keep && it.ways != 1).map(step).collect()
}

/// Each section back in paged memory, if there are others.
fn without_one(best: &Configuration, sections: &[&Section]) -> Vec<Step> {
    let step = |section: &&Section| {
        let words = format!("'{}' is paged", section.name);
        Step::new("without a section", best.without(&section.name), vec![words])
    };
    let is_left = |it: &Step| !it.configuration.sections.is_empty();
    sections.iter().map(step).filter(is_left).collect()
}

/// Where no sections are faster than paged memory yet, the one that is foreseen to cost most back there: what is used here and
/// there and does not fit in a section may fit in paged memory, once others do not come through it.
fn without_costliest(tuning: &Tuning) -> Option<Step> {
    let base = tuning.base();
    let step = tuning.steps.iter().find(|it| it.configuration == *base)?;
    if !tuning.best.sections.is_empty() {
        return None;
    }
    let foreseen = base.sections.iter().filter_map(|it| Some((it, step.foreseen_of(&it.name)?)));
    let costliest = foreseen.max_by(|(_, one), (_, other)| one.total_cmp(other));
    costliest.and_then(|(it, _)| without_one(base, &[it]).pop())
}

/// A section as it was in what was kept before the [configuration to go on from](Tuning::base).
fn before<'a>(tuning: &'a Tuning, section: &Section) -> Option<&'a Section> {
    let kept = tuning.steps.iter().rev().filter(|it| it.outcome == Outcome::Kept);
    let others = kept.skip_while(|it| it.configuration != *tuning.base()).skip(1);
    others.map(|it| &it.configuration).next()?.section(&section.name)
}

/// Lines that are again as many times as long, or as short, if the last change of their length has gained.
fn further(tuning: &Tuning, section: &Section) -> Option<u64> {
    let before = before(tuning, section)?.line;
    match section.line.cmp(&before) {
        Ordering::Less => Some(section.line / 2),
        Ordering::Equal => None,
        Ordering::Greater => Some(section.line * 2),
    }
}

/// Whether a section can have lines of that length.
fn is_fit(section: &Section, line: u64) -> bool {
    let least = u64::from(section.ways).max(2);
    (LINES[0]..=LINES[1]).contains(&line) && least * line <= section.capacity
}

/// Steps with lines of other lengths, but not with those that a section had before: what was left for others was slower.
fn with_lengths(tuning: &Tuning, section: &Section) -> Vec<Step> {
    let (line, before) = (section.line, before(tuning, section).map(|it| it.line));
    let lengths = match line.cmp(&SAMPLED) {
        Ordering::Less => vec![line / 2, 2 * line],
        Ordering::Equal => vec![4 * line, 2 * line, line / 2],
        Ordering::Greater => vec![4 * line, line / 4, 2 * line, line / 2],
    };
    let fit = lengths.into_iter().filter(|line| Some(*line) != before && is_fit(section, *line));
    fit.map(|line| with_line(tuning.base(), section, line)).collect()
}

fn with_line(best: &Configuration, section: &Section, line: u64) -> Step {
    let words = format!("lines of {} instead of {}", Size(line), Size(section.line));
    changed(best, section, "other lines", words, &|it| it.line = line)
}

/// The best configuration with one section changed.
fn changed(
    best: &Configuration,
    of: &Section,
    what: &str,
    to: String,
    change: &dyn Fn(&mut Section),
) -> Step {
    let mut configuration = best.clone();
    configuration.sections.iter_mut().filter(|it| it.name == of.name).for_each(change);
    Step::new(what, configuration, vec![format!("'{}': {to}", of.name)])
}

/// What loops go through is sent for farther ahead, as far as there is room, or not at all.
fn distances(best: &Configuration, section: &Section) -> Vec<Step> {
    let farther = section.ahead.unwrap_or(USUALLY_AHEAD) * 2;
    let has_room = |ahead: &u32| {
        *ahead <= MOST_AHEAD && u64::from(*ahead) * section.line * 2 <= section.capacity
    };
    let distances = [Some(farther).filter(has_room), Some(0)].into_iter().flatten();
    let others = distances.filter(|it| section.ahead != Some(*it));
    let with = |ahead| {
        let words = format!("{ahead} lines are sent for ahead");
        changed(best, section, "another distance", words, &|it| it.ahead = Some(ahead))
    };
    others.map(with).collect()
}

/// What is found by indices and pointers is sent for at once, or as many together as can be.
fn batches(best: &Configuration, section: &Section) -> Vec<Step> {
    let batches = BATCHES.into_iter().filter(|it| section.batch != Some(*it));
    let batches = batches.filter(|_| section.ahead != Some(0));
    let with = |batch| {
        let words = match batch {
            1 => "each line that is sent for goes by itself".to_owned(),
            _ => format!("{batch} lines are sent for together"),
        };
        changed(best, section, "another batch", words, &|it| it.batch = Some(batch))
    };
    batches.map(with).collect()
}

/// Functions that can run where their data is, and suffer here, all of them: each call chooses its side when the program
/// runs.
fn offloaded(tuning: &Tuning, candidates: &Candidates) -> Option<Step> {
    let best = tuning.base();
    let suffers = |name: &str| {
        tuning.suffering.iter().any(|(function, share)| function == name && *share >= LEAST_SHARE)
    };
    let able = candidates.functions.iter().filter(|it| it.offload && suffers(&it.name));
    let names: BTreeSet<String> = able.map(|it| it.name.clone()).collect();
    if best.sections.is_empty() || names.is_empty() || !best.offload.is_empty() {
        return None;
    }
    let mut configuration = best.clone();
    configuration.offload = names.into_iter().collect();
    let words = format!("'{}' may run there", configuration.offload.join("', '"));
    Some(Step::new("functions where their data is", configuration, vec![words]))
}

/// The next simpler structure: anywhere, sets of 16, or of as many as there are, half as many, direct.
fn simpler(section: &Section) -> Option<u32> {
    let most = (section.capacity / section.line).max(1).ilog2();
    match section.ways {
        0 => Some(16.min(1 << most.min(4))),
        1 => None,
        ways => Some(ways / 2),
    }
}

#[cfg(test)]
mod tests {
    use farside_tune::Function;

    use super::super::journal::Curve;
    use super::*;

    /// 64 KiB in lines of 64 bytes, direct.
    fn section(name: &str) -> Section {
        Section {
            name: name.to_owned(),
            sites: Vec::new(),
            capacity: 65536,
            line: 64,
            ways: 1,
            capacities: Vec::new(),
            holds: 0,
            ahead: None,
            batch: None,
            keep: false,
            with: None,
            fields: false,
            each: None,
        }
    }

    #[test]
    fn structures_become_simpler_step_by_step_and_nothing_is_tried_twice() {
        let section = |name, ways| Section { ways, ..section(name) };
        let best = Configuration {
            sections: vec![section("a", 0), section("b", 1)],
            ..Configuration::default()
        };
        let mut tuning = Tuning { best, ..Tuning::default() };
        let candidates = Candidates::default();
        let all = variations(&tuning, &candidates);
        let shapes: Vec<Vec<_>> = all
            .iter()
            .map(|it| {
                it.configuration.sections.iter().map(|it| (it.ways, it.line, it.ahead)).collect()
            })
            .collect();
        let (one, other) = ((0, 64, None), (1, 64, None));
        let longer = |it: (u32, u64, _)| (it.0, 128, it.2);
        let ahead = |it: (u32, u64, _), lines| (it.0, it.1, Some(lines));
        assert_eq!(
            shapes,
            [
                vec![(16, 64, None), other],
                vec![longer(one), other],
                vec![one, longer(other)],
                vec![ahead(one, 16), other],
                vec![ahead(one, 0), other],
                vec![one, ahead(other, 16)],
                vec![one, ahead(other, 0)],
                vec![other],
                vec![one]
            ]
        );
        tuning.steps.extend(all.into_iter().take(2));
        assert_eq!(variations(&tuning, &candidates).len(), 7);
        // Functions come first, if some can run elsewhere and wait here.
        let function =
            |name: &str, offload| Function { name: name.to_owned(), calls: Vec::new(), offload };
        let functions = ["sums", "runs", "prints"].map(|name| function(name, name != "prints"));
        let candidates = Candidates { functions: functions.into(), ..candidates };
        assert_eq!(variations(&tuning, &candidates).len(), 7);
        let shares = [("sums", 0.7), ("runs", 0.01), ("prints", 0.9)];
        tuning.suffering = shares.map(|(name, share)| (name.to_owned(), share)).into();
        let first = &variations(&tuning, &candidates)[0];
        assert_eq!(first.configuration.offload, ["sums"]);
        assert_eq!(first.configuration.sections, tuning.best.sections);
    }

    #[test]
    fn sets_are_no_longer_than_a_section() {
        let section =
            |ways, lines: u64| Section { ways, capacity: lines * 4096, line: 4096, ..section("a") };
        for (ways, lines, simplest) in [(0, 100, 16), (0, 9, 8), (0, 1, 1), (4, 5, 2)] {
            assert_eq!(simpler(&section(ways, lines)), Some(simplest), "{ways}, {lines}");
        }
        assert_eq!(simpler(&section(1, 9)), None);
        let sections = vec![section(8, 9)];
        let best = Configuration { sections, ..Configuration::default() };
        let tuning = Tuning { best, ..Tuning::default() };
        let all = variations(&tuning, &Candidates::default());
        assert!(all.iter().all(|it| it.configuration.sections.iter().all(|it| it.line <= 4096)));
    }

    #[test]
    fn what_loops_do_with_lines_is_changed_where_they_do_it() {
        let section = |name, ways| Section { ways, line: 4096, ..section(name) };
        let sections = vec![section("a", 2), section("b", 1), section("c", 2)];
        let best = Configuration { sections, ..Configuration::default() };
        let (gathered, leaving) = (["b".to_owned()].into(), ["a", "b"].map(str::to_owned).into());
        let tuning = Tuning { best, gathered, leaving, ..Tuning::default() };
        let all = variations(&tuning, &Candidates::default());
        let tried = |what: &str| {
            let steps = all.iter().filter(|it| it.what == what);
            let of = |it: &Step| {
                it.configuration.sections.iter().map(|it| (it.batch, it.keep)).collect::<Vec<_>>()
            };
            steps.map(of).collect::<Vec<_>>()
        };
        let usual = (None, false);
        assert_eq!(
            tried("another batch"),
            [[usual, (Some(1), false), usual], [usual, (Some(16), false), usual]]
        );
        // Where lines can be in one slot only there is no choice.
        assert_eq!(tried("nothing leaves first"), [[(None, true), usual, usual]]);
    }

    #[test]
    fn a_change_of_lines_that_gained_is_gone_on_with_first() {
        let with = |line| {
            let sections = vec![Section { line, capacity: 1 << 20, ..section("a") }, section("b")];
            Configuration { sections, ..Configuration::default() }
        };
        let kept =
            |line| Step { outcome: Outcome::Kept, ..Step::new("lines", with(line), Vec::new()) };
        let first = |from, to| {
            let steps = vec![kept(from), kept(to)];
            let tuning = Tuning { steps, best: with(to), ..Tuning::default() };
            let all = variations(&tuning, &Candidates::default());
            let line = |it: &Step| it.configuration.sections[0].line;
            assert!(all.iter().all(|it| line(it) != from), "{from} was slower");
            line(&all[0])
        };
        assert_eq!([first(4096, 1024), first(1024, 2048)], [512, 4096]);
    }

    #[test]
    fn lines_that_no_sample_tells_about_come_before_fields() {
        let of = |line| {
            let sections = vec![Section { line, capacity: 1 << 20, ..section("a") }];
            let best = Configuration { sections, ..Configuration::default() };
            let tuning = Tuning { best, divisible: ["a".to_owned()].into(), ..Tuning::default() };
            let all = variations(&tuning, &Candidates::default());
            all.iter().take(3).map(|it| it.configuration.sections[0].line).collect::<Vec<_>>()
        };
        assert_eq!(of(64 << 10), [16 << 10, 32 << 10, 64 << 10]);
        assert_eq!(of(4096), [4096, 16 << 10, 8192]);
        assert_eq!(of(512), [512, 256, 1024]);
        let small = Section { line: 64 << 10, capacity: 512 << 10, ..section("b") };
        let sections = vec![small, Section { capacity: 1 << 20, ..section("a") }];
        let best = Configuration { sections, ..Configuration::default() };
        let tuning = Tuning { best, divisible: ["a".to_owned()].into(), ..Tuning::default() };
        let all = variations(&tuning, &Candidates::default());
        assert_eq!(all[0].what, "fields of records", "of the largest there is a sample");
    }

    #[test]
    fn what_costs_most_is_paged_first_where_sections_are_slower() {
        let sections = vec![section("a"), section("b"), section("c")];
        let slower = Configuration { sections, ..Configuration::default() };
        let curve = |(name, seconds): (&str, f64)| Curve {
            section: name.to_owned(),
            points: vec![(32768, 1.0, 9.0), (65536, 1.0, seconds), (1 << 20, 1.0, 0.0)],
        };
        let step = Step {
            times: vec![21.0],
            outcome: Outcome::RolledBack,
            curves: [("a", 1.0), ("b", 5.0), ("c", 2.0)].map(curve).into(),
            ..Step::new("sections", slower.clone(), Vec::new())
        };
        let divisible = ["a".to_owned()].into();
        let mut tuning = Tuning { steps: vec![step], divisible, ..Tuning::default() };
        let first = |tuning: &Tuning| variations(tuning, &Candidates::default()).swap_remove(0);
        let paged = first(&tuning);
        assert_eq!(
            (paged.what.as_str(), &paged.configuration),
            ("without a section", &slower.without("b"))
        );
        // Where they are faster there is more to be had of them.
        tuning.best = slower;
        assert_eq!(first(&tuning).what, "fields of records");
    }

    #[test]
    fn of_plain_memory_it_is_only_tried_whether_it_needs_a_section() {
        let sections = vec![section("a"), section("b")];
        let best = Configuration { sections, ..Configuration::default() };
        let divisible = ["a", "b"].map(str::to_owned).into();
        let step = |plain: &[&str]| Step {
            plain: plain.iter().map(|it| (*it).to_owned()).collect(),
            ..Step::new("sections", best.clone(), Vec::new())
        };
        let mut tuning = Tuning { best: best.clone(), divisible, ..Tuning::default() };
        // What is known is what was seen last.
        tuning.steps = vec![step(&["b"]), step(&["a"])];
        let all = variations(&tuning, &Candidates::default());
        let of_a: Vec<&str> = all
            .iter()
            .filter(|it| it.configuration.section("a") != best.section("a"))
            .map(|it| it.what.as_str())
            .collect();
        assert_eq!(of_a, ["without a section"]);
        assert!(all.iter().any(|it| it.what == "fields of records"));
    }

    #[test]
    fn fields_are_tried_where_loops_use_only_some() {
        let section = |name, fields| Section { line: 4096, fields, ..section(name) };
        let sections = vec![section("a", false), section("b", false), section("c", true)];
        let best = Configuration { sections, ..Configuration::default() };
        let divisible = ["b", "c", "gone"].map(str::to_owned).into();
        let tuning = Tuning { best, divisible, ..Tuning::default() };
        // It is known, too, when tuning goes on after it was stopped.
        let kept = serde_json::to_vec(&tuning).unwrap();
        let tuning: Tuning = serde_json::from_slice(&kept).unwrap();
        let all = variations(&tuning, &Candidates::default());
        let tried: Vec<_> = all.iter().filter(|it| it.what == "fields of records").collect();
        let [only] = tried[..] else { panic!("{tried:?}") };
        let are =
            |it: &Step| it.configuration.sections.iter().map(|it| it.fields).collect::<Vec<_>>();
        assert_eq!(are(only), [false, true, true]);
        assert!(are(&all[0]) == are(only), "they come first");
    }
}
