//! Heat maps: how much there is in each cell of a grid.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{PathElement, Rectangle, Text};
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, RGBColor};

use super::axis::Span;
use super::canvas::{self, Drawn, Picture, UNIT, fitted, px, text, width_of};
use super::mesh::{self, Mesh};
use super::pixels::shares;
use super::style::heat_colour;
use super::{Axis, ChartError, HEIGHT, Scale, WIDTH, heat_png, short_number};

/// Room around the cells, in CSS pixels.
const LEFT: u32 = 78;
const RIGHT: u32 = 200;
const TOP: u32 = 46;
const BOTTOM: u32 = 50;

/// A name for a band of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowLabel {
    /// The lowest row.
    pub first: usize,
    /// Number of rows.
    pub rows: usize,
    /// What they are.
    pub name: String,
}

/// A grid of numbers, shown by colours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// What it shows.
    pub title: String,
    /// What goes from left to right. Always linear.
    pub x: Axis,
    /// What goes upwards. Always linear.
    pub y: Axis,
    /// What the numbers in the cells are.
    pub unit: String,
    /// Cells in a row.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
    /// From which number to which the columns go.
    pub x_range: (f64, f64),
    /// From which number to which the rows go.
    pub y_range: (f64, f64),
    /// The numbers, row after row from the lowest, each from left to right.
    pub cells: Vec<f32>,
    /// Names of bands of rows, shown beside them.
    pub row_labels: Vec<RowLabel>,
}

impl HeatMap {
    /// The chart as SVG; the cells are a picture in it.
    ///
    /// # Errors
    /// If it cannot be drawn.
    pub fn to_svg(&self) -> Result<String, ChartError> {
        let svg = canvas::to_svg(&Drawing { map: self, cells: false })?;
        if self.cells.is_empty() {
            return Ok(svg);
        }
        let png = heat_png(&self.cells, self.columns, self.rows)
            .map_err(|source| ChartError::Png { title: self.title.clone(), source })?;
        let image = format!(
            "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
             style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>\n",
            LEFT * UNIT,
            TOP * UNIT,
            (WIDTH - LEFT - RIGHT) * UNIT,
            (HEIGHT - TOP - BOTTOM) * UNIT,
            STANDARD.encode(png)
        );
        // Behind the white ground, before all lines.
        let ground = svg.find("/>").map_or(svg.len(), |at| at + 2);
        Ok(format!("{}\n{image}{}", &svg[..ground], &svg[ground..]))
    }

    /// The chart as PNG.
    ///
    /// # Errors
    /// If it cannot be drawn or compressed.
    pub fn to_png(&self) -> Result<Vec<u8>, ChartError> {
        canvas::to_png(&Drawing { map: self, cells: true })
    }
}

/// A heat map with or without its cells.
struct Drawing<'a> {
    map: &'a HeatMap,
    cells: bool,
}

impl Picture for Drawing<'_> {
    fn title(&self) -> &str {
        &self.map.title
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Drawn<(), B> {
        let map = self.map;
        if self.cells {
            draw_cells(map, area)?;
        }
        let mut chart = ChartBuilder::on(area)
            .margin_top(px(TOP))
            .margin_right(px(RIGHT))
            .x_label_area_size(px(BOTTOM))
            .margin_left(px(8))
            .y_label_area_size(px(LEFT - 8))
            .build_cartesian_2d(
                Span::exact(Scale::Linear, map.x_range.0, map.x_range.1),
                Span::exact(Scale::Linear, map.y_range.0, map.y_range.1),
            )?;
        let (x, y) = (map.x.label.as_str(), map.y.label.as_str());
        mesh::draw(&mut chart, &Mesh { x, y, x_ticks: 8, y_ticks: 8, lines: false })?;
        draw_bands(map, area)?;
        let title = fitted(area, &map.title, &text(15), px(WIDTH - RIGHT - 90));
        area.draw(&Text::new(title, (px(LEFT), px(14)), text(15)))?;
        draw_scale(map, area)
    }
}

/// Height of a row's lower edge.
fn edge(map: &HeatMap, row: usize) -> i32 {
    let room = px(HEIGHT - TOP - BOTTOM);
    px(HEIGHT - BOTTOM) - (room as i64 * row as i64 / map.rows.max(1) as i64) as i32
}

fn draw_cells<B: DrawingBackend>(map: &HeatMap, area: &DrawingArea<B, Shift>) -> Drawn<(), B> {
    let columns = map.columns.max(1);
    let room = px(WIDTH - LEFT - RIGHT) as i64;
    let x = |column: usize| px(LEFT) + (room * column as i64 / columns as i64) as i32;
    for (row, shares) in shares(&map.cells).chunks(columns).enumerate() {
        let mut from = 0;
        for run in shares.chunk_by(|a, b| a == b) {
            let (red, green, blue) = heat_colour(run[0]);
            let corners = [(x(from), edge(map, row + 1)), (x(from + run.len()), edge(map, row))];
            area.draw(&Rectangle::new(corners, RGBColor(red, green, blue).filled()))?;
            from += run.len();
        }
    }
    Ok(())
}

/// Names the bands beside the cells; a name that has no room is left out.
fn draw_bands<B: DrawingBackend>(map: &HeatMap, area: &DrawingArea<B, Shift>) -> Drawn<(), B> {
    let (left, right) = (px(LEFT), px(WIDTH - RIGHT));
    let style = text(11).pos(Pos::new(HPos::Left, VPos::Center));
    let thin = BLACK.mix(0.45).stroke_width(px(1) as u32 / 2);
    // The largest bands get their names first.
    let mut bands: Vec<&RowLabel> = map.row_labels.iter().collect();
    bands.sort_by_key(|band| (std::cmp::Reverse(band.rows), band.first));
    let mut taken: Vec<i32> = Vec::new();
    for band in bands {
        let (low, high) = (edge(map, band.first), edge(map, band.first + band.rows));
        for y in [low, high] {
            area.draw(&PathElement::new([(left, y), (right + px(6), y)], thin))?;
        }
        let y = (low + high) / 2;
        if taken.iter().all(|other| (other - y).abs() >= px(12)) {
            let name = fitted(area, &band.name, &style, px(RIGHT - 16));
            area.draw(&Text::new(name, (right + px(10), y), style.clone()))?;
            taken.push(y);
        }
    }
    Ok(())
}

/// The colours and what they stand for.
fn draw_scale<B: DrawingBackend>(map: &HeatMap, area: &DrawingArea<B, Shift>) -> Drawn<(), B> {
    let most = map.cells.iter().copied().fold(0.0, f32::max);
    let style = text(11).pos(Pos::new(HPos::Left, VPos::Center));
    let words = format!("{} {}", short_number(f64::from(most)), map.unit);
    let (pieces, y) = (32, px(23));
    let piece = px(3);
    let right = px(WIDTH - 8) - width_of(area, &words, &style).min(px(RIGHT));
    let left = right - px(6) - piece * pieces;
    for i in 0..pieces {
        let (red, green, blue) = heat_colour((i + 1) as f32 / pieces as f32);
        let corners = [(left + piece * i, y - px(5)), (left + piece * (i + 1), y + px(5))];
        area.draw(&Rectangle::new(corners, RGBColor(red, green, blue).filled()))?;
    }
    area.draw(&Text::new("1", (left - px(12), y), style.clone()))?;
    area.draw(&Text::new(words, (right, y), style))
}
