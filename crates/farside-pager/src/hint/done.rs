//! What the program is done with.

use farside_policy::replacement::ReplacementPolicy;

use crate::pager::Pager;
use crate::word::State;

impl Pager {
    /// The program will not use a range again soon: the pages that lie in it as a whole may leave next.
    pub fn done(&self, address: usize, size: usize) {
        let _inside = self.enter();
        let pages = self.pages_within(address, size);
        // Not the lock for each page, and not for all of them.
        for stretch in self.table.touched_stretches(pages.start, pages.end) {
            let mut policy = self.lock_policy();
            for page in stretch.0..stretch.1 {
                let word = self.table.load(page);
                if matches!(word.state(), State::Resident | State::Watched) {
                    policy.dismiss(word.slot());
                }
            }
        }
    }
}
