//! What is tried with sections that several threads use: copies for threads that only read, and sections of each thread
//! (Mira, section 6.7). The compiler decides whether it can be done; what it says is told, and nothing is run then.

use farside_tune::{Apart, Configuration, Each, Section, Users};

use super::journal::{Outcome, Step, Tuning, median};
use super::room::Room;
use crate::explain::notes::{Access, Unit};
use crate::options::Size;

/// Variations of the [configuration to go on from](Tuning::base) that were not tried yet, in which each thread has
/// something for itself: first where most is to be gained.
pub fn variations(tuning: &Tuning, room: Room) -> Vec<Step> {
    let (base, seconds) = (tuning.base(), median(&tuning.times));
    let is_alone = |it: &&Section| {
        it.with.is_none() && base.sections.iter().all(|other| other.with.as_ref() != Some(&it.name))
    };
    let is_shared = |it: &&Section| it.each.is_none() && tuning.shared.contains(&it.name);
    let mut all: Vec<(&Section, &Users)> = base
        .sections
        .iter()
        .filter(|it| is_alone(it) && is_shared(it))
        .filter_map(|it| Some((it, tuning.users.get(&it.name)?)))
        .collect();
    all.sort_by(|(_, one), (_, other)| other.gain().total_cmp(&one.gain()));
    let of = |(section, users): (&Section, &Users)| {
        let kinds = users.worth(seconds).iter();
        let each = kinds.map(|apart| Each { apart: *apart, caches: users.caches(*apart) });
        each.filter_map(|each| divided(base, section, each, room)).collect::<Vec<_>>()
    };
    let tried = |step: &Step| tuning.steps.iter().any(|it| it.configuration == step.configuration);
    all.into_iter().flat_map(of).filter(|step| !tried(step)).collect()
}

/// A step in which each thread has a part of a section's memory for itself, and of what no other section has; what is paged
/// keeps its share.
fn divided(base: &Configuration, section: &Section, each: Each, room: Room) -> Option<Step> {
    let held: u64 = base.sections.iter().map(|it| it.holds).sum();
    let paged = room.share(room.footprint.saturating_sub(held));
    let spare = room.most().saturating_sub(base.bytes()).saturating_sub(paged);
    let most = match each.apart {
        Apart::Own => section.holds,
        Apart::Copies => section.holds * u64::from(each.caches),
    };
    let bytes = section.capacity + spare.min(most.saturating_sub(section.capacity));
    let divided = section.divided(each, bytes)?;
    let (what, how) = match each.apart {
        Apart::Own => ("sections of each thread", "each thread has one of its own"),
        Apart::Copies => {
            ("copies for threads that read", "each thread reads through a cache of its own")
        }
    };
    let (capacity, before) = (Size(divided.capacity), Size(section.capacity));
    let (name, caches) = (&section.name, each.caches);
    let words = format!("'{name}': {how}, {caches} of {capacity} instead of {before} for all");
    let mut configuration = base.clone();
    configuration.sections.iter_mut().filter(|it| it.name == *name).for_each(|it| {
        *it = divided.clone();
    });
    Some(Step::new(what, configuration, vec![words]))
}

impl Tuning {
    /// Takes note of what the compiler tells of a build with these sections.
    pub fn learn(&mut self, sections: &Configuration, notes: &[Unit]) {
        let fields = notes.iter().flat_map(|unit| &unit.fields);
        let divisible = fields.filter(|it| !it.loops.is_empty()).map(|it| it.section.clone());
        self.divisible.extend(divisible);
        self.gathered.extend(sections_where(notes, |access| access.ahead && !access.held));
        self.leaving.extend(sections_where(notes, |access| access.done));
        for site in notes.iter().flat_map(|unit| &unit.sites) {
            if sections.section(&site.section).is_some_and(|it| it.each.is_some()) {
                continue;
            }
            if site.stays.is_some() {
                self.staying.insert((site.place.clone(), site.function.clone()));
            } else if site.threads {
                self.shared.insert(site.section.clone());
            }
        }
    }

