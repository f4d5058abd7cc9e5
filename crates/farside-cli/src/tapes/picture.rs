//! Which pages are used when, as a tape says: pages without gaps over the order of their uses.

use farside_report::chart::{Axis, HeatMap, RowLabel};
use farside_sim::heat::Heat;
use farside_trace::tape::{StepKind, TapeError, TapeReader, TapeRegion};
use rustc_hash::FxHashMap;

use crate::analysis::analyze::strip::{Shades, shade};

/// Cells of the picture.
const COLUMNS: usize = 320;
const ROWS: usize = 180;

/// Binary logarithm of the pages whose use is noted together.
const BLOCK_SHIFT: u32 = 9;
const BLOCK_WORDS: usize = (1 << BLOCK_SHIFT) / 64;

/// Most such blocks: 128 MiB of notes, and 4 TiB of memory if its pages lie together.
const MOST_BLOCKS: usize = 1 << 21;

/// Most regions that are named in a picture.
const MOST_LABELS: usize = 64;

type Block = [u64; BLOCK_WORDS];

/// The pages that a tape uses, in order, numbered without gaps.
#[derive(Debug, Default)]
pub struct UsedPages {
    blocks: FxHashMap<u64, Block>,
    /// Blocks in order, with the number of used pages before each.
    order: Vec<(u64, u64)>,
    places: FxHashMap<u64, u64>,
    pages: u64,
}

impl UsedPages {
    /// Those of all threads; none if they lie too far apart to be numbered.
    ///
    /// # Errors
    /// If the tape cannot be read.
    pub fn of(tape: &TapeReader) -> Result<Option<Self>, TapeError> {
        let mut used = Self::default();
        let mut steps = Vec::new();
        for &thread in tape.summary().threads.keys() {
            let mut blocks = tape.steps(thread);
            while blocks.next_block(&mut steps)? {
                for step in steps.iter().filter(|step| step.kind != StepKind::Evict) {
                    let block = used.blocks.entry(step.page.0 >> BLOCK_SHIFT).or_default();
                    let (word, bit) = place(step.page.0);
                    block[word] |= 1 << bit;
                }
                if used.blocks.len() > MOST_BLOCKS {
                    return Ok(None);
                }
            }
        }
        used.number();
        Ok(Some(used))
    }

    fn number(&mut self) {
        let mut order: Vec<u64> = self.blocks.keys().copied().collect();
        order.sort_unstable();
        for block in order {
            self.order.push((block, self.pages));
            self.places.insert(block, self.pages);
            let words = self.blocks[&block].iter();
            self.pages += words.map(|word| u64::from(word.count_ones())).sum::<u64>();
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.pages
    }

    /// How many lie below `page`.
    pub fn below(&self, page: u64) -> u64 {
        let number = page >> BLOCK_SHIFT;
        if let Some(before) = self.places.get(&number) {
            let (word, bit) = place(page);
            let block = &self.blocks[&number];
            let full: u32 = block[..word].iter().map(|word| word.count_ones()).sum();
            let rest = block[word] & ((1 << bit) - 1);
            return before + u64::from(full + rest.count_ones());
        }
        let next = self.order.partition_point(|(block, _)| *block < number);
        self.order.get(next).map_or(self.pages, |(_, before)| *before)
    }

    /// How many lie in a region.
    pub fn within(&self, region: &TapeRegion) -> u64 {
        self.below(region.first.0.saturating_add(region.count)) - self.below(region.first.0)
    }
}

/// Where a page is noted in its block.
fn place(page: u64) -> (usize, u32) {
    let within = page & ((1 << BLOCK_SHIFT) - 1);
    ((within / 64) as usize, (within % 64) as u32)
}

/// The uses of one thread.
#[derive(Debug)]
pub struct Picture {
    thread: u32,
    uses: u64,
    pages: u64,
    heat: Heat,
    labels: Vec<RowLabel>,
}

impl Picture {
    /// The touches and fetches of `thread`.
    ///
    /// # Errors
    /// If the tape cannot be read.
    pub fn of(tape: &TapeReader, thread: u32, used: &UsedPages) -> Result<Self, TapeError> {
        let counts = tape.summary().threads.get(&thread).copied().unwrap_or_default();
        let (uses, pages) = (counts.touches.saturating_add(counts.fetches), used.count());
        let mut heat = Heat::new(uses, pages, COLUMNS, ROWS);
        let (mut steps, mut block) = (Vec::new(), tape.steps(thread));
        while block.next_block(&mut steps)? {
            let uses = steps.iter().filter(|step| step.kind != StepKind::Evict);
            uses.for_each(|step| heat.add(used.below(step.page.0)));
        }
        let labels = labels(tape.regions(), used, &heat);
        Ok(Self { thread, uses, pages, heat, labels })
    }

    /// As a chart.
    pub fn chart(&self) -> HeatMap {
        HeatMap {
            title: format!("Pages touched and fetched by thread {}", self.thread),
            x: Axis::linear("touch or fetch"),
            y: Axis::linear("page of the tape, without gaps"),
            unit: "uses".to_owned(),
            columns: self.heat.columns(),
            rows: self.heat.rows(),
            x_range: (0.0, self.uses as f64),
            y_range: (0.0, self.pages as f64),
            cells: self.heat.cells().iter().map(|cell| *cell as f32).collect(),
            row_labels: self.labels.clone(),
        }
    }

    /// As lines of at most `width` characters, the highest pages first.
    pub fn lines(&self, (width, height): (usize, usize), shades: &Shades) -> Vec<String> {
        let small = self.heat.shrunk(width, height);
        let most = small.cells().iter().copied().max().unwrap_or(0);
        let line = |cells: &[u32]| cells.iter().map(|cell| shades[shade(*cell, most)]).collect();
        small.cells().chunks(small.columns()).rev().map(line).collect()
    }
}

/// The name of a region for people.
pub fn name_of(region: &TapeRegion) -> String {
    match region.site {
        0 => "no known allocation".to_owned(),
        site => format!("{site:016x} #{}", region.nth),
    }
}

/// The regions with the most used pages.
fn labels(regions: &[TapeRegion], used: &UsedPages, heat: &Heat) -> Vec<RowLabel> {
    let counted = regions.iter().map(|region| (used.within(region), region));
    let mut counted: Vec<_> = counted.filter(|(pages, _)| *pages > 0).collect();
    counted.sort_by_key(|(pages, region)| (std::cmp::Reverse(*pages), region.first.0));
    let label = |(pages, region): &(u64, &TapeRegion)| {
        let below = used.below(region.first.0);
        let (first, last) = (heat.row_of(below), heat.row_of(below + pages - 1));
        RowLabel { first, rows: last - first + 1, name: name_of(region) }
    };
    counted.iter().take(MOST_LABELS).map(label).collect()
}
