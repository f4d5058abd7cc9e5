//! What the paper leaves open about regions.

/// What may be chosen about regions, and the memory that each one has.
#[derive(Copy, Clone, Debug)]
pub struct RegionOptions {
    /// The parameter g, the step in which memory moves, is the capacity divided by this.
    pub steps: usize,
    /// Length of an epoch in references, as a multiple of the capacity; at least 64 references.
    pub epoch: usize,
    /// About how many of the latest epochs decide.
    pub history: f64,
    /// Epochs in a row in which the other order must be better before a region takes it.
    pub patience: u32,
    /// An order, or a move of memory, is better if it is so by more than this share.
    pub margin: f64,
    /// And by so many times the square root of the misses: what chance makes of them where only a sample of the pages is
    /// known. None where all are.
    pub noise: f64,
    /// MRU is given up within an epoch when it has had more misses than LRU by this share of the epoch's references, and
    /// has to be better for twice as many epochs to be taken again. Never, if this is infinite.
    pub abandon: f64,
    /// Epochs after which what MRU would hold is derived anew from what LRU holds.
    pub restart: u32,
    /// Pages that do not leave because they were used last, of all regions together; at most half
    /// the capacity. Where hardware hides the accesses to hot pages from the policy, this has to be
    /// about as many pages as the hardware does.
    pub hot: usize,
}

impl Default for RegionOptions {
    /// Values that did well on the traces of the tests; the paper gives none.
    fn default() -> Self {
        Self {
            steps: 32,
            epoch: 1,
            history: 8.0,
            patience: 2,
            margin: 0.05,
            noise: 0.0,
            abandon: f64::INFINITY,
            restart: 64,
            hot: 0,
        }
    }
}
