//! What sizes leave over: sizes that are decided between are tenths of what a section holds, and what is left may be nearly as
//! much.

use farside_tune::{Layout, Part, STEP, Sizes, larger, left_over};

use super::decide::{Known, LookedAt};

/// It has to save this share of what all costs: a sample tells no less.
const WORTH: f64 = 0.01;

impl Known<'_> {
    /// The section to which what is left over goes, by its number, and what it is then: the one that gains most by it. None if
    /// nobody gains by it, or paged memory gains more. Sections that share memory have what they have.
    pub fn with_left_over(
        &self,
        looked_at: &[LookedAt],
        taken: &[Layout],
        parts: &[Part],
        sizes: &Sizes,
    ) -> Option<(usize, Layout)> {
        let rest = left_over(parts, sizes, self.room.local) & !(STEP - 1);
        let paged = parts.last().zip(sizes.picks.last());
        let least = paged.map_or(0.0, |(part, pick)| saved_by_paging(part, *pick, rest));
        let saves = |(at, layout): &(usize, Layout)| taken[*at].seconds - layout.seconds;
        let of = |(at, it): (usize, &LookedAt)| {
            let whole = it.proposal.bytes.next_multiple_of(STEP);
            let capacity = (taken[at].capacity + rest).min(whole);
            let is_alone = parts[at].group.is_none();
            (is_alone && capacity > taken[at].capacity).then(|| {
                let (sampled, calibration) = (&self.accesses[it.place], self.calibration(it.place));
                (at, larger(taken[at], sampled, self.network, calibration, capacity))
            })
        };
        looked_at
            .iter()
            .enumerate()
            .filter_map(of)
            .filter(|it| saves(it) > least.max(WORTH * sizes.seconds))
            .max_by(|one, other| saves(one).total_cmp(&saves(other)))
    }
}

/// Seconds that so many bytes more save in paged memory, of which is known that each saves as much as the next.
fn saved_by_paging(part: &Part, pick: usize, bytes: u64) -> f64 {
    let (now, next) = (part.choices[pick], part.choices.get(pick + 1));
    let per_byte =
        next.map(|next| (now.seconds - next.seconds) / (next.bytes - now.bytes).max(1) as f64);
    per_byte.unwrap_or(0.0) * bytes as f64
}
