//! Cells as pixels.

use super::canvas::encode;
use super::style::heat_colour;

/// One pixel a cell, as PNG: row 0 of `cells` is the lowest, its numbers from left to right.
///
/// Colours follow the logarithm of a number's share of the greatest one, since most pages are used much
/// less than the most used ones.
///
/// # Errors
/// If there are not `columns * rows` cells, or none.
pub fn heat_png(cells: &[f32], columns: usize, rows: usize) -> Result<Vec<u8>, png::EncodingError> {
    let shares = shares(cells);
    let mut pixels = Vec::with_capacity(cells.len() * 3);
    for row in shares.chunks(columns.max(1)).rev() {
        for share in row {
            let (red, green, blue) = heat_colour(*share);
            pixels.extend([red, green, blue]);
        }
    }
    encode(&pixels, columns as u32, rows as u32)
}

/// Where each number stands between nothing and the greatest one.
pub fn shares(cells: &[f32]) -> Vec<f32> {
    let most = cells.iter().copied().filter(|cell| cell.is_finite()).fold(0.0, f32::max);
    cells.iter().map(|cell| if most > 0.0 { cell.ln_1p() / most.ln_1p() } else { 0.0 }).collect()
}
