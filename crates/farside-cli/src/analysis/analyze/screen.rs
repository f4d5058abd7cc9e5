//! The analysis on one screen of text.

use std::fmt::Write;
use std::io::IsTerminal;

use farside_sim::regions::SHARES;
use farside_trace::PAGE_SIZE;

use super::Analysis;
use super::simulate::{KNOWING, PrefetcherRow};
use super::strip::{self, ASCII, BLOCKS, Shades};
use crate::options::Size;
use crate::run::grouped;

/// Columns of the screen.
const WIDTH: usize = 80;

/// Columns and lines of the heat map.
const HEAT: (usize, usize) = (52, 5);

/// Most phases and regions that are listed.
const MOST_LISTED: usize = 3;

/// What the screen can show.
#[derive(Copy, Clone, Debug)]
pub struct Symbols {
    pub shades: Shades,
}

impl Symbols {
    /// Blocks on a terminal whose locale is in UTF-8, else ASCII.
    pub fn of_terminal() -> Self {
        let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let name = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find(set);
        let locale = name.and_then(|name| std::env::var(name).ok()).unwrap_or_default();
        let utf8 = locale.to_ascii_lowercase().replace('-', "").contains("utf8");
        let blocks = utf8 && std::io::stdout().is_terminal();
        Self { shades: if blocks { BLOCKS } else { ASCII } }
    }
}

/// Size of so many pages.
pub fn bytes(pages: u64) -> String {
    Size(pages * PAGE_SIZE as u64).to_string()
}

/// A share in percent with as many places as matter.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        small if small < 0.1 => "< 0.1 %".to_owned(),
        small if small < 10.0 => format!("{small:.1} %"),
        large => format!("{large:.0} %"),
    }
}

/// Text without anything that would steer a terminal, cut to `width` characters.
fn plain(text: &str, width: usize) -> String {
    let mut letters: Vec<char> =
        text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    if letters.len() > width {
        letters.truncate(width.saturating_sub(3));
        letters.extend("...".chars());
    }
    letters.into_iter().collect()
}

/// The end of a name counts most: it is a path, or has a number.
fn tail(text: &str, width: usize) -> String {
    let letters: Vec<char> = text.chars().rev().collect();
    if letters.len() <= width {
        return plain(text, width);
    }
    let end: String = letters[..width - 3].iter().rev().collect();
    format!("...{}", plain(&end, width))
}

/// The whole screen.
pub(super) fn page(analysis: &Analysis, symbols: Symbols) -> String {
    let mut lines = head(analysis);
    lines.push(String::new());
    lines.extend(heat(analysis, symbols));
    lines.push(String::new());
    lines.extend(enough(analysis));
    lines.extend(best(analysis));
    lines.extend(phases(analysis));
    lines.extend(regions(analysis));
    let mut text = String::new();
    for line in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", plain(line.trim_end(), WIDTH));
    }
    text
}

fn head(analysis: &Analysis) -> Vec<String> {
    let found = &analysis.found;
    let (stretch, working_set) = found.working_set.stretches();
    let largest = working_set.iter().copied().max().unwrap_or(0);
    let what = found.command().map(|command| format!(": {command}")).unwrap_or_default();
    let written = percent(found.writes as f64 / found.accesses.max(1) as f64);
    vec![
        format!("{}{what}", analysis.trace),
        format!(
            "  accesses    {} in {} records, {written} of them written",
            grouped(found.data_accesses),
            grouped(found.accesses)
        ),
        format!(
            "  footprint   {} ({} pages); working set {} in {} records",
            bytes(found.footprint()),
            grouped(found.footprint()),
            bytes(largest),
            grouped(stretch)
        ),
    ]
}

fn heat(analysis: &Analysis, symbols: Symbols) -> Vec<String> {
    let places = &analysis.places;
    let pages = analysis.found.footprint();
    let rows = strip::lines(&places.heat, &places.regions, pages, HEAT, &symbols.shades);
    let room = WIDTH - HEAT.0 - 6;
    let line = |(cells, name): (String, String)| {
        format!("  |{cells:<width$}| {}", tail(&name, room), width = HEAT.0)
    };
    rows.into_iter().map(line).collect()
}

fn enough(analysis: &Analysis) -> Vec<String> {
    let need = |need: &farside_sim::need::Need| {
        format!("{:.0} % slower {}", need.slowdown * 100.0, bytes(need.pages as u64))
    };
    let needs: Vec<String> = analysis.needs.iter().map(need).collect();
    let knee = |knee: &farside_sim::knee::Knee| bytes(knee.pages as u64);
    let knees: Vec<String> = analysis.knees.iter().map(knee).collect();
    let knees = if knees.is_empty() { "none".to_owned() } else { knees.join(", ") };
    let mut lines = vec![
        format!("Enough memory  {}", needs.join(", ")),
        format!(
            "  (LRU, {} ns an access, 10 us a fault)   knees {knees}",
            analysis.costs.access_ns
        ),
    ];
    if let Some(sample) = &analysis.found.sample {
        lines.push(sampled(sample));
    }
    lines
}

