//! How others compute stack distances: the partners of the exact LRU curve.

use farside_trace::PageId;
use rustc_hash::FxHashMap;

/// Stack distances by a Fenwick tree over all times, of which those of last references count one, and a
/// flat hash table of the last references.
pub(crate) struct Fenwick {
    tree: Vec<u32>,
    last: FxHashMap<PageId, u32>,
    now: u32,
}

impl Fenwick {
    /// Before the first of so many references.
    pub fn new(references: usize) -> Self {
        Self { tree: vec![0; references + 1], last: FxHashMap::default(), now: 0 }
    }

    /// Counts a reference; its distance unless it is the first one to its page.
    pub fn reference(&mut self, page: PageId) -> Option<usize> {
        self.now += 1;
        let last = self.last.insert(page, self.now);
        let distance = last.map(|last| {
            let behind = self.sum(self.now) - self.sum(last);
            self.add(last, -1);
            behind as usize + 1
        });
        self.add(self.now, 1);
        distance
    }

    fn add(&mut self, time: u32, change: i32) {
        let mut index = time as usize;
        while index < self.tree.len() {
            self.tree[index] = self.tree[index].wrapping_add_signed(change);
            index += index & index.wrapping_neg();
        }
    }

    fn sum(&self, time: u32) -> u32 {
        let mut index = time as usize;
        let mut sum = 0;
        while index > 0 {
            sum += self.tree[index];
            index &= index - 1;
        }
        sum
    }
}

/// No node.
const NONE: u32 = u32::MAX;

/// Stack distances by an order-statistics tree of last references: a treap whose nodes know how many
/// there are below them.
pub(crate) struct OrderTree {
    nodes: Vec<Node>,
    root: u32,
    nodes_of: FxHashMap<PageId, u32>,
    now: u64,
    random: u32,
}

#[derive(Copy, Clone)]
struct Node {
    time: u64,
    priority: u32,
    size: u32,
    left: u32,
    right: u32,
}

impl OrderTree {
    /// Before the first reference.
    pub fn new() -> Self {
        Self {
            nodes: Vec::new(),
            root: NONE,
            nodes_of: FxHashMap::default(),
            now: 0,
            random: 0x9E37_79B9,
        }
    }

    /// Counts a reference; its distance unless it is the first one to its page.
    pub fn reference(&mut self, page: PageId) -> Option<usize> {
        self.now += 1;
        let (node, distance) = match self.nodes_of.get(&page) {
            Some(&node) => {
                let time = self.nodes[node as usize].time;
                let behind = self.later_than(time);
                self.root = self.without(self.root, time);
                (node, Some(behind + 1))
            }
            None => {
                let node = self.new_node();
                self.nodes_of.insert(page, node);
                (node, None)
            }
        };
        let now = self.now;
        let fresh = &mut self.nodes[node as usize];
        *fresh = Node { time: now, size: 1, left: NONE, right: NONE, ..*fresh };
        self.root = self.merged(self.root, node);
        distance
    }

    fn new_node(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        let node = Node { time: 0, priority: self.random, size: 1, left: NONE, right: NONE };
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    fn size(&self, node: u32) -> u32 {
        self.nodes.get(node as usize).map_or(0, |node| node.size)
    }

    fn later_than(&self, time: u64) -> usize {
        let (mut at, mut later) = (self.root, 0);
        while let Some(node) = self.nodes.get(at as usize) {
            if node.time > time {
                later += 1 + self.size(node.right) as usize;
                at = node.left;
            } else {
                at = node.right;
            }
        }
        later
    }

    /// The tree at `root` without its node of `time`, which is in it.
    fn without(&mut self, root: u32, time: u64) -> u32 {
        let Node { time: own, left, right, .. } = self.nodes[root as usize];
        if own == time {
            return self.merged(left, right);
        }
        self.nodes[root as usize].size -= 1;
        if time < own {
            let left = self.without(left, time);
            self.nodes[root as usize].left = left;
        } else {
            let right = self.without(right, time);
            self.nodes[root as usize].right = right;
        }
        root
    }

    /// Two trees as one; all of `left` is earlier than all of `right`.
    fn merged(&mut self, left: u32, right: u32) -> u32 {
        if left == NONE || right == NONE {
            return if left == NONE { right } else { left };
        }
        let size = self.size(left) + self.size(right);
        let (top, below) =
            if self.nodes[left as usize].priority > self.nodes[right as usize].priority {
                let below = self.merged(self.nodes[left as usize].right, right);
                self.nodes[left as usize].right = below;
                (left, below)
            } else {
                let below = self.merged(left, self.nodes[right as usize].left);
                self.nodes[right as usize].left = below;
                (right, below)
            };
        debug_assert!(below != NONE, "a merged tree is not empty");
        self.nodes[top as usize].size = size;
        top
    }
}
