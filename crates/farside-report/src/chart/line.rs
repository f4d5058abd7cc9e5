//! Lines: one number by another, for several series.

use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{Circle, PathElement, Polygon};
use plotters::prelude::DrawingBackend;
use plotters::style::{Color, RGBColor};

use super::axis::Span;
use super::canvas::{self, Drawn, Picture, px, text};
use super::legend::{self, Sample};
use super::mesh::{self, Mesh};
use super::style::{dash_of, rgb};
use super::{Axis, ChartError};

/// Most points of a series that are drawn; there are not many more pixels.
const MOST_POINTS: usize = 2000;

/// A series with at most so many points shows each of them.
pub const FEW_POINTS: usize = 24;

/// Markers of a series with more.
const MARKERS: usize = 7;

/// Points in the plane, with a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// What they are.
    pub name: String,
    /// The points, in ascending order of the first number.
    pub points: Vec<(f64, f64)>,
}

/// Several series over one axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChart {
    /// What it shows.
    pub title: String,
    /// The axis of the first numbers.
    pub x: Axis,
    /// That of the second.
    pub y: Axis,
    /// The series; each has its own colour, dashes and marker.
    pub series: Vec<Series>,
    /// Whether a value holds until the next point. A series of a few points, which all have a marker,
    /// is taken for samples, which are joined by straight lines.
    pub steps: bool,
}

impl LineChart {
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

    fn spans(&self) -> (Span, Span) {
        let points = || self.series.iter().flat_map(|series| series.points.iter());
        // What has no place on the one axis needs none on the other.
        let x = Span::of(self.x.scale, points().map(|point| point.0));
        let y = Span::of(self.y.scale, points().filter(|point| x.shows(point.0)).map(|p| p.1));
        (x, y)
    }
}

impl Picture for LineChart {
    fn title(&self) -> &str {
        &self.title
    }

    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Drawn<(), B> {
        let names = || self.series.iter().map(|series| series.name.as_str());
        let column = legend::width(area, names());
        let (width, _) = area.dim_in_pixel();
        let (plot, side) = area.split_horizontally(width as i32 - column);
        let (x, y) = self.spans();
        let left = mesh::left_room(area, &y);
        let mut chart = ChartBuilder::on(&plot)
            .margin(px(8))
            .margin_right(px(24))
            .caption(canvas::fitted(area, &self.title, &text(15), width as i32 - left), text(15))
            .x_label_area_size(px(42))
            .y_label_area_size(left)
            .build_cartesian_2d(x.clone(), y.clone())?;
        let (x_label, y_label) = (self.x.label.as_str(), self.y.label.as_str());
        let frame = Mesh { x: x_label, y: y_label, x_ticks: 9, y_ticks: 8, lines: true };
        mesh::draw(&mut chart, &frame)?;
        let inner = chart.plotting_area().strip_coord_spec();
        let (base_x, base_y) = inner.get_base_pixel();
        for (number, series) in self.series.iter().enumerate() {
            let shown = series.points.iter().filter(|point| x.shows(point.0) && y.shows(point.1));
            let at = |point: &(f64, f64)| {
                let (x, y) = chart.plotting_area().map_coordinate(point);
                (x - base_x, y - base_y)
            };
            let points = thinned(shown.map(at).collect());
            draw_series(&inner, number, &points, self.steps)?;
        }
        legend::draw(&side, names().filter(|_| column > 0), Sample::Line)
    }
}

fn draw_series<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    number: usize,
    points: &[(i32, i32)],
    steps: bool,
) -> Drawn<(), B> {
    let samples = points.len() <= FEW_POINTS;
    let path = if steps && !samples { stepped(points) } else { points.to_vec() };
    let style = rgb(number).stroke_width(px(2) as u32 * 7 / 8);
    for piece in dashes(&path, dash_of(number)) {
        area.draw(&PathElement::new(piece, style))?;
    }
    // Not at the same places for all, so that markers of lines that lie together do not.
    let every = if points.len() <= FEW_POINTS { 1 } else { points.len().div_ceil(MARKERS) };
    let first = if every == 1 { 0 } else { (number * 5 % MARKERS) * every / MARKERS };
    points.iter().skip(first).step_by(every).try_for_each(|point| marker(area, number, *point))
}

