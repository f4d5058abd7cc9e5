//! What a cluster has to be set to so that no page is lost while a copy of it is left.
//!
//! Each of these was found necessary by killing servers of real clusters.

use super::resp::{Reply, command};
use super::server::Errand;
use super::{Redis, Server};

/// A setting, what it has to be, and why.
struct Rule {
    setting: &'static str,
    wanted: &'static str,
    is_right: fn(&str) -> bool,
    why: &'static str,
}

const RULES: [Rule; 8] = [
    Rule {
        setting: "min-replicas-to-write",
        wanted: "1",
        is_right: |value| value.parse::<u64>().is_ok_and(|least| least >= 1),
        why: "a primary that is cut off from its replicas goes on taking pages that will be lost",
    },
    Rule {
        setting: "min-replicas-max-lag",
        wanted: "3",
        is_right: |value| value.parse::<u64>().is_ok_and(|lag| (1..=3).contains(&lag)),
        why: "a primary notices too late, or never, that its replicas do not follow",
    },
    Rule {
        setting: "maxmemory-policy",
        wanted: "noeviction",
        is_right: |value| value == "noeviction",
        why: "a full server drops pages",
    },
    Rule {
        setting: "appendonly",
        wanted: "no",
        is_right: |value| value == "no",
        why: "a server that is started again brings back old pages",
    },
    Rule {
        setting: "save",
        wanted: "\"\"",
        is_right: str::is_empty,
        why: "a server that is started again brings back old pages",
    },
    Rule {
        setting: "repl-diskless-load",
        wanted: "swapdb",
        is_right: |value| value == "swapdb",
        why: "a replica writes a file that it loads when it is started again, and drops its pages before it has others",
    },
    Rule {
        setting: "cluster-require-full-coverage",
        wanted: "no",
        is_right: |value| value == "no",
        why: "the loss of one shard stops all others",
    },
    Rule {
        setting: "cluster-allow-replica-migration",
        wanted: "yes",
        is_right: |value| value == "yes",
        why: "a spare replica does not replace one that is lost",
    },
];

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The server.
    pub server: String,
    /// What is wrong, and what it leads to.
    pub what: String,
    /// Whether pages may be lost because of it alone.
    pub is_grave: bool,
}

impl Redis {
    /// What is not as it should be.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let cluster = self.cluster();
        let mut findings = Vec::new();
        let grave = |server: &Server, what| Finding {
            server: server.place.address.to_string(),
            what,
            is_grave: true,
        };
        for shard in &cluster.shards {
            for server in shard.all() {
                let wrong = self.wrong_settings(server);
                findings.extend(wrong.into_iter().map(|what| grave(server, what)));
            }
            let count = shard.replicas.len();
            if count < self.replicas {
                let wanted = self.replicas;
                let what = format!("has {count} replicas of {wanted}: nothing can be stored");
                findings.push(grave(&shard.primary, what));
            }
        }
        let without = cluster.owners.iter().filter(|owner| **owner == u16::MAX).count();
        if let (1.., Some(shard)) = (without, cluster.shards.first()) {
            let what = format!("knows no server for {without} of 16384 hash slots");
            findings.push(grave(&shard.primary, what));
        }
        let has_spare = cluster.shards.iter().any(|shard| shard.replicas.len() > self.replicas);
        if let (false, Some(shard)) = (has_spare, cluster.shards.first()) {
            findings.push(Finding {
                server: shard.primary.place.address.to_string(),
                what: "knows no spare replica: when a server is lost, pages of its shard cannot be stored until \
                       another one is added, and are lost with the next"
                    .into(),
                is_grave: false,
            });
        }
        findings
    }

    fn wrong_settings(&self, server: &Server) -> Vec<String> {
        let line = server.line(Errand::Demand);
        let Some(line) = line else { return vec!["cannot be reached".into()] };
        let check = |rule: &Rule| {
            let Rule { setting, wanted, is_right, why } = rule;
            match self.ask_one(&line, &command(&["CONFIG", "GET", setting])) {
                Some(Reply::Array(pair)) => match pair.get(1) {
                    Some(Reply::Bulk(value)) => {
                        let value = String::from_utf8_lossy(value);
                        (!is_right(&value))
                            .then(|| format!("{setting} is {value:?} instead of {wanted}: {why}"))
                    }
                    // Servers that do not know it do as if it were so.
                    _ => None,
                },
                Some(Reply::Error(error)) => {
                    Some(format!("does not say what {setting} is ({error})"))
                }
                _ => Some(format!("does not say what {setting} is")),
            }
        };
        RULES.iter().filter_map(check).collect()
    }
}
