//! The program's address space: what the system calls made of it, with names.

use std::collections::BTreeMap;
use std::ops::Range;

use farside_trace::PAGE_SHIFT;

/// A mapped range of pages appeared or vanished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// These pages are mapped and have this name.
    Appeared(Range<u64>, String),
    /// These pages are not mapped any more.
    Vanished(Range<u64>),
}

/// The mappings by their first page: end and name.
#[derive(Debug, Default)]
pub struct Space {
    mappings: BTreeMap<u64, (u64, String)>,
    /// Where the heap begins, once the program asked.
    heap: Option<u64>,
    heap_end: u64,
}

/// A system call that changed the address space.
#[derive(Copy, Clone, Debug)]
pub struct Call<'a> {
    /// Number of the call.
    pub number: i64,
    /// What it returned.
    pub result: u64,
    /// Its arguments.
    pub arguments: [u64; 6],
    /// The file it maps, if any.
    pub file: &'a str,
}

fn pages(start: u64, bytes: u64) -> Range<u64> {
    let end = start.saturating_add(bytes).saturating_add((1 << PAGE_SHIFT) - 1);
    start >> PAGE_SHIFT..end >> PAGE_SHIFT
}

impl Space {
    /// Takes over the address space as it is before the first instruction, from lines of
    /// `/proc/PID/maps`.
    pub fn begin(&mut self, lines: &str) -> Vec<Change> {
        let mut guarded_to = None;
        let mut changes = Vec::new();
        for line in lines.lines() {
            let mut fields = line.split_ascii_whitespace();
            let Some((range, access)) = fields.next().and_then(range).zip(fields.next()) else {
                continue;
            };
            let name = fields.nth(3).map_or("", |_| file_of(line));
            let guard = access.starts_with("---");
            let name = match name {
                "" if guard => String::new(),
                "" if guarded_to == Some(range.start) => "[stack]".to_owned(),
                "" => self.behind_file(range.start).unwrap_or_else(|| "[anon]".to_owned()),
                file => file.to_owned(),
            };
            guarded_to = guard.then_some(range.end);
            if !name.is_empty() {
                changes.extend(self.appear(range, name));
            }
        }
        changes
    }

    /// Follows a system call that succeeded.
    pub fn follow(&mut self, call: &Call<'_>) -> Vec<Change> {
        let [a, b, ..] = call.arguments;
        match call.number {
            libc::SYS_mmap => {
                let range = pages(call.result, b);
                let name = self.name_of(call, range.start);
                self.appear(range, name)
            }
            libc::SYS_munmap => self.vanish(pages(a, b)),
            libc::SYS_mremap => self.remap(call),
            libc::SYS_brk => self.set_heap(call.result),
            _ => Vec::new(),
        }
    }

    fn name_of(&self, call: &Call<'_>, start: u64) -> String {
        let flags = call.arguments[3] as i32;
        if !call.file.is_empty() {
            return call.file.to_owned();
        }
        let behind = || self.behind_file(start).filter(|_| flags & libc::MAP_FIXED != 0);
        if flags & libc::MAP_STACK != 0 {
            "[thread stack]".to_owned()
        } else if flags & libc::MAP_SHARED != 0 {
            "[shared]".to_owned()
        } else {
            behind().unwrap_or_else(|| "[anon]".to_owned())
        }
    }

    /// The name of zeroed memory right behind a mapping of a file: loaders put it there.
    fn behind_file(&self, start: u64) -> Option<String> {
        let (_, (end, name)) = self.mappings.range(..start).next_back()?;
        (*end == start && !name.starts_with('['))
            .then(|| if name.ends_with(" [bss]") { name.clone() } else { format!("{name} [bss]") })
    }

