//! What is due beside reading and writing: connections, who has what, extents that are in use and those that are not.

use std::io::IoSlice;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError};

use super::line::{Call, Line, Silence};
use super::resp::{self, Reply, command};
use super::server::{Errand, Server};
use super::topology::{Layout, Place, View, merge};
use super::{ALL, Cluster, Redis, Shard, lock};
use crate::remote::NodeAddress;

/// How often servers are asked who has what: at ease, and when something is wrong.
const REFRESH_NS: u64 = 1_000_000_000;
const HURRY_NS: u64 = 20_000_000;

/// How long servers have to answer that.
const ANSWER_NS: u64 = 200_000_000;

/// Extents renewed at a time.
const RENEWALS: u64 = 256;

/// An extent is deleted after it has been empty for so long.
const EMPTY_NS: u64 = 1_000_000_000;

/// The question who has what, if it was put.
#[derive(Default)]
pub struct Question {
    asked: Vec<(SocketAddr, Arc<Line>, Call)>,
    views: Vec<View>,
    put_at: u64,
}

/// Pages whose shard has too few replicas.
#[derive(Debug, Default)]
pub struct Lacking {
    pages: AtomicU64,
    /// Since when there are such, or 0; and for how long there were before.
    since: AtomicU64,
    before_ns: AtomicU64,
}

impl Lacking {
    pub fn pages(&self) -> u64 {
        self.pages.load(Relaxed)
    }

    pub fn ns(&self, now: u64) -> u64 {
        let since = self.since.load(Relaxed);
        let this_time = if since == 0 { 0 } else { now.saturating_sub(since) };
        self.before_ns.load(Relaxed) + this_time
    }

    /// In a forked child, which has seen nothing yet.
    pub fn clear(&self) {
        for counter in [&self.pages, &self.since, &self.before_ns] {
            counter.store(0, Relaxed);
        }
    }

    fn note(&self, pages: u64, now: u64) {
        self.pages.store(pages, Relaxed);
        match (pages, self.since.load(Relaxed)) {
            (0, 0) | (1.., 1..) => {}
            (0, _) => {
                self.before_ns.store(self.ns(now), Relaxed);
                self.since.store(0, Relaxed);
            }
            (1.., 0) => self.since.store(now.max(1), Relaxed),
        }
    }
}

/// A server that somebody has named.
pub fn known_as(node: &NodeAddress) -> Arc<Server> {
    Arc::new(Server::new(Place { address: node.address, name: node.name.clone() }))
}

impl Redis {
    /// Asks until it is known who has what, or nobody answers; whether it is known.
    pub(super) fn find_cluster(&self) -> bool {
        let until = self.now() + self.timing.connect_ns;
        while self.now() < until {
            self.tend_servers();
            self.refresh();
            if !self.cluster().shards.is_empty() {
                self.tend_servers();
                return true;
            }
            self.network.rest(1_000_000);
        }
        false
    }

    /// Gives a cluster that has just been made some time to find out who belongs to whom.
    pub(super) fn find_replicas(&self) {
        let until = self.now() + 5 * self.timing.connect_ns;
        let is_lacking = |cluster: &Cluster| {
            cluster.shards.iter().any(|shard| shard.replicas.len() < self.replicas)
        };
        while is_lacking(&self.cluster()) && self.now() < until {
            self.tend_servers();
            self.refresh();
            self.network.rest(1_000_000);
        }
        self.tend_servers();
    }

    /// Keeps connections up.
    pub(super) fn tend_servers(&self) {
        let cluster = self.cluster();
        let servers = lock(&self.servers).clone();
        for server in servers {
            let is = |other: &Arc<Server>| Arc::ptr_eq(other, &server);
            let errands = if cluster.shards.iter().any(|shard| is(&shard.primary)) {
                &ALL[..]
            } else {
                &[Errand::Demand]
            };
            server.tend(&*self.network, &self.timing, &self.login, errands);
        }
    }

    /// Asks all servers who has what if that is due, and acts on the answers.
    pub(super) fn refresh(&self) {
        let question = &mut *lock(&self.question);
        let now = self.now();
        if question.asked.is_empty() {
            let hurries = self.wants_refresh.load(Relaxed);
            let pause = if hurries { HURRY_NS } else { REFRESH_NS };
            if question.put_at == 0 || now >= question.put_at + pause {
                self.wants_refresh.store(false, Relaxed);
                self.ask(question, now);
            }
            return;
        }
        let views = &mut question.views;
        question.asked.retain(|(address, line, call)| match line.wait(*call, 0) {
            Ok(Reply::Bulk(text)) => {
                views.push(View::parse(&String::from_utf8_lossy(&text), address.ip()));
                false
            }
            Err(Silence::Late) => true,
            _ => false,
        });
        if !question.asked.is_empty() && now < question.put_at + ANSWER_NS {
            return;
        }
        for (_, line, call) in question.asked.drain(..) {
            line.abandon(call, 1);
        }
        self.learn(&std::mem::take(&mut question.views));
    }

    fn ask(&self, question: &mut Question, now: u64) {
        question.put_at = now;
        let words = command(&["CLUSTER", "NODES"]);
        for server in lock(&self.servers).iter() {
            let Some(line) = server.line(Errand::Demand) else { continue };
            if let Ok(call) = line.send(&mut [IoSlice::new(&words)], 1) {
                question.asked.push((server.place.address, line, call));
            }
        }
    }

