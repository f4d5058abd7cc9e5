//! Following a tape while the memory node moves the pages.
//!
//! What copies pages in and out runs beside the program. It is no thread of the program: each page that the program
//! takes away would interrupt such a thread, and each page that this one takes away the program, which costs several
//! times as much as all else. That pays even if the program's threads keep all processors busy. The handler of a
//! fault only decides, drops what has not been written, takes away what has, and gives [orders](Mover).

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use farside_far::{FarError, Finished, Moved, Mover, Order, Ticket};
use farside_os::memory::PAGE;
use farside_policy::batches::BATCH;

use super::Replay;
use super::orders::{AT_ONCE, Orders};
use crate::counters::Counters;
use crate::frames::Run;
use crate::pager::{Outcome, Pager, Worker};
use crate::purpose::Purpose;
use crate::word::{State, Word};
use crate::writeback::Staged;

/// Frames that nobody uses are given back so many at a time.
const SPARE: u64 = 64;

/// What an order comes to that nobody carries out.
const NOTHING: Moved = Moved { done: 0, unchanged: 0 };

/// Orders under way, in the order in which they end.
#[derive(Default)]
pub(crate) struct Aside {
    queue: Mutex<VecDeque<UnderWay>>,
    /// Why the program has to end.
    failed: Mutex<Option<FarError>>,
}

/// A part of what moves.
#[derive(Copy, Clone, Debug)]
enum UnderWay {
    /// Pages come, mapped for writing if `open`; or a key page comes, into this position of the frame area.
    Landing { order: Order, open: bool, position: Option<u32> },
    /// Pages leave, whose frames lie in the frame area.
    Leaving { order: Order, staged: Staged },
}

impl UnderWay {
    fn order(&self) -> Order {
        match self {
            Self::Landing { order, .. } | Self::Leaving { order, .. } => *order,
        }
    }

    fn carries(&self, page: u64) -> bool {
        let Order { first, count, .. } = self.order();
        page >= first && page < first + u64::from(count)
    }
}

impl Pager {
    /// Has the node move the pages, if the program is to follow a tape that way and the node can.
    pub(crate) fn prepare_aside(&self, uffd: BorrowedFd<'_>) -> Outcome {
        match self.replay() {
            Some(replay) if replay.aside => self.store.start_mover(uffd).map(drop),
            _ => Ok(()),
        }
    }

    /// What moves the pages while the program runs, if that is how its tape is followed. A program that has left its
    /// tape moves them itself: what is foreseen without a tape is too little to be worth the node's while.
    pub(crate) fn mover(&self) -> Option<&dyn Mover> {
        let aside = self.replay().is_some_and(|replay| replay.aside);
        if aside && self.follows_tape() { self.store.mover() } else { None }
    }

    /// Deals with what has arrived and left, gives up what is behind the program, and orders what is ahead of it.
    /// The caller is inside.
    pub(super) fn order_aside(&self, w: &mut Worker, replay: &Replay) -> Outcome {
        self.finish_moved()?;
        loop {
            let mut behind = Vec::new();
            self.collect_evictions(replay, &mut behind);
            let count = behind.len();
            for some in behind.chunks(BATCH) {
                self.evict_pages(w, some)?;
            }
            if count < AT_ONCE {
                break;
            }
        }
        self.make_room(w, replay)?;
        while self.area.spare_count() >= SPARE && self.drop_spare(BATCH as u64) > 0 {}
        let mut orders = Orders::default();
        self.collect_fetches(replay, &mut orders);
        self.send_for(w, &mut orders)?;
        self.tell_followers(replay, &orders);
        Ok(())
    }

