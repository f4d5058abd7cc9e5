//! One memory for all programs, under one policy: what systems without shares do.

use farside_policy::replacement::{Arrival, ReplacementPolicy, Slot};
use farside_trace::{Access, PAGE_SIZE, PageId};

use super::MOST_PROGRAMS;
use crate::page_map::{NONE, PageMap};
use crate::replay::WATCH_BATCH;
use crate::simulation::Costs;

/// Binary logarithm of the pages that are numbered together.
const BLOCK_SHIFT: u32 = 6;

/// Turns of programs from one look at the progress to the next.
const TURNS: u64 = 1 << 14;

/// What became of a program in the pool.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Accesses, by records of the trace.
    pub accesses: u64,
    /// Data accesses: records times their weights.
    pub data_accesses: u64,
    /// Accesses that did not find their page resident, first touches included.
    pub misses: u64,
    /// First touches among them.
    pub first_touches: u64,
    /// Projected time from the common start until its last access.
    pub time_ns: f64,
    /// Resident pages, on average over that time.
    pub mean_pages: f64,
    /// Most resident pages.
    pub most_pages: usize,
}

/// A program in the pool.
#[derive(Debug, Default)]
struct Member {
    usage: Usage,
    /// Numbers of its blocks in the pool.
    blocks: PageMap,
    resident: usize,
    /// Resident pages times nanoseconds, up to `since_ns`.
    area: f64,
    since_ns: f64,
    ended: bool,
}

impl Member {
    /// From `now_ns` on `resident` pages are resident.
    fn change(&mut self, now_ns: f64, resident: usize) {
        // A program that waits for a page is ahead of those that go on meanwhile.
        let now_ns = now_ns.max(self.since_ns);
        self.area += self.resident as f64 * (now_ns - self.since_ns);
        self.since_ns = now_ns;
        self.resident = resident;
        self.usage.most_pages = self.usage.most_pages.max(resident);
    }
}

/// A memory that programs share page by page.
///
/// All programs start at once, and each advances in its own projected time: by its work, by
/// [`Costs::first_touch_ns`] for a first touch, and by the whole wait for a page that has to be
/// fetched. The next access is that of the program whose time is the earliest; the first of them if
/// several are. So every program has a processor of its own, and transfers do not hold up one
/// another. A program that ends gives its pages back. Pages of different programs are different
/// pages.
#[derive(Debug)]
pub struct Pool<P> {
    policy: P,
    capacity: usize,
    costs: Costs,
    resident: usize,
    members: Vec<Member>,
    /// Of pages by their number in the pool, the policy's slot; [`NONE`] for those that left, and
    /// [`UNTOUCHED`] for those never touched.
    slots: Vec<u32>,
    /// Programs of blocks by their number.
    owners: Vec<u16>,
    watched: Vec<(PageId, Slot)>,
}

const UNTOUCHED: u32 = NONE - 1;

impl<P: ReplacementPolicy> Pool<P> {
    /// An empty memory of `pages` pages, at least one, for so many programs.
    ///
    /// # Panics
    /// If there are more than [`MOST_PROGRAMS`].
    pub fn new(mut policy: P, pages: usize, programs: usize, costs: Costs) -> Self {
        assert!(programs <= MOST_PROGRAMS, "{programs} programs in a pool");
        let capacity = pages.max(1);
        policy.set_capacity(capacity);
        Self {
            policy,
            capacity,
            costs,
            resident: 0,
            members: (0..programs).map(|_| Member::default()).collect(),
            slots: Vec::new(),
            owners: Vec::new(),
            watched: Vec::new(),
        }
    }

    /// Runs the traces of all programs to their ends, and tells of each what became of it. Now and
    /// then
    /// `progress` sees how far the traces are.
    ///
    /// # Errors
    /// The first error that a trace has.
    pub fn run<I: Iterator<Item = Result<Access, E>>, E>(
        mut self,
        traces: &mut [I],
        mut progress: impl FnMut(&[I]),
    ) -> Result<Vec<Usage>, E> {
        for turn in 0u64.. {
            let Some((program, until_ns)) = self.next() else { break };
            if turn.is_multiple_of(TURNS) {
                progress(traces);
            }
            loop {
                match traces[program].next() {
                    Some(access) => self.access(program, access?),
                    None => self.end(program),
                }
                let member = &self.members[program];
                if member.ended || member.usage.time_ns >= until_ns {
                    break;
                }
            }
        }
        Ok(self.usages())
    }

