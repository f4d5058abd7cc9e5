//! The numbers of a figure as the page's scripts read them.

use serde_json::{Value, json};

use super::Figure;
use crate::chart::{FEW_POINTS, HEAT_STOPS, HeatMap, LineChart, Scale, colour_of, dash_of};

/// Most points of a line in a page; there are not many more pixels, even zoomed.
const MOST_POINTS: usize = 3000;

/// The numbers, or `None` if a figure has no script.
pub fn of(figure: &Figure) -> Option<Value> {
    match figure {
        Figure::Lines(chart) => Some(lines(chart)),
        Figure::Heat(map) => Some(heat(map)),
        // A flame graph brings its own.
        Figure::Bars(_) | Figure::Flames(_) => None,
    }
}

/// JSON that may stand inside a script element, whatever its texts hold.
pub fn embedded(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

fn lines(chart: &LineChart) -> Value {
    let series = |(number, series): (usize, &crate::chart::Series)| {
        let (red, green, blue) = colour_of(number);
        let points = thinned(&series.points);
        json!({
            "name": series.name,
            "colour": format!("rgb({red},{green},{blue})"),
            "dash": dash_of(number),
            "samples": series.points.len() <= FEW_POINTS,
            "x": points.iter().map(|point| point.0).collect::<Vec<_>>(),
            "y": points.iter().map(|point| point.1).collect::<Vec<_>>(),
        })
    };
    json!({
        "kind": "lines",
        "x": chart.x.label,
        "y": chart.y.label,
        "xLog": chart.x.scale == Scale::Log,
        "yLog": chart.y.scale == Scale::Log,
        "steps": chart.steps,
        "series": chart.series.iter().enumerate().map(series).collect::<Vec<_>>(),
    })
}

/// Points spread evenly over the width, half of them, and over the height; first and last always.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let Some(((first, last), true)) =
        points.first().zip(points.last()).map(|ends| (ends, points.len() > MOST_POINTS))
    else {
        return points.to_vec();
    };
    let (width, height) = (last.0 - first.0, last.1 - first.1);
    let step = |share: f64| (share * (MOST_POINTS / 2) as f64) as i64;
    let place = |point: &(f64, f64)| {
        let x = if width == 0.0 { 0.0 } else { (point.0 - first.0) / width };
        let y = if height == 0.0 { 0.0 } else { (point.1 - first.1) / height };
        (step(x), step(y))
    };
    let mut kept: Vec<(f64, f64)> = Vec::with_capacity(MOST_POINTS + 2);
    for point in points {
        if kept.last().is_none_or(|last| place(last) != place(point)) {
            kept.push(*point);
        }
    }
    if kept.last() != Some(last) {
        kept.push(*last);
    }
    kept
}

/// Whole numbers without a point: they are many.
fn number(cell: f32) -> Value {
    if cell.fract() == 0.0 && (0.0..1e9).contains(&cell) { json!(cell as u64) } else { json!(cell) }
}

fn heat(map: &HeatMap) -> Value {
    let label = |label: &crate::chart::RowLabel| json!([label.first, label.rows, label.name]);
    json!({
        "kind": "heat",
        "x": map.x.label,
        "y": map.y.label,
        "unit": map.unit,
        "columns": map.columns,
        "rows": map.rows,
        "xRange": [map.x_range.0, map.x_range.1],
        "yRange": [map.y_range.0, map.y_range.1],
        "stops": HEAT_STOPS.map(|(red, green, blue)| [red, green, blue]),
        "cells": map.cells.iter().map(|cell| number(*cell)).collect::<Vec<_>>(),
        "labels": map.row_labels.iter().map(label).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_thinned_and_keep_their_ends_and_cliffs() {
        let cliff = |i: u32| (f64::from(i), if i < 70_000 { 1e6 } else { 10.0 });
        let points: Vec<_> = (0..100_000).map(cliff).collect();
        let thin = thinned(&points);
        assert!(thin.len() <= MOST_POINTS + 2, "{}", thin.len());
        assert_eq!((thin[0], thin[thin.len() - 1]), (points[0], points[99_999]));
        assert!(thin.contains(&points[70_000]), "the first point behind the cliff");
        assert_eq!(thinned(&points[..10]), points[..10]);
    }

    #[test]
    fn no_text_ends_the_script() {
        let text = embedded(&json!("</script><!--\u{2028}"));
        assert!(!text.contains('<') && !text.contains('\u{2028}'));
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), "</script><!--\u{2028}");
    }
}
