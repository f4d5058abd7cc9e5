//! A file: `file:/path?size=64G&seal=yes&depth=64`.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::str::FromStr;

use farside_os::memory::PAGE;
use farside_os::uring::MOST_DEPTH;
use farside_wire::pool::DATA_BYTES;

use super::{BadUrl, yes_or_no};

/// Reads and writes under way at once, if it is not said how many.
const DEPTH: u32 = 64;

/// A file for pages, as it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUrl {
    /// A directory, or a file that does not exist.
    pub path: PathBuf,
    /// Most bytes of pages; half of what is free on the file system, if it is not said.
    pub size: Option<u64>,
    /// Whether whoever reads the storage is to be unable to read the pages.
    pub seal: bool,
    /// Most reads and writes under way at once.
    pub depth: u32,
    /// Whether they are to go through a ring of the kernel's, if it has one.
    pub ring: bool,
}

impl FromStr for FileUrl {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<Self, BadUrl> {
        let (path, options) = text.split_once('?').unwrap_or((text, ""));
        // Three slashes are the long form of one.
        let path = path.strip_prefix("//").filter(|path| path.starts_with('/')).unwrap_or(path);
        let decoded = decode(path).filter(|path| !path.as_os_str().is_empty());
        let path = decoded.ok_or_else(|| BadUrl::Path(text.into()))?;
        let mut file = Self { path, size: None, seal: false, depth: DEPTH, ring: true };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            match name {
                "size" => file.size = Some(size(value)?),
                "seal" => file.seal = yes_or_no("seal", value)?,
                "ring" => file.ring = yes_or_no("ring", value)?,
                "depth" => file.depth = depth(value)?,
                other => return Err(BadUrl::FileOption(other.into())),
            }
        }
        Ok(file)
    }
}

/// The path that a text with escapes stands for.
fn decode(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            (digit()? * 16 + digit()?) as u8
        } else {
            byte
        };
        bytes.push(Some(byte).filter(|byte| *byte != 0)?);
    }
    Some(OsString::from_vec(bytes).into())
}

fn size(value: &str) -> Result<u64, BadUrl> {
    let bad = || BadUrl::Value {
        option: "size",
        value: value.into(),
        expected: "bytes such as 64G or 512M, from a page to 1T",
    };
    let split = value.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(value.len());
    let (number, unit) = value.split_at(split);
    let scale = match &unit.to_ascii_lowercase()[..] {
        "" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        _ => return Err(bad()),
    };
    let bytes = number.parse::<f64>().map_err(|_| bad())? * (1u64 << scale) as f64;
    let most = (DATA_BYTES - PAGE as u64) as f64;
    if bytes >= PAGE as f64 && bytes <= DATA_BYTES as f64 {
        Ok(bytes.min(most) as u64)
    } else {
        Err(bad())
    }
}

fn depth(value: &str) -> Result<u32, BadUrl> {
    let depth = value.parse().ok().filter(|depth| (1..=MOST_DEPTH).contains(depth));
    depth.ok_or_else(|| BadUrl::Value {
        option: "depth",
        value: value.into(),
        expected: "a number from 1 to 1024",
    })
}

impl fmt::Display for FileUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file:")?;
        for byte in self.path.as_os_str().as_bytes() {
            match byte {
                b'%' | b'?' | 0..=b' ' | 127.. => write!(f, "%{byte:02X}")?,
                _ => write!(f, "{}", char::from(*byte))?,
            }
        }
        let mut separator = '?';
        let mut option = |f: &mut fmt::Formatter<'_>, text: fmt::Arguments<'_>| {
            let written = write!(f, "{separator}{text}");
            separator = '&';
            written
        };
        if let Some(size) = self.size {
            option(f, format_args!("size={size}"))?;
        }
        if self.seal {
            option(f, format_args!("seal=yes"))?;
        }
        if self.depth != DEPTH {
            option(f, format_args!("depth={}", self.depth))?;
        }
        if !self.ring {
            option(f, format_args!("ring=no"))?;
        }
        Ok(())
    }
}