    fn remap(&mut self, call: &Call<'_>) -> Vec<Change> {
        const MREMAP_DONTUNMAP: u64 = 4;
        let [from, old, new, flags, ..] = call.arguments;
        let old = pages(from, old);
        let before = self.mappings.range(..=old.start).next_back();
        let name = before.map_or_else(|| "[anon]".to_owned(), |(_, (_, name))| name.clone());
        let mut changes = if flags & MREMAP_DONTUNMAP == 0 { self.vanish(old) } else { Vec::new() };
        changes.extend(self.appear(pages(call.result, new), name));
        changes
    }

    fn set_heap(&mut self, end: u64) -> Vec<Change> {
        let start = *self.heap.get_or_insert(end);
        let (before, end) = (self.heap_end.max(start), end.max(start));
        self.heap_end = end;
        let page = |address| pages(address, 0).end;
        let (start, before, end) = (page(start), page(before), page(end));
        if end > before {
            self.appear(start..end, "[heap]".to_owned())
        } else {
            self.vanish(end..before)
        }
    }

    fn appear(&mut self, range: Range<u64>, name: String) -> Vec<Change> {
        if range.is_empty() {
            return Vec::new();
        }
        self.clear(&range);
        self.mappings.insert(range.start, (range.end, name.clone()));
        vec![Change::Appeared(range, name)]
    }

    fn vanish(&mut self, range: Range<u64>) -> Vec<Change> {
        if range.is_empty() {
            return Vec::new();
        }
        self.clear(&range);
        vec![Change::Vanished(range)]
    }

    /// Cuts the range out of all mappings.
    fn clear(&mut self, range: &Range<u64>) {
        let touched: Vec<u64> = self
            .mappings
            .range(..range.end)
            .rev()
            .take_while(|(_, (end, _))| *end > range.start)
            .map(|(start, _)| *start)
            .collect();
        for start in touched {
            let Some((end, name)) = self.mappings.remove(&start) else { continue };
            if end > range.end {
                self.mappings.insert(range.end, (end, name.clone()));
            }
            if start < range.start {
                self.mappings.insert(start, (range.start, name));
            }
        }
    }
}

/// The pages that `START-END` in hexadecimal means.
fn range(text: &str) -> Option<Range<u64>> {
    let (start, end) = text.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = (address(start)?, address(end)?);
    Some(start >> PAGE_SHIFT..end >> PAGE_SHIFT)
}

