//! Which nodes are to have a page: those whose names and the page's group hash highest (rendezvous hashing), so that a
//! node that comes or goes moves no other pages than its own.

/// Slots of a group lie on the same nodes, so that pages that are evicted together are fetched in one request.
const GROUP: u64 = 64;

/// The nodes below `nodes`, best first.
pub fn order(slot: u64, nodes: usize) -> impl Iterator<Item = usize> {
    let weigh = |node: usize| std::cmp::Reverse(mix((slot / GROUP) ^ mix(node as u64 + 1)));
    let mut order = [0; crate::seals::MOST_NODES];
    for (node, place) in order.iter_mut().enumerate() {
        *place = node;
    }
    let count = nodes.min(order.len());
    order[..count].sort_unstable_by_key(|node| weigh(*node));
    order.into_iter().take(count)
}

/// Spreads numbers that lie close together (the finaliser of splitmix64).
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_spread_evenly_and_groups_stay_together() {
        let mut first = [0; 3];
        for slot in (0..64 * 30_000).step_by(64) {
            let nodes: Vec<_> = order(slot, 3).collect();
            assert!(order(slot + 63, 3).eq(nodes.iter().copied()));
            first[nodes[0]] += 1;
        }
        assert!(first.iter().all(|count| (9_500..10_500).contains(count)), "{first:?}");
    }

    #[test]
    fn a_node_more_takes_pages_to_itself_only() {
        for slot in (0..64 * 1_000).step_by(64) {
            let before: Vec<_> = order(slot, 4).collect();
            let after: Vec<_> = order(slot, 5).filter(|node| *node != 4).collect();
            assert_eq!(before, after);
        }
    }
}
