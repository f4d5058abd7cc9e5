//! Which build of a program a file is.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use sha2::{Digest, Sha256};

/// Most program headers that are looked at.
const MOST_HEADERS: u64 = 1 << 10;

/// Most bytes of notes that are looked at in one segment.
const MOST_NOTES: u64 = 1 << 16;

/// Bytes of a program header.
const HEADER_BYTES: u64 = 56;

/// The kind of a segment of notes, and the kind of the note that bears a build id.
const PT_NOTE: u32 = 4;
const NT_GNU_BUILD_ID: u32 = 3;

/// Longest build id that is believed; linkers make 8 to 64 bytes.
const MOST_ID_BYTES: usize = 64;

/// What tells the build of the program at `path` from others, in hexadecimal digits: the build id that the linker
/// noted in it (`.note.gnu.build-id`), else the SHA-256 of the file.
///
/// # Errors
/// If the file cannot be read.
pub fn build_id(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    match noted(&file) {
        Some(id) => Ok(hexadecimal(&id)),
        None => hash(&file),
    }
}

/// The note's content; none if the file has none, or is damaged where it should be.
fn noted(file: &File) -> Option<Vec<u8>> {
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0).ok()?;
    // 64 bits, little-endian.
    if header[..6] != *b"\x7fELF\x02\x01" || u64::from(half(&header, 54)?) != HEADER_BYTES {
        return None;
    }
    let (table, count) = (long(&header, 32)?, u64::from(half(&header, 56)?));
    (0..count.min(MOST_HEADERS)).find_map(|number| {
        let mut segment = [0; HEADER_BYTES as usize];
        let at = table.checked_add(number * HEADER_BYTES)?;
        file.read_exact_at(&mut segment, at).ok()?;
        if word(&segment, 0)? != PT_NOTE {
            return None;
        }
        let (offset, bytes) = (long(&segment, 8)?, long(&segment, 32)?);
        let mut notes = vec![0; bytes.min(MOST_NOTES) as usize];
        file.read_exact_at(&mut notes, offset).ok()?;
        let step = if long(&segment, 48)? == 8 { 8 } else { 4 };
        id_among(&notes, step)
    })
}

/// The build id among notes whose parts begin at multiples of `step` bytes.
fn id_among(mut notes: &[u8], step: usize) -> Option<Vec<u8>> {
    loop {
        let [name_bytes, id_bytes, kind] = [word(notes, 0)?, word(notes, 4)?, word(notes, 8)?];
        let name_end = (name_bytes as usize).checked_add(12)?;
        let name = notes.get(12..name_end)?;
        let id_begin = name_end.checked_next_multiple_of(step)?;
        let id_end = id_begin.checked_add(id_bytes as usize)?;
        let id = notes.get(id_begin..id_end)?;
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" {
            return (1..=MOST_ID_BYTES).contains(&id.len()).then(|| id.to_vec());
        }
        notes = notes.get(id_end.checked_next_multiple_of(step)?..)?;
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn hash(mut file: &File) -> io::Result<String> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hexadecimal(&hash.finalize())),
            Ok(read) => hash.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Bytes as digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
