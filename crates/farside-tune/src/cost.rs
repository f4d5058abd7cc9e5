//! What misses and lookups take.

use crate::cache::{Counts, Ways};

/// The network to the memory node, as measured: how long it takes to read a line.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Seconds for a read of next to nothing.
    pub latency: f64,
    /// Seconds that each byte takes more.
    pub per_byte: f64,
}

/// How much longer than the shortest line one may take and still be worth its bytes: where the time that a read takes
/// begins to follow its length.
const BALANCED: f64 = 1.25;

/// Seconds that the program itself spends on a line that is sent for ahead or stored, however long it is.
const REQUEST: f64 = 1.5e-6;

/// The shortest and the longest line that is looked at for data that are used in order.
const STREAMS: [u64; 2] = [1 << 10, 64 << 10];

impl Network {
    /// The one that fits measured reads best: bytes, and seconds.
    ///
    /// None if there are no reads of at least two lengths.
    pub fn fit(reads: &[(u64, f64)]) -> Option<Self> {
        let count = reads.len() as f64;
        let mean = |of: fn(&(u64, f64)) -> f64| reads.iter().map(of).sum::<f64>() / count;
        let (bytes, seconds) = (mean(|it| it.0 as f64), mean(|it| it.1));
        let spread: f64 = reads.iter().map(|it| (it.0 as f64 - bytes).powi(2)).sum();
        let together: f64 = reads.iter().map(|it| (it.0 as f64 - bytes) * (it.1 - seconds)).sum();
        if spread.is_nan() || spread <= 0.0 {
            return None;
        }
        let per_byte = (together / spread).max(0.0);
        let shortest = reads.iter().map(|it| it.1).fold(f64::INFINITY, f64::min);
        let latency = (seconds - per_byte * bytes).max(shortest / 2.0);
        Some(Self { latency, per_byte })
    }

    /// Seconds to read a line.
    pub fn read(&self, line: u64) -> f64 {
        self.latency + self.per_byte * line as f64
    }

    /// The longest line for which the network is about as fast as for the shortest one (Mira, figure 3.4).
    pub fn balanced_line(&self) -> u64 {
        let most = BALANCED * self.read(64);
        let mut line = STREAMS[0];
        while line < STREAMS[1] && self.read(2 * line) <= most {
            line *= 2;
        }
        line
    }
}

/// What was measured of a section, against what was foreseen of the same shape.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Of the lines that lookups are foreseen to miss, the share that the program waits for; the others are sent for
    /// ahead.
    pub waited: f64,
    /// The same of lines that loops hold.
    pub held: f64,
    /// How many times as long a wait takes as the network.
    pub wait: f64,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { waited: 1.0, held: 0.0, wait: 1.0 }
    }
}

/// Seconds that a lookup takes more than a plain access, by structure: their order is what counts, until runs are
/// measured.
fn lookup(ways: Ways) -> f64 {
    match ways {
        Ways::Direct => 1.0e-9,
        Ways::Set(ways) if ways <= 2 => 1.5e-9,
        Ways::Set(ways) => 2.5e-9 + 0.25e-9 * f64::from(ways),
        Ways::Full => 8.0e-9,
    }
}

/// Seconds that it takes more, by structure, to find out what leaves for a line: measured where nothing is waited for.
fn choosing(ways: Ways) -> f64 {
    match ways {
        Ways::Direct => 0.0,
        Ways::Set(ways) => 5e-9 * f64::from(ways),
        Ways::Full => 0.3e-6,
    }
}

/// Seconds that a byte of local memory costs a run, which takes it from the kernel and has it filled with zeros, and whose
/// processor finds less of it in its caches than of a few lines that are used again and again.
const TOUCHED: f64 = 0.25e-9;

/// Seconds that so much local memory costs before anything is gained by it.
pub(crate) fn touched(capacity: u64) -> f64 {
    TOUCHED * capacity as f64
}

