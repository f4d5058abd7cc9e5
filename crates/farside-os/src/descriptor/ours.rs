//! Which numbers are ours, so that a program that closes all descriptors, as daemons do, can be kept from these.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Numbers from here on are not told apart.
const MOST: usize = 8192;
const BITS: usize = u64::BITS as usize;

static OURS: [AtomicU64; MOST / BITS] = [const { AtomicU64::new(0) }; MOST / BITS];

/// The word and the bit in it of a number.
fn place(number: i32) -> Option<(&'static AtomicU64, u64)> {
    let number = usize::try_from(number).ok()?;
    Some((OURS.get(number / BITS)?, 1 << (number % BITS)))
}

/// A number is that of a descriptor of ours from now on.
pub(super) fn note(number: i32) {
    if let Some((word, bit)) = place(number) {
        word.fetch_or(bit, Relaxed);
    }
}

/// A descriptor was closed, or is about to be.
pub fn forget(number: i32) {
    if let Some((word, bit)) = place(number)
        && word.load(Relaxed) & bit != 0
    {
        word.fetch_and(!bit, Relaxed);
    }
}

/// Whether a number is that of a descriptor of ours: of one that was moved [out of the way](super::out_of_the_way) and
/// not [forgotten](forget) since.
pub fn is_ours(number: i32) -> bool {
    place(number).is_some_and(|(word, bit)| word.load(Relaxed) & bit != 0)
}

/// The first number of ours from `from` on.
pub fn next_of_ours(from: u32) -> Option<u32> {
    let from = from as usize;
    let words = OURS.iter().enumerate().skip(from / BITS);
    words
        .filter_map(|(at, word)| {
            let below = if at == from / BITS { (1 << (from % BITS)) - 1 } else { 0 };
            let bits = word.load(Relaxed) & !below;
            (bits != 0).then(|| (at * BITS) as u32 + bits.trailing_zeros())
        })
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_order_until_they_are_forgotten() {
        for number in [4100, 4163, 4164, 8191] {
            note(number);
        }
        note(8192);
        note(-1);
        assert!([4100, 4163, 4164, 8191].into_iter().all(is_ours));
        assert!([4099, 4101, 8192, -1].into_iter().all(|number| !is_ours(number)));
        let from = |from| next_of_ours(from);
        assert_eq!(
            [from(4000), from(4100), from(4101), from(4164)].map(Option::unwrap),
            [4100, 4100, 4163, 4164]
        );
        assert_eq!([from(4165), from(8192), from(u32::MAX)], [Some(8191), None, None]);
        forget(4163);
        assert_eq!(from(4101), Some(4164));
    }
}