    /// Has victims stored whose frames lie in the frame area; returns how many frames that gains at once, because
    /// their content is stored already, or zero.
    pub(crate) fn order_out(&self, mover: &dyn Mover, staged: Staged) -> Result<u64, FarError> {
        if staged.word.stored() && !staged.word.writable() {
            // There is nothing to write, or it takes a comparison to know.
            return self.settle(staged);
        }
        let mut rest = self.forget_zeros(staged)?;
        let left: u64 = rest.iter().map(|staged| u64::from(staged.run.count)).sum();
        while let Some(staged) = rest.pop() {
            let mut at = 0;
            while at < staged.run.count {
                let part = staged.part(at, staged.run.count - at);
                let address = self.area.address(part.run.start);
                let compare = part.word.stored() && self.is_in_doubt(part.first);
                // Who finds a page in transition has to find its order, too.
                let mut queue = self.lock(&self.aside.queue);
                let Some(order) = mover.take(part.first, part.run.count, address, compare)? else {
                    drop(queue);
                    self.settle(part)?;
                    break;
                };
                let part = part.part(0, order.count);
                for i in 0..order.count {
                    let leaving = Word::new(State::Leaving).with_position(part.run.start + i);
                    self.publish_absent(part.first + u64::from(i), leaving);
                }
                queue.push_back(UnderWay::Leaving { order, staged: part });
                at += order.count;
            }
        }
        Ok(u64::from(staged.run.count) - left)
    }

    /// Whether it is worth a comparison if a page that could be written was.
    fn is_in_doubt(&self, page: u64) -> bool {
        const PROBE_EVERY: u64 = 16;
        let probe = || self.runs.fetch_add(1, Relaxed).is_multiple_of(PROBE_EVERY);
        let is_known = self.table.is_to_write(page) || self.table.was_written(page) == Some(true);
        !is_known || probe()
    }

    /// Orders some of the owned far pages from `first` on, if there is room; the last `keep` of all `count` are to
    /// stay unmapped. Returns how many.
    pub(super) fn order_in(
        &self,
        mover: &dyn Mover,
        (first, count): (u64, u64),
        keep: u64,
    ) -> Result<u64, FarError> {
        let got = self.budget.take(count);
        let place = (keep > 0 && got == count).then(|| self.area.take_empty(1)).flatten();
        let mapped = got - u64::from(place.is_some());
        let mut done = 0;
        while done < mapped {
            let page = first + done;
            let open = self.will_be_written(page);
            let same = |i: &u64| self.will_be_written(page + i) == open;
            let run = 1 + (1..mapped - done).take_while(same).count() as u32;
            let mut queue = self.lock(&self.aside.queue);
            let Some(order) = mover.land(page, run, self.address(page), !open)? else { break };
            queue.push_back(UnderWay::Landing { order, open, position: None });
            done += u64::from(order.count);
        }
        if let Some(Run { start, .. }) = place {
            let key = first + mapped;
            let address = self.area.address(start);
            let mut queue = self.lock(&self.aside.queue);
            let order = if done < mapped { None } else { mover.land(key, 1, address, false)? };
            match order {
                Some(order) => {
                    let (open, position) = (true, Some(start));
                    queue.push_back(UnderWay::Landing { order, open, position });
                    done += 1;
                }
                None => self.area.leave_empty(Run { start, count: 1 }),
            }
        }
        self.budget.give(got - done);
        Ok(done)
    }

    /// Whether a page is likely to be written before it is evicted again. One that is not is mapped write-protected:
    /// it needs neither a comparison nor a call of its own when it leaves.
    fn will_be_written(&self, page: u64) -> bool {
        if self.table.is_to_write(page) {
            return true;
        }
        let experience = self.table.was_written(page);
        experience.unwrap_or_else(|| self.writes.protect_next(1) == 0)
    }

    /// Deals with what has arrived and left by now.
    pub(crate) fn finish_moved(&self) -> Outcome {
        let Some(mover) = self.store.mover() else { return Ok(()) };
        self.check_moved()?;
        loop {
            let mut queue = self.lock(&self.aside.queue);
            let Some(next) = queue.front().filter(|next| mover.is_done(next.order())) else {
                return Ok(());
            };
            let next = *next;
            queue.pop_front();
            drop(queue);
            self.finish(mover, next)?;
        }
    }

    /// Waits for the oldest order under way; false if there is none.
    pub(crate) fn finish_oldest(&self) -> Result<bool, FarError> {
        let Some(mover) = self.store.mover() else { return Ok(false) };
        self.check_moved()?;
        let Some(next) = self.lock(&self.aside.queue).pop_front() else { return Ok(false) };
        self.finish(mover, next).map(|()| true)
    }

