//! A figure: numbers, and pictures side by side.

use std::path::Path;

use farside_report::chart::{BarChart, ChartError, HEIGHT, LineChart, WIDTH};

use crate::Failure;

/// Panels in a row.
const COLUMNS: usize = 2;

/// What is shown under one number of the paper.
#[derive(Debug)]
pub struct Figure {
    /// `figure-6` and so on: the name of its files and of its place in the page.
    pub name: &'static str,
    /// Names of the columns.
    pub header: Vec<&'static str>,
    /// All numbers.
    pub rows: Vec<Vec<String>>,
    /// Header and lines of the table in the page.
    pub table: Vec<Vec<String>>,
    pub panels: Vec<Panel>,
}

/// One of the pictures of a figure.
#[derive(Debug)]
pub enum Panel {
    Lines(LineChart),
    Bars(BarChart),
}

impl Panel {
    fn svg(&self) -> Result<String, ChartError> {
        match self {
            Self::Lines(chart) => chart.to_svg(),
            Self::Bars(chart) => chart.to_svg(),
        }
    }
}

impl Figure {
    /// Writes the numbers as tab-separated values, and the picture as SVG if there is one.
    ///
    /// # Errors
    /// If it cannot be drawn or written.
    pub fn write(&self, directory: &Path) -> Result<(), Failure> {
        let line = |cells: Vec<&str>| cells.join("\t") + "\n";
        let mut text = line(self.header.clone());
        for row in &self.rows {
            text += &line(row.iter().map(String::as_str).collect());
        }
        let file = directory.join(self.name);
        super::write(&file.with_extension("tsv"), &text)?;
        if self.panels.is_empty() {
            return Ok(());
        }
        super::write(&file.with_extension("svg"), &self.svg()?)
    }

    /// The table in the page.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for (index, cells) in self.table.iter().enumerate() {
            text += &format!("| {} |\n", cells.join(" | "));
            if index == 0 {
                text += &format!("|{}\n", "---|".repeat(cells.len()));
            }
        }
        text
    }

    /// All panels in one picture.
    fn svg(&self) -> Result<String, Failure> {
        let rows = self.panels.len().div_ceil(COLUMNS);
        let (width, height) = (WIDTH as usize * COLUMNS, HEIGHT as usize * rows);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n"
        );
        for (index, panel) in self.panels.iter().enumerate() {
            let svg = panel.svg().map_err(|error| Failure::own(error.to_string()))?;
            let (x, y) = (index % COLUMNS * WIDTH as usize, index / COLUMNS * HEIGHT as usize);
            text += &joined(&svg.replacen("<svg ", &format!("<svg x=\"{x}\" y=\"{y}\" "), 1));
        }
        Ok(text + "</svg>\n")
    }
}

/// The same picture with the dashes of a line as one element: a quarter of the bytes.
fn joined(svg: &str) -> String {
    let mut text = String::with_capacity(svg.len());
    let mut open: Option<&str> = None;
    for line in svg.lines() {
        let polyline = line.strip_prefix("<polyline ").and_then(|rest| {
            let (look, points) = rest.split_once("points=\"")?;
            Some((look, points.strip_suffix("\"/>")?.trim_end()))
        });
        match polyline {
            Some((look, points)) if open == Some(look) => text += &format!("M{points}"),
            Some((look, points)) => {
                text += if open.is_some() { "\"/>\n" } else { "" };
                text += &format!("<path {look}d=\"M{points}");
                open = Some(look);
            }
            None => {
                text += if open.take().is_some() { "\"/>\n" } else { "" };
                text += line;
                text.push('\n');
            }
        }
    }
    text.replace(" opacity=\"1\"", "")
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn lines_of_one_look_become_one_path() {
        let lines = [
            "<svg>",
            "<polyline stroke=\"#000\" points=\"1,2 3,4 \"/>",
            "<polyline stroke=\"#000\" points=\"5,6 7,8 \"/>",
            "<polyline stroke=\"#111\" points=\"0,0 1,1 \"/>",
            "</svg>",
        ];
        let path = "<path stroke=\"#000\" d=\"M1,2 3,4M5,6 7,8\"/>";
        let other = "<path stroke=\"#111\" d=\"M0,0 1,1\"/>";
        assert_eq!(joined(&lines.join("\n")), format!("<svg>\n{path}\n{other}\n</svg>\n"));
    }
}
