//! What is compared, and the rows that come of it.

use super::compare::Figures;
use super::{CHOOSING, OURS, PARTNER, Scale};
use crate::bench::row::{Goal, Row};
use crate::run::grouped;

/// One program with its data.
pub(super) struct Work {
    pub name: String,
    /// The file in which it is.
    pub program: &'static str,
    pub arguments: Vec<String>,
    /// Local memory in per cent of what it uses.
    pub local: u64,
    /// What its parts are that are measured.
    pub parts: &'static [&'static str],
    wanted: Vec<Wanted>,
}

/// A row that is wanted.
struct Wanted {
    part: usize,
    figure: Figure,
    /// What the paper says of it.
    paper: &'static str,
    goal: Option<Goal>,
}

/// What a row is about.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Figure {
    Coverage,
    UsedShare,
    Faults,
    Time,
    /// Run time beside that of the best other prefetcher.
    TimeBesideBest,
}

impl Figure {
    const fn text(self) -> &'static str {
        match self {
            Self::Coverage => {
                "coverage (used after prefetch or on the way / that + demand faults; every page watched)"
            }
            Self::UsedShare => "share of prefetched pages that was used (every page watched)",
            Self::Faults => "demand faults",
            Self::Time => "run time",
            Self::TimeBesideBest => "run time beside the best other prefetcher",
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::Coverage | Self::UsedShare => "%",
            Self::Faults => "faults",
            Self::Time | Self::TimeBesideBest => "ms",
        }
    }
}

fn wanted(part: usize, figure: Figure, paper: &'static str, goal: Option<Goal>) -> Wanted {
    Wanted { part, figure, paper, goal }
}

impl Work {
    /// Whether a run is needed that watches all prefetched pages.
    pub fn is_watched(&self) -> bool {
        let watched = [Figure::Coverage, Figure::UsedShare];
        self.wanted.iter().any(|wanted| watched.contains(&wanted.figure))
    }

    fn text(&self, part: usize, what: &str, paper: &str) -> String {
        let Self { name, local, parts, .. } = self;
        let paper = if paper.is_empty() { String::new() } else { format!("; paper: {paper}") };
        format!("{name}, {local} % local, {}: {what}{paper}", parts[part])
    }
}

/// The rows of a work.
pub(super) fn rows(work: &Work, figures: &[Figures]) -> Vec<Row> {
    let mut rows: Vec<Row> =
        work.wanted.iter().filter_map(|wanted| row(work, wanted, figures)).collect();
    rows.extend((0..work.parts.len()).filter_map(|part| choosing_row(work, part, figures)));
    rows
}

/// The same if they could not be had.
pub(super) fn failed(work: &Work, why: &str) -> Vec<Row> {
    let failed = |wanted: &Wanted| {
        let text = work.text(wanted.part, wanted.figure.text(), wanted.paper);
        Row::failed(&text, wanted.figure.unit(), wanted.goal, why)
    };
    work.wanted.iter().map(failed).collect()
}

fn row(work: &Work, wanted: &Wanted, figures: &[Figures]) -> Option<Row> {
    let Wanted { part, figure, paper, goal } = *wanted;
    let of = |name: &str| figures.iter().find(|figures| figures.prefetch == name);
    let (ours, linux) = (of(OURS)?, of(PARTNER)?);
    let mut what = figure.text().to_owned();
    let (ours, partner) = match figure {
        Figure::Coverage => {
            let coverage = |of: &Figures| Some(of.watched.get(part)?.counted.coverage());
            (coverage(ours)?, coverage(linux)?)
        }
        Figure::UsedShare => {
            let share = |of: &Figures| Some(of.watched.get(part)?.counted.used_share());
            (share(ours)?, share(linux)?)
        }
        Figure::Faults => (ours.faults(part), linux.faults(part)),
        Figure::Time => (ours.ms(part), linux.ms(part)),
        Figure::TimeBesideBest => {
            let (name, best) = best(figures, part, &[OURS, CHOOSING])?;
            what = format!("{what} ({name})");
            (ours.ms(part), best)
        }
    };
    let work = work.text(part, &what, paper);
    Some(Row { work, ours, partner: Some(partner), unit: figure.unit(), goal })
}

/// The prefetcher that chooses among others beside the best of them, if there is one.
fn choosing_row(work: &Work, part: usize, figures: &[Figures]) -> Option<Row> {
    let choosing = figures.iter().find(|figures| figures.prefetch == CHOOSING)?;
    let (name, best) = best(figures, part, &[CHOOSING])?;
    let what = format!("run time with --prefetch {CHOOSING} beside the best single one ({name})");
    Some(Row {
        work: work.text(part, &what, ""),
        ours: choosing.ms(part),
        partner: Some(best),
        unit: "ms",
        goal: Some(Goal::AtMost(1.05)),
    })
}

