//! The first part of a file.

use std::path::Path;

use super::{MAGIC, MAX_INFO_BYTES, MAX_THREADS, TapeError, TapeInfo, VERSION};
use crate::file::{checksum, u32_at, u64_at};

/// Bytes before the description.
pub(super) const FIXED_BYTES: usize = 16;

const CHECKSUM_BYTES: usize = 8;

/// Largest binary logarithm of a page size.
const MAX_PAGE_SHIFT: u32 = 63;

/// The header as it stands in the file at `path`.
///
/// # Errors
/// [`TapeError::Unwritable`] if `info` does not fit or makes no sense.
pub(super) fn encode(info: &TapeInfo, path: &Path) -> Result<Vec<u8>, TapeError> {
    let json =
        json(info).map_err(|problem| TapeError::Unwritable { path: path.to_owned(), problem })?;
    let mut bytes = Vec::with_capacity(FIXED_BYTES + json.len() + CHECKSUM_BYTES);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&[info.page_shift as u8, 0]);
    bytes.extend_from_slice(&(json.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&json);
    let sum = checksum(&[&bytes]);
    bytes.extend_from_slice(&sum.to_le_bytes());
    Ok(bytes)
}

fn json(info: &TapeInfo) -> Result<Vec<u8>, String> {
    if info.page_shift > MAX_PAGE_SHIFT {
        return Err(format!("a page shift of {} makes no sense", info.page_shift));
    }
    if !threads_make_sense(info) {
        let threads = info.threads;
        return Err(format!(
            "{threads} threads do not fit on a tape; there are 1 to {MAX_THREADS}"
        ));
    }
    if let Some(key) = TapeInfo::KEYS.into_iter().find(|&key| info.other.contains_key(key)) {
        return Err(format!("its description says {key:?} twice; leave it out of the other keys"));
    }
    let json = serde_json::to_vec(info).map_err(|error| error.to_string())?;
    if json.len() > MAX_INFO_BYTES {
        let length = json.len();
        return Err(format!(
            "its description takes {length} bytes, {MAX_INFO_BYTES} are allowed; \
             shorten the arguments"
        ));
    }
    Ok(json)
}

fn threads_make_sense(info: &TapeInfo) -> bool {
    (1..=MAX_THREADS).contains(&(info.threads as usize))
}

/// Tells a tape by the first bytes of a file, of which a short file has fewer.
///
/// # Errors
/// [`TapeError::Foreign`] and [`TapeError::Version`].
pub(super) fn recognize(fixed: &[u8], path: &Path) -> Result<(), TapeError> {
    let foreign = |problem| Err(TapeError::Foreign { path: path.to_owned(), problem });
    let begins = |magic: &[u8]| fixed.starts_with(&magic[..magic.len().min(fixed.len())]);
    if fixed.is_empty() {
        return foreign("it is empty");
    }
    if !begins(&MAGIC) {
        return foreign(if begins(&crate::file::MAGIC) {
            "it is a trace; make a tape of it with `farside plan`"
        } else {
            "it does not begin like one"
        });
    }
    match fixed.get(8..10) {
        Some(version) => match u16::from_le_bytes([version[0], version[1]]) {
            1..=VERSION => Ok(()),
            found => Err(TapeError::Version { path: path.to_owned(), found }),
        },
        None => Ok(()),
    }
}

/// Bytes behind the fixed ones.
///
/// # Errors
/// If there are too many.
pub(super) fn rest_bytes(fixed: &[u8; FIXED_BYTES]) -> Result<usize, &'static str> {
    match u32_at(fixed, 12) as usize {
        length if length <= MAX_INFO_BYTES => Ok(length + CHECKSUM_BYTES),
        _ => Err("its description is too long"),
    }
}

/// Reads a header.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(fixed: &[u8; FIXED_BYTES], rest: &[u8]) -> Result<TapeInfo, &'static str> {
    let (json, sum) = rest.split_at(rest.len() - CHECKSUM_BYTES);
    if checksum(&[fixed, json]) != u64_at(sum, 0) {
        return Err("the checksum of its header does not match");
    }
    if fixed[11] != 0 || u32::from(fixed[10]) > MAX_PAGE_SHIFT {
        return Err("its page size makes no sense");
    }
    let mut info: TapeInfo =
        serde_json::from_slice(json).map_err(|_| "its description is not the JSON expected")?;
    info.page_shift = u32::from(fixed[10]);
    if threads_make_sense(&info) { Ok(info) } else { Err("its number of threads makes no sense") }
}
