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

/// How much longer than the shortest line one may take and still be worth its bytes: where the time that a read takes begins to
/// follow its length.
const BALANCED: f64 = 1.25;

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
        if !(spread > 0.0) {
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
    /// Of the lines that are foreseen to be missing, the share that the program waits for; the others are sent for ahead.
    pub waited: f64,
    /// Seconds of a wait beside what the network takes.
    pub wait: f64,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { waited: 1.0, wait: 1.0 }
    }
}

/// Seconds that a lookup takes more than a plain access, by structure: their order is what counts, until runs are measured.
fn lookup(ways: Ways) -> f64 {
    match ways {
        Ways::Direct => 1.0e-9,
        Ways::Set(ways) if ways <= 2 => 1.5e-9,
        Ways::Set(ways) => 2.5e-9 + 0.25e-9 * f64::from(ways),
        Ways::Full => 8.0e-9,
    }
}

impl Calibration {
    /// From what a run measured of a section and what was foreseen for its shape.
    pub fn of(measured: (u64, f64), foreseen: Counts, line: u64, network: &Network) -> Self {
        let (misses, seconds) = measured;
        if misses == 0 || foreseen.misses <= 0.0 {
            // Nothing was waited for: only that there were so few is known.
            let waited = if foreseen.misses > 0.0 { 0.0 } else { 1.0 };
            return Self { waited, ..Self::default() };
        }
        let waited = (misses as f64 / foreseen.misses).min(1.0);
        let wait = seconds / misses as f64 / network.read(line);
        Self { waited, wait: wait.clamp(0.1, 10.0) }
    }

    /// Seconds that a section costs: lookups, waits, and what the network carries meanwhile.
    pub fn seconds(&self, counts: Counts, line: u64, ways: Ways, network: &Network) -> f64 {
        let waits = counts.misses * self.waited * self.wait * network.read(line);
        let carried =
            (counts.misses * (1.0 - self.waited) + counts.stored) * network.per_byte * line as f64;
        counts.lookups * lookup(ways) + waits + carried
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
        let counts = Counts { lookups: 0.0, misses: 100.0, stored: 0.0 };
        let all = Calibration::default().seconds(counts, 4096, Ways::Direct, &TYPICAL);
        let ahead =
            Calibration { waited: 0.0, wait: 1.0 }.seconds(counts, 4096, Ways::Direct, &TYPICAL);
        assert!((all - 100.0 * TYPICAL.read(4096)).abs() < 1e-12);
        assert!((ahead - 100.0 * 4096.0 * TYPICAL.per_byte).abs() < 1e-12);
        let known = Calibration::of((50, 50.0 * 2.0 * TYPICAL.read(4096)), counts, 4096, &TYPICAL);
        assert!((known.waited - 0.5).abs() < 1e-9 && (known.wait - 2.0).abs() < 1e-9);
    }
}
