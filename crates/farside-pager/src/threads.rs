//! Which thread is which: threads are numbered in the order in which they were made, which does not depend
//! on who comes first to where.

use std::collections::HashMap;
use std::ops::{Index, IndexMut};

/// The program's threads, and something for each.
#[derive(Debug)]
pub struct Threads<T> {
    numbers: HashMap<u32, usize>,
    all: Vec<T>,
}

impl<T> Default for Threads<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), all: Vec::new() }
    }
}

impl<T> Threads<T> {
    /// The number of the thread that the kernel calls `id`.
    ///
    /// The kernel numbers threads upwards. Those among `existing` that were made before it and are not known
    /// yet get theirs first.
    pub fn number(
        &mut self,
        id: u32,
        existing: impl FnOnce() -> Vec<u32>,
        mut new: impl FnMut() -> T,
    ) -> usize {
        if let Some(number) = self.numbers.get(&id) {
            return *number;
        }
        let mut unknown = existing();
        unknown.retain(|other| *other < id);
        unknown.push(id);
        unknown.sort_unstable();
        for id in unknown {
            let next = self.all.len();
            let number = *self.numbers.entry(id).or_insert(next);
            if number == next {
                self.all.push(new());
            }
        }
        self.numbers[&id]
    }
}

impl<T> Threads<T> {
    /// How many are known.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// What there is for each.
    pub fn all(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.iter_mut()
    }
}

impl<T> Index<usize> for Threads<T> {
    type Output = T;

    fn index(&self, number: usize) -> &T {
        &self.all[number]
    }
}

impl<T> IndexMut<usize> for Threads<T> {
    fn index_mut(&mut self, number: usize) -> &mut T {
        &mut self.all[number]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_numbered_as_they_were_made() {
        let mut threads = Threads::default();
        assert_eq!(threads.number(100, || vec![100], || 'a'), 0);
        // The second worker comes first, and again.
        assert_eq!(threads.number(105, || vec![100, 103, 105, 108], || 'b'), 2);
        assert_eq!(threads.number(105, || unreachable!("it is known"), || 'c'), 2);
        assert_eq!(threads.number(103, || vec![100, 103, 105, 108], || 'd'), 1);
        assert_eq!(threads.number(108, Vec::new, || 'e'), 3);
        assert_eq!([0, 1, 2, 3].map(|i| threads[i]), ['a', 'b', 'b', 'e']);
        assert_eq!((threads.count(), threads.all().count()), (4, 4));
    }
}
