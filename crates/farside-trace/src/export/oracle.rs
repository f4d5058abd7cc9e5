//! libCacheSim's oracleGeneral: every access with the number of the next one to the same page.
//!
//! The next use is not known when an access is written. So the file is written forwards without it,
//! and then gone through backwards, piece by piece, with the last use of each page at hand: memory
//! for each page, not for each access.

use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use rustc_hash::FxHashMap;

use super::{Export, failed};
use crate::import::RECORD_BYTES;
use crate::{Block, TraceError};

/// Records of a piece.
const PIECE: u64 = 1 << 16;

/// Next use of what is not used again.
const NEVER: i64 = -1;

/// Writes oracleGeneral. Time is the number of the access, object the page, size that of a page.
pub struct OracleExport<F: Read + Write + Seek> {
    file: BufWriter<F>,
    path: PathBuf,
    page_size: u32,
    records: u64,
}

impl<F: Read + Write + Seek> OracleExport<F> {
    /// Writes to the empty file `file`, which has to be open for reading too; `name` stands for it
    /// in error messages.
    ///
    /// # Errors
    /// [`TraceError::Export`] if the file cannot be repositioned.
    pub fn new(mut file: F, page_shift: u32, name: impl Into<PathBuf>) -> Result<Self, TraceError> {
        let path = name.into();
        file.rewind().map_err(failed(&path))?;
        let page_size = 1u32.checked_shl(page_shift).unwrap_or(u32::MAX);
        Ok(Self { file: BufWriter::with_capacity(1 << 18, file), path, page_size, records: 0 })
    }

    /// Fills in the next uses of the `count` records from `first` on, of which `uses` knows the
    /// first after them for each page.
    fn complete(
        &mut self,
        first: u64,
        count: u64,
        uses: &mut FxHashMap<[u8; 8], u64>,
    ) -> std::io::Result<()> {
        let file = self.file.get_mut();
        let start = SeekFrom::Start(first * RECORD_BYTES as u64);
        let mut piece = vec![0; count as usize * RECORD_BYTES];
        file.seek(start)?;
        file.read_exact(&mut piece)?;
        for (i, record) in piece.chunks_exact_mut(RECORD_BYTES).enumerate().rev() {
            let mut page = [0; 8];
            page.copy_from_slice(&record[4..12]);
            if let Some(next) = uses.insert(page, first + i as u64) {
                record[16..].copy_from_slice(&next.to_le_bytes());
            }
        }
        file.seek(start)?;
        file.write_all(&piece)
    }
}

impl<F: Read + Write + Seek> Export for OracleExport<F> {
    fn block(&mut self, block: &Block) -> Result<(), TraceError> {
        for access in &block.accesses {
            let mut record = [0; RECORD_BYTES];
            let time = u32::try_from(self.records).unwrap_or(u32::MAX);
            record[..4].copy_from_slice(&time.to_le_bytes());
            record[4..12].copy_from_slice(&access.page.0.to_le_bytes());
            record[12..16].copy_from_slice(&self.page_size.to_le_bytes());
            record[16..].copy_from_slice(&NEVER.to_le_bytes());
            self.file.write_all(&record).map_err(failed(&self.path))?;
            self.records += 1;
        }
        Ok(())
    }

    fn finish(&mut self, progress: &mut dyn FnMut(f64)) -> Result<(), TraceError> {
        self.file.flush().map_err(failed(&self.path))?;
        let mut uses = FxHashMap::default();
        let mut left = self.records;
        while left > 0 {
            let count = left.min(PIECE);
            left -= count;
            self.complete(left, count, &mut uses).map_err(failed(&self.path))?;
            progress((self.records - left) as f64 / self.records as f64);
        }
        Ok(())
    }
}