    /// Takes over what the servers say.
    fn learn(&self, views: &[View]) {
        let layout = merge(views);
        if layout.shards.is_empty() {
            return;
        }
        let cluster = Arc::new(self.cluster_of(layout, views));
        *self.cluster.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&cluster);
        let few = |extent: &u64| {
            let shard = cluster.shard(self.names.part(*extent));
            shard.is_none_or(|shard| shard.replicas.len() < self.replicas)
        };
        let lacking = (0..self.extents.high()).filter(few).map(|extent| self.extents.pages(extent));
        self.lacking.note(lacking.sum(), self.now());
    }

    fn cluster_of(&self, layout: Layout, views: &[View]) -> Cluster {
        let servers = &mut *lock(&self.servers);
        let mut find = |place: &Place| {
            let known = servers.iter().find(|server| server.place.address == place.address);
            known.cloned().unwrap_or_else(|| {
                let server = Arc::new(Server::new(place.clone()));
                servers.push(Arc::clone(&server));
                server
            })
        };
        let shards = layout.shards.iter().map(|shard| Shard {
            primary: find(&shard.primary),
            replicas: shard.replicas.iter().map(&mut find).collect(),
        });
        let shards = shards.collect();
        // Those that have no keys yet may have some soon.
        for place in views.iter().flat_map(View::servers) {
            find(&place);
        }
        Cluster { shards, owners: layout.owners }
    }

    /// Tells servers that extents are in use, some at a time, so that those of processes that were killed are forgotten
    /// and others are not.
    pub(super) fn renew_some(&self) {
        let period = self.timing.lease_ns / 4;
        if self.extents.high() == 0 {
            return;
        }
        if self.renewing.load(Relaxed) == u64::MAX {
            if !self.extents.begin_renewal(self.now(), period) {
                return;
            }
            self.renewing.store(0, Relaxed);
        }
        let cluster = self.cluster();
        let from = self.renewing.load(Relaxed);
        let to = (from + RENEWALS).min(self.extents.high());
        let mut commands: Vec<(Vec<u8>, usize)> = vec![(Vec::new(), 0); cluster.shards.len()];
        for extent in (from..to).filter(|extent| self.extents.is_there(*extent)) {
            let owner = cluster.owner(self.names.part(extent));
            if let Some((bytes, count)) =
                owner.and_then(|owner| commands.get_mut(usize::from(owner)))
            {
                self.renew(bytes, extent);
                *count += 1;
            }
        }
        for (shard, (bytes, count)) in cluster.shards.iter().zip(commands) {
            let Some(line) = shard.primary.line(Errand::Ahead).filter(|_| count > 0) else {
                continue;
            };
            if let Ok(call) = line.send(&mut [IoSlice::new(&bytes)], count) {
                line.abandon(call, count);
            }
        }
        let next = if to == self.extents.high() { u64::MAX } else { to };
        self.renewing.store(next, Relaxed);
    }

    /// Deletes extents that have been empty for a while.
    pub(super) fn end_empty(&self) {
        let now = self.now();
        let due: Vec<u64> = {
            let empty = &mut *lock(&self.empty);
            let due = |(since, _): &mut (u64, u64)| now >= *since + EMPTY_NS;
            empty.extract_if(.., due).map(|(_, extent)| extent).take(RENEWALS as usize).collect()
        };
        let ending: Vec<u64> =
            due.into_iter().filter(|extent| self.extents.begin_end(*extent)).collect();
        let cluster = self.cluster();
        let mut asked = Vec::new();
        for extent in ending {
            let shard = cluster.shard(self.names.part(extent));
            let line = shard.and_then(|shard| shard.primary.line(Errand::Ahead));
            let mut bytes = Vec::new();
            resp::begin(&mut bytes, 2);
            resp::word(&mut bytes, b"UNLINK");
            self.names.word(&mut bytes, extent);
            let sent = line.and_then(|line| {
                line.send(&mut [IoSlice::new(&bytes)], 1).ok().map(|call| (extent, line, call))
            });
            asked.extend(sent);
        }
        let until = now + self.timing.deadline_ns;
        for (extent, line, call) in asked {
            // One whose end is not certain is not used again: it may end later.
            if let Ok(Reply::Number(_)) = line.wait(call, until) {
                self.extents.finish_end(extent);
            }
        }
    }

    /// Deletes whatever has a name that begins with `pool`; returns how many values that were.
    pub(super) fn delete_all(&self, pool: &str) -> u64 {
        let cluster = self.cluster();
        let lines = cluster.shards.iter().filter_map(|shard| shard.primary.line(Errand::Demand));
        lines.map(|line| self.delete_at(&line, pool)).sum()
    }

    fn delete_at(&self, line: &Line, pool: &str) -> u64 {
        let pattern = format!("{pool}:*");
        let mut cursor = "0".to_owned();
        let mut deleted = 0;
        loop {
            let scan = command(&["SCAN", &cursor, "MATCH", &pattern, "COUNT", "1000"]);
            let Some(Reply::Array(answer)) = self.ask_one(line, &scan) else { return deleted };
            let [Reply::Bulk(next), Reply::Array(keys)] = &answer[..] else { return deleted };
            for key in keys {
                let Reply::Bulk(key) = key else { continue };
                let unlink = command(&["UNLINK", &String::from_utf8_lossy(key)]);
                if let Some(Reply::Number(count)) = self.ask_one(line, &unlink) {
                    deleted += count.max(0) as u64;
                }
            }
            cursor = String::from_utf8_lossy(next).into_owned();
            if cursor == "0" {
                return deleted;
            }
        }
    }

    /// The answer to one command, if there is one.
    pub(super) fn ask_one(&self, line: &Line, words: &[u8]) -> Option<Reply> {
        let call = line.send(&mut [IoSlice::new(words)], 1).ok()?;
        let reply = line.wait(call, self.now() + self.timing.deadline_ns);
        if reply == Err(Silence::Late) {
            line.abandon(call, 1);
        }
        reply.ok()
    }
}
