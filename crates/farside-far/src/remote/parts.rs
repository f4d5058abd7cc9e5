//! Parts of pages at nodes across a network.
//!
//! A page of which parts are stored is recognised by [blocks](crate::block_checks), of which each has its checksum at
//! this side: whatever a node gives in place of what was stored there last, damaged or older, is noticed, as it is for a
//! whole page. A write of parts gives the page a new version at each node that has it, and says of which version it has to
//! be a copy: a node that missed a write takes no later one, and is not asked any more. Writes of one page take turns.
//! Reads do not: they ask for the version that is known or a younger one, since what is stored meanwhile is other parts.
//!
//! A page of which nothing was stored yet goes to nodes as a whole, and so does one that is shared with another process,
//! or was recognised in another way before.

use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use super::Remote;
use crate::block_checks::Grain;
use crate::{FarError, Part, PartStore, Ticket};

/// Parts of one page.
pub type OfPage = (u64, SmallVec<[Part; 2]>);

/// How long a thread rests before it looks again whether it is its turn: at first, and at most.
const REST_NS: (u64, u64) = (10_000, 2_000_000);

/// Pages of which somebody stores parts.
#[derive(Default)]
pub struct Turns(Mutex<Vec<u64>>);

impl Turns {
    fn lock(&self) -> MutexGuard<'_, Vec<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the turn for some pages, once nobody else has that of any; meanwhile it rests again and again.
    fn take<'a>(&'a self, pages: &'a [OfPage], rest: impl Fn(u64)) -> Turn<'a> {
        let mut rest_ns = REST_NS.0;
        loop {
            let mut taken = self.lock();
            if !pages.iter().any(|(page, _)| taken.contains(page)) {
                taken.extend(pages.iter().map(|(page, _)| *page));
                return Turn { turns: self, pages };
            }
            drop(taken);
            rest(rest_ns);
            rest_ns = (2 * rest_ns).min(REST_NS.1);
        }
    }

    /// In a forked child: who had a turn is in the parent.
    pub fn clear(&self) {
        self.lock().clear();
    }
}

/// A turn for some pages.
struct Turn<'a> {
    turns: &'a Turns,
    pages: &'a [OfPage],
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.lock().retain(|taken| !self.pages.iter().any(|(page, _)| page == taken));
    }
}

/// Parts by the pages they are of; each page comes once.
fn by_page(parts: &[Part]) -> SmallVec<[OfPage; 1]> {
    let mut pages: SmallVec<[OfPage; 1]> = SmallVec::new();
    let mut highest = None;
    for part in parts.iter().flat_map(|part| part.by_page()) {
        let page = part.page();
        // Mostly they come in order.
        let is_new = highest.is_none_or(|highest| highest < page);
        let is_last = || pages.last().is_some_and(|(last, _)| *last == page);
        let known = match (is_new, is_last()) {
            (true, _) => None,
            (_, true) => Some(pages.len() - 1),
            _ => pages.iter().position(|(other, _)| *other == page),
        };
        highest = highest.max(Some(page));
        match known {
            Some(at) => pages[at].1.push(part),
            None => pages.push((page, SmallVec::from_iter([part]))),
        }
    }
    pages
}

impl PartStore for Remote {
    fn grain(&self, line: usize) -> usize {
        Grain::within(line).bytes()
    }

    fn begin_read_parts(&self, parts: &[Part]) -> Result<Ticket, FarError> {
        self.check()?;
        Ok(self.begin_reading_parts(parts))
    }

    fn finish_read_parts(
        &self,
        ticket: Ticket,
        parts: &[Part],
        into: &mut [u8],
    ) -> Result<(), FarError> {
        self.finish_reading_parts(ticket, parts, into)
    }

    fn write_parts(&self, parts: &[Part], from: &[u8], line: usize) -> Result<(), FarError> {
        self.check()?;
        let grain = Grain::within(line);
        if let Some(checks) = self.seals.block_checks() {
            checks.prepare(grain)?;
        }
        let pages = by_page(parts);
        let _turn = self.turns.take(&pages, |ns| self.network.rest(ns));
        self.store_parts(&pages, from, grain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_comes_once_with_all_its_parts() {
        let part = |start, len, place| Part { start, len, place };
        let parts = [
            part(4090, 10, 0),
            part(20_000, 4, 10),
            part(0, 8, 14),
            part(4100, 1, 22),
            part(20_010, 1, 23),
        ];
        let pages: Vec<(u64, Vec<Part>)> =
            by_page(&parts).into_iter().map(|(page, parts)| (page, parts.to_vec())).collect();
        let expected = [
            (0, vec![part(4090, 6, 0), part(0, 8, 14)]),
            (1, vec![part(4096, 4, 6), part(4100, 1, 22)]),
            (4, vec![part(20_000, 4, 10), part(20_010, 1, 23)]),
        ];
        assert_eq!(pages, expected);
    }

    #[test]
    fn who_stores_parts_of_a_page_waits_for_others() {
        let turns = Turns::default();
        let pages = |pages: &[u64]| -> Vec<OfPage> {
            pages.iter().map(|page| (*page, SmallVec::new())).collect()
        };
        let (some, others, none) = (pages(&[1, 2]), pages(&[3]), |_| unreachable!("it is free"));
        let first = turns.take(&some, none);
        drop(turns.take(&others, none));
        let first = std::cell::RefCell::new(Some(first));
        drop(turns.take(&some, |_| drop(first.borrow_mut().take())));
        assert!(turns.lock().is_empty());
    }
}
