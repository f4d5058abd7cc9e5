//! Sizes of memory as the analysis takes them: bytes, pages, or a share of the footprint.

use std::fmt;
use std::str::FromStr;

use farside_trace::PAGE_SIZE;

use crate::options::parse_size;

/// A size of memory.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum MemorySize {
    /// `1000p`.
    Pages(u64),
    /// `64M`.
    Bytes(u64),
    /// `20%` of the footprint.
    Percent(f64),
}

impl MemorySize {
    /// Whether it depends on the footprint.
    pub fn is_share(self) -> bool {
        matches!(self, Self::Percent(_))
    }

    /// The number of pages, at least one, for a program that touches `footprint` pages.
    pub fn pages(self, footprint: u64) -> usize {
        let pages = match self {
            Self::Pages(pages) => pages,
            Self::Bytes(bytes) => bytes / PAGE_SIZE as u64,
            Self::Percent(percent) => (footprint as f64 * percent / 100.0) as u64,
        };
        usize::try_from(pages.max(1)).unwrap_or(usize::MAX)
    }
}

impl FromStr for MemorySize {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const BAD: &str =
            "not a size: give bytes (64M), pages (1000p) or a share of the footprint (20%)";
        let text = text.trim();
        if let Some(percent) = text.strip_suffix('%') {
            let percent = percent.parse().ok().filter(|p: &f64| *p > 0.0 && *p <= 1000.0);
            return percent.map(Self::Percent).ok_or(BAD);
        }
        if let Some(pages) = text.strip_suffix(['p', 'P']) {
            let pages = pages.parse().ok().filter(|pages| (1..1 << 40).contains(pages));
            return pages.map(Self::Pages).ok_or(BAD);
        }
        let bytes = parse_size(text).map_err(|_| BAD)?;
        if bytes < PAGE_SIZE as u64 {
            return Err("less than a page of 4096 bytes");
        }
        Ok(Self::Bytes(bytes))
    }
}

impl fmt::Display for MemorySize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pages(pages) => write!(f, "{pages}p"),
            Self::Bytes(bytes) => write!(f, "{bytes}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_come_in_three_units() {
        let pages = |text: &str| text.parse::<MemorySize>().map(|size| size.pages(1000));
        assert_eq!(pages("1000p"), Ok(1000));
        assert_eq!(pages("1M"), Ok(256));
        assert_eq!(pages("12.5%"), Ok(125));
        assert_eq!(pages("0.01%"), Ok(1), "never less than a page");
        for bad in ["", "p", "%", "0p", "0%", "12", "lots", "-1p", "nan%", "1e3p", "99999999T"] {
            assert!(pages(bad).is_err(), "{bad}");
        }
    }
}
