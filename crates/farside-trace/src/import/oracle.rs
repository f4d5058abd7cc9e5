//! libCacheSim's oracleGeneral: records of 24 bytes, little-endian: time (32 bits), object (64 bits),
//! size (32 bits), number of the next request for the object or -1 (64 bits, signed).

use std::io::{self, BufReader, Read};
use std::path::PathBuf;

use crate::{Access, PageId, TraceError};

/// Bytes of a record.
pub(crate) const RECORD_BYTES: usize = 24;

/// Bytes read from the source at once.
const BUFFER_BYTES: usize = RECORD_BYTES << 13;

/// Reads oracleGeneral. An object counts as a page, whatever its size.
pub(super) struct OracleReader {
    source: BufReader<Box<dyn Read + Send>>,
    path: PathBuf,
    /// Records read.
    records: u64,
}

impl OracleReader {
    pub fn new(source: Box<dyn Read + Send>, path: PathBuf) -> Self {
        Self { source: BufReader::with_capacity(BUFFER_BYTES, source), path, records: 0 }
    }

    /// The next access.
    pub fn next(&mut self) -> Result<Option<Access>, TraceError> {
        let mut record = [0; RECORD_BYTES];
        let offset = self.records.saturating_mul(RECORD_BYTES as u64);
        let path = || self.path.clone();
        match fill(&mut self.source, &mut record) {
            Ok(0) => return Ok(None),
            Ok(RECORD_BYTES) => {}
            Ok(_) => {
                let problem = "the last record is cut short; oracleGeneral has records of 24 bytes";
                return Err(TraceError::Record { path: path(), offset, problem });
            }
            Err(source) => return Err(TraceError::Read { path: path(), offset, source }),
        }
        let mut object = [0; 8];
        object.copy_from_slice(&record[4..12]);
        let mut next = [0; 8];
        next.copy_from_slice(&record[16..]);
        let next = i64::from_le_bytes(next);
        if next != -1 && u64::try_from(next).map_or(true, |next| next <= self.records) {
            let problem = "a request that comes again before it came; this is no oracleGeneral";
            return Err(TraceError::Record { path: path(), offset, problem });
        }
        self.records += 1;
        Ok(Some(Access::from(PageId(u64::from_le_bytes(object)))))
    }
}

/// Fills `buffer` as far as `source` reaches.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
