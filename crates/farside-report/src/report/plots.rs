//! Every figure as a file, with its numbers beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::{io, str::FromStr};

use super::Report;
use crate::chart::ChartError;

/// The format of a picture.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum PlotFormat {
    /// Scalable vector graphics.
    #[default]
    Svg,
    /// Portable network graphics.
    Png,
}

impl FromStr for PlotFormat {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "svg" => Ok(Self::Svg),
            "png" => Ok(Self::Png),
            _ => Err("not a format of pictures: svg or png"),
        }
    }
}

/// Why the figures were not all written.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// One cannot be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// A file cannot be written.
    #[error("{path}: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Report {
    /// Writes each figure into `folder`, which is made if it is not there: the picture as `ID.svg` or
    /// `ID.png`, its numbers as `ID.csv`. Files of these names are replaced.
    ///
    /// # Errors
    /// At the first file that cannot be written.
    pub fn write_plots(&self, folder: &Path, format: PlotFormat) -> Result<(), PlotError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| PlotError::File { path, source }
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        for section in &self.sections {
            let Some(figure) = &section.figure else { continue };
            let (ending, picture) = match format {
                PlotFormat::Svg => ("svg", figure.to_svg()?.into_bytes()),
                PlotFormat::Png => ("png", figure.to_png()?),
            };
            for (ending, bytes) in [(ending, picture), ("csv", figure.to_csv().into_bytes())] {
                let path = folder.join(format!("{}.{ending}", section.id));
                fs::write(&path, bytes).map_err(failed(&path))?;
            }
        }
        Ok(())
    }
}
