//! Which hint a site deserves, with its options, as far as its faults tell (Eden, sections 3 and 4).

use farside_wire::fault_log::Answer;

use super::pattern::{LONGEST, Pattern, Runs};
use super::sites::Site;

/// A share from which something holds for a site.
const MOST: f64 = 0.5;

/// A share from which something deserves a hint of its own.
const MUCH: f64 = 0.25;

/// Fewest and most pages that are read ahead, unless runs are short.
const AHEAD: [u64; 2] = [32, 128];

/// Between these, until they are used as many pages come for all lines as are this part of local memory.
const MEANWHILE: f64 = 16.0;

/// Pages of new memory that are made ahead.
const AHEAD_NEW: u64 = 64;

/// A share of faults on pages that come again soon, below which pages need not be kept for others.
const SELDOM: f64 = 0.1;

/// How much more often the pages of other sites come again than those of one that may leave first.
const RARER: f64 = 4.0;

/// How a site goes through memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Memory that has no content yet.
    New,
    /// Page by page, so many at a time; negative: downwards.
    Sequential {
        /// Pages to read ahead.
        ahead: i64,
    },
    /// Always the same distance in pages.
    Strided {
        /// The distance.
        pages: i64,
    },
    /// Objects of several pages.
    Object {
        /// Their pages.
        pages: u64,
    },
    /// From one object to the next that it names.
    Chase,
    /// No order that can be seen.
    Scattered,
}

/// A hint to write in front of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// How the place goes through memory.
    pub shape: Shape,
    /// It is written.
    pub write: bool,
    /// Its pages are not used again soon, and those of other sites are.
    pub leaves_first: bool,
}

impl Suggestion {
    /// The call; `ADDRESS` stands for what the place uses.
    pub fn call(&self) -> String {
        let mut options = Vec::new();
        match self.shape {
            Shape::Strided { pages } => {
                return format!("farside_ahead_strided(ADDRESS, {} * 4096, COUNT)", pages);
            }
            Shape::Object { pages } => options.push(format!(".size = {}", pages * 4096)),
            Shape::New | Shape::Sequential { .. } | Shape::Chase | Shape::Scattered => {}
        }
        if self.write {
            options.push(".mut = 1".to_owned());
        }
        match self.shape {
            Shape::New => options.push(format!(".ahead = {AHEAD_NEW}")),
            Shape::Sequential { ahead } => options.push(format!(".ahead = {ahead}")),
            _ => {}
        }
        if self.leaves_first {
            options.push(".priority = 1".to_owned());
        }
        if matches!(self.shape, Shape::New | Shape::Sequential { .. }) {
            options.push(".sequential = 1".to_owned());
        }
        let options: String = options.iter().map(|option| format!(", {option}")).collect();
        format!("farside_hint(ADDRESS{options})")
    }

    /// Why, in a few words.
    pub fn reason(&self) -> String {
        let shape = match self.shape {
            Shape::New => "for the first time: have it made ahead".to_owned(),
            Shape::Sequential { ahead } if ahead < 0 => "page by page downwards".to_owned(),
            Shape::Sequential { .. } => "page by page".to_owned(),
            Shape::Strided { pages } => format!("every {pages:+} pages: tell of as many as follow"),
            Shape::Object { pages } => format!("in objects of {pages} pages"),
            Shape::Chase => {
                "by following pointers: tell as soon as the next address is known".to_owned()
            }
            Shape::Scattered => "here and there".to_owned(),
        };
        let access = if self.write { "written" } else { "read" };
        match self.leaves_first {
            true => format!("{access} {shape}; not used again soon, unlike others"),
            false => format!("{access} {shape}"),
        }
    }
}

/// What is known of all sites together.
#[derive(Copy, Clone, Debug)]
pub struct Surroundings {
    /// Pages that were local at once.
    pub local_pages: u64,
    /// Whether pages of some sites come again soon.
    pub some_come_again: bool,
    /// Faults of all sites but those that make memory, and on how many different pages of each these were, in total.
    pub faults: (u64, u64),
}

impl Surroundings {
    /// What holds for these sites, in a run that had so many pages at once.
    pub fn new(sites: &[Site], local_pages: u64) -> Self {
        let all: u64 = sites.iter().map(Site::total).sum();
        let window = window(local_pages);
        let again = |site: &&Site| {
            let (again, _) = site.pattern().again_within(window);
            site.total() * 50 > all && again >= MOST
        };
        // Memory that is new cannot come again there.
        let patterns = sites.iter().filter(|site| !makes(site)).map(Site::pattern);
        let sums = patterns.map(|pattern| (pattern.faults(), pattern.pages()));
        let faults = sums.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let some_come_again = sites.iter().any(|site| again(&site));
        Self { local_pages, some_come_again, faults }
    }