    /// The program whose time is the earliest among those that have not ended, and the time of the
    /// next.
    fn next(&self) -> Option<(usize, f64)> {
        let (mut first, mut second) = (None, f64::INFINITY);
        for (program, member) in self.members.iter().enumerate().filter(|(_, m)| !m.ended) {
            let time_ns = member.usage.time_ns;
            match first {
                Some((_, earliest)) if time_ns >= earliest => second = second.min(time_ns),
                earlier => {
                    second = earlier.map_or(second, |(_, time_ns)| second.min(time_ns));
                    first = Some((program, time_ns));
                }
            }
        }
        first.map(|(program, _)| (program, second))
    }

    /// `program` makes its next access.
    ///
    /// # Panics
    /// If there is no such program.
    pub fn access(&mut self, program: usize, access: Access) {
        let page = self.number(program, access.page);
        let usage = &mut self.members[program].usage;
        usage.accesses += 1;
        usage.data_accesses += u64::from(access.weight);
        usage.time_ns += self.costs.access_ns * f64::from(access.weight);
        match self.slots[page] {
            NONE => self.fetch(program, page, Arrival::Demand),
            UNTOUCHED => self.fetch(program, page, Arrival::FirstTouch),
            slot => self.policy.access(Slot(slot)),
        }
    }

    /// `program` has ended: its pages are free.
    ///
    /// # Panics
    /// If there is no such program.
    pub fn end(&mut self, program: usize) {
        let now_ns = self.members[program].usage.time_ns;
        for block in (0..self.owners.len()).filter(|b| usize::from(self.owners[*b]) == program) {
            for slot in &mut self.slots[block << BLOCK_SHIFT..(block + 1) << BLOCK_SHIFT] {
                if *slot < UNTOUCHED {
                    self.policy.remove(Slot(*slot));
                    self.resident -= 1;
                    *slot = NONE;
                }
            }
        }
        self.members[program].change(now_ns, 0);
        self.members[program].ended = true;
    }

    /// What became of each program up to now.
    pub fn usages(&self) -> Vec<Usage> {
        let usage = |member: &Member| {
            let time_ns = member.usage.time_ns;
            let later = member.resident as f64 * (time_ns - member.since_ns).max(0.0);
            let mean_pages = if time_ns > 0.0 { (member.area + later) / time_ns } else { 0.0 };
            // Sums of times are rounded.
            let mean_pages = mean_pages.min(member.usage.most_pages as f64);
            Usage { mean_pages, ..member.usage }
        };
        self.members.iter().map(usage).collect()
    }

    /// The number of a page in the pool: dense, and next to those of the pages next to it.
    #[inline]
    fn number(&mut self, program: usize, page: PageId) -> usize {
        let block = self.members[program].blocks.entry(PageId(page.0 >> BLOCK_SHIFT));
        if *block == NONE {
            *block = self.owners.len() as u32;
            self.owners.push(program as u16);
            self.slots.resize(self.slots.len() + (1 << BLOCK_SHIFT), UNTOUCHED);
        }
        (*block as usize) << BLOCK_SHIFT | (page.0 as usize & ((1 << BLOCK_SHIFT) - 1))
    }

    fn fetch(&mut self, program: usize, page: usize, arrival: Arrival) {
        let wait_ns = match arrival {
            Arrival::FirstTouch => self.costs.first_touch_ns,
            Arrival::Demand | Arrival::Prefetch => {
                let bytes_ns = self.costs.byte_ns * PAGE_SIZE as f64;
                self.costs.fault_ns + self.costs.latency_ns + bytes_ns
            }
        };
        let usage = &mut self.members[program].usage;
        usage.misses += 1;
        usage.first_touches += u64::from(arrival == Arrival::FirstTouch);
        usage.time_ns += wait_ns;
        let now_ns = usage.time_ns;
        let id = PageId(page as u64);
        self.policy.expect(id);
        if self.resident == self.capacity {
            self.evict(now_ns);
        }
        self.slots[page] = self.policy.insert(id, arrival).0;
        self.resident += 1;
        let member = &mut self.members[program];
        member.change(now_ns, member.resident + 1);
        self.policy.watch(WATCH_BATCH, &mut self.watched);
        self.watched.clear();
    }

    fn evict(&mut self, now_ns: f64) {
        let Some(victim) = self.policy.victim() else { return };
        self.slots[victim.0 as usize] = NONE;
        self.resident -= 1;
        let owner = self.owners[victim.0 as usize >> BLOCK_SHIFT];
        let member = &mut self.members[usize::from(owner)];
        member.change(now_ns, member.resident - 1);
    }
}