/// The prefetcher with which a part took least, except some, and what it took.
fn best(figures: &[Figures], part: usize, except: &[&str]) -> Option<(&'static str, f64)> {
    let others = figures.iter().filter(|figures| !except.contains(&figures.prefetch));
    others.map(|of| (of.prefetch, of.ms(part))).min_by(|a, b| a.1.total_cmp(&b.1))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A list of nodes that take a page each.
fn list_of_pages(scale: Scale, order: &str, work: &[&str]) -> (String, Vec<String>) {
    let nodes = match scale {
        Scale::Full => 500_000,
        Scale::Small => 3000,
    };
    let count = nodes.to_string();
    let arguments = [&[&count, "4096", order, &count], work].concat();
    (format!("{order} list, {} page-sized nodes", grouped(nodes)), words(&arguments))
}

/// The list of pages in an order by chance.
pub(super) fn random_list(scale: Scale) -> Work {
    let (name, arguments) = list_of_pages(scale, "random", &["0", "1000"]);
    Work {
        name,
        program: "list.c",
        arguments,
        local: 50,
        parts: &["second pass, no work", "third pass, 1 us of work per node"],
        wanted: vec![
            wanted(0, Figure::Coverage, "2.07 % -> 50.12 %", Some(Goal::Reaches(95.0))),
            wanted(0, Figure::Faults, "0.54x", Some(Goal::AtMost(0.06))),
            wanted(0, Figure::Time, "1.0x", Some(Goal::AtMost(0.8))),
            wanted(1, Figure::Faults, "", Some(Goal::AtMost(0.06))),
            wanted(1, Figure::Time, "1.0x without work", Some(Goal::AtMost(0.5))),
        ],
    }
}

/// The list of pages in the order of memory.
pub(super) fn sequential_list(scale: Scale) -> Work {
    let (name, arguments) = list_of_pages(scale, "sequential", &["0"]);
    Work {
        name,
        program: "list.c",
        arguments,
        local: 50,
        parts: &["second pass"],
        wanted: vec![
            wanted(0, Figure::Coverage, "94.5 % -> 50.2 %", Some(Goal::NoLess(1.0))),
            wanted(0, Figure::Faults, "9.3x", None),
            wanted(0, Figure::Time, "2.0x", Some(Goal::AtMost(1.0))),
        ],
    }
}

/// Lists of small nodes: all in an order by chance, and page after page.
pub(super) fn small_nodes(scale: Scale) -> [Work; 2] {
    let (nodes, steps) = match scale {
        Scale::Full => (4_194_304, 400_000),
        Scale::Small => (131_072, 20_000),
    };
    let goal = Some(Goal::AtMost(0.25));
    let work = |order: &str, steps: u64, text: &str, part| Work {
        name: format!("list of {} 64-byte nodes, {text}", grouped(nodes)),
        program: "list.c",
        arguments: words(&[&nodes.to_string(), "64", order, &steps.to_string(), "0"]),
        local: 50,
        parts: part,
        wanted: vec![
            wanted(0, Figure::Coverage, "", None),
            wanted(0, Figure::Faults, "", goal),
            wanted(0, Figure::Time, "", None),
        ],
    };
    [
        work("random", steps, "all shuffled", &["a tenth of it, after another"]),
        work("pages", nodes, "pages shuffled, and the nodes of each", &["second pass"]),
    ]
}

/// Simulated annealing on a netlist.
pub(super) fn annealing(scale: Scale) -> Work {
    let (elements, moves) = match scale {
        Scale::Full => (1_000_000, 60_000),
        Scale::Small => (40_000, 4000),
    };
    Work {
        name: format!("annealing of {} elements as in canneal", grouped(elements)),
        program: "anneal.c",
        arguments: words(&[&elements.to_string(), &moves.to_string()]),
        local: 50,
        parts: &["moves after half as many"],
        wanted: vec![
            wanted(0, Figure::Coverage, "6.47 % -> 19.39 %", Some(Goal::Reaches(40.0))),
            wanted(0, Figure::Faults, "1.08x", Some(Goal::AtMost(0.75))),
            wanted(0, Figure::UsedShare, "10 %", Some(Goal::Reaches(50.0))),
            wanted(0, Figure::Time, "", None),
        ],
    }
}

/// Breadth-first search on a graph in two forms.
pub(super) fn searches(scale: Scale) -> [Work; 2] {
    let full = |full: u64, small: u64| if scale == Scale::Full { full } else { small };
    [("rows", full(18, 14), "compressed rows"), ("objects", full(18, 14), "objects")].map(
        |(form, scale, text)| Work {
            name: format!("breadth-first search, power law, 2^{scale} vertices, {text}"),
            program: "bfs.c",
            arguments: words(&[form, &scale.to_string(), "1"]),
            local: 25,
            parts: &["second search"],
            wanted: vec![
                wanted(0, Figure::Coverage, "62 % -> 70 %", Some(Goal::Reaches(80.0))),
                wanted(0, Figure::Faults, "0.95x", Some(Goal::AtMost(0.6))),
                wanted(0, Figure::Time, "", None),
            ],
        },
    )
}

/// An array that is streamed, and a hash table.
pub(super) fn nothing_to_gain(scale: Scale) -> [Work; 2] {
    let (megabytes, entries, probes) = match scale {
        Scale::Full => (512, 1 << 24, 300_000),
        Scale::Small => (12, 1 << 19, 10_000),
    };
    let work = |name, program, numbers: [u64; 2], part| Work {
        name,
        program,
        arguments: numbers.iter().map(u64::to_string).collect(),
        local: 50,
        parts: part,
        wanted: vec![wanted(0, Figure::TimeBesideBest, "", Some(Goal::AtMost(1.02)))],
    };
    [
        work(
            format!("streaming an array of {megabytes} MB"),
            "array.c",
            [megabytes, 2],
            &["second and third pass"],
        ),
        work(
            format!("hash table of {} MB", (entries * 16) >> 20),
            "table.c",
            [entries, probes],
            &["random probes after half as many"],
        ),
    ]
}

/// Long lists of a redis-server.
pub(super) fn redis(scale: Scale) -> Work {
    let lists = super::lists::Sizes::of(scale);
    Work {
        name: format!("redis LRANGE, {lists}"),
        program: "",
        arguments: Vec::new(),
        local: 50,
        parts: &["all lists in an order by chance, after once in another"],
        wanted: vec![
            wanted(0, Figure::Faults, "", None),
            wanted(0, Figure::Time, "left to future work", Some(Goal::AtMost(0.7))),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::super::counted::Counted;
    use super::super::parts::Part;
    use super::*;

    /// Figures of prefetchers with which each part took so many seconds.
    fn figures(of: &[(&'static str, f64)], parts: usize) -> Vec<Figures> {
        let part = |seconds| Part { seconds, counted: Counted([10.0, 0.0, 40.0, 30.0, 10.0, 0.0]) };
        let figures = |&(prefetch, seconds)| {
            let parts = vec![part(seconds); parts];
            Figures { prefetch, watched: parts.clone(), parts }
        };
        of.iter().map(figures).collect()
    }

    fn works(scale: Scale) -> Vec<Work> {
        let mut works =
            vec![random_list(scale), sequential_list(scale), annealing(scale), redis(scale)];
        works.extend(small_nodes(scale));
        works.extend(searches(scale));
        works.extend(nothing_to_gain(scale));
        works
    }

    #[test]
    fn what_is_wanted_becomes_a_row_whether_or_not_it_could_be_had() {
        let prefetchers = [("none", 3.0), ("linux", 2.0), ("leap", 4.0), ("pointer", 1.0)];
        for work in [Scale::Full, Scale::Small].into_iter().flat_map(works) {
            let rows = rows(&work, &figures(&prefetchers, work.parts.len()));
            assert_eq!(rows.len(), work.wanted.len());
            let failed = failed(&work, "why");
            assert!(failed.iter().all(Row::has_failed) && failed.len() == rows.len());
        }
    }

    #[test]
    fn where_nothing_can_be_gained_the_best_other_prefetcher_is_the_partner() {
        let prefetchers =
            [("none", 3.0), ("linux", 4.0), ("leap", 2.0), ("pointer", 1.0), ("adaptive", 0.5)];
        for work in nothing_to_gain(Scale::Full) {
            let rows = rows(&work, &figures(&prefetchers, 1));
            assert!(rows[0].work.ends_with("best other prefetcher (leap)"), "{}", rows[0].work);
            assert_eq!((rows[0].ours, rows[0].partner), (1000.0, Some(2000.0)));
        }
    }

    #[test]
    fn the_one_that_chooses_is_held_against_the_best_single_one_in_every_part() {
        let prefetchers = [("none", 3.0), ("linux", 4.0), ("pointer", 1.0), ("adaptive", 1.04)];
        for work in works(Scale::Full) {
            let rows = rows(&work, &figures(&prefetchers, work.parts.len()));
            let chosen = &rows[work.wanted.len()..];
            assert_eq!(chosen.len(), work.parts.len());
            for row in chosen {
                assert!(row.work.ends_with("single one (pointer)"), "{}", row.work);
                assert_eq!(row.met(), Some(true));
            }
        }
    }

    #[test]
    fn shares_come_from_the_run_that_watches_all_pages() {
        let work = annealing(Scale::Full);
        let rows = rows(&work, &figures(&[("linux", 1.0), ("pointer", 1.0)], 1));
        // Of 40 pages 30 were used and 10 left unused; 10 faults nobody had foreseen.
        assert_eq!((rows[0].ours, rows[2].ours), (75.0, 75.0));
        assert_eq!(rows[1].ours, 10.0);
    }
}
