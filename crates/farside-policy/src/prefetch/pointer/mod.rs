//! Fetching what a page points to, before the program follows the pointer (CHERI-picking).
//!
//! A page that has just arrived holds the addresses that come next. Which of them the program follows is learned: of a
//! place where the program comes into a page, it is looked for a pointer to there in what lay around the last places
//! where it came in. The distance of that pointer from where the program had come in, and that of the new place from
//! what the pointer names, make a link: the next pointer of a list's node, seen from whatever member the
//! program uses first. From then on the pointer at this distance is followed ahead of the program: on pages that have
//! arrived because the program waits for them, on those that were fetched ahead, and through those that are here
//! already, page by page, until it becomes too unlikely or too far ahead.
//!
//! Where the program goes through an array of pointers that is here already, it comes in nowhere near the pointers that it
//! follows. Such [`arrays`] are looked for.
//!
//! The paper takes the first pointers of a page that faulted (section 3), whatever they are for, and goes no further.

mod array;
mod arrays;
mod chain;
mod counts;
mod fetch;
mod guess;
mod identify;
mod link;
mod memory;
mod next;
mod options;
mod window;

pub use arrays::ARRAY_PAGES;
pub use counts::{Deed, Done, PointerCounts};
pub use fetch::{Fetch, Fetches, Walk};
pub use identify::{Conservative, Identify, Tagged, Tags};
pub use memory::{Memory, Place};
pub use options::{MOST_FETCHES, PointerOptions};

use array::Element;
use arrays::Arrays;
use chain::Chains;
use counts::Counting;
use guess::{Guess, Guesses};
use link::{Link, Links, Origin};
use next::{Next, Nexts, Todo};
use window::{Found, Window};

use super::FaultKind;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Bytes of a pointer.
const WORD: u64 = 8;

/// Windows that are searched for the pointer that led somewhere.
const HISTORY: usize = 8;

/// Parts of memory with links of their own, by turns.
const REGIONS: usize = 64;

/// Bytes of such a part.
const REGION_BYTES: u64 = 64 << 20;

/// Within so many faults a guess has to come true, unless its page was sent for: after many, any page is used.
const RECENT: u32 = 64;

/// The same if it was sent for, from when on its use says nothing: any page is used at some time.
const RECENTLY_SENT: u32 = 256;

/// Places that are looked at because of one page.
const LOOKS: usize = 64;

/// How many pages a chain fetches from one that stays unmapped, to see the program come by, to the next.
const WATCHED_SHARE: u32 = 4;

/// Learns which pointers a program follows, and follows them ahead of it.
pub struct Pointer {
    options: PointerOptions,
    identify: Box<dyn Identify>,
    history: [Window; HISTORY],
    newest: usize,
    links: Vec<Links>,
    guesses: Guesses,
    arrays: Arrays,
    chains: Chains,
    counting: Counting,
    /// Faults so far, as the time by which guesses grow old.
    faults: u32,
}

impl Pointer {
    /// A prefetcher that knows nothing yet.
    pub fn new(options: PointerOptions, identify: Box<dyn Identify>) -> Self {
        Self {
            options: PointerOptions {
                count: options.count.min(MOST_FETCHES as u32),
                depth: options.depth.max(1),
                ..options
            },
            identify,
            history: [Window::EMPTY; HISTORY],
            newest: 0,
            links: vec![Links::default(); REGIONS],
            guesses: Guesses::default(),
            arrays: Arrays::default(),
            chains: Chains::default(),
            counting: Counting::default(),
            faults: 0,
        }
    }

    /// What it did since this was asked last.
    pub fn take_counts(&mut self) -> PointerCounts {
        std::mem::take(&mut self.counting.counts)
    }

    /// Writes down what it does from now on, for [`take_journal`](Self::take_journal).
    pub fn keep_journal(&mut self) {
        self.counting.journal = Some(Vec::new());
    }