/// How good a sampled curve is.
fn sampled(sample: &super::lru::Sample) -> String {
    let (share, error) = (sample.share * 100.0, sample.mean_error * 100.0);
    let of = match sample.most_pages {
        Some(_) => format!("{} pages, {share:.2} % of them", grouped(sample.pages)),
        None => format!("{share} % of the pages"),
    };
    format!("  from {of}; mean error {error:.2} % of the records")
}

fn best(analysis: &Analysis) -> Vec<String> {
    let pages = analysis.simulated.compared_pages;
    let lru = analysis.found.lru.misses(pages);
    let opt = analysis.opt_misses(pages).map(grouped);
    let mut lines =
        vec![format!("With {} local ({}):", bytes(pages as u64), analysis.compared_why)];
    if let Some((policy, misses)) = analysis.ranking().first() {
        lines.push(format!(
            "  policy      {policy}, {} misses; lru {}, opt {}",
            grouped(*misses),
            grouped(lru),
            opt.unwrap_or_else(|| "not computed".to_owned())
        ));
    }
    let simulated = &analysis.simulated;
    if let Some(best) = simulated.best_prefetcher() {
        let none = simulated.prefetcher("none").map_or(0, |row| row.projected_time_ns) as f64;
        let to_none = |row: &PrefetcherRow| row.projected_time_ns as f64 / none.max(1.0);
        lines.push(format!(
            "  prefetcher  {}, run time {:.2} of none's, coverage {}, accuracy {}",
            best.prefetch,
            to_none(best),
            percent(best.coverage),
            percent(best.accuracy)
        ));
        lines.extend(simulated.prefetcher(KNOWING).map(|row| {
            let (time, coverage) = (to_none(row), percent(row.coverage));
            format!(
                "              {KNOWING}, which knows what comes: {time:.2}, coverage {coverage}"
            )
        }));
    }
    lines
}

fn phases(analysis: &Analysis) -> Vec<String> {
    let places = &analysis.places;
    let all = analysis.found.accesses.max(1) as f64;
    let more = more(places.phases.len());
    let mut lines = vec![format!("{:<22}{:>10}  mostly in{more}", "Phases", "pages")];
    for row in places.phases.iter().take(MOST_LISTED) {
        let main = row.main.map_or(String::new(), |(region, share)| {
            let name = &places.regions.list()[region].name;
            format!("{} ({})", tail(name, 34), percent(share))
        });
        let (begin, end) = (row.phase.begin as f64 / all, row.phase.end as f64 / all);
        let when = format!("  {:>3.0} % to {:>3.0} %", begin * 100.0, end * 100.0);
        lines.push(format!("{when:<22}{:>10}  {main}", grouped(row.pages)));
    }
    lines
}

fn regions(analysis: &Analysis) -> Vec<String> {
    let places = &analysis.places;
    let list = places.regions.list();
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by_key(|region| std::cmp::Reverse(list[*region].pages));
    let more = more(order.len());
    let mut lines =
        vec![format!("{:<32}{:>9}{:>9}  best policy{more}", "Regions", "pages", "accesses")];
    for region in order.into_iter().take(MOST_LISTED) {
        let share = places.accesses[region] as f64 / analysis.found.accesses.max(1) as f64;
        let best = places.best(region).map_or(String::new(), |row| {
            let lru = places.misses[region].iter().find(|row| row.replacement == "lru");
            let times = lru.map_or(0, |row| row.sum()) as f64 / row.sum().max(1) as f64;
            if row.replacement == "lru" {
                "lru".to_owned()
            } else {
                format!("{} ({times:.1}x fewer)", row.replacement)
            }
        });
        let name = tail(&list[region].name, 29);
        let pages = grouped(list[region].pages);
        lines.push(format!("  {name:<30}{pages:>9}{:>9}  {best}", percent(share)));
    }
    lines
}

/// Tells that a list is not all.
fn more(all: usize) -> String {
    if all > MOST_LISTED { format!(" (of {all})") } else { String::new() }
}

/// Shares of a region at which policies are held against each other, in words.
pub fn shares() -> String {
    let words = SHARES.map(|share| share.to_string());
    let (last, first) = words.split_last().unwrap_or((&words[0], &[]));
    format!("{} and {last} %", first.join(", "))
}
