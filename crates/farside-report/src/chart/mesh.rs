//! Frame, ticks and labels, the same for every chart.

use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::DrawingArea;
use plotters::prelude::DrawingBackend;
use plotters::style::{BLACK, Color, RGBColor};

use super::axis::Span;
use super::canvas::{Drawn, px, text, width_of};
use super::short_number;

/// Colour of the lines behind the ticks.
const GRID: RGBColor = RGBColor(222, 222, 222);

/// What a mesh shows besides its frame.
pub struct Mesh<'a> {
    /// Label of the horizontal axis.
    pub x: &'a str,
    /// Label of the vertical axis.
    pub y: &'a str,
    /// Ticks on the horizontal axis, at most; 0 for none.
    pub x_ticks: usize,
    /// Ticks on the vertical axis, at most.
    pub y_ticks: usize,
    /// Whether there are lines across.
    pub lines: bool,
}

/// Draws them.
pub fn draw<B: DrawingBackend>(
    chart: &mut ChartContext<'_, B, Cartesian2d<Span, Span>>,
    mesh: &Mesh<'_>,
) -> Drawn<(), B> {
    let thin = px(1) as u32 * 3 / 4;
    let line = GRID.mix(if mesh.lines { 1.0 } else { 0.0 }).stroke_width(thin);
    let mut style = chart.configure_mesh();
    style
        .axis_style(BLACK.stroke_width(thin))
        .bold_line_style(line)
        .light_line_style(GRID.mix(0.0))
        .label_style(text(12))
        .axis_desc_style(text(12))
        .set_all_tick_mark_size(px(4))
        .x_labels(mesh.x_ticks)
        .y_labels(mesh.y_ticks)
        .x_desc(mesh.x)
        .y_desc(mesh.y);
    if mesh.x_ticks == 0 {
        style.disable_x_mesh().x_label_style(text(1));
    }
    style.draw()
}

/// Room for the ticks and the label of a vertical axis, in units of the drawing.
pub fn left_room<B: DrawingBackend>(area: &DrawingArea<B, Shift>, y: &Span) -> i32 {
    let ticks = y.ticks(8).into_iter().map(short_number);
    ticks.map(|tick| width_of(area, &tick, &text(12))).max().unwrap_or(0) + px(28)
}