/// Points of which no two share a place, and not more than can be told apart.
fn thinned(mut points: Vec<(i32, i32)>) -> Vec<(i32, i32)> {
    points.dedup();
    let every = points.len().div_ceil(MOST_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.iter().enumerate().filter(|(i, _)| i % every == 0 || *i == last);
    kept.map(|(_, point)| *point).collect()
}

fn stepped(points: &[(i32, i32)]) -> Vec<(i32, i32)> {
    let mut path: Vec<(i32, i32)> = Vec::with_capacity(2 * points.len());
    for point in points {
        if let Some(last) = path.last().copied() {
            path.push((point.0, last.1));
        }
        path.push(*point);
    }
    path
}

/// Cuts a path into the pieces that are drawn; the pattern is in CSS pixels.
pub fn dashes(path: &[(i32, i32)], pattern: &[u32]) -> Vec<Vec<(i32, i32)>> {
    if pattern.is_empty() || path.len() < 2 {
        return vec![path.to_vec()];
    }
    let mut pieces = Vec::new();
    let mut piece = vec![path[0]];
    let (mut turn, mut left) = (0, f64::from(px(pattern[0])));
    for ends in path.windows(2) {
        let (from, to) = (ends[0], ends[1]);
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = dx.hypot(dy);
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let share = done / length;
            let at = (from.0 + (dx * share).round() as i32, from.1 + (dy * share).round() as i32);
            if turn % 2 == 0 {
                piece.push(at);
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![at];
            }
            turn += 1;
            left = f64::from(px(pattern[turn % pattern.len()]));
        }
        left -= length - done;
        if turn % 2 == 0 {
            piece.push(to);
        }
    }
    pieces.push(piece);
    pieces.retain(|piece| piece.len() > 1);
    pieces
}

/// Draws the marker of a series: circles, squares, triangles and so on, filled and open.
pub fn marker<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    series: usize,
    at: (i32, i32),
) -> Drawn<(), B> {
    let colour: RGBColor = rgb(series);
    let size = px(4);
    let corners: &[(i32, i32)] = match series % 5 {
        0 => return area.draw(&Circle::new(at, size * 4 / 5, colour.filled())),
        1 => &[(0, -5), (5, 4), (-5, 4)],
        2 => &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
        3 => &[(0, -6), (5, 0), (0, 6), (-5, 0)],
        _ => &[(0, 5), (5, -4), (-5, -4)],
    };
    let point = |(x, y): &(i32, i32)| (at.0 + x * size / 4, at.1 + y * size / 4);
    let polygon: Vec<(i32, i32)> = corners.iter().map(point).collect();
    area.draw(&Polygon::new(polygon, colour.filled()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_cover_their_share_of_a_path() {
        let path = [(0, 0), (400, 0), (400, 400)];
        let drawn: i32 = dashes(&path, &[8, 4])
            .iter()
            .flat_map(|piece| piece.windows(2))
            .map(|ends| (ends[1].0 - ends[0].0).abs() + (ends[1].1 - ends[0].1).abs())
            .sum();
        assert!((500..560).contains(&drawn), "{drawn}");
        assert_eq!(dashes(&path, &[]), [path.to_vec()]);
        assert!(dashes(&[(1, 1)], &[8, 4]).concat().len() <= 1);
    }

    #[test]
    fn values_hold_until_the_next_point() {
        assert_eq!(stepped(&[(0, 5), (3, 2)]), [(0, 5), (3, 5), (3, 2)]);
    }

    #[test]
    fn the_last_point_is_never_left_out() {
        let many = thinned((0..50_000).map(|i| (i, -i)).collect());
        assert!(many.len() <= MOST_POINTS + 1);
        assert_eq!((many[0], many[many.len() - 1]), ((0, 0), (49_999, -49_999)));
        assert!(thinned(Vec::new()).is_empty());
    }
}