    /// What it did since this was asked last, one after the other; nothing if it is not written down.
    pub fn take_journal(&mut self) -> impl Iterator<Item = Done> + '_ {
        self.counting.journal.iter_mut().flat_map(|journal| journal.drain(..))
    }

    /// The program came to a page by a fault at `address`. Returns with what the page is to be [entered](Self::enter)
    /// when it is here, and what can be sent for now.
    pub fn fault(&mut self, address: u64, kind: FaultKind) -> (Walk, Option<Fetch>) {
        self.faults = self.faults.wrapping_add(1);
        let entered = Walk {
            entry: address,
            context: 0,
            from: 0,
            confidence: u16::MAX,
            chain: 0,
            is_foreseen: false,
            array: 0,
        };
        let Some(guess) = self.reached(address, kind) else {
            let (from, context) = self.learn(address);
            return (Walk { context, from, chain: self.chains.begin(), ..entered }, None);
        };
        if guess.array != 0 {
            self.arrays.passed(guess.array, guess.location);
            let (chain, array) = (self.chains.begin(), guess.array);
            return (Walk { chain, array, ..entered }, None);
        }
        self.move_cursor((guess.location, guess.reached_as));
        let parked = guess.sent.then(|| self.chains.pass(guess.chain, guess.step)).flatten();
        let chain = match kind {
            // It has left before it was used, or was never sent for.
            FaultKind::Demand => self.chains.begin(),
            FaultKind::Late | FaultKind::Used => guess.chain,
        };
        let is_foreseen = kind == FaultKind::Used && self.chains.goes_beyond(chain, guess.step);
        let fetch = parked.and_then(|(walk, guess)| self.send(walk, guess));
        let (context, from) = (guess.reached_as, guess.location);
        (Walk { context, from, chain, is_foreseen, ..entered }, fetch)
    }

    /// The guess of which the program comes to be true, at `address`; takes note of it.
    fn reached(&mut self, address: u64, kind: FaultKind) -> Option<Guess> {
        let guess = self.guesses.take(address / PAGE)?;
        let deed = match kind {
            FaultKind::Used => Some(Deed::Used),
            FaultKind::Late => Some(Deed::Late),
            FaultKind::Demand => None,
        };
        if let Some(deed) = deed.filter(|_| guess.sent) {
            self.counting.note(deed, guess.chain, guess.page);
        }
        let age = self.faults.wrapping_sub(guess.made_at);
        let is_there = guess.entry / WORD == address / WORD;
        if guess.sent && (kind == FaultKind::Late || age < RECENTLY_SENT)
            || is_there && !guess.sent && age < RECENT
        {
            self.answer(&guess, true);
            return Some(guess);
        }
        // It is old news, but the pointer probably leads there as it did.
        (is_there && guess.sent).then_some(guess)
    }

    /// The program came to a place whose page is here now: remembers what lies around it, and adds to `fetches` what to
    /// send for.
    pub fn enter(&mut self, memory: &mut dyn Memory, walk: Walk, fetches: &mut Fetches) {
        self.counting.note(Deed::Scanned, walk.chain, walk.entry / PAGE);
        if walk.from == 0 {
            self.go_on_in_arrays(memory, &walk, fetches);
        }
        let Some(window) = Window::look(memory, &self.options, walk.entry, walk.context) else {
            return;
        };
        self.newest = (self.newest + 1) % HISTORY;
        self.history[self.newest] = window;
        if !walk.is_foreseen {
            self.go_on(memory, walk, Some(window), fetches);
        }
    }

    /// A page that was sent for with `walk` has arrived: adds to `fetches` what to send for next.
    pub fn arrived(&mut self, memory: &mut dyn Memory, walk: Walk, fetches: &mut Fetches) {
        self.go_on(memory, walk, None, fetches);
    }

    /// A page that was to be fetched was not sent for. Whether the program comes there is learned all the same.
    pub fn not_sent(&mut self, fetch: &Fetch) {
        if let Some(guess) = self.guesses.find(fetch.walk.entry / PAGE) {
            guess.sent = false;
            self.chains.step_back(guess.chain, guess.step);
        }
    }

    /// A page that had been sent for left unused.
    pub fn unused(&mut self, page: u64) {
        if let Some(guess) = self.guesses.take(page) {
            if guess.sent {
                self.counting.note(Deed::Unused, guess.chain, page);
            }
            self.answer(&guess, false);
        }
    }

    fn links(&mut self, location: u64) -> &mut Links {
        &mut self.links[(location / REGION_BYTES) as usize % REGIONS]
    }

    fn answer(&mut self, guess: &Guess, right: bool) {
        if guess.array != 0 {
            return self.arrays.answer(guess.array, right);
        }
        self.links(guess.location).answer(guess.context, guess.link, right);
    }

    /// Looks for the pointer by which the program came to `address`; returns where it lies, and as what it came there.
    fn learn(&mut self, address: u64) -> (u64, u8) {
        for age in 0..HISTORY {
            let at = (self.newest + HISTORY - age) % HISTORY;
            let Some(found) = self.pointer_to(at, address) else { continue };
            let (context, cursor) = (self.history[at].context, self.history[at].cursor);
            let made = links_to(&self.history[at], found);
            let links = self.links(found.location);
            let known = made.into_iter().flatten().find(|link| links.knows(*link));
            let reached_as = known.or(made[0]).map_or(0, Link::context);
            for (link, context) in made.into_iter().zip([context, cursor.1]) {
                link.into_iter().for_each(|link| {
                    links.saw(context, link);
                });
            }
            self.history[at].cursor = (found.location, reached_as);
            return (found.location, reached_as);
        }
        (0, 0)
    }

    /// The pointer in a window of the history that leads to `address`: one of a known link if there is one, else the
    /// nearest.
    fn pointer_to(&self, at: usize, address: u64) -> Option<Found> {
        let window = &self.history[at];
        let is_pointer = |found: &Found| {
            let word = window.word(found.location);
            word.is_some_and(|word| self.identify.target(found.location, word).is_some())
        };
        let rank = |found: &Found| {
            let links = &self.links[(found.location / REGION_BYTES) as usize % REGIONS];
            let made = links_to(window, *found);
            let is_known = made.into_iter().flatten().any(|link| links.knows(link));
            (!is_known, found.behind.unsigned_abs())
        };
        window.leading_to(address).filter(is_pointer).min_by_key(rank)
    }

    /// The program followed the pointer at a place, and came to something as which it is known.
    fn move_cursor(&mut self, cursor: (u64, u8)) {
        for age in 0..HISTORY {
            let window = &mut self.history[(self.newest + HISTORY - age) % HISTORY];
            if window.word(cursor.0).is_some() {
                window.cursor = cursor;
                return;
            }
        }
    }

    /// Follows links from a page that is here, through others that are here, to those that have to be sent for; and to the
    /// elements that follow in the array by which the program came there.
    fn go_on(
        &mut self,
        memory: &mut dyn Memory,
        walk: Walk,
        mut window: Option<Window>,
        fetches: &mut Fetches,
    ) {
        let mut todo = Todo::default();
        todo.push(walk);
        for _ in 0..LOOKS {
            let Some(walk) = todo.pop() else { break };
            let look = || {
                self.counting.note(Deed::Scanned, walk.chain, walk.entry / PAGE);
                Window::look(memory, &self.options, walk.entry, walk.context)
            };
            let Some(window) = window.take().or_else(look) else { continue };
            let nexts = self.entry_links(&walk, &window);
            self.follow(memory, &window, nexts, &mut todo, fetches);
            if fetches.len() >= self.options.count as usize {
                return;
            }
        }
        self.go_on_in_array(memory, &walk, fetches);
    }

    /// Fetches what the elements lead to that follow the one by which the program came to a place.
    fn go_on_in_array(&mut self, memory: &mut dyn Memory, walk: &Walk, fetches: &mut Fetches) {
        if walk.from == 0 || !self.links(walk.from).has(Origin::Sibling) {
            return;
        }
        let Some(window) = Window::look(memory, &self.options, walk.from, 0) else { return };
        if let Some(at) = (0..HISTORY).find(|at| self.history[*at].cursor.0 == walk.from) {
            // What is around the pointer followed last is what to look at for the next one.
            let moved = self.history[at].moved_to(&window);
            self.newest = (self.newest + 1) % HISTORY;
            self.history[self.newest] = moved;
        }
        let mut nexts = Nexts::default();
        let next = Next { walk: *walk, location: walk.from, link: 0, from_context: 0 };
        self.add_siblings(&window, &next, &mut nexts);
        self.follow(memory, &window, nexts, &mut Todo::default(), fetches);
    }

    /// Fetches what comes next in the array whose pointer led to a place, if there is one that is known or found.
    fn go_on_in_arrays(&mut self, memory: &mut dyn Memory, walk: &Walk, fetches: &mut Fetches) {
        let known = (walk.array != 0).then_some(walk.array);
        let Some(array) = known.or_else(|| self.arrays.explain(memory, walk.entry)) else { return };
        let most = 2 * self.options.count as usize;
        let elements = self.arrays.next(memory, &*self.identify, array, most);
        let middle = elements.middle().map(|element| element.target);
        for Element { location, target } in elements.iter() {
            let page = target / PAGE;
            self.counting.note(Deed::Candidate, walk.chain, page);
            self.remember(Guess {
                page,
                entry: target,
                location,
                array,
                sent: true,
                chain: walk.chain,
                made_at: self.faults,
                ..Guess::default()
            });
            let walk = Walk { entry: target, context: 0, array: 0, ..*walk };
            fetches.push(Fetch { walk, watch: middle == Some(target) });
        }
    }

    /// Deals with the places that pointers in a window lead to, and with their siblings.
    fn follow(
        &mut self,
        memory: &mut dyn Memory,
        window: &Window,
        mut nexts: Nexts,
        todo: &mut Todo,
        fetches: &mut Fetches,
    ) {
        let mut from = 0;
        while from < nexts.len {
            let next = nexts.items[from];
            from += 1;
            let likely = self.is_likely(next.walk.confidence);
            if likely {
                self.add_siblings(window, &next, &mut nexts);
            }
            match memory.place(next.walk.entry / PAGE) {
                Place::Here if likely => todo.push(next.walk),
                Place::Unused if likely => {
                    fetches.pass(next.walk.entry / PAGE);
                    todo.push(next.walk);
                }
                Place::Far => {
                    let page = next.walk.entry / PAGE;
                    self.counting.note(Deed::Candidate, next.walk.chain, page);
                    if fetches.len() < self.options.count as usize {
                        self.guess(&next, likely, fetches);
                    }
                }
                _ => {}
            }
        }
    }

    fn is_likely(&self, confidence: u16) -> bool {
        u32::from(confidence) * 100 >= self.options.least_percent * u32::from(u16::MAX)
    }

    /// Where the pointers lead that are found by their distance from where the program came in.
    fn entry_links(&mut self, walk: &Walk, window: &Window) -> Nexts {
        let mut nexts = Nexts::default();
        let links = &self.links[(walk.entry / REGION_BYTES) as usize % REGIONS];
        for (number, link) in links.believed().filter(|(_, link)| link.origin == Origin::Entry) {
            let location = walk.entry.wrapping_add_signed(link.distance);
            let rate = links.rate(walk.context, number);
            nexts.add(
                &*self.identify,
                window,
                walk,
                (number, link),
                (location, rate, walk.context),
            );
        }
        nexts
    }

    /// Where the elements lead that follow in the same array.
    fn add_siblings(&self, window: &Window, next: &Next, nexts: &mut Nexts) {
        let links = &self.links[(next.location / REGION_BYTES) as usize % REGIONS];
        for (number, link) in links.believed().filter(|(_, link)| link.origin == Origin::Sibling) {
            let location = next.location.wrapping_add_signed(link.distance);
            let rate = links.rate(next.walk.context, number);
            let place = (location, rate, next.walk.context);
            nexts.add(&*self.identify, window, &next.walk, (number, link), place);
        }
    }

    /// Takes note that a far page is foreseen, and sends for it if it is `likely`.
    fn guess(&mut self, next: &Next, likely: bool, fetches: &mut Fetches) {
        let guess = Guess {
            page: next.walk.entry / PAGE,
            entry: next.walk.entry,
            location: next.location,
            context: next.from_context,
            link: next.link,
            reached_as: next.walk.context,
            sent: false,
            chain: next.walk.chain,
            step: 0,
            made_at: self.faults,
            array: 0,
        };
        if !likely {
            self.remember(guess);
        } else if let Some(fetch) = self.send(next.walk, guess) {
            fetches.push(fetch);
        }
    }

    /// Sends for a page that is likely to be used, unless it is too far ahead.
    fn send(&mut self, walk: Walk, guess: Guess) -> Option<Fetch> {
        let step = self.chains.step(walk, guess, self.options.depth)?;
        self.remember(Guess { sent: true, step, ..guess });
        Some(Fetch { walk, watch: self.is_watched(step) })
    }

    fn remember(&mut self, guess: Guess) {
        if let Some(forgotten) = self.guesses.add(guess)
            && !forgotten.sent
        {
            self.answer(&forgotten, false);
        }
    }

    fn is_watched(&self, step: u32) -> bool {
        step.is_multiple_of((self.options.depth / WATCHED_SHARE).max(1))
    }
}

/// The links that a pointer of a window makes: seen from where the program came in, and from the pointer that it followed
/// before.
fn links_to(window: &Window, found: Found) -> [Option<Link>; 2] {
    let link = |origin, from: u64| {
        let distance = found.location.wrapping_sub(from) as i64;
        Link { origin, distance, behind: found.behind }
    };
    let sibling = (window.cursor.0 != 0).then(|| link(Origin::Sibling, window.cursor.0));
    [Some(link(Origin::Entry, window.entry)), sibling]
}
