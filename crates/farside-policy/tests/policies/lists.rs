//! Slots and lists against vectors.

use std::collections::{HashMap, VecDeque};

use farside_policy::replacement::Slot;
use farside_policy::replacement::list::{Lists, SlotPages};
use farside_trace::PageId;
use proptest::prelude::*;
use proptest::sample::Index;

const LISTS: usize = 3;

#[derive(Clone, Debug)]
enum Op {
    Insert(usize),
    InsertOldest(usize),
    Replace(Index),
    Move(Index, usize),
    Pop(usize),
    Release(Index),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..LISTS).prop_map(Op::Insert),
        2 => (0..LISTS).prop_map(Op::InsertOldest),
        2 => any::<Index>().prop_map(Op::Replace),
        3 => (any::<Index>(), 0..LISTS).prop_map(|(slot, list)| Op::Move(slot, list)),
        2 => (0..LISTS).prop_map(Op::Pop),
        2 => any::<Index>().prop_map(Op::Release),
    ]
}

/// Both structures beside what they should hold.
#[derive(Default)]
struct Pair {
    pages: SlotPages,
    lists: Lists<LISTS>,
    in_use: HashMap<u32, PageId>,
    order: [VecDeque<Slot>; LISTS],
    ever: usize,
    most: usize,
}

impl Pair {
    fn apply(&mut self, op: Op) {
        match op {
            Op::Insert(list) => {
                let slot = self.new_slot();
                self.push(list, slot);
            }
            Op::InsertOldest(list) => {
                let slot = self.new_slot();
                self.lists.push_oldest(list, slot);
                self.order[list].push_front(slot);
            }
            Op::Replace(index) => {
                let Some(listed) = self.choose(index) else { return };
                let slot = self.new_slot();
                self.lists.replace(listed, slot);
                let places = self.order.iter_mut().flatten();
                places.filter(|place| **place == listed).for_each(|place| *place = slot);
                self.release(listed);
            }
            Op::Move(index, list) => {
                let Some(slot) = self.choose(index) else { return };
                self.lists.remove(slot);
                self.forget_order(slot);
                self.push(list, slot);
            }
            Op::Pop(list) => {
                let slot = self.lists.pop_oldest(list);
                assert_eq!(slot, self.order[list].pop_front());
                if let Some(slot) = slot {
                    self.release(slot);
                }
            }
            Op::Release(index) => {
                let Some(slot) = self.choose(index) else { return };
                self.lists.remove(slot);
                self.forget_order(slot);
                self.release(slot);
            }
        }
    }

    fn new_slot(&mut self) -> Slot {
        let page = PageId(self.ever as u64);
        let slot = self.pages.insert(page);
        assert_eq!(self.in_use.insert(slot.0, page), None, "a slot in use was handed out");
        self.ever += 1;
        self.most = self.most.max(self.in_use.len());
        assert!((slot.0 as usize) < self.most, "slots are dense");
        slot
    }

    fn push(&mut self, list: usize, slot: Slot) {
        self.lists.push_youngest(list, slot);
        self.order[list].push_back(slot);
    }

    fn release(&mut self, slot: Slot) {
        assert_eq!(Some(self.pages.release(slot)), self.in_use.remove(&slot.0));
        assert_eq!((self.pages.get(slot), self.lists.list_of(slot)), (None, None));
        assert_eq!(self.lists.younger(slot), None);
    }

    fn forget_order(&mut self, slot: Slot) {
        for order in &mut self.order {
            order.retain(|&other| other != slot);
        }
    }

    fn choose(&self, index: Index) -> Option<Slot> {
        let all: Vec<_> = self.order.iter().flatten().collect();
        (!all.is_empty()).then(|| **index.get(&all))
    }

    fn check(&self) {
        assert_eq!(self.pages.len(), self.in_use.len());
        assert_eq!(self.pages.is_empty(), self.in_use.is_empty());
        for (list, order) in self.order.iter().enumerate() {
            assert!(self.lists.iter(list).eq(order.iter().copied()));
            assert_eq!(self.lists.len(list), order.len());
            assert_eq!(self.lists.is_empty(list), order.is_empty());
            assert_eq!(self.lists.oldest(list), order.front().copied());
            assert_eq!(self.lists.youngest(list), order.back().copied());
            for (index, &slot) in order.iter().enumerate() {
                assert_eq!(self.lists.younger(slot), order.get(index + 1).copied());
                assert_eq!(self.lists.list_of(slot), Some(list));
                assert_eq!(self.pages.get(slot), self.in_use.get(&slot.0).copied());
            }
        }
    }
}

proptest! {
    #[test]
    fn lists_keep_every_slot_once_and_in_order(ops in prop::collection::vec(op(), 0..150)) {
        let mut pair = Pair::default();
        for op in ops {
            pair.apply(op);
            pair.check();
        }
    }
}

#[test]
#[should_panic(expected = "slot 0 is not in use")]
fn a_slot_cannot_be_released_twice() {
    let mut pages = SlotPages::new();
    let slot = pages.insert(PageId(1));
    pages.release(slot);
    pages.release(slot);
}

#[test]
#[should_panic(expected = "slot 0 is already in a list")]
fn a_slot_cannot_be_in_two_lists() {
    let mut lists = Lists::<2>::new();
    lists.push_youngest(0, Slot(0));
    lists.push_youngest(1, Slot(0));
}

#[test]
#[should_panic(expected = "slot 7 is in no list")]
fn a_slot_in_no_list_cannot_be_removed() {
    Lists::<1>::new().remove(Slot(7));
}
