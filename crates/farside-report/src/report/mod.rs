//! A report: figures, the numbers beside them, and words, as one self-contained page of HTML or as a
//! folder of pictures with their numbers.
//!
//! Whoever makes a report fills plain data; texts may hold anything, and are escaped where they are
//! written.

mod data;
mod figure;
mod html;
mod plots;

pub use figure::Figure;
pub use plots::{PlotError, PlotFormat};

/// A report.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What it is about.
    pub title: String,
    /// A line below the title.
    pub subtitle: String,
    /// The most important numbers: what each is, and the number.
    pub facts: Vec<(String, String)>,
    /// The rest, in order.
    pub sections: Vec<Section>,
}

/// A part of a report.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Names its files and its place in the page: lower-case letters, digits and `-`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it shows, and how that was found.
    pub text: String,
    /// The picture, if there is one.
    pub figure: Option<Figure>,
    /// The numbers.
    pub table: Option<Table>,
}

/// A table; the first column is text, the others are numbers with their units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What the columns are.
    pub columns: Vec<String>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<String>>,
}

impl Report {
    /// The report as one page of HTML that refers to nothing outside itself. Figures can be zoomed and
    /// say their numbers where the reader points; printed, or without scripts, they are plain pictures.
    ///
    /// # Errors
    /// If a figure cannot be drawn.
    pub fn to_html(&self) -> Result<String, crate::chart::ChartError> {
        html::page(self)
    }
}
