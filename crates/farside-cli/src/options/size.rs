//! Sizes and percentages as users write and read them.

use std::fmt;
use std::str::FromStr;

use farside_pager::settings::LEAST_LIMIT;
use thiserror::Error;

/// The argument of `--local`.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Local {
    /// So many bytes, at least [`LEAST_LIMIT`].
    Bytes(u64),
    /// This percentage of the program's peak footprint.
    Percent(f64),
}

/// Largest size that can be given: the address space of x86-64.
pub const MAX_SIZE: u64 = 1 << 47;

/// Why a text is no local limit.
#[derive(Copy, Clone, Debug, Error, PartialEq, Eq)]
pub enum BadLocal {
    /// Not a number with a known unit.
    #[error("not a size such as 400M, 1.5GiB or 409600, nor a percentage such as 25%")]
    Unreadable,
    /// More than any program can address.
    #[error("more than a program can address; the most is {}", Size(MAX_SIZE))]
    TooLarge,
    /// Less than can work.
    #[error(
        "too little to work with; the least is {}, and a number without a unit (400M, 25%) is bytes",
        Size(LEAST_LIMIT)
    )]
    TooSmall,
    /// A percentage outside its range.
    #[error("a percentage must be above 0% and at most 1000%")]
    Percentage,
}

impl FromStr for Local {
    type Err = BadLocal;

    fn from_str(text: &str) -> Result<Self, BadLocal> {
        let text = text.trim();
        let Some(percent) = text.strip_suffix('%') else {
            return match parse_size(text)? {
                bytes if bytes < LEAST_LIMIT => Err(BadLocal::TooSmall),
                bytes => Ok(Local::Bytes(bytes)),
            };
        };
        let percent = decimal(percent.trim_end()).ok_or(BadLocal::Unreadable)?;
        if percent > 0.0 && percent <= 1000.0 {
            Ok(Local::Percent(percent))
        } else {
            Err(BadLocal::Percentage)
        }
    }
}

impl fmt::Display for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Local::Bytes(bytes) => write!(f, "{bytes}"),
            Local::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// Reads a number of bytes: `K`, `M`, `G`, `T` and `KiB`... are powers of 1024, `KB`... powers of
/// 1000, in any case; fractions are rounded down to whole bytes.
pub fn parse_size(text: &str) -> Result<u64, BadLocal> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = unit_factor(unit.trim_start()).ok_or(BadLocal::Unreadable)?;
    let bytes = match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor).ok_or(BadLocal::TooLarge)?,
        Err(_) => (decimal(number).ok_or(BadLocal::Unreadable)? * factor as f64) as u64,
    };
    if bytes > MAX_SIZE { Err(BadLocal::TooLarge) } else { Ok(bytes) }
}

fn unit_factor(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    if unit.is_empty() || unit == "b" {
        return Some(1);
    }
    let power = "kmgt".find(unit.chars().next()?)? as u32 + 1;
    match &unit[1..] {
        "" | "ib" => Some(1024u64.pow(power)),
        "b" => Some(1000u64.pow(power)),
        _ => None,
    }
}

/// A plain decimal number: digits with at most one point.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if plain { text.parse().ok().filter(|number: &f64| number.is_finite()) } else { None }
}

/// A number of bytes that prints itself readably.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        let mut units = ["B", "KiB", "MiB", "GiB", "TiB"].into_iter();
        let mut unit = units.next().unwrap_or_default();
        for larger in units {
            if value < 1023.95 {
                break;
            }
            (value, unit) = (value / 1024.0, larger);
        }
        let text = if value.fract() < 0.05 || value.fract() > 0.95 {
            format!("{value:.0} {unit}")
        } else {
            format!("{value:.1} {unit}")
        };
        f.pad(&text)
    }
}