    /// Most pages to read ahead for a site: the more of all faults are its own, the sooner it comes to them.
    fn ahead(&self, pattern: &Pattern) -> u64 {
        let share = pattern.faults() as f64 / self.faults.0.max(1) as f64;
        let [least, most] = AHEAD;
        let pages = (share.min(1.0) * self.local_pages as f64 / MEANWHILE) as u64;
        1 << pages.clamp(least, most).ilog2()
    }

    /// Whether other pages are better kept than those of a site: they come again, and these do not, or much more rarely.
    fn has_better(&self, pattern: &Pattern) -> bool {
        let (again, _) = pattern.again_within(window(self.local_pages));
        let rate = |faults: u64, pages: u64| faults as f64 / pages.max(1) as f64;
        let (faults, pages) = (pattern.faults(), pattern.pages());
        let others =
            rate(self.faults.0.saturating_sub(faults), self.faults.1.saturating_sub(pages));
        // What is small may well stay.
        let is_large = pages * 4 > self.local_pages;
        self.some_come_again && again < SELDOM || is_large && rate(faults, pages) * RARER < others
    }
}

/// Faults within which a page that comes again would better have stayed.
fn window(local_pages: u64) -> u64 {
    2 * local_pages
}

/// The hints for a site, one for what it reads and one for what it writes if it does much of both; `follows_pointers` says
/// that its code does so.
pub fn suggest(site: &Site, follows_pointers: bool, around: Surroundings) -> Vec<Suggestion> {
    let all = site.total().max(1) as f64;
    let share = |count: u64| count as f64 / all;
    if makes(site) {
        return vec![Suggestion { shape: Shape::New, write: true, leaves_first: false }];
    }
    let hint = |pattern: &Pattern, write| Suggestion {
        shape: shape(pattern, follows_pointers, around),
        write,
        leaves_first: around.has_better(pattern),
    };
    let [reads, writes] = site.patterns.each_ref().map(|pattern| Pattern::default().with(pattern));
    let both = share(reads.faults().min(writes.faults())) >= MUCH;
    match both {
        true => vec![hint(&reads, false), hint(&writes, true)],
        false => {
            let write = share(site.count(|kind| kind.write)) >= MOST;
            vec![hint(&site.pattern(), write)]
        }
    }
}

/// Whether most of what a site touches has no content yet.
fn makes(site: &Site) -> bool {
    let new = site.count(|kind| kind.answer == Answer::FirstTouch);
    new as f64 >= MOST * site.total().max(1) as f64
}

fn shape(pattern: &Pattern, follows_pointers: bool, around: Surroundings) -> Shape {
    let (up, down) = pattern.runs();
    let all = |runs: &Runs| runs.faults.iter().sum::<u64>();
    let total = (all(&up) + all(&down)).max(1) as f64;
    let long = |runs: &Runs| runs.faults[LONGEST] as f64 / total;
    let short = |runs: &Runs| runs.faults[2..LONGEST].iter().sum::<u64>() as f64 / total;
    if long(&up) + long(&down) >= MOST {
        let (runs, sign) = if long(&up) >= long(&down) { (up, 1) } else { (down, -1) };
        return Shape::Sequential { ahead: sign * ahead(&runs, around.ahead(pattern)) as i64 };
    }
    match pattern.stride() {
        Some((pages, share)) if share >= MOST && pages.abs() > 1 => {
            return Shape::Strided { pages };
        }
        _ => {}
    }
    if short(&up) + short(&down) >= MOST {
        let lengths = up.faults.iter().zip(down.faults).map(|(up, down)| up + down).enumerate();
        let usual = lengths.take(LONGEST).skip(2).max_by_key(|(_, faults)| *faults);
        return Shape::Object { pages: usual.map_or(2, |(pages, _)| pages as u64) };
    }
    if follows_pointers { Shape::Chase } else { Shape::Scattered }
}

