//! What makes a page recognisable as the one that was stored, and unreadable to others: AES-256-GCM with a key of the
//! run's own, or only a checksum.
//!
//! The key is made anew for each run, never leaves its processes, and dies with them. A nonce is the version of a page,
//! which no other page of the run ever has. Slot and version are authenticated with the page: what a node gives back
//! in place of it, be it an older content or another page, is noticed.

use farside_os::memory::PAGE;
use farside_os::random;
use farside_wire::frame::page_check;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::FarError;

/// Bytes by which a sealed page is recognised.
const TAG: usize = 16;

/// How pages are made recognisable.
pub enum Sealing {
    /// By a checksum, CRC32C.
    Checksum,
    /// By encryption.
    Key(Box<LessSafeKey>),
}

/// A page's slot and version as they are authenticated.
fn place(slot: u64, version: u64) -> Aad<[u8; 16]> {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&slot.to_le_bytes());
    bytes[8..].copy_from_slice(&version.to_le_bytes());
    Aad::from(bytes)
}

fn nonce(version: u64) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[..8].copy_from_slice(&version.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

impl Sealing {
    /// With a new key, or without one.
    ///
    /// # Errors
    /// If there is no random number to be had.
    pub fn new(seal: bool) -> Result<Self, FarError> {
        if !seal {
            return Ok(Self::Checksum);
        }
        let mut key = [0; 32];
        random::fill(&mut key)?;
        let key = UnboundKey::new(&AES_256_GCM, &key).map_err(|_| FarError::NodeLost)?;
        Ok(Self::Key(Box::new(LessSafeKey::new(key))))
    }

    /// Whether what is stored differs from the page itself.
    pub fn changes_pages(&self) -> bool {
        matches!(self, Self::Key(_))
    }

    /// Makes of a page what is stored; returns by what that is recognised.
    ///
    /// # Errors
    /// None that a page could cause.
    pub fn seal(&self, slot: u64, version: u64, page: &mut [u8]) -> Result<u128, FarError> {
        match self {
            Self::Checksum => Ok(page_check(page).into()),
            Self::Key(key) => {
                let tag =
                    key.seal_in_place_separate_tag(nonce(version), place(slot, version), page);
                let tag = tag.map_err(|_| FarError::Damaged(slot))?;
                Ok(<[u8; TAG]>::try_from(tag.as_ref()).map_or(0, u128::from_le_bytes))
            }
        }
    }

    /// Makes of what came back the page that was stored; false if it is something else.
    pub fn open(&self, slot: u64, version: u64, tag: u128, page: &mut [u8]) -> bool {
        match self {
            Self::Checksum => tag == page_check(page).into(),
            Self::Key(key) => {
                let mut sealed = [0; PAGE + TAG];
                sealed[..PAGE].copy_from_slice(page);
                sealed[PAGE..].copy_from_slice(&tag.to_le_bytes());
                match key.open_in_place(nonce(version), place(slot, version), &mut sealed) {
                    Ok(opened) => {
                        page.copy_from_slice(opened);
                        true
                    }
                    Err(_) => false,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_page_says_nothing_and_opens_only_as_what_it_is() {
        let sealing = Sealing::new(true).unwrap();
        let page = [42; PAGE];
        let mut stored = page;
        let tag = sealing.seal(7, 100, &mut stored).unwrap();
        assert!(stored.iter().filter(|byte| **byte == 42).count() < 100);
        for (slot, version, tag) in [(8, 100, tag), (7, 101, tag), (7, 100, tag ^ 1)] {
            assert!(!sealing.open(slot, version, tag, &mut stored.clone()));
        }
        let mut turned = stored;
        turned[4000] ^= 8;
        assert!(!sealing.open(7, 100, tag, &mut turned));
        assert!(!Sealing::new(true).unwrap().open(7, 100, tag, &mut stored.clone()));
        assert!(sealing.open(7, 100, tag, &mut stored));
        assert_eq!(stored, page);
    }

    #[test]
    fn a_checksum_tells_what_was_damaged() {
        let sealing = Sealing::new(false).unwrap();
        let mut page = [42; PAGE];
        let tag = sealing.seal(7, 100, &mut page).unwrap();
        assert!(sealing.open(7, 100, tag, &mut page));
        page[17] ^= 1;
        assert!(!sealing.open(7, 100, tag, &mut page));
    }
}
