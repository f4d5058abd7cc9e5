//! Looking ahead on curves: what stands before a cliff is not seen by exchanges of a few pages, and a cliff that several
//! programs together have to pay for by no exchange of two.

use crate::sharing::{Program, Sharing};

/// The most worthwhile growth of a share: misses saved for each page, and the share then.
#[derive(Copy, Clone, Debug)]
struct Growth {
    per_page: f64,
    share: usize,
}

/// Grows `shares`, which leave something over, by what saves most misses for each page, as far ahead as curves go, until
/// nothing is left that would save any.
pub fn grow<P: Program>(sharing: &Sharing<P>, shares: &mut [usize]) {
    let mut left = sharing.memory().saturating_sub(shares.iter().sum());
    let mut all: Vec<Option<Growth>> =
        (0..shares.len()).map(|index| growth(sharing, index, shares[index], left)).collect();
    loop {
        let best = |(index, growth): (usize, &Option<Growth>)| growth.map(|it| (index, it));
        let best = all.iter().enumerate().filter_map(best);
        let best = best.max_by(|a, b| a.1.per_page.total_cmp(&b.1.per_page));
        let Some((index, Growth { share, .. })) = best else { return };
        let more = share - shares[index];
        if more <= left {
            left -= more;
            shares[index] = share;
        }
        all[index] = growth(sharing, index, shares[index], left);
    }
}

/// The best growth of a share by at most `left` pages, if any saves something.
fn growth<P: Program>(
    sharing: &Sharing<P>,
    index: usize,
    share: usize,
    left: usize,
) -> Option<Growth> {
    let program = &sharing.programs()[index];
    let most = share.saturating_add(left);
    let (weight, now) = (sharing.weight(index), program.misses(share));
    let mut best: Option<Growth> = None;
    let mut at = share;
    while at < most {
        // Beyond what is left, what is left.
        let Some(next) = program.next_step(at) else { break };
        at = next.min(most);
        let per_page = weight * (now - program.misses(at)) / (at - share) as f64;
        if per_page > best.map_or(0.0, |best| best.per_page) {
            best = Some(Growth { per_page, share: at });
        }
    }
    best
}
