//! A figure of any kind: its picture and its numbers.

use std::fmt::Write;

use crate::chart::{BarChart, ChartError, HeatMap, LineChart};
use crate::stacks::FaultStacks;

/// A picture with numbers behind it.
#[derive(Clone, Debug)]
pub enum Figure {
    /// Lines.
    Lines(LineChart),
    /// Bars.
    Bars(BarChart),
    /// A heat map.
    Heat(HeatMap),
    /// A flame graph.
    Flames(FaultStacks),
}

impl Figure {
    /// The picture as SVG.
    ///
    /// # Errors
    /// If it cannot be drawn.
    pub fn to_svg(&self) -> Result<String, ChartError> {
        match self {
            Self::Lines(chart) => chart.to_svg(),
            Self::Bars(chart) => chart.to_svg(),
            Self::Heat(map) => map.to_svg(),
            Self::Flames(stacks) => stacks.to_svg(),
        }
    }

    /// The picture as PNG.
    ///
    /// # Errors
    /// If it cannot be drawn or compressed; of flame graphs there are no such pictures.
    pub fn to_png(&self) -> Result<Vec<u8>, ChartError> {
        match self {
            Self::Lines(chart) => chart.to_png(),
            Self::Bars(chart) => chart.to_png(),
            Self::Heat(map) => map.to_png(),
            Self::Flames(stacks) => Err(ChartError::Drawing {
                title: stacks.title.clone(),
                reason: "a flame graph is drawn as SVG only".to_owned(),
            }),
        }
    }

    /// All numbers as comma-separated values: of lines `series,x,y`, of bars `group,series,value`, of a
    /// heat map the borders of each cell that is not empty and its number, of a flame graph `stack,faults`; the first line names them.
    pub fn to_csv(&self) -> String {
        match self {
            Self::Lines(chart) => lines(chart),
            Self::Bars(chart) => bars(chart),
            Self::Heat(map) => heat(map),
            Self::Flames(stacks) => flames(stacks),
        }
    }
}

fn row(csv: &mut String, fields: &[&dyn std::fmt::Display]) {
    for (i, field) in fields.iter().enumerate() {
        let field = field.to_string();
        let separator = if i == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = match field.contains([',', '"', '\n', '\r']) {
            true => write!(csv, "{separator}\"{}\"", field.replace('"', "\"\"")),
            false => write!(csv, "{separator}{field}"),
        };
    }
    csv.push('\n');
}

fn lines(chart: &LineChart) -> String {
    let mut csv = String::new();
    row(&mut csv, &[&"series", &chart.x.label, &chart.y.label]);
    for series in &chart.series {
        for (x, y) in &series.points {
            row(&mut csv, &[&series.name, x, y]);
        }
    }
    csv
}

fn bars(chart: &BarChart) -> String {
    let mut csv = String::new();
    row(&mut csv, &[&"group", &"series", &chart.y.label]);
    for (i, group) in chart.groups.iter().enumerate() {
        for (name, values) in &chart.series {
            if let Some(value) = values.get(i) {
                row(&mut csv, &[group, name, value]);
            }
        }
    }
    csv
}

fn flames(all: &FaultStacks) -> String {
    let mut csv = String::new();
    row(&mut csv, &[&"stack", &"faults"]);
    for line in all.to_folded().lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap_or((line, "0"));
        row(&mut csv, &[&stack, &count]);
    }
    csv
}

fn heat(map: &HeatMap) -> String {
    let mut csv = String::new();
    let (x, y) = (&map.x.label, &map.y.label);
    let ends = |axis: &str| (format!("{axis} from"), format!("{axis} to"));
    let ((left, right), (low, high)) = (ends(x), ends(y));
    row(&mut csv, &[&left, &right, &low, &high, &map.unit]);
    let at = |(from, to): (f64, f64), part: usize, parts: usize| {
        (from + (to - from) * part as f64 / parts.max(1) as f64).ceil()
    };
    for (i, cell) in map.cells.iter().enumerate().filter(|(_, cell)| **cell != 0.0) {
        let (column, line) = (i % map.columns.max(1), i / map.columns.max(1));
        let x = |column| at(map.x_range, column, map.columns);
        let y = |line| at(map.y_range, line, map.rows);
        row(&mut csv, &[&x(column), &x(column + 1), &y(line), &y(line + 1), cell]);
    }
    csv
}
