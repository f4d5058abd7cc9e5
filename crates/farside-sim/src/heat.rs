//! Which pages are used when: accesses counted by stretches of time and ranges of pages.

/// Accesses by stretch of time and by range of page ranks.
///
/// The grid has a fixed size, so memory does not depend on the trace. How long the trace is and how many
/// pages it touches has to be known: a first pass tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heat {
    accesses: u64,
    pages: u64,
    columns: usize,
    rows: usize,
    seen: u64,
    cells: Vec<u32>,
}

impl Heat {
    /// An empty grid for a trace of `accesses` accesses to `pages` pages, of at most `columns` stretches
    /// and `rows` ranges: never more than there are accesses and pages, nor less than one.
    pub fn new(accesses: u64, pages: u64, columns: usize, rows: usize) -> Self {
        let fewer = |most: usize, there: u64| most.min(there.min(1 << 20) as usize).max(1);
        let (columns, rows) = (fewer(columns, accesses), fewer(rows, pages));
        let (accesses, pages) = (accesses.max(1), pages.max(1));
        Self { accesses, pages, columns, rows, seen: 0, cells: vec![0; columns * rows] }
    }

    /// Counts the next access, to the page of this rank. What goes beyond the grid falls into its last
    /// cells.
    #[inline]
    pub fn add(&mut self, rank: u64) {
        let column = place(self.seen, self.accesses, self.columns);
        let row = place(rank, self.pages, self.rows);
        self.seen += 1;
        let cell = &mut self.cells[row * self.columns + column];
        *cell = cell.saturating_add(1);
    }

    /// Number of stretches.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of ranges.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The counts, range after range from the lowest ranks, each from the beginning of the trace.
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }

    /// The first access of a stretch, or the number of accesses.
    pub fn access_at(&self, column: usize) -> u64 {
        begin(column, self.accesses, self.columns)
    }

    /// The row that a rank lies in.
    pub fn row_of(&self, rank: u64) -> usize {
        place(rank, self.pages, self.rows)
    }

    /// The same counts in a smaller grid.
    pub fn shrunk(&self, columns: usize, rows: usize) -> Self {
        let mut small = Self::new(self.accesses, self.pages, columns, rows);
        small.columns = small.columns.min(self.columns);
        small.rows = small.rows.min(self.rows);
        small.cells.truncate(small.columns * small.rows);
        for row in 0..self.rows {
            let to = row * small.rows / self.rows * small.columns;
            for column in 0..self.columns {
                let cell = &mut small.cells[to + column * small.columns / self.columns];
                *cell = cell.saturating_add(self.cells[row * self.columns + column]);
            }
        }
        small.seen = self.seen;
        small
    }
}

/// Which of `parts` parts of `0..whole` `at` lies in.
#[inline]
fn place(at: u64, whole: u64, parts: usize) -> usize {
    let part = (u128::from(at) * parts as u128 / u128::from(whole)) as usize;
    part.min(parts - 1)
}

/// The first number in a part of `0..whole`.
fn begin(part: usize, whole: u64, parts: usize) -> u64 {
    (part as u128 * u128::from(whole)).div_ceil(parts as u128) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn accesses_fall_into_their_cells() {
        let mut heat = Heat::new(8, 4, 2, 2);
        [0, 1, 2, 3, 3, 3, 3, 0].into_iter().for_each(|rank| heat.add(rank));
        assert_eq!(heat.cells(), [2, 1, 2, 3]);
        assert_eq!([0, 1, 2].map(|column| heat.access_at(column)), [0, 4, 8]);
        assert_eq!(heat.shrunk(1, 2).cells(), [3, 5]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(
            ranks in prop::collection::vec(0..1000_u64, 0..500),
            columns in 0..70_usize,
            rows in 0..70_usize,
        ) {
            let mut heat = Heat::new(ranks.len() as u64, 1000, columns, rows);
            ranks.iter().for_each(|rank| heat.add(*rank));
            let sum = |heat: &Heat| heat.cells().iter().map(|cell| u64::from(*cell)).sum::<u64>();
            prop_assert_eq!(sum(&heat), ranks.len() as u64);
            prop_assert_eq!(sum(&heat.shrunk(7, 3)), ranks.len() as u64);
            prop_assert_eq!(heat.access_at(heat.columns()), ranks.len().max(1) as u64);
            for column in 0..heat.columns() {
                let first = heat.access_at(column);
                prop_assert_eq!(place(first, ranks.len().max(1) as u64, heat.columns()), column);
            }
        }
    }
}
