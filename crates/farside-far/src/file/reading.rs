//! Reading: pages are sent for together, and looked at one by one.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use farside_os::memory::PAGE;
use farside_os::uring::Direction;

use super::ring::{MOST, Plan, Way};
use super::{File, offset_of, slot_of};
use crate::{FarError, Ticket};

/// The reads under way.
pub struct Readings {
    ways: Box<[Mutex<Option<Way>>]>,
    free: Mutex<Vec<u32>>,
}

impl Readings {
    /// None, of `most` that may be.
    pub fn new(most: u32) -> Self {
        let ways = (0..most).map(|_| Mutex::default()).collect();
        Self { ways, free: Mutex::new((1..=most).collect()) }
    }

    fn free(&self) -> MutexGuard<'_, Vec<u32>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn way(&self, number: u32) -> MutexGuard<'_, Option<Way>> {
        self.ways[number as usize - 1].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a read a number, unless there are too many.
    fn begin(&self, send: impl FnOnce() -> Result<Way, FarError>) -> Option<u32> {
        let number = self.free().pop()?;
        match send() {
            Ok(way) => {
                *self.way(number) = Some(way);
                Some(number)
            }
            Err(_) => {
                self.free().push(number);
                None
            }
        }
    }

    /// Takes the read of that number, which is nobody's any more.
    fn take(&self, number: u32) -> Option<Way> {
        let way = self.way(number).take();
        self.free().push(number);
        way
    }
}

impl File {
    /// Sends for as many of `count` pages as a buffer holds; the others are read when they are waited for.
    pub(super) fn begin_reading(&self, first: u64, count: u32) -> Ticket {
        let send = || self.send_for(first, MOST.min(count as usize));
        // Without a ring, nothing happens until somebody waits.
        let call = if self.has_ring() { self.readings.begin(send) } else { None };
        Ticket { first, count, ready_at: 0, call: call.unwrap_or(0) }
    }

    /// Sends for up to [`MOST`] pages. Those that are not stored are passed over.
    fn send_for(&self, first: u64, count: usize) -> Result<Way, FarError> {
        let mut plan = Plan::new();
        for (at, page) in (first..first + count as u64).enumerate() {
            if let Some(block) = self.slots.block(page) {
                plan.add(at, offset_of(slot_of(block)));
            }
        }
        Ok(self.disk.begin(Direction::Read, self.disk.take_buffer()?, plan))
    }

    /// Whether pages that were sent for are here.
    pub(super) fn is_read(&self, ticket: &Ticket) -> bool {
        let ended = |way: &Way| self.disk.has_ended(way);
        ticket.call == 0 || self.readings.way(ticket.call).as_ref().is_none_or(ended)
    }

    /// Waits for pages that were sent for, sends for the others, and sees to it that all are those that were stored.
    pub(super) fn finish_reading(&self, ticket: Ticket, into: &mut [u8]) -> Result<(), FarError> {
        let mut begun = if ticket.call == 0 { None } else { self.readings.take(ticket.call) };
        let mut result = self.check();
        for (chunk, run) in into.chunks_mut(MOST * PAGE).enumerate() {
            let first = ticket.first + (chunk * MOST) as u64;
            let landed = match begun.take() {
                Some(way) => self.land(way, first, run),
                None if result.is_err() => break,
                None => {
                    let sent = self.send_for(first, run.len() / PAGE);
                    sent.and_then(|way| self.land(way, first, run))
                }
            };
            result = result.and(landed);
        }
        result
    }

    /// Waits for pages from `first` on, and puts them where they are wanted.
    fn land(&self, way: Way, first: u64, run: &mut [u8]) -> Result<(), FarError> {
        let arrived = self.disk.finish(way);
        let mut result = arrived.result;
        let pages = run.chunks_exact_mut(PAGE).zip(arrived.buffer.bytes().chunks_exact(PAGE));
        for (page, (into, bytes)) in (first..).zip(pages) {
            if result.is_err() {
                break;
            }
            into.copy_from_slice(bytes);
            result = match self.is_right(page, into) {
                Ok(true) => Ok(()),
                Ok(false) => self.read_again(page, into),
                Err(error) => Err(error),
            };
        }
        self.disk.give_buffer(arrived.buffer);
        result
    }

    /// Makes of what came back the page that was stored; false if it is something else.
    fn is_right(&self, page: u64, bytes: &mut [u8]) -> Result<bool, FarError> {
        let slot = slot_of(self.slots.block(page).ok_or(FarError::Missing(page))?);
        let version = self.seals.get(slot).version;
        let right = self.sealing.open(slot, version, self.seals.check(slot), bytes);
        if !right {
            self.damaged.fetch_add(1, Ordering::Relaxed);
        }
        Ok(right)
    }

    /// Reads a page once more: it may have been damaged on its way, and not where it lies.
    fn read_again(&self, page: u64, into: &mut [u8]) -> Result<(), FarError> {
        let arrived = self.disk.finish(self.send_for(page, 1)?);
        into.copy_from_slice(&arrived.buffer.bytes()[..PAGE]);
        self.disk.give_buffer(arrived.buffer);
        arrived.result?;
        if self.is_right(page, into)? { Ok(()) } else { Err(FarError::Damaged(page)) }
    }
}