/// How many pages to read ahead in runs like these: half of one, so that the last window is not in vain.
fn ahead(runs: &Runs, most: u64) -> u64 {
    let (pages, count) = runs.long;
    let half = pages / count.max(1) / 2;
    half.clamp(LONGEST as u64 / 2, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::sites::Spot;
    use crate::faults::tally::Kind;

    const AROUND: Surroundings =
        Surroundings { local_pages: 1000, some_come_again: false, faults: (0, 0) };

    fn site(pages: impl IntoIterator<Item = u64>, answer: Answer, write: bool) -> Site {
        let mut site = Site::new(Spot::Generated);
        for page in pages {
            site.patterns[usize::from(write)].add(page, None);
            *site.counts.entry(Kind { answer, write }).or_default() += 1;
        }
        site
    }

    fn call(site: &Site, chase: bool) -> String {
        let calls: Vec<_> = suggest(site, chase, AROUND).iter().map(Suggestion::call).collect();
        calls.join("; ")
    }

    #[test]
    fn each_shape_has_its_hint() {
        let pass = site(0..1000, Answer::Demand, false);
        assert_eq!(call(&pass, false), "farside_hint(ADDRESS, .ahead = 32, .sequential = 1)");
        let back = site((0..1000).rev(), Answer::Demand, true);
        assert_eq!(
            call(&back, false),
            "farside_hint(ADDRESS, .mut = 1, .ahead = -32, .sequential = 1)"
        );
        let runs = site((0..50).flat_map(|i| i * 1009..i * 1009 + 20), Answer::Demand, false);
        assert_eq!(call(&runs, false), "farside_hint(ADDRESS, .ahead = 10, .sequential = 1)");
        let objects = site((0..50).flat_map(|i| [i * 1009, i * 1009 + 1]), Answer::Demand, false);
        assert_eq!(call(&objects, false), "farside_hint(ADDRESS, .size = 8192)");
        let column = site((0..1000).step_by(16), Answer::Demand, false);
        assert_eq!(call(&column, false), "farside_ahead_strided(ADDRESS, 16 * 4096, COUNT)");
        let scattered: Vec<u64> = (0..500u64).map(|i| i * i * 37 % 100_003).collect();
        let scattered = site(scattered, Answer::Demand, false);
        assert_eq!(call(&scattered, false), "farside_hint(ADDRESS)");
        assert_eq!(suggest(&scattered, true, AROUND)[0].shape, Shape::Chase);
        let new = site((0..1000).step_by(16), Answer::FirstTouch, true);
        let made = "farside_hint(ADDRESS, .mut = 1, .ahead = 64, .sequential = 1)";
        assert_eq!(call(&new, false), made);
    }

    #[test]
    fn lines_with_many_faults_and_room_read_further_ahead() {
        let pass = site(0..1000, Answer::Demand, false);
        let ahead = |local_mib: u64, all_faults: u64| {
            let local_pages = local_mib << 20 >> 12;
            let around = Surroundings { local_pages, faults: (all_faults, 0), ..AROUND };
            suggest(&pass, false, around)[0].shape
        };
        let room = [1, 3, 4, 7, 8, 4096].map(|mib| ahead(mib, 1000));
        assert_eq!(room, [32, 32, 64, 64, 128, 128].map(|ahead| Shape::Sequential { ahead }));
        let shares = [1000, 2000, 4000, 100_000].map(|all| ahead(8, all));
        assert_eq!(shares, [128, 64, 32, 32].map(|ahead| Shape::Sequential { ahead }));
    }

    #[test]
    fn what_copies_gets_a_hint_for_each_side() {
        let mut copy = site(0..1000, Answer::Demand, false);
        let to = site(5000..6000, Answer::Demand, true);
        copy.patterns[1] = to.patterns[1].clone();
        copy.counts.extend(to.counts);
        assert_eq!(
            call(&copy, false),
            "farside_hint(ADDRESS, .ahead = 32, .sequential = 1); \
             farside_hint(ADDRESS, .mut = 1, .ahead = 32, .sequential = 1)"
        );
    }

    #[test]
    fn what_is_not_used_again_leaves_before_what_is() {
        let around = Surroundings { some_come_again: true, ..AROUND };
        let cold = site((0..500u64).map(|i| i * i * 37 % 100_003), Answer::Demand, false);
        assert_eq!(suggest(&cold, false, around)[0].call(), "farside_hint(ADDRESS, .priority = 1)");
        let mut hot = site([1], Answer::Demand, false);
        (0..100).for_each(|i| hot.patterns[0].add(i * i * 37 % 101, Some(100)));
        assert!(!suggest(&hot, false, around)[0].leaves_first);
    }

    #[test]
    fn what_comes_again_rarely_leaves_before_what_does_often() {
        let passes = |pages: u64, times: u64| {
            let all = (0..times).flat_map(move |_| 0..pages);
            site(all.map(|page| page * 7919 % 100_003), Answer::Demand, false)
        };
        let (objects, table, other) = (passes(2000, 2), passes(300, 60), passes(2000, 3));
        let leaves = |site: &Site, with: &Site| {
            let around = Surroundings::new(&[site.clone(), with.clone()], 1000);
            suggest(site, false, around)[0].leaves_first
        };
        assert!(leaves(&objects, &table));
        assert!(
            !leaves(&table, &objects) && !leaves(&objects, &other) && !leaves(&other, &objects)
        );
    }
}
