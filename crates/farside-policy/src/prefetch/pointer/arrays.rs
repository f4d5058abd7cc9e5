//! Arrays of pointers that the program goes through while they are here: sorted by what they point to, it comes from page
//! to page in no order, and each of these pages but for the first is named by a pointer beside the one before.
//!
//! Nothing is seen of the array itself, which is here. So it is looked for: when the program comes to a page that nobody
//! foresaw, some of the pages full of pointers that came lately are searched for one that leads there, less and less often
//! as long as none is found.

use super::array::{Array, Elements, leads_to};
use super::{Identify, Memory, PAGE, WORD};

/// Arrays that are followed at once.
const ARRAYS: usize = 16;

/// Faults that nobody foresaw after which an array is forgotten that none of them was explained by: as long as it is not
/// believed, and from then on.
const FORGOTTEN: u32 = 1024;
const FORGOTTEN_LATE: u32 = 16_384;

/// Pages that are searched at a time.
const SEARCHED: usize = 16;

/// Pages full of pointers that are remembered.
pub const ARRAY_PAGES: usize = 128;

/// Searches in vain after which only one fault in [`SELDOM`] leads to one, and in [`RARELY`].
const TIRED: u32 = 64;
const SELDOM: u32 = 16;
const WEARY: u32 = 1024;
const RARELY: u32 = 64;

/// The arrays that are known.
#[derive(Debug, Default)]
pub(super) struct Arrays {
    arrays: [Option<Array>; ARRAYS],
    /// The latest number.
    last: u32,
    /// Faults that nobody foresaw.
    now: u32,
    /// The age of the page that was searched last.
    age: usize,
    /// Searches that found nothing, since one did.
    in_vain: u32,
}

impl Arrays {
    /// The program came to an address that nobody foresaw; returns the number of the array whose pointer leads there, if
    /// one is found.
    pub fn explain(&mut self, memory: &mut dyn Memory, address: u64) -> Option<u32> {
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
        let every = match self.in_vain {
            ..TIRED => 1,
            TIRED..WEARY => SELDOM,
            _ => RARELY,
        };
        if !now.is_multiple_of(every) {
            return None;
        }
        match self.search(memory, address) {
            Some(location) => {
                self.in_vain = 0;
                Some(self.found(location))
            }
            None => {
                self.in_vain = self.in_vain.saturating_add(1);
                None
            }
        }
    }

    /// Looks for a pointer to an address in some of the pages full of pointers.
    fn search(&mut self, memory: &mut dyn Memory, address: u64) -> Option<u64> {
        let mut words = [0; (PAGE / WORD) as usize];
        for _ in 0..SEARCHED {
            self.age = (self.age + 1) % ARRAY_PAGES;
            let Some(page) = memory.array_page(self.age) else { continue };
            if memory.read(page * PAGE, &mut words)
                && let Some(at) = words.iter().position(|word| leads_to(*word, address))
            {
                return Some(page * PAGE + at as u64 * WORD);
            }
        }
        None
    }

    /// A pointer that was followed lies here: it is of an array that is known, or of a new one, for which the one is
    /// forgotten that was of use the longest time ago.
    fn found(&mut self, location: u64) -> u32 {
        let now = self.now;
        let is_near = |array: &&mut Array| array.cursor.abs_diff(location) < PAGE;
        if let Some(array) = self.arrays.iter_mut().flatten().find(is_near) {
            array.jump(location, now);
            return array.number;
        }
        self.last = self.last.wrapping_add(1).max(1);
        let age = |slot: &&mut Option<Array>| {
            slot.as_ref().map_or(u32::MAX, |array| now.wrapping_sub(array.used))
        };
        if let Some(oldest) = self.arrays.iter_mut().max_by_key(age) {
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
        let is_wrong = |array: &mut Array| array.number == number && !array.answer(right);
        self.arrays.iter_mut().for_each(|slot| {
            slot.take_if(is_wrong);
        });
    }

    /// What is to be sent for next of an array.
    pub fn next(
        &mut self,
        memory: &mut dyn Memory,
        identify: &dyn Identify,
        number: u32,
    ) -> Elements {
        self.get(number).map_or_else(Elements::default, |array| array.next(memory, identify))
    }
}
