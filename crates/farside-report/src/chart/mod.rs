//! Static charts, as SVG and PNG: black on white, told apart in print and by the colour-blind.
//!
//! A chart is plain data with a picture in two formats. The pictures are the same: one function draws
//! both. They need no fonts on the machine that draws them.

mod axis;
mod bar;
mod canvas;
mod heat;
mod legend;
mod line;
mod mesh;
mod pixels;
mod style;

pub use axis::{Axis, Scale, short_number};
pub use bar::BarChart;
pub use heat::{HeatMap, RowLabel};
pub(crate) use line::FEW_POINTS;
pub use line::{LineChart, Series};
pub use pixels::heat_png;
pub use style::{HEAT_STOPS, colour_of, dash_of, heat_colour};

/// Width of every chart, in CSS pixels.
pub const WIDTH: u32 = 900;

/// Height of every chart, in CSS pixels.
pub const HEIGHT: u32 = 460;

/// A chart that could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    /// The drawing failed.
    #[error("the chart {title:?} cannot be drawn: {reason}")]
    Drawing {
        /// Title of the chart.
        title: String,
        /// What the drawing library says.
        reason: String,
    },
    /// The picture could not be compressed.
    #[error("the chart {title:?} cannot be written as PNG: {source}")]
    Png {
        /// Title of the chart.
        title: String,
        /// What failed.
        source: png::EncodingError,
    },
}
