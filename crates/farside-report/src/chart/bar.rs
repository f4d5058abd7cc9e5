//! Bars: a number for each series in each group.

use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{PathElement, Rectangle, Text};
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color};

use super::axis::Span;
use super::canvas::{self, Drawn, Picture, fitted, px, text};
use super::legend::{self, Sample};
use super::mesh::{self, Mesh};
use super::style::rgb;
use super::{Axis, ChartError, Scale};

/// Share of a group's room that its bars take.
const FILLED: f64 = 0.8;

/// Groups of bars side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarChart {
    /// What it shows.
    pub title: String,
    /// Names of the groups.
    pub groups: Vec<String>,
    /// Name of each series, and its number in each group; what is missing or not finite has no bar.
    pub series: Vec<(String, Vec<f64>)>,
    /// The axis of the numbers. On a logarithmic one bars begin at its lower end.
    pub y: Axis,
}

impl BarChart {
    /// The chart as SVG.
    ///
    /// # Errors
    /// If it cannot be drawn.
    pub fn to_svg(&self) -> Result<String, ChartError> {
        canvas::to_svg(self)
    }

    /// The chart as PNG.
    ///
    /// # Errors
    /// If it cannot be drawn or compressed.
    pub fn to_png(&self) -> Result<Vec<u8>, ChartError> {
        canvas::to_png(self)
    }

    /// Every bar: its series, its ends from left to right in groups, and its number.
    fn bars(&self) -> impl Iterator<Item = (usize, f64, f64, f64)> + '_ {
        let width = FILLED / self.series.len().max(1) as f64;
        self.series.iter().enumerate().flat_map(move |(series, (_, values))| {
            values.iter().take(self.groups.len()).enumerate().map(move |(group, value)| {
                let left = group as f64 + (1.0 - FILLED) / 2.0 + width * series as f64;
                (series, left, left + width * 0.92, *value)
            })
        })
    }

    fn label_groups<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        (left, right): (i32, i32),
        y: i32,
    ) -> Drawn<(), B> {
        let room = f64::from(right - left) / self.groups.len().max(1) as f64;
        let style = text(12).pos(Pos::new(HPos::Center, VPos::Top));
        for (group, name) in self.groups.iter().enumerate() {
            let x = left + (room * (group as f64 + 0.5)) as i32;
            let name = fitted(area, name, &style, room as i32 - px(4));
            area.draw(&Text::new(name, (x, y), style.clone()))?;
        }
        Ok(())
    }
}

impl Picture for BarChart {
    fn title(&self) -> &str {
        &self.title
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Drawn<(), B> {
        let names = || self.series.iter().map(|(name, _)| name.as_str());
        let column = legend::width(area, names());
        let (width, _) = area.dim_in_pixel();
        let (plot, side) = area.split_horizontally(width as i32 - column);
        let x = Span::exact(Scale::Linear, 0.0, self.groups.len().max(1) as f64);
        let y = Span::of(self.y.scale, self.bars().map(|(_, _, _, value)| value));
        let left = mesh::left_room(area, &y);
        let mut chart = ChartBuilder::on(&plot)
            .margin(px(8))
            .caption(fitted(area, &self.title, &text(15), width as i32 - left), text(15))
            .x_label_area_size(px(24))
            .y_label_area_size(left)
            .build_cartesian_2d(x, y.clone())?;
        let frame = Mesh { x: "", y: &self.y.label, x_ticks: 0, y_ticks: 8, lines: true };
        mesh::draw(&mut chart, &frame)?;
        let floor = y.floor();
        for (series, left, right, value) in self.bars().filter(|bar| y.shows(bar.3)) {
            let bar = Rectangle::new([(left, floor), (right, value)], rgb(series).filled());
            chart.plotting_area().draw(&bar)?;
        }
        let ends = chart.plotting_area().get_pixel_range();
        let base = PathElement::new(
            [(ends.0.start, ends.1.end), (ends.0.end, ends.1.end)],
            BLACK.stroke_width(px(1) as u32),
        );
        plot.draw(&base)?;
        self.label_groups(&plot, (ends.0.start, ends.0.end), ends.1.end + px(7))?;
        legend::draw(&side, names().filter(|_| column > 0), Sample::Bar)
    }
}
