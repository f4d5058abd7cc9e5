//! The sections of a process, by their numbers.

use std::mem::ManuallyDrop;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;

use crate::host::Host;
use crate::pointer::MOST_SECTIONS;
use crate::section::{OpenError, Options, Section, SectionError};
use crate::shape::Shape;

/// The sections of a process.
pub struct Registry {
    sections: [AtomicPtr<Section>; MOST_SECTIONS + 1],
    changing: Mutex<()>,
}

/// Why no section could be added.
#[derive(Debug, Error)]
pub enum AddError {
    /// There cannot be such a section.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// All numbers are taken.
    #[error("there are 255 sections already, and no more numbers for them")]
    TooMany,
    /// There is no section to share memory with.
    #[error("it is to share the memory of section {0}, and there is none of this number")]
    Unknown(u8),
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// No sections.
    pub const fn new() -> Self {
        Self {
            sections: [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST_SECTIONS + 1],
            changing: Mutex::new(()),
        }
    }

    /// Opens a section under a number that is free; it may share the memory of another one.
    ///
    /// # Errors
    /// If there cannot be such a section, no number is free, or there is no other one of that number.
    pub fn add(
        &self,
        host: Box<dyn Host>,
        shape: Shape,
        with: Option<u8>,
    ) -> Result<&Section, AddError> {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let id = (1..=MOST_SECTIONS)
            .find(|id| self.sections[*id].load(Acquire).is_null())
            .ok_or(AddError::TooMany)?;
        let options = Options { id: id as u8, shape };
        let section = match with {
            None => Section::open(host, options)?,
            Some(with) => {
                let other = self.sections[usize::from(with)].load(Acquire);
                if other.is_null() {
                    return Err(AddError::Unknown(with));
                }
                // SAFETY: this function made it from an `Arc`, of which this is no share, and nobody removes it meanwhile.
                let other = unsafe { ManuallyDrop::new(Arc::from_raw(other)) };
                Section::open_with(host, options, &other)?
            }
        };
        let section = Arc::into_raw(section).cast_mut();
        self.sections[id].store(section, Release);
        // SAFETY: just made, and only `remove`, whose caller vouches for the others, ends it.
        Ok(unsafe { &*section })
    }

    /// The section of a number.
    pub fn get(&self, id: u8) -> Option<&Section> {
        // SAFETY: null, or what `add` put there.
        unsafe { self.sections[usize::from(id)].load(Acquire).as_ref() }
    }

    /// Opens a copy of a section for a thread, which it is known by. What that thread had before is closed: another one may
    /// have been known so, and ended without a word.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_copy(
        &self,
        id: u8,
        thread: usize,
        host: Box<dyn Host>,
        shape: Shape,
    ) -> Result<Arc<Section>, AddError> {
        let original = self.sections[usize::from(id)].load(Acquire);
        if original.is_null() {
            return Err(AddError::Unknown(id));
        }
        // SAFETY: `add` made it from an `Arc`, of which this is no share; nobody closes a section that threads come to.
        let original = unsafe { ManuallyDrop::new(Arc::from_raw(original)) };
        let copy = Section::open_copy(host, shape, &original)?;
        if let Some(before) = original.set_copy(thread, Some(Arc::clone(&copy))) {
            // Nothing of it was written.
            let _ = before.close();
        }
        Ok(copy)
    }

    /// Closes the copy of a thread, if it has one.
    ///
    /// # Errors
    /// If the far store fails.
    pub fn remove_copy(&self, id: u8, thread: usize) -> Result<(), SectionError> {
        let copy = self.get(id).and_then(|section| section.set_copy(thread, None));
        copy.map_or(Ok(()), Section::close)
    }

    /// The section of a number as a thread has it: its copy, if it has one.
    ///
    /// # Safety
    /// It is the calling thread that is known by `thread`, which is not asked for unless there are copies.
    pub unsafe fn get_for(&self, id: u8, thread: impl FnOnce() -> usize) -> Option<&Section> {
        let section = self.get(id)?;
        if !section.is_copied() {
            return Some(section);
        }
        // SAFETY: what the caller says; copies come and go by the two functions above only, for the thread that calls.
        Some(unsafe { section.copy_of(thread()) }.unwrap_or(section))
    }

    /// All sections.
    pub fn all(&self) -> impl Iterator<Item = &Section> {
        (0..=u8::MAX).filter_map(|id| self.get(id))
    }

    /// Closes a section; `None` if there is none of that number.
    ///
    /// # Safety
    /// No thread uses the section any more.
    pub unsafe fn remove(&self, id: u8) -> Option<Result<(), SectionError>> {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let section = self.sections[usize::from(id)].swap(std::ptr::null_mut(), AcqRel);
        if section.is_null() {
            return None;
        }
        // SAFETY: `add` made it from an `Arc`, and it was taken out just now.
        Some(unsafe { Arc::from_raw(section) }.close())
    }
}
