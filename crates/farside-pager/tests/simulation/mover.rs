//! A mover in simulated time.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

use farside_far::{FarError, Finished, Moved, Mover, Order};
use farside_os::space::AddressSpace;

use crate::PAGE;
use crate::scheduler::Wait;
use crate::store::{Link, SimStore};

/// How long the mover, and who waits for it, sleep between two looks.
const LOOK_NS: u64 = 700;

/// Most pages of an order.
const MOST_PAGES: u32 = 8;

/// Most orders under way.
const MOST_ORDERS: usize = 6;

/// How many of so many orders that somebody waits for are recalled.
const RECALLED_OF: (u64, u64) = (2, 7);

#[derive(Copy, Clone, Debug)]
enum Work {
    Land { protect: bool },
    Take { compare: bool },
}

#[derive(Copy, Clone, Debug)]
struct Ordered {
    order: Order,
    address: usize,
    work: Work,
}

/// What the mover has to do, and has done.
#[derive(Default)]
pub struct Orders {
    next: Cell<u64>,
    /// Whether the first that waits is being carried out.
    begun: Cell<bool>,
    waiting: RefCell<VecDeque<Ordered>>,
    answers: RefCell<BTreeMap<u64, Result<Moved, FarError>>>,
}

impl SimStore {
    /// Carries out orders until there are none and `over` says that none will come.
    pub fn move_pages(&self, over: &Cell<bool>) {
        while !over.get() {
            self.scheduler.wait(Wait::Until(self.scheduler.now() + LOOK_NS));
            while let Some(ordered) = self.next_order() {
                self.orders.begun.set(true);
                let answer = self.carry_out(ordered);
                self.orders.begun.set(false);
                self.orders.waiting.borrow_mut().pop_front();
                self.orders.answers.borrow_mut().insert(ordered.order.number, answer);
                self.scheduler.pause();
            }
        }
    }

    fn next_order(&self) -> Option<Ordered> {
        self.orders.waiting.borrow().front().copied()
    }

    fn carry_out(&self, ordered: Ordered) -> Result<Moved, FarError> {
        let Order { first, count, .. } = ordered.order;
        self.enter("moves", first, u64::from(count));
        self.check_link()?;
        self.work("a move", first, u64::from(count));
        let moved = match ordered.work {
            Work::Land { protect } => Ok(self.land(ordered, protect)),
            Work::Take { .. } if self.failed() => Err(FarError::Full),
            Work::Take { compare } => Ok(self.take(ordered, compare)),
        };
        self.rest(first, u64::from(count));
        moved
    }

    fn land(&self, ordered: Ordered, protect: bool) -> Moved {
        let Order { first, count, .. } = ordered.order;
        for i in 0..count {
            let page = first + u64::from(i);
            let content = self.content(page).expect("what is ordered is stored");
            let address = ordered.address + i as usize * PAGE;
            let mut tries = 0;
            while let Err(partial) = self.space.copy_in(address, &content, protect, true) {
                tries += 1;
                if partial.errno != libc::EAGAIN || tries > 2 {
                    return Moved { done: i, unchanged: 0 };
                }
            }
        }
        Moved { done: count, unchanged: 0 }
    }

    fn take(&self, ordered: Ordered, compare: bool) -> Moved {
        let Order { first, count, .. } = ordered.order;
        let mut unchanged = 0;
        for i in 0..count {
            let page = first + u64::from(i);
            let index = self.space.index(ordered.address) + i as usize;
            assert!(self.space.state(index).present, "page {page} is taken, but has no frame");
            let before = self.space.content(index);
            self.scheduler.pause_in("write");
            let content = self.space.content(index);
            assert!(before == content, "page {page} changed while it was taken");
            if compare && self.content(page).is_some_and(|stored| *stored == content[..]) {
                unchanged |= 1 << i;
            }
            self.pages.borrow_mut().insert(page, content.into());
        }
        Moved { done: count, unchanged }
    }

    /// Recalls an order that is not begun.
    fn recall(&self, number: u64) -> Option<Finished> {
        let mut waiting = self.orders.waiting.borrow_mut();
        let place = waiting.iter().position(|ordered| ordered.order.number == number)?;
        if place == 0 && self.orders.begun.get() {
            return None;
        }
        let Ordered { order, work, .. } = waiting.remove(place)?;
        let read = match work {
            Work::Land { .. } => Some(self.open_read(order.first, order.count)),
            Work::Take { .. } => None,
        };
        Some(Finished::Recalled(read))
    }

    fn order(&self, first: u64, count: u32, address: usize, work: Work) -> Option<Order> {
        let mut waiting = self.orders.waiting.borrow_mut();
        if waiting.len() >= MOST_ORDERS {
            return None;
        }
        let number = self.orders.next.get();
        self.orders.next.set(number + 1);
        let order = Order { first, count: count.min(MOST_PAGES), number };
        self.overtake(first, u64::from(order.count));
        waiting.push_back(Ordered { order, address, work });
        Some(order)
    }
}

impl Mover for Link {
    fn land(
        &self,
        first: u64,
        count: u32,
        address: usize,
        protect: bool,
    ) -> Result<Option<Order>, FarError> {
        self.0.enter("orders to land", first, u64::from(count));
        self.0.check_link().map_err(|error| self.0.refuse(error))?;
        Ok(self.0.order(first, count, address, Work::Land { protect }))
    }

    fn take(
        &self,
        first: u64,
        count: u32,
        address: usize,
        compare: bool,
    ) -> Result<Option<Order>, FarError> {
        self.0.enter("orders to take", first, u64::from(count));
        self.0.check_link().map_err(|error| self.0.refuse(error))?;
        Ok(self.0.order(first, count, address, Work::Take { compare }))
    }

    fn is_done(&self, order: Order) -> bool {
        self.0.orders.answers.borrow().contains_key(&order.number)
    }

    fn finish(&self, order: Order) -> Result<Finished, FarError> {
        let store = &self.0;
        store.enter("finishes", order.first, order.number);
        let is_recalled = order.number % RECALLED_OF.1 < RECALLED_OF.0;
        loop {
            if let Some(answer) = store.orders.answers.borrow_mut().remove(&order.number) {
                return answer.map(Finished::Moved).map_err(|error| store.refuse(error));
            }
            store.check_link().map_err(|error| store.refuse(error))?;
            if is_recalled && let Some(recalled) = store.recall(order.number) {
                store.scheduler.note("recalls", order.first, order.number);
                return Ok(recalled);
            }
            store.scheduler.wait(Wait::Until(store.scheduler.now() + LOOK_NS));
        }
    }
}
