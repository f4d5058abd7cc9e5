//! Which line is which: a column of names beside the plot.

use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{PathElement, Rectangle, Text};
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, RGBColor};

use super::canvas::{Drawn, fitted, px, text, width_of};
use super::line::{dashes, marker};
use super::style::{dash_of, rgb};

/// Size of the names.
const TEXT: u32 = 12;

/// Room for a piece of line.
const SAMPLE: u32 = 34;

/// Widest column.
const MOST: u32 = 260;

/// How a name is shown.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Sample {
    /// A piece of line with its marker.
    Line,
    /// A square.
    Bar,
}

/// Width of the column, in units of the drawing; 0 if there is at most one name.
pub fn width<'a, B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    names: impl Iterator<Item = &'a str>,
) -> i32 {
    let widths: Vec<i32> = names.map(|name| width_of(area, name, &text(TEXT))).collect();
    match widths.iter().max() {
        Some(widest) if widths.len() > 1 => (widest + px(SAMPLE + 24)).min(px(MOST)),
        _ => 0,
    }
}

/// Draws the names in their order from the top.
pub fn draw<'a, B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    names: impl Iterator<Item = &'a str>,
    sample: Sample,
) -> Drawn<(), B> {
    let (width, height) = area.dim_in_pixel();
    let names: Vec<&str> = names.collect();
    let line = px(19).min((height as i32 - px(30)) / names.len().max(1) as i32);
    let style = text(TEXT).pos(Pos::new(HPos::Left, VPos::Center));
    for (series, name) in names.iter().enumerate() {
        let y = px(20) + line * series as i32;
        let (from, to) = ((px(8), y), (px(8 + SAMPLE), y));
        let colour: RGBColor = rgb(series);
        match sample {
            Sample::Line => {
                for piece in dashes(&[from, to], dash_of(series)) {
                    area.draw(&PathElement::new(piece, colour.stroke_width(px(2) as u32)))?;
                }
                marker(area, series, ((from.0 + to.0) / 2, y))?;
            }
            Sample::Bar => {
                let square = [(px(20), y - px(5)), (px(30), y + px(5))];
                area.draw(&Rectangle::new(square, colour.filled()))?;
            }
        }
        let room = width as i32 - px(SAMPLE + 20);
        let name = fitted(area, name, &style, room);
        area.draw(&Text::new(name, (px(SAMPLE + 14), y), style.clone()))?;
    }
    Ok(())
}
