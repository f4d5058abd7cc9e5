//! The flame graph.

use inferno::flamegraph::color::{BackgroundColor, Color, PaletteMap};
use inferno::flamegraph::{Options, from_lines};

use super::{AccessKind, FaultStacks, folded};
use crate::chart::ChartError;

const fn colour(r: u8, g: u8, b: u8) -> Color {
    Color { r, g, b }
}

/// Functions, which are of no kind.
const PLAIN: Color = colour(226, 221, 212);

fn colour_of(kind: AccessKind) -> Color {
    match kind {
        AccessKind::Read => colour(110, 160, 224),
        AccessKind::Write => colour(226, 110, 100),
        AccessKind::Protection => colour(240, 205, 80),
    }
}

/// The colour of a name in a folded line.
fn colour_of_name(name: &str) -> Color {
    let ends = |kind: &&AccessKind| {
        name.strip_suffix(']')
            .and_then(|name| name.strip_suffix(kind.name()))
            .is_some_and(|name| name.ends_with(" ["))
    };
    AccessKind::ALL.iter().find(ends).map_or(PLAIN, |kind| colour_of(*kind))
}

/// The graph as SVG without a prolog, so that it may stand in a page.
pub fn draw(all: &FaultStacks) -> Result<String, ChartError> {
    let failed = |reason: String| ChartError::Drawing { title: all.title.clone(), reason };
    let lines = folded::lines(all);
    let mut colours = PaletteMap::default();
    for line in &lines {
        let names = line.rsplit_once(' ').map_or(&line[..], |(names, _)| names);
        names.split(';').for_each(|name| {
            colours.insert(name, colour_of_name(name));
        });
    }
    colours.insert("all", PLAIN);
    let mut options = Options::default();
    options.title.clone_from(&all.title);
    options.count_name = "faults".to_owned();
    options.bgcolors = Some(BackgroundColor::Flat(colour(255, 255, 255)));
    options.palette_map = Some(&mut colours);
    let mut svg = Vec::new();
    let lines = lines.iter().map(String::as_str);
    from_lines(&mut options, lines, &mut svg).map_err(|error| failed(error.to_string()))?;
    let svg = String::from_utf8(svg).map_err(|error| failed(error.to_string()))?;
    let start = svg.find("<svg").ok_or_else(|| failed("no picture".to_owned()))?;
    Ok(svg[start..].to_owned())
}
