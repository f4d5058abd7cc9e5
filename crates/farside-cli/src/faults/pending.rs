//! What the kernel told of faults that nobody has answered yet.

use std::collections::{HashMap, VecDeque};

use farside_os::fault_events::General;
use farside_os::memory::PAGE;
use farside_symbols::Registers;

/// Most faults of a thread that are kept: more than fit into what the process tells by.
const MOST_FAULTS: usize = 1 << 16;

/// Most stacks of a thread that are kept.
const MOST_STACKS: usize = 256;

/// Faults before one that was answered which may be answered yet: different handlers may tell in another order. The
/// others are on memory that is not far.
const MOST_BEFORE: usize = 16;

/// Bytes that are used again.
const MOST_BUFFERS: usize = 64;

/// A stack that was sampled.
#[derive(Debug, PartialEq, Eq)]
pub struct Sampled {
    /// Where the thread was.
    pub registers: Registers,
    /// The stack from the stack pointer on.
    pub bytes: Vec<u8>,
}

/// A fault.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The address.
    pub address: u64,
    /// The instruction.
    pub instruction: u64,
    /// The stack pointer.
    pub stack: u64,
    /// All registers, if they were asked for.
    pub general: Option<General>,
}

#[derive(Debug, Default)]
struct Thread {
    /// The one that was answered last.
    answered: Option<Touched>,
    faults: VecDeque<Touched>,
    stacks: VecDeque<(u64, Sampled)>,
}

/// Faults by thread.
#[derive(Debug, Default)]
pub struct Pending {
    threads: HashMap<u32, Thread>,
    buffers: Vec<Vec<u8>>,
}

fn page_of(address: u64) -> u64 {
    address & !(PAGE as u64 - 1)
}

impl Pending {
    /// A thread faulted.
    pub fn fault(&mut self, thread: u32, touched: Touched) {
        let faults = &mut self.threads.entry(thread).or_default().faults;
        if faults.len() == MOST_FAULTS {
            faults.pop_front();
        }
        faults.push_back(touched);
    }

    /// The stack of a thread that faulted.
    pub fn stack(&mut self, thread: u32, address: u64, registers: Registers, stack: &[u8]) {
        let mut bytes = self.buffers.pop().unwrap_or_default();
        bytes.extend_from_slice(stack);
        let stacks = &mut self.threads.entry(thread).or_default().stacks;
        stacks.push_back((address, Sampled { registers, bytes }));
        if stacks.len() > MOST_STACKS
            && let Some((_, Sampled { bytes, .. })) = stacks.pop_front()
        {
            self.give_back(bytes);
        }
    }

    /// The oldest fault of a thread on this page. One whose page had to be opened for writing
    /// as well, or was lost before the instruction went on, is answered again without being told again.
    pub fn take_fault(&mut self, thread: u32, page: u64) -> Option<Touched> {
        let Thread { faults, answered, .. } = self.threads.get_mut(&thread)?;
        let of_page = |touched: &Touched| page_of(touched.address) == page;
        match faults.iter().position(of_page) {
            Some(index) => {
                *answered = faults.remove(index);
                faults.drain(..index.saturating_sub(MOST_BEFORE));
                *answered
            }
            None => (*answered).filter(of_page),
        }
    }

    /// The stack of the oldest fault of a thread on this page, if it was sampled.
    pub fn take_stack(&mut self, thread: u32, page: u64) -> Option<Sampled> {
        let stacks = &mut self.threads.get_mut(&thread)?.stacks;
        let index = stacks.iter().position(|(address, _)| page_of(*address) == page)?;
        let sampled = stacks.remove(index).map(|(_, sampled)| sampled);
        let before: Vec<_> = stacks.drain(..index).collect();
        before.into_iter().for_each(|(_, sampled)| self.give_back(sampled.bytes));
        sampled
    }

    /// Takes back memory of a stack that nobody needs any more.
    pub fn give_back(&mut self, mut bytes: Vec<u8>) {
        if self.buffers.len() < MOST_BUFFERS {
            bytes.clear();
            self.buffers.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = PAGE as u64;

    fn touched(address: u64, instruction: u64) -> Touched {
        Touched { address, instruction, stack: 0, general: None }
    }

    #[test]
    fn faults_are_found_by_thread_and_page_whatever_came_between() {
        let mut pending = Pending::default();
        for i in 0..1000 {
            // Memory that is not far, and memory that is.
            pending.fault(1, touched(1 << 40, 7));
            pending.fault(1, touched(i * SIZE + 8, i));
            pending.fault(2, touched(i * SIZE + 16, 5000 + i));
        }
        for i in 0..1000 {
            assert_eq!(pending.take_fault(1, i * SIZE), Some(touched(i * SIZE + 8, i)));
            assert_eq!(pending.take_fault(2, i * SIZE), Some(touched(i * SIZE + 16, 5000 + i)));
        }
        assert_eq!(pending.take_fault(1, 5 * SIZE), None);
        assert_eq!(pending.take_fault(3, 0), None);
    }

    #[test]
    fn two_handlers_may_tell_in_any_order_and_of_one_fault_twice() {
        let mut pending = Pending::default();
        (0..4).for_each(|i| pending.fault(1, touched(i * SIZE, i)));
        for i in [1, 0, 3, 3, 2] {
            assert_eq!(pending.take_fault(1, i * SIZE), Some(touched(i * SIZE, i)));
        }
    }

    #[test]
    fn a_stack_goes_with_its_fault() {
        let mut pending = Pending::default();
        let registers = Registers { instruction: 1, stack: 2, frame: 3 };
        (0..600).for_each(|i| pending.stack(1, i * SIZE, registers, &i.to_ne_bytes()));
        assert_eq!(pending.take_stack(1, 0), None, "too old");
        let sampled = pending.take_stack(1, 500 * SIZE).expect("kept");
        assert_eq!(sampled.bytes, 500u64.to_ne_bytes());
        assert_eq!(pending.take_stack(1, 499 * SIZE), None, "its fault was not of interest");
        assert!(pending.take_stack(1, 501 * SIZE).is_some());
    }
}
