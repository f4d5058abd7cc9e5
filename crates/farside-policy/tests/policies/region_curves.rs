//! The curves of region-specific replacement against exact stack distances.

use crate::support::region_stacks::{ORDERS, Stacks};
use crate::support::{Traces, golden, golden_rows, misses};
use farside_policy::replacement::region::{Curves, Misses, Order};
use farside_policy::replacement::{Lru, Mru, Slot};
use farside_trace::PageId;
use proptest::prelude::*;
use proptest::sample::Index;

#[test]
fn curves_equal_the_misses_of_lru_and_mru_on_the_golden_traces() {
    let test = "curves_equal_the_misses_of_lru_and_mru_on_the_golden_traces";
    let Some(golden) = golden(test) else { return };
    let mut traces = Traces::new(&golden);
    let mut checked = 0;
    for row in golden_rows(&golden, "lru").into_iter().filter(|row| row.pages <= 1000) {
        let Some(trace) = traces.get(&row.trace) else { continue };
        let step = (row.pages / 4).max(1);
        let mut curves = Curves::new(step);
        curves.resize(3, row.pages);
        for page in trace {
            curves.access(3, Slot(page.0 as u32));
            while curves.next_gone().is_some() {}
        }
        for order in ORDERS {
            let at = |pages| match (order, pages) {
                (_, 0) => trace.len(),
                (Order::Lru, _) => misses(Lru::new(), pages, trace),
                (Order::Mru, _) => misses(Mru::new(), pages, trace),
            };
            let [less, present, more] =
                [row.pages - step, row.pages, row.pages + step].map(|pages| at(pages) as u64);
            let expected = Misses { less, present, more };
            assert_eq!(curves.misses(3, order), expected, "{} {}", row.trace, row.pages);
        }
        checked += 1;
    }
    assert!(checked > 30);
}

#[derive(Clone, Debug)]
enum Op {
    Access(usize, u64),
    Remove(usize, Index),
    Resize(usize, usize),
    Step(usize),
    Restart(usize),
    Reset(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        20 => (0..2_usize, 0..30_u64).prop_map(|(region, page)| Op::Access(region, page)),
        2 => (0..2_usize, any::<Index>()).prop_map(|(region, index)| Op::Remove(region, index)),
        2 => (0..2_usize, 0..20_usize).prop_map(|(region, pages)| Op::Resize(region, pages)),
        1 => (1..6_usize).prop_map(Op::Step),
        1 => (0..2_usize).prop_map(Op::Restart),
        1 => (0..2_usize).prop_map(Op::Reset),
    ]
}

proptest! {
    #[test]
    fn curves_equal_the_stacks_while_sizes_change(ops in prop::collection::vec(op(), 0..200)) {
        let mut curves = Curves::new(2);
        let mut model = [Stacks::new(2), Stacks::new(2)];
        let page_at = |slot: Slot| PageId(u64::from(slot.0));
        let mut known = std::collections::HashSet::new();
        for op in ops {
            match op {
                Op::Access(region, page) => {
                    // Each region has pages of its own.
                    let page = PageId(2 * page + region as u64);
                    model[region].access(page);
                    curves.access(region, Slot(page.0 as u32));
                    known.insert(page);
                }
                Op::Remove(region, index) => {
                    let held: Vec<_> = model[region].stacks.concat();
                    if !held.is_empty() {
                        let page = *index.get(&held);
                        model[region].stacks.iter_mut().for_each(|s| s.retain(|p| *p != page));
                        curves.remove(region, Slot(page.0 as u32));
                        known.remove(&page);
                    }
                }
                Op::Resize(region, pages) => {
                    model[region].size = pages;
                    model[region].cut();
                    curves.resize(region, pages);
                }
                Op::Step(step) => {
                    for stacks in &mut model {
                        stacks.step = step;
                        stacks.cut();
                    }
                    curves.set_step(step);
                }
                Op::Restart(region) => {
                    model[region].stacks[1] = model[region].stacks[0].clone();
                    curves.restart_mru(region);
                }
                Op::Reset(region) => {
                    model[region].misses = Default::default();
                    curves.reset(region);
                }
            }
            while let Some(slot) = curves.next_gone() {
                prop_assert!(known.remove(&page_at(slot)), "{:?} went twice", slot);
            }
            for (region, stacks) in model.iter().enumerate() {
                for (index, order) in ORDERS.into_iter().enumerate() {
                    prop_assert_eq!(curves.misses(region, order), stacks.misses[index]);
                }
            }
            for page in (0..60).map(PageId) {
                let held = model[(page.0 % 2) as usize].holds(page);
                prop_assert_eq!(curves.holds(Slot(page.0 as u32)), held, "{:?}", page);
                prop_assert_eq!(known.contains(&page), held, "{:?}", page);
            }
        }
    }
}
