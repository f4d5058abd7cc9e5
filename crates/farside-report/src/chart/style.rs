//! Colours, dashes and markers.

use plotters::style::RGBColor;

/// Colours that the colour-blind can tell apart (Okabe and Ito, 2008), without its yellow, which paper
/// does not show; behind them dark ones of Paul Tol's.
const COLOURS: [(u8, u8, u8); 12] = [
    (0, 0, 0),
    (213, 94, 0),
    (0, 114, 178),
    (0, 158, 115),
    (204, 121, 167),
    (86, 180, 233),
    (230, 159, 0),
    (120, 120, 120),
    (136, 34, 85),
    (51, 34, 136),
    (153, 153, 51),
    (17, 119, 51),
];

/// Lengths of what is drawn and what is left out by turns, in CSS pixels.
const DASHES: [&[u32]; 5] = [&[], &[8, 4], &[2, 3], &[10, 3, 2, 3], &[5, 2]];

/// The colour of a series by its place: red, green, blue.
pub fn colour_of(series: usize) -> (u8, u8, u8) {
    COLOURS[series % COLOURS.len()]
}

/// The dashes of a series by its place, in CSS pixels; empty for a full line.
pub fn dash_of(series: usize) -> &'static [u32] {
    DASHES[series % DASHES.len()]
}

/// Colours of a heat map, from nothing to the most: white to black by way of yellow and red, so that
/// darker is more in grey too.
pub const HEAT_STOPS: [(u8, u8, u8); 6] =
    [(255, 255, 255), (254, 224, 144), (253, 174, 97), (215, 48, 39), (122, 1, 60), (20, 0, 20)];

/// The colour of a share between 0 and 1; anything above 0 is told from 0.
pub fn heat_colour(share: f32) -> (u8, u8, u8) {
    if share.is_nan() || share <= 0.0 {
        return HEAT_STOPS[0];
    }
    let at = (0.12 + 0.88 * share.min(1.0)) * (HEAT_STOPS.len() - 1) as f32;
    let low = (at as usize).min(HEAT_STOPS.len() - 2);
    let part = at - low as f32;
    let (from, to) = (HEAT_STOPS[low], HEAT_STOPS[low + 1]);
    let mix = |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * part).round() as u8;
    (mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

/// The colour of a series as the drawing library wants it.
pub fn rgb(series: usize) -> RGBColor {
    let (red, green, blue) = colour_of(series);
    RGBColor(red, green, blue)
}