impl Calibration {
    /// From what a run measured of a section, misses and their seconds, and what was foreseen for its shape.
    ///
    /// Waits are those of lookups, as long as there are no more than these miss; the rest are those of loops.
    pub fn of(measured: (u64, f64), foreseen: Counts, line: u64, network: &Network) -> Self {
        let (misses, seconds) = (measured.0 as f64, measured.1);
        let lookups = foreseen.misses - foreseen.held;
        let share = |part: f64, of: f64, usual: f64| {
            if of > 0.0 { (part / of).clamp(0.0, 1.0) } else { usual }
        };
        let waited = share(misses, lookups, 1.0);
        let held = share(misses - lookups, foreseen.held, 0.0);
        let wait = if misses > 0.0 { seconds / misses / network.read(line) } else { 1.0 };
        Self { waited, held, wait: wait.clamp(0.1, 10.0) }
    }

    /// Seconds that a section costs: lookups, waits, and what the network carries meanwhile.
    pub fn seconds(&self, counts: Counts, line: u64, ways: Ways, network: &Network) -> f64 {
        let waits = (counts.misses - counts.held) * self.waited + counts.held * self.held;
        let request = REQUEST + network.per_byte * line as f64;
        let carried = (counts.misses - waits + counts.stored) * request;
        let handled = counts.lookups * lookup(ways) + counts.misses * choosing(ways);
        handled + waits * self.wait * network.read(line) + carried
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPICAL: Network = Network { latency: 5e-6, per_byte: 0.32e-9 };

    #[test]
    fn a_network_is_found_from_reads() {
        let reads: Vec<_> = [64, 1024, 4096, 65536].map(|line| (line, TYPICAL.read(line))).into();
        let found = Network::fit(&reads).unwrap();
        assert!((found.latency - 5e-6).abs() < 1e-9 && (found.per_byte - 0.32e-9).abs() < 1e-13);
        assert_eq!(Network::fit(&reads[..1]), None);
        assert_eq!(Network::fit(&[]), None);
    }

    #[test]
    fn the_balanced_line_is_longer_the_more_a_network_takes_before_the_first_byte() {
        assert_eq!(TYPICAL.balanced_line(), 2048);
        assert_eq!(Network { latency: 50e-6, ..TYPICAL }.balanced_line(), 32 << 10);
        assert_eq!(Network { latency: 0.0, ..TYPICAL }.balanced_line(), 1024);
    }

    #[test]
    fn what_is_sent_for_ahead_costs_what_the_network_carries() {
        let counts = Counts { misses: 100.0, held: 60.0, ..Counts::default() };
        let usual = Calibration::default().seconds(counts, 4096, Ways::Direct, &TYPICAL);
        let carried = 60.0 * (REQUEST + 4096.0 * TYPICAL.per_byte);
        assert!((usual - 40.0 * TYPICAL.read(4096) - carried).abs() < 1e-12);
        let of = |misses: u64| {
            let seconds = misses as f64 * 2.0 * TYPICAL.read(4096);
            let it = Calibration::of((misses, seconds), counts, 4096, &TYPICAL);
            ((it.waited * 100.0).round(), (it.held * 100.0).round(), (it.wait * 100.0).round())
        };
        assert_eq!(of(20), (50.0, 0.0, 200.0));
        assert_eq!(of(70), (100.0, 50.0, 200.0));
        assert_eq!(of(0), (0.0, 0.0, 100.0));
    }

    #[test]
    fn memory_that_saves_little_of_the_network_is_not_worth_touching() {
        // Of 500 MB that are gone through twice, an eighth need not come again, or two fifths.
        let carried = |share: f64| 2.0 * 500e6 * TYPICAL.per_byte * (1.0 - share / 2.0);
        assert!(touched(200_000_000) + carried(0.125) > carried(0.0));
        assert!(touched(200_000_000) + carried(0.4) < carried(0.0));
    }

    #[test]
    fn few_misses_less_are_not_worth_choosing_among_all_lines() {
        let sent = Calibration { waited: 0.0, ..Calibration::default() };
        let of = |misses, ways| {
            let counts = Counts { lookups: 4e6, misses, ..Counts::default() };
            sent.seconds(counts, 128, ways, &TYPICAL)
        };
        assert!(of(1.00e6, Ways::Set(2)) < of(0.95e6, Ways::Full));
        assert!(of(1.00e6, Ways::Set(2)) > of(0.50e6, Ways::Full));
    }
}
