//! The heat map in a few lines of text.

use farside_sim::heat::Heat;
use farside_sim::regions::Regions;

/// From nothing to the most.
pub type Shades = [char; 5];

/// Shades of Unicode's block elements.
pub const BLOCKS: Shades = [' ', '\u{2591}', '\u{2592}', '\u{2593}', '\u{2588}'];

/// Shades that every terminal and file shows.
pub const ASCII: Shades = [' ', '.', ':', '*', '#'];

/// Lines of at most `width` characters, the highest pages first, each with the name of the region that
/// has most of its pages where it differs from the line above.
pub fn lines(
    heat: &Heat,
    regions: &Regions,
    pages: u64,
    (width, height): (usize, usize),
    shades: &Shades,
) -> Vec<(String, String)> {
    let small = heat.shrunk(width, height);
    let most = small.cells().iter().copied().max().unwrap_or(0);
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut above = None;
    let rows: Vec<&[u32]> = small.cells().chunks(small.columns()).collect();
    for (row, cells) in rows.iter().enumerate().rev() {
        let cells = cells.iter().map(|cell| shades[shade(*cell, most)]).collect();
        let region = main_region(regions, &small, row, pages);
        let name = match region {
            Some(number) if region != above => regions.list()[number].name.clone(),
            _ => String::new(),
        };
        above = region.or(above);
        lines.push((cells, name));
    }
    lines
}

/// 0 for nothing, then by the logarithm of the share.
pub fn shade(cell: u32, most: u32) -> usize {
    if cell == 0 {
        return 0;
    }
    let share = f64::from(cell).ln_1p() / f64::from(most).ln_1p();
    (1 + (share * 4.0) as usize).min(4)
}

/// The region that has most of the pages of a row.
fn main_region(regions: &Regions, heat: &Heat, row: usize, pages: u64) -> Option<usize> {
    let mut counts = vec![0_u64; regions.list().len()];
    let begin = (0..pages).step_by(1 + pages as usize / 4096);
    begin.filter(|rank| heat.row_of(*rank) == row).for_each(|rank| counts[regions.of(rank)] += 1);
    let best = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
    (*best.1 > 0).then_some(best.0)
}
