//! What a seed decides about a run besides the order of events.

use farside_pager::{Track, When};

use crate::random::Random;

/// Added to a seed: the program gives hints. Other seeds mean what they meant before there were any.
pub const HINTING: u64 = 1 << 62;

/// Seeds with this bit fill pages with pointers, and follow them.
pub const POINTING: u64 = 1 << 60;

/// Seeds with both of these bits learn what follows a page, unless they follow pointers.
pub const REMEMBERING: u64 = 3 << 55;

/// Seeds with this bit track which pages are used.
pub const TRACKING: u64 = 1 << 58;

/// Set in seeds whose limits are ordered, and brought there by an actor of their own.
pub const ORDERING: u64 = 1 << 57;

/// Seeds with this bit have somebody who evicts ahead.
pub const EVICTING: u64 = 1 << 61;

/// Seeds with this bit lend frames.
pub const LENDING: u64 = 1 << 59;

/// Calls of the seams, at whose start and end others may run.
const CALLS: &[&str] = &[
    "copy_in",
    "move_frames",
    "allow_writes",
    "forbid_writes",
    "wake",
    "drop_pages",
    "populate_zeroed",
    "unshare",
    "read_protected",
    "protect",
    "begin_read",
    "finish_read",
    "write",
    "store discard",
    "rename",
];

/// Likelihoods are in thousandths.
#[derive(Clone, Debug)]
pub struct Config {
    pub policy: &'static str,
    pub prefetcher: &'static str,
    pub readahead: u32,
    pub limit: u64,
    pub region: u64,
    pub positions: u32,
    pub exact_prefetch_count: bool,
    pub evict_ahead: bool,
    pub handlers: usize,
    pub programs: usize,
    /// Operations of each program thread.
    pub operations: u64,
    pub instant: bool,
    /// Longest time that a read takes.
    pub latency_ns: u64,
    /// The call of the store from which on the node is gone or full.
    pub fails_at: Option<u64>,
    pub full: bool,
    pub again: u64,
    pub freeze: u64,
    /// Longest freeze in steps.
    pub freeze_steps: u64,
    /// The call of a seam that often takes long in this run.
    pub slow_call: &'static str,
    pub slow_ns: u64,
    pub duplicate: u64,
    /// Likelihood that a program thread goes on with the neighbour of the page it used last.
    pub sequential: u64,
    /// Likelihood that it otherwise uses the page that was used last by any thread.
    pub together: u64,
    /// Likelihood that it goes where the page that it read last points to; 0 if pages hold no pointers.
    pub follow: u64,
    pub track: Track,
    /// Most pages that are tracked at first.
    pub tracked_first: usize,
    /// Whether limits are ordered.
    pub ordered: bool,
    pub mix: Mix,
    pub tag_seed: u64,
}

/// Weights of what program threads do.
#[derive(Clone, Debug)]
pub struct Mix {
    pub read: u64,
    pub write: u64,
    pub rewrite: u64,
    pub zero: u64,
    pub discard: u64,
    pub relocate: u64,
    pub replace: u64,
    pub protect: u64,
    pub pin: u64,
    pub share: u64,
    pub limit: u64,
    pub hold: u64,
    pub advise: u64,
    pub hint: u64,
    pub stay: u64,
    pub lend: u64,
}

impl Mix {
    pub fn weights(&self) -> [u64; 16] {
        [
            self.read,
            self.write,
            self.rewrite,
            self.zero,
            self.discard,
            self.relocate,
            self.replace,
            self.protect,
            self.pin,
            self.share,
            self.limit,
            self.hold,
            self.advise,
            self.hint,
            self.stay,
            self.lend,
        ]
    }

    fn drawn(r: &mut Random) -> Self {
        let mut some = |most: u64| if r.permille(600) { r.below(most + 1) } else { 0 };
        Self {
            read: 40,
            write: 5 + some(60),
            rewrite: some(20),
            zero: some(10),
            discard: some(6),
            relocate: some(6),
            replace: some(4),
            protect: some(4),
            pin: some(4),
            share: some(6),
            limit: some(4),
            hold: some(6),
            advise: some(6),
            hint: 0,
            stay: 0,
            lend: 0,
        }
    }
}

impl Config {
    /// The program follows pointers, and so does the prefetcher.
    pub fn point(&mut self, seed: u64) {
        let choice = seed >> 10;
        self.prefetcher =
            ["pointer", "pointer:count=16,depth=2", "adaptive", "adaptive:depth=256,confidence=1"]
                [choice as usize & 3];
        self.follow = [300, 800, 950, 1000][choice as usize >> 2 & 3];
    }

    /// What follows a page is learnt, and fetched when it comes again.
    pub fn remember(&mut self) {
        self.prefetcher = "proximity:window=8,set=4";
    }

    /// It is seen which pages are used, in some runs whatever it costs.
    pub fn track(&mut self, seed: u64) {
        let when = if seed >> 14 & 1 == 0 { When::Always } else { When::Pressure };
        let budget = [0.001, 0.1, 1.0, 1.0][(seed >> 15) as usize & 3];
        self.track = Track { when, budget };
        // The others have their policies by chance.
        if seed >> 17 & 1 == 1 {
            self.policy = "region";
        }
        self.tracked_first = [4, 256][(seed >> 18) as usize & 1];
    }

    pub fn drawn(r: &mut Random) -> Self {
        let region = r.pick(&[64, 64, 96, 128, 256, 1040]);
        Self {
            policy: r.pick(&["fifo", "second-chance", "adaptive", "bimodal", "lirs", "mru"]),
            prefetcher: r.pick(&[
                "none",
                "readahead",
                "linux",
                "linux",
                "linux-swap",
                "leap",
                "spatial",
            ]),
            readahead: r.pick(&[2, 8, 32]),
            limit: if r.permille(700) { r.between(8, 20) } else { r.between(8, 64) },
            region,
            positions: r.pick(&[64, 128]),
            exact_prefetch_count: r.permille(400),
            evict_ahead: false,
            handlers: r.between(1, 3) as usize,
            programs: r.between(1, 4) as usize,
            operations: r.between(50, 500),
            instant: r.permille(400),
            latency_ns: r.pick(&[1_000, 10_000, 100_000]),
            fails_at: r.permille(60).then(|| r.below(200)),
            full: r.permille(300),
            again: r.pick(&[0, 20, 200]),
            freeze: r.pick(&[0, 10, 50, 100]),
            freeze_steps: r.pick(&[30, 300, 1000]),
            slow_call: r.pick(CALLS),
            slow_ns: r.pick(&[1_000, 10_000, 100_000]),
            duplicate: r.pick(&[0, 50, 300]),
            sequential: r.pick(&[0, 300, 800]),
            together: r.pick(&[0, 300, 600]),
            follow: 0,
            track: Track::OFF,
            tracked_first: 256,
            ordered: false,
            mix: Mix::drawn(r),
            tag_seed: r.next(),
        }
    }
}
