//! Numbers and orders by chance, the same in every run.

/// The next number.
pub(super) fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The numbers below `count` in some order.
pub(super) fn shuffled(count: usize, state: &mut u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, draw(state) as usize % (at + 1));
    }
    order
}
