//! How far ahead of the program the fetches have got.

use super::Walk;
use super::guess::Guess;

/// Chains that are followed at once.
const CHAINS: usize = 16;

/// Pages fetched one after the other, each because of what lies in those before.
#[derive(Copy, Clone, Debug, Default)]
struct Chain {
    number: u32,
    /// Pages sent for.
    sent: u32,
    /// The last of them that the program is known to have come to.
    seen: u32,
    /// What is to be sent for when the program has come nearer.
    parked: Option<(Walk, Guess)>,
}

/// The latest chains.
#[derive(Debug, Default)]
pub(super) struct Chains {
    chains: [Chain; CHAINS],
    last: u32,
}

impl Chains {
    /// Begins a chain, for which the oldest is forgotten; returns its number.
    pub fn begin(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1).max(1);
        self.chains[self.last as usize % CHAINS] = Chain { number: self.last, ..Chain::default() };
        self.last
    }

    fn get(&mut self, number: u32) -> Option<&mut Chain> {
        let chain = &mut self.chains[number as usize % CHAINS];
        (chain.number == number && number > 0).then_some(chain)
    }

    /// Takes a step with `walk`, if that is not too far ahead, and returns its number; else keeps the likeliest walk for
    /// later. A chain that is forgotten goes nowhere.
    pub fn step(&mut self, walk: Walk, guess: Guess, depth: u32) -> Option<u32> {
        let chain = self.get(walk.chain)?;
        if chain.sent.saturating_sub(chain.seen) >= depth {
            if chain.parked.is_none_or(|(parked, _)| parked.confidence < walk.confidence) {
                chain.parked = Some((walk, guess));
            }
            return None;
        }
        chain.sent += 1;
        Some(chain.sent)
    }

    /// The latest step of a chain was not taken after all; 0 is none.
    pub fn step_back(&mut self, number: u32, step: u32) {
        if let Some(chain) = self.get(number).filter(|chain| step > 0 && chain.sent == step) {
            chain.sent -= 1;
        }
    }

    /// Whether a chain has got further than that step.
    pub fn goes_beyond(&mut self, number: u32, step: u32) -> bool {
        self.get(number).is_some_and(|chain| chain.sent > step || chain.parked.is_some())
    }

    /// The program has come to a step of a chain; returns what can be sent for now.
    pub fn pass(&mut self, number: u32, step: u32) -> Option<(Walk, Guess)> {
        let chain = self.get(number)?;
        chain.seen = chain.seen.max(step.min(chain.sent));
        chain.parked.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_steps_that_were_taken_are_taken_back() {
        let mut chains = Chains::default();
        let chain = chains.begin();
        let walk = Walk { chain, ..Walk::default() };
        let step = |chains: &mut Chains| chains.step(walk, Guess::default(), 2);
        chains.step_back(chain, 0);
        assert_eq!([step(&mut chains), step(&mut chains)], [Some(1), Some(2)]);
        chains.step_back(chain, 1);
        assert_eq!(step(&mut chains), None);
        chains.step_back(chain, 2);
        assert_eq!(step(&mut chains), Some(2));
    }
}
