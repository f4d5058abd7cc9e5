//! What the kernel writes into a ring (`perf_event_open(2)`).

use perf_event_open_sys::bindings::{PERF_RECORD_LOST, PERF_RECORD_MMAP2, PERF_RECORD_SAMPLE};

use super::{FaultEvent, General, Registers};

/// Which registers samples hold, as bits by their numbers (`asm/perf_regs.h`), in whose order they come: frame pointer,
/// stack pointer, instruction.
const FEW: u64 = 1 << 6 | 1 << 7 | 1 << 8;

/// The same with all general registers.
const ALL: u64 = 0xff_01ff;

/// Where each of the first eight registers comes in a sample of all, by its number in instructions.
const ORDER: [usize; 8] = [0, 2, 3, 1, 7, 6, 4, 5];

/// Which registers samples hold.
pub fn registers(general: bool) -> u64 {
    if general { ALL } else { FEW }
}

/// Set if a mapping may be executed.
const PROT_EXEC: u32 = libc::PROT_EXEC as u32;

/// How much the samples of an event hold.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Size {
    /// Registers.
    Small,
    /// The stack, too.
    Large,
}

/// Reads one number after the other.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn long(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*number))
    }

    fn int(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*number))
    }

    /// The registers of a sample, with the general ones if it holds them.
    fn registers(&mut self, general: bool) -> Option<(Registers, Option<General>)> {
        if !general {
            let (frame, stack) = (self.long()?, self.long()?);
            return Some((Registers { instruction: self.long()?, stack, frame }, None));
        }
        let mut first = [0; 8];
        for register in &mut first {
            *register = self.long()?;
        }
        let instruction = self.long()?;
        let mut all = [0; 16];
        for (number, register) in all.iter_mut().enumerate() {
            *register = match ORDER.get(number) {
                Some(place) => first[*place],
                None => self.long()?,
            };
        }
        Some((Registers { instruction, stack: all[4], frame: all[5] }, Some(all)))
    }
}

/// Reads the record at the front of `bytes`; returns what it tells, if it is of interest, and how long it is. `None` at
/// the end, and if what follows makes no sense.
pub fn decode(bytes: &[u8], size: Size, general: bool) -> Option<(Option<FaultEvent<'_>>, usize)> {
    let mut header = Numbers(bytes);
    let kind = header.int()?;
    // Two short numbers, of which the upper one is the length.
    let length = (header.int()? >> 16) as usize;
    let body = bytes.get(8..length)?;
    let event = match kind {
        PERF_RECORD_SAMPLE => sample(body, size, general),
        PERF_RECORD_MMAP2 => mapped(body),
        PERF_RECORD_LOST if size == Size::Small => lost(body),
        _ => None,
    };
    Some((event, length))
}

fn sample(body: &[u8], size: Size, general: bool) -> Option<FaultEvent<'_>> {
    let mut numbers = Numbers(body);
    let (_, thread, address) = (numbers.int()?, numbers.int()?, numbers.long()?);
    // Kernel threads have no such registers.
    let has_registers = numbers.long()? != 0;
    if !has_registers {
        return None;
    }
    let (registers, general) = numbers.registers(general)?;
    if size == Size::Small {
        return Some(FaultEvent::Fault { thread, address, registers, general });
    }
    let room = usize::try_from(numbers.long()?).ok()?;
    let stack = match room {
        0 => &[],
        _ => {
            let copied = Numbers(numbers.0.get(room..)?).long()?;
            numbers.0.get(..usize::try_from(copied).ok()?.min(room))?
        }
    };
    Some(FaultEvent::Stack { thread, address, registers, stack })
}

fn mapped(body: &[u8]) -> Option<FaultEvent<'_>> {
    let mut numbers = Numbers(body);
    let (pid, _) = (numbers.int()?, numbers.int()?);
    let (address, length, offset) = (numbers.long()?, numbers.long()?, numbers.long()?);
    // Device and inode.
    numbers.0 = numbers.0.get(24..)?;
    let (protection, _flags) = (numbers.int()?, numbers.int()?);
    let path = numbers.0.split(|byte| *byte == 0).next()?;
    (protection & PROT_EXEC != 0).then_some(FaultEvent::Mapped {
        pid,
        address,
        length,
        offset,
        path,
    })
}

fn lost(body: &[u8]) -> Option<FaultEvent<'_>> {
    let mut numbers = Numbers(body);
    let _id = numbers.long()?;
    numbers.long().map(FaultEvent::Lost)
}
