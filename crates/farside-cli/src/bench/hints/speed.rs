//! What the four programs gain.

use super::Bench;
use super::programs::{Built, Hints, Name};
use crate::bench::launch::Place;
use crate::bench::measure::{Way, options};
use crate::bench::paging::CGROUP_EXTRA;
use crate::bench::row::{Goal, Row};
use crate::bench::swap::Swap;
use crate::bench::{Failure, push, skip};

/// Eden's default policy, by which its authors ran column analytics (section 4, table 1): one list.
const EDEN: &[&str] = &["--replacement", "fifo"];

/// What is compared with what.
struct Pair<'a> {
    work: String,
    ours: Way<'a>,
    partner: Way<'a>,
    goal: Option<Goal>,
}

impl Bench<'_> {
    /// Hinted programs with all memory local, beside the same without hints.
    pub(super) fn local(&mut self) -> Result<(), Failure> {
        for name in Name::ALL {
            let work = format!("{}, 100 % local, hinted, beside without hints", name.text());
            let Some([hinted, plain]) = self.built(name, [Hints::Given, Hints::Off], &work) else {
                continue;
            };
            let footprint = self.measure.footprint(&work, &hinted.program(&[]))?;
            let options = options(footprint * 5 / 4, "embedded:", &[]);
            let place = Place::Far(&options);
            let pair = Pair {
                work,
                ours: Way { name: "hinted".into(), program: hinted.program(&[]), place },
                partner: Way { name: "without hints".into(), program: plain.program(&[]), place },
                goal: Some(Goal::AtMost(1.03)),
            };
            self.compare(pair)?;
        }
        Ok(())
    }

    /// The sort beside the kernel's swap with the same limit.
    pub(super) fn sort(&mut self) -> Result<(), Failure> {
        let name = Name::Sort;
        let Some([hinted, plain]) = self.built(name, [Hints::Given, Hints::Off], name.text())
        else {
            return Ok(());
        };
        let footprint = self.measure.footprint(name.text(), &hinted.program(&[]))?;
        let limit = footprint * name.local() / 100;
        let swap = match Swap::set_up(limit + CGROUP_EXTRA, 2 * footprint) {
            Ok(swap) => swap,
            Err(why) => {
                skip("parallel sort beside kernel swap", &why);
                return Ok(());
            }
        };
        for (network, far) in self.networks() {
            let options = options(limit, &far, &[]);
            let ours = Way {
                name: "far memory".into(),
                program: hinted.program(&[]),
                place: Place::Far(&options),
            };
            let partner = Way {
                name: "kernel swap".into(),
                program: plain.program(&[]),
                place: Place::Swap(&swap),
            };
            self.compare(Pair {
                work: format!(
                    "{}, {} % local, {network}, beside kernel swap (zram)",
                    name.text(),
                    name.local()
                ),
                ours,
                partner,
                goal: Some(Goal::Faster(2.0)),
            })?;
        }
        Ok(())
    }

    /// Analytics beside all memory local and without hints, by Eden's default policy and by ours.
    pub(super) fn analytics(&mut self) -> Result<(), Failure> {
        let name = Name::Analytics;
        let Some([hinted, plain]) = self.built(name, [Hints::Given, Hints::Off], name.text())
        else {
            return Ok(());
        };
        let footprint = self.measure.footprint(name.text(), &hinted.program(&[]))?;
        let all = options(footprint * 5 / 4, "embedded:", &[]);
        let local = footprint * name.local() / 100;
        for (network, far) in self.networks() {
            let eden = options(local, &far, EDEN);
            let default = options(local, &far, &[]);
            for (policy, some) in [("--replacement fifo", &eden), ("default policy", &default)] {
                let way = |name: &str, built: &Built| Way {
                    name: name.to_owned(),
                    program: built.program(&[]),
                    place: Place::Far(some),
                };
                let all_local = Way {
                    name: "all local".into(),
                    program: hinted.program(&[]),
                    place: Place::Far(&all),
                };
                let work =
                    format!("{}, {} % local, {network}, {policy}", name.text(), name.local());
                self.compare(Pair {
                    work: format!("{work}, beside all local"),
                    ours: way("hinted", &hinted),
                    partner: all_local,
                    goal: Some(Goal::AtMost(1.5)),
                })?;
                self.compare(Pair {
                    work: format!("{work}, beside without hints"),
                    ours: way("hinted", &hinted),
                    partner: way("without hints", &plain),
                    goal: None,
                })?;
            }
        }
        Ok(())
    }

    /// The web service with eviction priorities, beside without: by the same policy, and by the default one.
    pub(super) fn web(&mut self) -> Result<(), Failure> {
        let name = Name::Web;
        let built = self.built(name, [Hints::Given, Hints::Unranked], name.text());
        let Some([ranked, unranked]) = built else { return Ok(()) };
        let footprint = self.measure.footprint(name.text(), &ranked.program(&[]))?;
        let local = footprint * name.local() / 100;
        for (network, far) in self.networks() {
            let priority = options(local, &far, &["--replacement", "priority"]);
            let default = options(local, &far, &[]);
            for (policy, options, goal) in [
                ("the same policy", &priority, Some(Goal::Faster(2.0))),
                ("the default policy", &default, None),
            ] {
                self.compare(Pair {
                    work: format!(
                        "{}, {} % local, {network}, with priorities, beside without, {policy}",
                        name.text(),
                        name.local()
                    ),
                    ours: Way {
                        name: "with priorities".into(),
                        program: ranked.program(&[]),
                        place: Place::Far(&priority),
                    },
                    partner: Way {
                        name: "without".into(),
                        program: unranked.program(&[]),
                        place: Place::Far(options),
                    },
                    goal,
                })?;
            }
        }
        Ok(())
    }

    /// The key-value server whose fibers wait, beside the same whose thread waits.
    pub(super) fn server(&mut self) -> Result<(), Failure> {
        let name = Name::Server;
        let Some([hinted, plain]) = self.built(name, [Hints::Given, Hints::Off], name.text())
        else {
            return Ok(());
        };
        let footprint = self.measure.footprint(name.text(), &hinted.program(&[]))?;
        let local = footprint * name.local() / 100;
        let network = &self.args.server_network;
        let (network, far) = (network.to_string(), network.far());
        let priority = options(local, &far, &["--replacement", "priority", "--prefetch", "none"]);
        let default = options(local, &far, &["--prefetch", "none"]);
        for (policy, options) in
            [("--replacement priority", &priority), ("default policy", &default)]
        {
            let place = Place::Far(options);
            for (other, built, arguments, goal) in [
                ("blocking", &hinted, &["--blocking"][..], Some(Goal::Faster(3.0))),
                ("without hints", &plain, &["--blocking"], None),
            ] {
                self.compare(Pair {
                    work: format!(
                        "{}, {} % local, {network}, {policy}: waiting fibers, beside {other}",
                        name.text(),
                        name.local()
                    ),
                    ours: Way { name: "fibers".into(), program: hinted.program(&[]), place },
                    partner: Way { name: other.into(), program: built.program(arguments), place },
                    goal,
                })?;
            }
        }
        Ok(())
    }

    /// Programs whose hints are those that are suggested, beside those whose hints were chosen by hand.
    pub(super) fn suggested(&mut self) -> Result<(), Failure> {
        for name in Name::ALL {
            let ways = [Hints::Suggested, Hints::Given];
            let Some([suggested, chosen]) = self.built(name, ways, name.text()) else { continue };
            let footprint = self.measure.footprint(name.text(), &chosen.program(&[]))?;
            let server = &self.args.server_network;
            let networks = match name {
                Name::Server => vec![(server.to_string(), server.far())],
                _ => self.networks().into(),
            };
            for (network, far) in networks {
                let policy: &[&str] = match name {
                    Name::Sort | Name::Analytics => &[],
                    Name::Web => &["--replacement", "priority"],
                    Name::Server => &["--replacement", "priority", "--prefetch", "none"],
                };
                let options = options(footprint * name.local() / 100, &far, policy);
                let way = |what: &str, built: &Built| Way {
                    name: what.to_owned(),
                    program: built.program(&[]),
                    place: Place::Far(&options),
                };
                self.compare(Pair {
                    work: format!(
                        "{}, {} % local, {network}, hints as suggested, beside chosen ones",
                        name.text(),
                        name.local()
                    ),
                    ours: way("as suggested", &suggested),
                    partner: way("chosen", &chosen),
                    // Nine tenths of the speed.
                    goal: Some(Goal::AtMost(1.11)),
                })?;
            }
        }
        Ok(())
    }

    fn compare(&mut self, pair: Pair<'_>) -> Result<(), Failure> {
        let took = self.measure.in_turn(&pair.work, &[pair.ours, pair.partner])?;
        let (ours, partner) = (took[0], Some(took[1]));
        self.rows.push(Row { work: pair.work, ours, partner, unit: "s", goal: pair.goal });
        Ok(())
    }

    /// A program, built in several ways; says why not, if it cannot be.
    pub(super) fn built<const N: usize>(
        &mut self,
        name: Name,
        ways: [Hints; N],
        work: &str,
    ) -> Option<[Built; N]> {
        self.measure.progress.say(format!("building {}", name.text()));
        let mut all = Vec::new();
        for hints in ways {
            match name.build(&self.cache, self.args.scale, hints) {
                Ok(built) => all.push(built),
                Err(why) => {
                    push(&mut self.rows, work, Err(why));
                    return None;
                }
            }
        }
        all.try_into().ok()
    }
}
