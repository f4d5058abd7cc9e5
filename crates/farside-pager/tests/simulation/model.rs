//! What the program must see: the content of every page, and the objects it has allocated.

use crate::PAGE;

/// What one page holds. A version is the 8-byte word that fills the page; 0 makes a page of zeros.
#[derive(Copy, Clone, Debug, Default)]
struct Expected {
    version: u64,
    /// A discard and a write happened at the same time, and nobody has looked since who won.
    or_zero: bool,
    /// Discards under way.
    discards: u32,
    /// When the version was written.
    written: u64,
}

/// A range that the program has allocated.
#[derive(Copy, Clone, Debug)]
pub struct Object {
    pub first: u64,
    pub count: u64,
    /// Program threads at it.
    pub users: u32,
    /// A program thread wants it alone, and has it.
    pub exclusive: bool,
    /// Pages pinned: nothing may be taken away.
    pub pins: u32,
}

/// The program's view.
pub struct Model {
    pages: Vec<Expected>,
    pub objects: Vec<Option<Object>>,
    /// Object, and page in it, used last by whatever thread.
    pub last: Option<(usize, u64)>,
    next_version: u64,
    /// Address of the first page, if versions are pointers.
    pointing: Option<u64>,
    /// Pointers to each page so far.
    pointers: Vec<u64>,
    /// Counts writes and discards.
    moment: u64,
}

/// The version that a page's content shows.
pub fn version_of(content: &[u8]) -> Result<u64, String> {
    let (head, tail) = (&content[..PAGE - 8], &content[8..]);
    let word = |at: usize| content[at..at + 8].iter().rev().fold(0, |v, b| v << 8 | u64::from(*b));
    if head == tail {
        return Ok(word(0));
    }
    let at = (0..PAGE - 8).step_by(8).find(|at| word(*at) != word(*at + 8)).unwrap_or(0);
    Err(format!("content is mixed: {:#x}, and from {at} on {:#x}", word(0), word(at + 8)))
}

/// Fills a page with a version.
pub fn fill(content: &mut [u8], version: u64) {
    for word in content.chunks_exact_mut(8) {
        word.copy_from_slice(&version.to_le_bytes());
    }
}

impl Model {
    /// `pages` untouched pages, to be filled with pointers if the address of the first is given.
    pub fn new(pages: u64, pointing: Option<u64>) -> Self {
        Self {
            pointing,
            pointers: vec![0; pages as usize],
            pages: vec![Expected::default(); pages as usize],
            objects: vec![],
            last: None,
            next_version: 1,
            moment: 0,
        }
    }

    /// A version nothing was filled with yet.
    pub fn fresh_version(&mut self) -> u64 {
        self.next_version += 1;
        self.fresh_pointer().unwrap_or(self.next_version << 16 | 0xF)
    }

    /// An address in an object that no page was filled with yet.
    fn fresh_pointer(&mut self) -> Option<u64> {
        let base = self.pointing?;
        let objects: Vec<&Object> = self.objects.iter().flatten().collect();
        let chance = self.next_version.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let object = objects.get(chance as usize % objects.len().max(1))?;
        let page = object.first + (chance >> 16) % object.count;
        let pointers = &mut self.pointers[page as usize];
        let word = Some(*pointers).filter(|word| *word < PAGE as u64 / 8)?;
        *pointers += 1;
        Some(base + page * PAGE as u64 + word * 8)
    }

    /// Whether the page holds zeros, as far as is known.
    pub fn is_zero(&self, page: u64) -> bool {
        self.pages[page as usize].version == 0
    }

    /// The program writes.
    pub fn write(&mut self, page: u64, version: u64) {
        self.moment += 1;
        let expected = &mut self.pages[page as usize];
        expected.version = version;
        expected.written = self.moment;
        expected.or_zero = expected.discards > 0;
    }

    /// The program sees `content`.
    pub fn see(&mut self, page: u64, content: &[u8]) -> u64 {
        let expected = &mut self.pages[page as usize];
        let seen = match version_of(content) {
            Ok(version) => version,
            Err(mixed) => panic!("page {page}: {mixed}; expected {expected:x?}"),
        };
        if seen == 0 && expected.or_zero {
            expected.version = 0;
        }
        assert_eq!(seen, expected.version, "page {page} is wrong (in hexadecimal: {seen:x})");
        if expected.discards == 0 {
            expected.or_zero = false;
        }
        seen
    }

    /// Whether the program may see `content` there; for a look that the program does not take.
    pub fn allows(&self, page: u64, content: &[u8]) -> Result<(), String> {
        let expected = &self.pages[page as usize];
        let seen = version_of(content).map_err(|mixed| format!("page {page}: {mixed}"))?;
        if seen == expected.version || seen == 0 && expected.or_zero {
            return Ok(());
        }
        Err(format!("page {page} holds {seen:#x}, expected {expected:x?}"))
    }

    /// The program starts to discard; returns the moment.
    pub fn begin_discard(&mut self, first: u64, count: u64) -> u64 {
        self.moment += 1;
        for expected in &mut self.pages[first as usize..(first + count) as usize] {
            expected.discards += 1;
            expected.or_zero = true;
        }
        self.moment
    }

    /// The discard that began at `begun` has ended.
    pub fn end_discard(&mut self, first: u64, count: u64, begun: u64) {
        for expected in &mut self.pages[first as usize..(first + count) as usize] {
            expected.discards -= 1;
            if expected.written < begun {
                expected.version = 0;
                expected.or_zero = false;
            }
        }
    }

    /// The content of `from` is at `to` now, and `from` reads as zeros.
    pub fn relocate(&mut self, from: u64, to: u64, count: u64) {
        for i in 0..count {
            self.pages[(to + i) as usize] = std::mem::take(&mut self.pages[(from + i) as usize]);
        }
    }

    /// The content of a range is forgotten.
    pub fn forget(&mut self, first: u64, count: u64) {
        self.pages[first as usize..(first + count) as usize].fill(Expected::default());
    }
}