    /// Waits for the order that carries `page`, and all before it; false if there is none.
    pub(crate) fn finish_with(&self, page: u64) -> Result<bool, FarError> {
        self.check_moved()?;
        let place = self.lock(&self.aside.queue).iter().position(|next| next.carries(page));
        let Some(place) = place else { return Ok(false) };
        for _ in 0..=place {
            self.finish_oldest()?;
        }
        Ok(true)
    }

    /// As [`finish_with`](Self::finish_with), for a thread that cannot end the program: the completer does, if the
    /// order failed.
    pub(crate) fn wait_moved(&self, page: u64) -> bool {
        match self.finish_with(page) {
            Ok(moved) => moved,
            Err(_) => {
                self.flights.poke();
                false
            }
        }
    }

    /// Fails if an order failed, so that the program has to end.
    pub(crate) fn check_moved(&self) -> Outcome {
        self.lock(&self.aside.failed).map_or(Ok(()), Err)
    }

    /// Whether orders are under way.
    pub(crate) fn is_moving(&self) -> bool {
        !self.lock(&self.aside.queue).is_empty()
    }

    fn finish(&self, mover: &dyn Mover, under_way: UnderWay) -> Outcome {
        let order = under_way.order();
        match (mover.finish(order), under_way) {
            (Ok(Finished::Moved(moved)), _) => {
                Counters::add(&self.counters.moved_pages, u64::from(moved.done));
                self.finish_moving(under_way, moved)
            }
            (Ok(Finished::Recalled(read)), _) => {
                Counters::add(&self.counters.recalled_pages, u64::from(order.count));
                self.finish_recalled(under_way, read)
            }
            (Err(error), UnderWay::Landing { .. }) => {
                self.finish_moving(under_way, NOTHING).and(Err(error))
            }
            (Err(error), UnderWay::Leaving { .. }) => {
                // What cannot be stored stays where it is, and the program ends.
                *self.lock(&self.aside.failed) = Some(error);
                Err(error)
            }
        }
    }

    fn finish_moving(&self, under_way: UnderWay, moved: Moved) -> Outcome {
        match under_way {
            UnderWay::Landing { order, open, position } => {
                self.finish_landing((order.first, u64::from(order.count)), moved, open, position);
                Ok(())
            }
            UnderWay::Leaving { staged, .. } => self.finish_leaving_run(staged, moved),
        }
    }

    /// Carries out what the node did not come to.
    fn finish_recalled(&self, under_way: UnderWay, read: Option<Ticket>) -> Outcome {
        let (UnderWay::Landing { order, open, position }, Some(ticket)) = (under_way, read) else {
            return self.finish_moving(under_way, NOTHING);
        };
        let mut content = vec![0; order.count as usize * PAGE];
        let came = self.store.finish_read(ticket, &mut content);
        let done = match (came, position) {
            (Err(_), _) => 0,
            (Ok(()), None) => {
                self.copy_pages(order.first, &content, !open, true);
                order.count
            }
            (Ok(()), Some(position)) => {
                let there = self.area.address(position);
                u32::from(self.space.copy_in(there, &content, false, false).is_ok())
            }
        };
        self.finish_moving(under_way, Moved { done, ..NOTHING }).and(came)
    }

    fn finish_landing(
        &self,
        (first, count): (u64, u64),
        moved: Moved,
        open: bool,
        position: Option<u32>,
    ) {
        let done = u64::from(moved.done).min(count);
        match position {
            Some(position) if done == 1 => {
                self.count_fetched(1, Purpose::NONE, first);
                self.publish_watched(first, position);
                return;
            }
            Some(position) => self.area.leave_empty(Run { start: position, count: 1 }),
            None => {
                self.count_fetched(done, Purpose::NONE, first);
                self.publish_fetched(first, if open { 0 } else { done }, done, Purpose::NONE);
            }
        }
        // Where the program changed the layout meanwhile, pages have to be looked at one by one, if they are used.
        for page in first + done..first + count {
            self.publish_absent(page, Word::new(State::Far).with_stored());
        }
        self.budget.give(count - done);
    }

    fn finish_leaving_run(&self, staged: Staged, moved: Moved) -> Outcome {
        if moved.done < staged.run.count {
            return self.write_staged(staged);
        }
        self.note_stored(staged, moved.unchanged);
        Ok(())
    }
}
