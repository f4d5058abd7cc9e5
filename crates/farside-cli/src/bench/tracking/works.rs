//! The programs of which is measured what tracking costs.

use super::Scale;

/// One program with its data.
pub(super) struct Work {
    /// The file in which it is.
    pub source: &'static str,
    /// What it is like.
    like: &'static str,
    full: &'static [&'static str],
    small: &'static [&'static str],
    /// Local memory in per cent of what it uses: where it does not thrash.
    pub local: u64,
}

const fn work(
    source: &'static str,
    like: &'static str,
    full: &'static [&'static str],
    small: &'static [&'static str],
) -> Work {
    Work { source, like, full, small, local: 50 }
}

/// More programs for replacement: what they go over does not fit.
pub(super) const LOOPS: [Work; 3] = [
    Work {
        local: 80,
        ..work("uses.c", "a loop", &["loop", "40000", "4000000"], &["loop", "4000", "80000"])
    },
    Work {
        local: 80,
        ..work("uses.c", "an order", &["mixed", "40000", "2000000"], &["mixed", "4000", "80000"])
    },
    Work {
        local: 95,
        ..work("uses.c", "an order", &["mixed", "40000", "2000000"], &["mixed", "4000", "80000"])
    },
];

/// Those of the study of PATH, and three more of other kinds.
pub(super) const WORKS: [Work; 12] = [
    work("fft.c", "FFT", &["22", "1"], &["16", "1"]),
    work("lu_contiguous.c", "LU, contiguous", &["3072", "12"], &["640", "16"]),
    work("lu_noncontiguous.c", "LU, non-contiguous", &["3072", "12"], &["640", "16"]),
    work("ocean.c", "Ocean", &["1024", "6"], &["256", "2"]),
    work("radix.c", "Radix", &["12000000"], &["100000"]),
    work("cg.c", "CG", &["300007", "6"], &["30007", "2"]),
    work("mg.c", "MG", &["256", "2"], &["64", "2"]),
    work("bt.c", "BT", &["100", "4"], &["40", "2"]),
    Work { local: 90, ..work("cube.c", "MMCubing", &["2000000", "2000"], &["20000", "200"]) },
    work("uses.c", "a loop", &["loop", "40000", "2000000"], &["loop", "2000", "20000"]),
    work("uses.c", "by chance", &["chance", "40000", "500000"], &["chance", "2000", "20000"]),
    work("uses.c", "two loops", &["two", "40000", "2000000"], &["two", "2000", "20000"]),
];

impl Work {
    /// What it is, and with which data.
    pub fn name(&self, scale: Scale) -> String {
        format!("{} ({})", self.like, self.arguments(scale).join(" "))
    }

    /// Its data.
    pub fn arguments(&self, scale: Scale) -> &'static [&'static str] {
        match scale {
            Scale::Full => self.full,
            Scale::Small => self.small,
        }
    }
}
