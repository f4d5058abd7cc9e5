//! Arrays of pointers that the program goes through while they are here: sorted by what they point to, it comes from page
//! to page in no order, and each of these pages but for the first is named by a pointer beside the one before.
//!
//! Nothing is seen of the array itself, which is here. So it is looked for: when the program comes to a page that nobody
//! foresaw, some of the pages full of pointers that came lately are searched for one that leads there. That takes as long
//! as half a fault, so that it is done seldom where few pages are used that were sent for because of it.

use super::array::{Array, Elements, any_leads_to, leads_to};
use super::{Identify, Memory, PAGE, WORD};

/// Arrays that are followed at once.
const ARRAYS: usize = 16;

/// Faults that were looked into, after which an array is forgotten that explained none of them: as long as it is not
/// believed, and from then on.
const FORGOTTEN: u32 = 128;
const FORGOTTEN_LATE: u32 = 512;

/// Arrays at once that are not believed.
const TRIED: usize = 4;

/// Pages that are searched at a time.
const SEARCHED: usize = 16;

/// Pages full of pointers that are remembered.
pub const ARRAY_PAGES: usize = 128;

/// Faults that are looked into before anything has come of it, for each page that is seen to be used, which stands for ten
/// or so, and at most without any.
const AT_FIRST: u32 = 512;
const FOR_EACH: u32 = 8;
const AT_MOST: u32 = 1024;

/// Of the others, so many in a row are, of so many: with a few in a row it is seen how an array is gone through.
const LOOK: u32 = 64;
const REST: u32 = 2048;

/// The arrays that are known.
#[derive(Debug)]
pub(super) struct Arrays {
    arrays: [Option<Array>; ARRAYS],
    /// The latest number.
    last: u32,
    /// Faults that nobody foresaw, and those of them that were looked into.
    faults: u32,
    now: u32,
    /// How many more are looked into, each of them.
    left: u32,
    /// The age of the page that was searched last.
    age: usize,
}

impl Default for Arrays {
    fn default() -> Self {
        Self { arrays: [None; ARRAYS], last: 0, faults: 0, now: 0, left: AT_FIRST, age: 0 }
    }
}

impl Arrays {
    /// The program came to an address that nobody foresaw; returns the number of the array whose pointer leads there, if
    /// one is found.
    pub fn explain(&mut self, memory: &mut dyn Memory, address: u64) -> Option<u32> {
        self.faults = self.faults.wrapping_add(1);
        if self.left == 0 && self.faults % REST >= LOOK {
            return None;
        }
        self.left = self.left.saturating_sub(1);
        self.now = self.now.wrapping_add(1);
        let now = self.now;
        for slot in &mut self.arrays {
            let age = |array: &Array| now.wrapping_sub(array.used);
            let limit =
                |array: &Array| if array.is_believed() { FORGOTTEN_LATE } else { FORGOTTEN };
            slot.take_if(|array| age(array) > limit(array));
            if let Some(array) = slot
                && let Some(location) = array.find(memory, address)
            {
                array.followed(location, now);
                return Some(array.number);
            }
        }
        let location = self.search(memory, address)?;
        Some(self.found(location))
    }

    /// Looks for a pointer to an address in some of the pages full of pointers.
    fn search(&mut self, memory: &mut dyn Memory, address: u64) -> Option<u64> {
        let mut words = [0; (PAGE / WORD) as usize];
        for _ in 0..SEARCHED {
            self.age = (self.age + 1) % ARRAY_PAGES;
            let Some(page) = memory.array_page(self.age) else { continue };
            if memory.read(page * PAGE, &mut words)
                && any_leads_to(&words, address)
                && let Some(at) = words.iter().position(|word| leads_to(*word, address))
            {
                return Some(page * PAGE + at as u64 * WORD);
            }
        }
        None
    }

    /// A pointer that was followed lies here: it is of an array that is known, or of a new one, for which the one is
    /// forgotten that was of use the longest time ago, of those that are not believed if these are many.
    fn found(&mut self, location: u64) -> u32 {
        let now = self.now;
        let is_near = |array: &&mut Array| array.cursor.abs_diff(location) < PAGE;
        if let Some(array) = self.arrays.iter_mut().flatten().find(is_near) {
            array.jump(location, now);
            return array.number;
        }
        self.last = self.last.wrapping_add(1).max(1);
        let is_tried = |slot: &Option<Array>| slot.is_some_and(|array| !array.is_believed());
        let are_many = self.arrays.iter().filter(|slot| is_tried(slot)).count() >= TRIED;
        let may_go = |slot: &&mut Option<Array>| !are_many || is_tried(slot);
        let age = |slot: &&mut Option<Array>| {
            slot.as_ref().map_or(u32::MAX, |array| now.wrapping_sub(array.used))
        };
        if let Some(oldest) = self.arrays.iter_mut().filter(may_go).max_by_key(age) {
            *oldest = Some(Array::new(self.last, location, now));
        }
        self.last
    }

    fn get(&mut self, number: u32) -> Option<&mut Array> {
        self.arrays.iter_mut().flatten().find(|array| array.number == number)
    }

    /// The program came to a page that was sent for because of a pointer.
    pub fn passed(&mut self, number: u32, location: u64) {
        let now = self.now;
        if let Some(array) = self.get(number) {
            array.passed(location, now);
        }
    }

    /// A page that was sent for because of an array was used, or not.
    pub fn answer(&mut self, number: u32, right: bool) {
        if right {
            self.left = (self.left + FOR_EACH).min(AT_MOST);
        }
        let is_wrong = |array: &mut Array| array.number == number && !array.answer(right);
        self.arrays.iter_mut().for_each(|slot| {
            slot.take_if(is_wrong);
        });
    }

    /// What is to be sent for next of an array, at most so many pages.
    pub fn next(
        &mut self,
        memory: &mut dyn Memory,
        identify: &dyn Identify,
        number: u32,
        most: usize,
    ) -> Elements {
        self.get(number).map_or_else(Elements::default, |array| array.next(memory, identify, most))
    }
}