    /// What would stay in paged memory since a thread is to have it for itself, and why; none if nothing does.
    pub fn refused(&self, sections: &Configuration, notes: &[Unit]) -> Option<Outcome> {
        let is_apart = |name: &str| sections.section(name).is_some_and(|it| it.each.is_some());
        let sites = notes.iter().flat_map(|unit| &unit.sites).filter(|it| is_apart(&it.section));
        let mut why: Vec<String> = Vec::new();
        for site in sites {
            let Some(stays) = &site.stays else { continue };
            if self.staying.contains(&(site.place.clone(), site.function.clone())) {
                continue;
            }
            let because = site.because.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
            let told = format!("{}: {stays}{because}", site.place);
            if !why.contains(&told) {
                why.push(told);
            }
        }
        (!why.is_empty()).then(|| Outcome::Stays(why.join("; ")))
    }
}

/// Names of the sections to which there are accesses of a kind.
fn sections_where(notes: &[Unit], is: fn(&Access) -> bool) -> impl Iterator<Item = String> {
    let of = move |unit: &Unit| {
        let sites = unit.accesses.iter().filter(|access| is(access)).flat_map(|it| &it.sites);
        sites.map(|site| unit.sites[*site].section.clone()).collect::<Vec<_>>()
    };
    notes.iter().flat_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn section(name: &str, capacity: u64) -> Section {
        Section {
            name: name.to_owned(),
            sites: Vec::new(),
            capacity,
            line: 128,
            ways: 2,
            capacities: Vec::new(),
            holds: 2 * MIB,
            ahead: None,
            batch: None,
            keep: false,
            with: None,
            fields: false,
            each: None,
        }
    }

    /// Read by two threads and written by main; or made by two threads.
    fn users(main: bool) -> Users {
        Users { main, others: 2, others_write: !main, lookups: 300_000_000 }
    }

    /// Four sections of 1 MiB, of which the last two share it, that are used by threads for a second.
    fn tuning() -> Tuning {
        let sections = vec![
            section("made", MIB),
            section("read", MIB),
            section("leads", MIB),
            Section { with: Some("leads".to_owned()), ..section("follows", MIB) },
        ];
        let all = ["made", "read", "leads", "follows"];
        let best = Configuration { sections, ..Configuration::default() };
        let shared = all.map(str::to_owned).into();
        let users = all.map(|name| (name.to_owned(), users(name != "made"))).into();
        Tuning { best, shared, users, times: vec![1.0], ..Tuning::default() }
    }

    /// Room for that and no more.
    const ROOM: Room = Room { local: 5 * MIB, footprint: 16 * MIB };

    /// KiB of sections, and what their threads have for themselves.
    type Shapes = Vec<(u64, Option<Apart>)>;

    fn shapes(steps: &[Step]) -> Vec<(&str, Shapes)> {
        let of = |it: &Section| (it.capacity >> 10, it.apart());
        let sections = |it: &Step| it.configuration.sections.iter().map(of).collect::<Vec<_>>();
        steps.iter().map(|it| (&*it.what, sections(it))).collect()
    }

    #[test]
    fn each_thread_has_its_part_of_what_one_section_had() {
        let mut tuning = tuning();
        let all = variations(&tuning, ROOM);
        let whole = (1024, None);
        let own = ("sections of each thread", vec![(512, Some(Apart::Own)), whole, whole, whole]);
        let parts = vec![whole, (340, Some(Apart::Copies)), whole, whole];
        let copies = ("copies for threads that read", parts);
        assert_eq!(shapes(&all), [own, copies.clone()]);
        assert!(all.iter().all(|it| it.configuration.bytes() <= 3 * MIB));
        let words = "'made': each thread has one of its own, 2 of 512 KiB instead of 1 MiB for all";
        assert_eq!(all[0].changes, [words]);
        // Nothing is tried twice, nor where pins take little, or only one thread comes.
        tuning.steps.push(all[0].clone());
        assert_eq!(shapes(&variations(&tuning, ROOM)), [copies]);
        tuning.times = vec![1000.0];
        assert!(variations(&tuning, ROOM).is_empty());
        tuning.times = vec![1.0];
        tuning.shared.clear();
        assert!(variations(&tuning, ROOM).is_empty());
    }

    #[test]
    fn what_nothing_else_needs_is_divided_too() {
        let tuning = tuning();
        // 6 MiB more than sections have, of which what is paged needs a little more than half a one.
        let paged = 8 * MIB + MIB / 2;
        let room = Room { local: ROOM.local + 6 * MIB, footprint: paged };
        let all = variations(&tuning, room);
        let capacities: Vec<u64> =
            all.iter().zip(0..).map(|(it, at)| it.configuration.sections[at].capacity).collect();
        // Of what one thread made another one holds nothing; of copies each may hold all.
        assert_eq!(capacities, [MIB, 2 * MIB]);
        assert!(all.iter().all(|it| it.configuration.bytes() <= room.most()));
    }

    /// The notes of a unit with a site in each section: which threads share, and why it stays.
    fn notes(sites: &[(&str, bool, Option<&str>)]) -> Vec<Unit> {
        let site = |(name, threads, stays): &(&str, bool, Option<&str>)| {
            serde_json::json!({
                "place": format!("{name}.c:1"), "function": "f", "section": name,
                "capacity": MIB, "line": 128, "ways": 2, "threads": threads, "stays": stays,
                "because": stays.map(|_| "b.c:2"),
            })
        };
        let sites: Vec<_> = sites.iter().map(site).collect();
        let unit = serde_json::json!({
            "version": 1, "unit": "a.c", "threads": true, "sites": sites, "accesses": [],
        });
        vec![serde_json::from_value(unit).expect("a unit")]
    }

    #[test]
    fn what_the_compiler_refuses_is_told() {
        let mut tuning = Tuning::default();
        let before = tuning_before(&mut tuning);
        let apart = |name: &str| {
            let each = Each { apart: Apart::Copies, caches: 3 };
            let mut after = before.clone();
            after.sections.iter_mut().filter(|it| it.name == name).for_each(|it| {
                *it = it.divided(each, MIB).expect("there is room");
            });
            after
        };
        let stays = notes(&[("made", false, Some("it is written")), ("read", true, None)]);
        let refused = tuning.refused(&apart("made"), &stays);
        assert_eq!(refused, Some(Outcome::Stays("made.c:1: it is written (b.c:2)".to_owned())));
        assert_eq!(tuning.refused(&apart("read"), &stays), None);
        // What stays in any case says nothing against it, and what threads have apart is not shared.
        let stays = notes(&[("read", false, Some("it escapes"))]);
        assert_eq!(tuning.refused(&apart("read"), &stays), None);
        let shared = tuning.shared.clone();
        tuning.learn(&apart("made"), &notes(&[("made", true, None)]));
        assert_eq!(tuning.shared, shared);
        // It is known, too, when tuning goes on after it was stopped.
        let kept = serde_json::to_vec(&tuning).unwrap();
        assert_eq!(serde_json::from_slice::<Tuning>(&kept).unwrap(), tuning);
    }

    /// Two sections, of one of which a site stays already.
    fn tuning_before(tuning: &mut Tuning) -> Configuration {
        let sections = vec![section("made", MIB), section("read", MIB)];
        let before = Configuration { sections, ..Configuration::default() };
        let known = [("made", true, None), ("read", false, Some("it escapes"))];
        tuning.learn(&before, &notes(&known));
        assert_eq!(tuning.shared, ["made".to_owned()].into());
        before
    }
}