/// The sixth field of a line of maps, which may have spaces.
fn file_of(line: &str) -> &str {
    let mut rest = line;
    for _ in 0..5 {
        rest = rest.trim_start();
        rest = rest.find(' ').map_or("", |at| &rest[at..]);
    }
    rest.trim()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn call(number: i64, result: u64, arguments: [u64; 6]) -> Call<'static> {
        Call { number, result, arguments, file: "" }
    }

    fn appeared(range: Range<u64>, name: &str) -> Change {
        Change::Appeared(range, name.to_owned())
    }

    #[test]
    fn the_first_mappings_have_names() {
        let maps = "4000000000-4000003000 r--p 00000000 fe:00 99 /tmp/my program\n\
                    4000003000-4000005000 rw-p 00003000 fe:00 99 /tmp/my program\n\
                    4000005000-4000026000 rw-p 00000000 00:00 0 \n\
                    4002005000-4002006000 ---p 00000000 00:00 0 \n\
                    4002006000-4002806000 rw-p 00000000 00:00 0 \n\
                    nonsense\n";
        assert_eq!(
            Space::default().begin(maps),
            [
                appeared(0x4000000..0x4000003, "/tmp/my program"),
                appeared(0x4000003..0x4000005, "/tmp/my program"),
                appeared(0x4000005..0x4000026, "/tmp/my program [bss]"),
                appeared(0x4002006..0x4002806, "[stack]"),
            ]
        );
    }

    #[test]
    fn the_heap_grows_and_shrinks_by_whole_pages() {
        let mut space = Space::default();
        let mut brk = |end| space.follow(&call(libc::SYS_brk, end, [0; 6]));
        assert_eq!(brk(0x10800), []);
        assert_eq!(brk(0x12000), [appeared(0x11..0x12, "[heap]")]);
        assert_eq!(brk(0x14001), [appeared(0x11..0x15, "[heap]")]);
        assert_eq!(brk(0x13000), [Change::Vanished(0x13..0x15)]);
        assert_eq!(brk(0x13000), []);
    }

    #[test]
    fn moved_mappings_keep_their_names_and_holes_are_cut() {
        let mut space = Space::default();
        let stack = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK) as u64;
        let mapped =
            space.follow(&call(libc::SYS_mmap, 0x10000, [0, 0x3fff, 3, stack, u64::MAX, 0]));
        assert_eq!(mapped, [appeared(0x10..0x14, "[thread stack]")]);
        assert_eq!(
            space.follow(&call(libc::SYS_munmap, 0, [0x11000, 0x1000, 0, 0, 0, 0])),
            [Change::Vanished(0x11..0x12)]
        );
        assert_eq!(
            space.follow(&call(libc::SYS_mremap, 0x40000, [0x12000, 0x2000, 0x3000, 1, 0, 0])),
            [Change::Vanished(0x12..0x14), appeared(0x40..0x43, "[thread stack]")]
        );
        assert_eq!(space.mappings.len(), 2);
    }

    /// A call on addresses near each other, not all of them multiples of a page.
    fn calls() -> impl Strategy<Value = (i64, u64, [u64; 6])> {
        let address = || (0x10_0000..0x14_0000_u64).prop_map(|address| address & !0xff);
        let page = || (0x100..0x140_u64).prop_map(|page| page << PAGE_SHIFT);
        let length = || 0..0x8000_u64;
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
        let shared = (libc::MAP_SHARED | libc::MAP_ANONYMOUS) as u64;
        prop_oneof![
            (page(), length(), any::<bool>()).prop_map(move |(at, length, own)| {
                let flags = if own { flags } else { shared };
                (libc::SYS_mmap, at, [0, length, 3, flags, u64::MAX, 0])
            }),
            (page(), length()).prop_map(|(at, length)| (
                libc::SYS_munmap,
                0,
                [at, length, 0, 0, 0, 0]
            )),
            (page(), length(), page(), length()).prop_map(|(from, old, to, new)| {
                (libc::SYS_mremap, to, [from, old, new, 1, to, 0])
            }),
            address().prop_map(|end| (libc::SYS_brk, end, [0; 6])),
        ]
    }

    proptest! {
        /// Whoever follows the changes page by page has the mappings.
        #[test]
        fn changes_add_up_to_the_mappings(calls in prop::collection::vec(calls(), 0..60)) {
            let mut space = Space::default();
            let mut followed = HashMap::new();
            for (number, result, arguments) in calls {
                for change in space.follow(&call(number, result, arguments)) {
                    match change {
                        Change::Appeared(range, name) => {
                            prop_assert!(!range.is_empty() && !name.is_empty());
                            followed.extend(range.map(|page| (page, name.clone())));
                        }
                        Change::Vanished(range) => {
                            prop_assert!(!range.is_empty());
                            range.for_each(|page| drop(followed.remove(&page)));
                        }
                    }
                }
                if number == libc::SYS_munmap {
                    let mut gone = pages(arguments[0], arguments[1]);
                    prop_assert!(gone.all(|page| !followed.contains_key(&page)));
                }
                let mut held = HashMap::new();
                for (start, (end, name)) in &space.mappings {
                    prop_assert!(start < end);
                    for page in *start..*end {
                        prop_assert_eq!(held.insert(page, name.clone()), None, "mapped twice");
                    }
                }
                prop_assert_eq!(&held, &followed);
            }
        }

        /// The numbers come from another program's memory.
        #[test]
        fn no_call_is_too_strange(
            calls in prop::collection::vec((0..400_i64, any::<u64>(), any::<[u64; 6]>()), 0..40),
            maps in ".{0,200}",
        ) {
            let mut space = Space::default();
            space.begin(&maps);
            for (number, result, arguments) in calls {
                space.follow(&call(number, result, arguments));
            }
        }
    }
}
