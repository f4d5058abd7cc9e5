//! Callers: from registers and a piece of stack to the instructions that were called from.

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{Module, Unwinder as _};

use crate::image::Bytes;
use crate::images::{Images, Place};

/// Most callers of one instruction.
const DEEPEST: usize = 512;

/// Registers of a thread.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The instruction.
    pub instruction: u64,
    /// The stack pointer.
    pub stack: u64,
    /// The frame pointer.
    pub frame: u64,
}

/// What called an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Callers {
    /// The instruction itself, then its caller, and so on; `None` is code of no file.
    pub places: Vec<Option<Place>>,
    /// Whether the last one is where the thread began.
    pub complete: bool,
}

/// Finds callers.
pub struct Unwinder {
    unwinder: UnwinderX86_64<Bytes>,
    cache: CacheX86_64,
}

impl Unwinder {
    /// One for code of these files, as they are mapped now.
    pub fn new(images: &Images) -> Self {
        let mut unwinder = UnwinderX86_64::new();
        for (start, mapped, image) in images.mapped() {
            let name = image.path.to_string_lossy().into_owned();
            let module = Module::new(name, start..mapped.end, mapped.bias, image.sections());
            unwinder.add_module(module);
        }
        Self { unwinder, cache: CacheX86_64::new() }
    }

    /// The callers of a thread with these registers, whose stack, from the stack pointer on, holds these bytes.
    pub fn callers(&mut self, images: &Images, registers: Registers, stack: &[u8]) -> Callers {
        let Registers { instruction, stack: bottom, frame } = registers;
        let mut read = |address: u64| {
            let offset = usize::try_from(address.checked_sub(bottom).ok_or(())?).map_err(|_| ())?;
            let bytes = stack.get(offset..).and_then(|rest| rest.first_chunk()).ok_or(())?;
            Ok(u64::from_le_bytes(*bytes))
        };
        let registers = UnwindRegsX86_64::new(instruction, bottom, frame);
        let mut frames =
            self.unwinder.iter_frames(instruction, registers, &mut self.cache, &mut read);
        let mut places = Vec::new();
        let mut complete = false;
        while places.len() < DEEPEST {
            match frames.next() {
                // Of a call, the instruction is the one before the return.
                Ok(Some(frame)) => places.push(images.place(frame.address_for_lookup())),
                Ok(None) => {
                    complete = true;
                    break;
                }
                Err(_) => break,
            }
        }
        Callers { places, complete }
    }
}

impl std::fmt::Debug for Unwinder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unwinder").finish_non_exhaustive()
    }
}
