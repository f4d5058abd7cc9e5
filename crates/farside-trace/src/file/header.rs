//! The first part of a file.

use std::path::Path;

use super::source::Input;
use super::{MAGIC, MAX_METADATA_BYTES, VERSION, checksum, u32_at, u64_at};
use crate::{Metadata, TraceError};

/// Bytes before the metadata.
const FIXED_BYTES: usize = 16;

const CHECKSUM_BYTES: usize = 8;

/// Largest binary logarithm of a page size.
const MAX_PAGE_SHIFT: u32 = 63;

/// The header as it stands in the file at `path`, with spaces after metadata that take fewer than `least` bytes.
///
/// # Errors
/// [`TraceError::Unwritable`] if the metadata does not fit.
pub(super) fn encode(
    metadata: &Metadata,
    least: usize,
    path: &Path,
) -> Result<Vec<u8>, TraceError> {
    let unwritable = |problem: String| TraceError::Unwritable { path: path.to_owned(), problem };
    if metadata.page_shift > MAX_PAGE_SHIFT {
        return Err(unwritable(format!("a page shift of {} makes no sense", metadata.page_shift)));
    }
    let mut json = serde_json::to_vec(metadata).map_err(|error| unwritable(error.to_string()))?;
    json.resize(json.len().max(least), b' ');
    if json.len() > MAX_METADATA_BYTES {
        let length = json.len();
        return Err(unwritable(format!(
            "its metadata takes {length} bytes, {MAX_METADATA_BYTES} are allowed; shorten the arguments"
        )));
    }
    let mut bytes = Vec::with_capacity(FIXED_BYTES + json.len() + CHECKSUM_BYTES);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&[metadata.page_shift as u8, 0]);
    bytes.extend_from_slice(&(json.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&json);
    let sum = checksum(&[&bytes]);
    bytes.extend_from_slice(&sum.to_le_bytes());
    Ok(bytes)
}

/// Bytes of metadata in a header.
pub(super) fn room(header: &[u8]) -> usize {
    header.len() - FIXED_BYTES - CHECKSUM_BYTES
}

/// Reads the header; `input` continues with the first block.
pub(super) fn read(input: &mut Input) -> Result<Metadata, TraceError> {
    let mut fixed = [0; FIXED_BYTES];
    let read = input.read_up_to(&mut fixed)?;
    if read == 0 {
        return Err(input.damaged(0, "it is empty"));
    }
    if fixed[..MAGIC.len().min(read)] != MAGIC[..MAGIC.len().min(read)] {
        return Err(input.damaged(0, "it does not begin like a Farside trace"));
    }
    if read < FIXED_BYTES {
        return Err(input.damaged(0, "its header is cut short"));
    }
    let version = u16::from_le_bytes([fixed[8], fixed[9]]);
    if version != VERSION {
        return Err(TraceError::Version { path: input.path.clone(), found: version });
    }
    let length = u32_at(&fixed, 12) as usize;
    if length > MAX_METADATA_BYTES {
        return Err(input.damaged(12, "its metadata is too long"));
    }
    let mut rest = vec![0; length + CHECKSUM_BYTES];
    if !input.read_whole(&mut rest)? {
        return Err(input.damaged(0, "its header is cut short"));
    }
    let (json, sum) = rest.split_at(length);
    if checksum(&[&fixed, json]) != u64_at(sum, 0) {
        return Err(input.damaged(0, "the checksum of its header does not match"));
    }
    if fixed[11] != 0 || u32::from(fixed[10]) > MAX_PAGE_SHIFT {
        return Err(input.damaged(10, "its page size makes no sense"));
    }
    let mut metadata: Metadata = serde_json::from_slice(json)
        .map_err(|_| input.damaged(FIXED_BYTES as u64, "its metadata is not the JSON expected"))?;
    metadata.page_shift = u32::from(fixed[10]);
    Ok(metadata)
}
