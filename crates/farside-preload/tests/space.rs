//! The table of mappings against a model with one entry per page.

#[path = "../src/space.rs"]
#[allow(dead_code)]
mod space;

use proptest::prelude::*;
use space::{Kind, Space};

const PAGES: usize = 40;

fn kind(n: u8) -> Option<Kind> {
    match n {
        0 => None,
        1 => Some(Kind::Heap),
        2 => Some(Kind::Foreign),
        n => Some(Kind::Mapped(i32::from(n))),
    }
}

proptest! {
    #[test]
    fn table_agrees_with_a_flat_model(
        steps in prop::collection::vec((0..PAGES, 0..PAGES, 0u8..5), 1..60)
    ) {
        let mut table = Space::new();
        let mut model = [None; PAGES];
        for (a, b, k) in steps {
            let range = a.min(b)..a.max(b);
            match kind(k) {
                Some(kind) => table.insert(range.clone(), kind),
                None => table.remove(range.clone()),
            }
            model[range].fill(kind(k));

            let pieces = table.pieces(0..PAGES);
            let mut at = 0;
            for piece in &pieces {
                prop_assert_eq!(piece.range.start, at);
                prop_assert!(piece.range.end > at);
                for page in piece.range.clone() {
                    prop_assert_eq!(piece.kind, model[page]);
                    prop_assert_eq!(table.at(page).map(|(_, kind)| kind), model[page]);
                }
                at = piece.range.end;
            }
            prop_assert_eq!(at, PAGES);
            // Neighbours of one kind are one entry.
            for pair in pieces.windows(2) {
                prop_assert_ne!(pair[0].kind, pair[1].kind);
            }
        }
    }

    #[test]
    fn free_means_no_page_in_use(used in 0..PAGES, a in 0..PAGES, b in 0..PAGES) {
        let mut table = Space::new();
        table.insert(used..used + 1, Kind::Heap);
        let range = a.min(b)..a.max(b) + 1;
        prop_assert_eq!(table.is_free(range.clone()), !range.contains(&used));
    }
}
