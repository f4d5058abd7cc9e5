//! The programs, what they are given, and how much of what goes to sections.

use super::Scale;
use super::capacities::{Need, put_in, shared_out};
use crate::bench::Failure;
use crate::bench::cache::Source;

/// What all programs are made of.
pub(super) const SOURCES: [Source; 12] = [
    ("measured.h", include_str!("sources/measured.h")),
    ("sum.c", include_str!("sources/sum.c")),
    ("graph.c", include_str!("sources/graph.c")),
    ("augmented.c", include_str!("sources/augmented.c")),
    ("graph_hinted.c", include_str!("sources/graph_hinted.c")),
    ("graph_sections.c", include_str!("sources/graph_sections.c")),
    ("product.c", include_str!("sources/product.c")),
    ("simplex.c", include_str!("sources/simplex.c")),
    ("frame.c", include_str!("sources/frame.c")),
    ("filter.c", include_str!("sources/filter.c")),
    ("gpt2.c", include_str!("sources/gpt2.c")),
    ("metadata.c", include_str!("sources/metadata.c")),
];

/// One program with its data.
pub(crate) struct Work {
    /// What it is.
    pub name: &'static str,
    pub source: &'static str,
    /// Where hints by hand are: the same source, or another.
    pub hinted: &'static str,
    /// Its section file, with capacities that are put in.
    pub sections: &'static str,
    full: &'static [u64],
    small: &'static [u64],
    /// What goes to its sections, by its arguments.
    needs: fn(&[u64]) -> Vec<Need>,
}

/// Bytes of a node and of an edge of the graph.
pub(super) const NODE: u64 = 128;
/// See [`NODE`].
pub(super) const EDGE: u64 = 16;

/// The graph of figure 3.1.
pub(super) const GRAPH: Work = Work {
    name: "graph traversal",
    source: "graph.c",
    hinted: "graph_hinted.c",
    sections: include_str!("sources/graph.toml"),
    full: &[500_000, 2_000_000],
    small: &[100_000, 40_000],
    needs: |of| vec![Need::at_random("nodes", NODE * of[0]), Need::in_order("edges", EDGE * of[1])],
};

/// That of figure 3.7: another array comes with it. It has no section file.
pub(crate) const AUGMENTED: Work = Work {
    name: "augmented graph",
    source: "augmented.c",
    hinted: "augmented.c",
    sections: "",
    full: &[300_000, 1_000_000, 300_000],
    small: &[20_000, 100_000, 20_000],
    needs: |_| Vec::new(),
};

/// Queries that can run where their data is.
pub(crate) const FILTER: Work = Work {
    name: "filter and aggregate",
    source: "filter.c",
    hinted: "filter.c",
    sections: include_str!("sources/filter.toml"),
    full: &[8_000_000, 20],
    small: &[500_000, 6],
    needs: |of| vec![Need::in_order("columns", 16 * of[0])],
};

/// Section files in which only the nodes of the graph are: lines as long as they, and as a page.
pub(super) const NODES_ONLY: [&str; 2] =
    [include_str!("sources/graph_nodes.toml"), include_str!("sources/graph_node_pages.toml")];

/// All of them.
pub(crate) const WORKS: [Work; 6] = [
    Work {
        name: "array sum",
        source: "sum.c",
        hinted: "sum.c",
        sections: include_str!("sources/sum.toml"),
        full: &[16_000_000, 20],
        small: &[1_000_000, 5],
        needs: |of| vec![Need::in_order("numbers", 8 * of[0])],
    },
    GRAPH,
    Work {
        name: "matrix product",
        source: "product.c",
        hinted: "product.c",
        sections: include_str!("sources/product.toml"),
        full: &[1536],
        small: &[256],
        needs: |of| vec![Need::at_random("matrices", 3 * 8 * of[0] * of[0])],
    },
    Work {
        name: "network simplex",
        source: "simplex.c",
        hinted: "simplex.c",
        sections: include_str!("sources/simplex.toml"),
        full: &[10_000, 60],
        small: &[1000, 30],
        needs: |of| {
            let (nodes, arcs) = (2 + 2 * of[0], of[0] * (of[1] + 2) + 2 + 2 * of[0]);
            vec![Need::at_random("nodes", 80 * nodes), Need::in_order("arcs", 32 * arcs)]
        },
    },
    Work {
        name: "data-frame queries",
        source: "frame.c",
        hinted: "frame.c",
        sections: include_str!("sources/frame.toml"),
        full: &[4_000_000, 200_000],
        small: &[100_000, 5000],
        needs: |of| {
            let table = (2 * of[1]).next_power_of_two();
            vec![Need::in_order("columns", 44 * of[0]), Need::at_random("drivers", 32 * table)]
        },
    },
    Work {
        name: "GPT-2 forward pass",
        source: "gpt2.c",
        hinted: "gpt2.c",
        sections: include_str!("sources/gpt2.toml"),
        // As many tokens as the thesis has (7.1).
        full: &[12, 12, 768, 50_257, 256, 1],
        small: &[2, 4, 64, 500, 8, 2],
        needs: gpt2,
    },
];

fn gpt2(of: &[u64]) -> Vec<Need> {
    let [layers, _, channels, words, tokens, _] = of else { return Vec::new() };
    let layer = 12 * channels * channels + 13 * channels;
    let weights = layers * layer + (words + tokens + 2) * channels;
    let activations = 10 * tokens * channels + tokens + words;
    vec![Need::in_order("weights", 4 * weights), Need::at_random("activations", 4 * activations)]
}

impl Work {
    fn numbers(&self, scale: Scale) -> &'static [u64] {
        match scale {
            Scale::Full => self.full,
            Scale::Small => self.small,
        }
    }

    /// What it is given.
    pub fn arguments(&self, scale: Scale) -> Vec<String> {
        self.numbers(scale).iter().map(u64::to_string).collect()
    }

    /// Its section file, for so many bytes of local memory.
    pub fn section_file(&self, scale: Scale, local: u64) -> Result<String, Failure> {
        put_in(self.sections, &shared_out(&self.needs(scale), local))
    }

    /// What goes to its sections.
    pub(super) fn needs(&self, scale: Scale) -> Vec<Need> {
        (self.needs)(self.numbers(scale))
    }
}
