//! Servers of a cluster, modelled after what real ones do: they store before their replicas have it, say how many replicas
//! have it if they are asked, follow a new primary by taking over all that it has, and believe for a while what is not
//! so any more.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;
use std::rc::Rc;

use crate::cable::Cables;

/// Parts into which a cluster divides its keys.
const PARTS: usize = 16_384;

/// A primary that nobody has heard of for so long is replaced.
const NODE_TIMEOUT_NS: u64 = 30_000_000;

/// A replica follows within so long.
const LAG_NS: u64 = 3_000_000;

/// Something that changes values.
#[derive(Clone)]
enum Change {
    Put(Vec<u8>, usize, Vec<u8>),
    Delete(Vec<u8>),
}

/// A change on its way to a replica: when it arrives, and how many there were before it and with it.
type Sent = (u64, u64, Change);

#[derive(Default)]
struct Server {
    values: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Changes that it has seen.
    offset: u64,
    /// Whose replica it is.
    follows: Option<usize>,
    /// What is on its way to it from there.
    stream: VecDeque<Sent>,
    /// The age of its claim to its keys.
    epoch: u64,
    /// By shard, what it knows of who is the primary, with the age of that.
    knows: Vec<(usize, u64)>,
    /// Which server of its number it is: one that was killed comes back as another one.
    life: u64,
    is_alive: bool,
    /// Since when it has not heard of most of the others.
    alone_since: Option<u64>,
}

/// The cluster.
pub struct Servers {
    pub cables: Rc<Cables>,
    servers: RefCell<Vec<Server>>,
    /// Cut off from the others until then.
    apart_until: Vec<Cell<u64>>,
    shards: usize,
    epochs: Cell<u64>,
    /// How many connections there have been, and which of them somebody has ended.
    sessions: Cell<u64>,
    killed: RefCell<BTreeSet<u64>>,
}

/// Which server, and in which of its lives.
pub type Life = (usize, u64);

/// The part that a key belongs to.
fn part(key: &[u8]) -> usize {
    let crc = key.iter().fold(0u16, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
        })
    });
    usize::from(crc) % PARTS
}

impl Servers {
    /// So many primaries, each with a replica, and so many spare replicas of the first one.
    pub fn new(cables: Rc<Cables>, shards: usize, spares: usize) -> Rc<Self> {
        let count = 2 * shards + spares;
        let follows = |number: usize| match number {
            _ if number < shards => None,
            _ if number < 2 * shards => Some(number - shards),
            _ => Some(0),
        };
        let knows: Vec<_> = (0..shards).map(|shard| (shard, 1 + shard as u64)).collect();
        let server = |number| Server {
            follows: follows(number),
            epoch: 1 + number as u64,
            knows: knows.clone(),
            is_alive: true,
            ..Server::default()
        };
        Rc::new(Self {
            cables,
            servers: RefCell::new((0..count).map(server).collect()),
            apart_until: (0..count).map(|_| Cell::new(0)).collect(),
            shards,
            epochs: Cell::new(1 + shards as u64),
            sessions: Cell::new(0),
            killed: RefCell::default(),
        })
    }

    pub fn next_session(&self) -> u64 {
        self.sessions.set(self.sessions.get() + 1);
        self.sessions.get()
    }

    /// Ends a connection: what has come on it and was not carried out never is.
    pub fn kill_session(&self, number: u64) -> i64 {
        self.killed.borrow_mut().insert(number).into()
    }

    pub fn is_killed(&self, number: u64) -> bool {
        self.killed.borrow().contains(&number)
    }

    pub fn count(&self) -> usize {
        self.apart_until.len()
    }

    fn now(&self) -> u64 {
        self.cables.scheduler.now()
    }

    /// Whether there is such a server, and it can be connected to; in which life.
    pub fn life(&self, number: usize) -> Option<u64> {
        let servers = self.servers.borrow();
        let server = servers.get(number)?;
        server.is_alive.then_some(server.life)
    }

    pub fn lives(&self, (number, life): Life) -> bool {
        self.life(number) == Some(life)
    }

    /// The server is gone, with all it had.
    pub fn kill(&self, number: usize) {
        let server = &mut self.servers.borrow_mut()[number];
        *server = Server { life: server.life + 1, ..Server::default() };
        self.cables.cut(number);
    }

    /// Whether a server is the primary of a shard, as far as the others know.
    pub fn has_keys(&self, number: usize) -> bool {
        (0..self.shards).any(|shard| self.youngest(shard).0 == number)
    }

    /// A new server with its number joins those that follow somebody.
    pub fn start(&self, number: usize) {
        let Some(primary) = self.primaries().into_iter().flatten().next() else { return };
        let knows = self.servers.borrow()[primary].knows.clone();
        {
            let server = &mut self.servers.borrow_mut()[number];
            (server.is_alive, server.knows) = (true, knows);
            server.follows = Some(primary);
        }
        self.copy_all(primary, number);
    }

    /// Neither clients nor other servers hear of it for a while.
    pub fn part(&self, number: usize, ns: u64) {
        self.apart_until[number].set(self.now() + ns);
        self.cables.hold(number, ns);
    }

    /// Whether two servers hear of one another.
    fn reaches(&self, one: usize, other: usize) -> bool {
        let is_there = |number: usize| self.apart_until[number].get() <= self.now();
        let alive = |number: usize| self.servers.borrow()[number].is_alive;
        alive(one) && alive(other) && is_there(one) && is_there(other)
    }

    /// By shard: the server that most of the others take for its primary, if it lives and is there.
    pub fn primaries(&self) -> Vec<Option<usize>> {
        (0..self.shards).map(|shard| self.primary(shard)).collect()
    }

    fn youngest(&self, shard: usize) -> (usize, u64) {
        let servers = self.servers.borrow();
        let known = servers.iter().filter_map(|server| server.knows.get(shard));
        known.copied().max_by_key(|(_, epoch)| *epoch).unwrap_or((shard, 0))
    }

    fn primary(&self, shard: usize) -> Option<usize> {
        let (primary, _) = self.youngest(shard);
        let is_primary = self.servers.borrow()[primary].follows.is_none();
        (self.reaches(primary, primary) && is_primary).then_some(primary)
    }

    /// Whether each shard has a primary, and that a replica that has all of it.
    pub fn is_calm(&self) -> bool {
        let servers = self.servers.borrow();
        let follows = |primary: usize, replica: &Server| {
            replica.is_alive && replica.follows == Some(primary) && replica.stream.is_empty()
        };
        self.primaries().into_iter().all(|primary| {
            primary.is_some_and(|primary| {
                servers.iter().any(|replica| follows(primary, replica))
                    && (0..servers.len())
                        .all(|other| self.reaches(other, other) || !servers[other].is_alive)
            })
        })
    }

    /// A replica takes over all that its primary has.
    fn copy_all(&self, primary: usize, replica: usize) {
        let mut servers = self.servers.borrow_mut();
        let (values, offset) = (servers[primary].values.clone(), servers[primary].offset);
        let replica = &mut servers[replica];
        (replica.values, replica.offset) = (values, offset);
        replica.stream.clear();
    }

    /// What servers do by themselves: follow, tell one another what they know, and replace those that are gone.
    pub fn tick(&self) {
        for number in 0..self.count() {
            self.follow(number);
            self.listen(number);
        }
        for shard in 0..self.shards {
            self.replace(shard);
            self.attend(shard);
        }
    }

    /// Takes over the changes that have arrived.
    fn follow(&self, number: usize) {
        let now = self.now();
        let Some(primary) = self.servers.borrow()[number].follows else { return };
        if !self.reaches(number, primary) {
            return;
        }
        let server = &mut self.servers.borrow_mut()[number];
        while server.stream.front().is_some_and(|(arrives, ..)| *arrives <= now) {
            let Some((_, offset, change)) = server.stream.pop_front() else { return };
            server.apply(change);
            server.offset = offset;
        }
    }

    /// Learns what others know, and does what follows from it for itself.
    fn listen(&self, number: usize) {
        let others: Vec<usize> =
            (0..self.count()).filter(|other| self.reaches(number, *other)).collect();
        let now = self.now();
        let is_alone = others.len() <= self.count() / 2;
        let known: Vec<(usize, u64)> = {
            let servers = self.servers.borrow();
            let of = |shard: usize| {
                let views = others.iter().filter_map(|other| servers[*other].knows.get(shard));
                views.copied().max_by_key(|(_, epoch)| *epoch)
            };
            (0..self.shards).filter_map(of).collect()
        };
        let mut follow = None;
        {
            let server = &mut self.servers.borrow_mut()[number];
            if !server.is_alive {
                return;
            }
            server.alone_since = is_alone.then(|| server.alone_since.unwrap_or(now));
            if is_alone || known.len() < self.shards {
                return;
            }
            // Who was replaced follows who replaced it.
            if server.follows.is_none() {
                let own = server.knows.iter().position(|(primary, _)| *primary == number);
                follow = own.map(|shard| known[shard].0).filter(|primary| *primary != number);
            }
            server.knows = known;
            if let Some(primary) = follow {
                server.follows = Some(primary);
            }
        }
        if let Some(primary) = follow {
            self.copy_all(primary, number);
        }
    }

    /// Makes a replica the primary of a shard whose primary nobody has heard of for long enough.
    fn replace(&self, shard: usize) {
        let (primary, _) = self.youngest(shard);
        let is_there = self.reaches(primary, primary);
        let since = {
            let server = &mut self.servers.borrow_mut()[primary];
            if is_there {
                return;
            }
            *server.alone_since.get_or_insert(self.cables.scheduler.now())
        };
        if self.now() < since + NODE_TIMEOUT_NS {
            return;
        }
        let heir = {
            let servers = self.servers.borrow();
            let follow = |number: &usize| servers[*number].follows == Some(primary);
            let replicas = (0..self.count()).filter(|number| self.reaches(*number, *number));
            replicas.filter(follow).max_by_key(|number| servers[*number].offset)
        };
        let Some(heir) = heir else { return };
        let epoch = self.epochs.get() + 1;
        self.epochs.set(epoch);
        let siblings: Vec<usize> = {
            let mut servers = self.servers.borrow_mut();
            let server = &mut servers[heir];
            (server.follows, server.epoch) = (None, epoch);
            server.stream.clear();
            server.knows[shard] = (heir, epoch);
            let follow = |number: &usize| servers[*number].follows == Some(primary);
            (0..servers.len()).filter(follow).collect()
        };
        for sibling in siblings {
            self.servers.borrow_mut()[sibling].follows = Some(heir);
            self.copy_all(heir, sibling);
        }
    }

    /// Gives a shard without a replica one that another shard can spare.
    fn attend(&self, shard: usize) {
        let Some(primary) = self.primary(shard) else { return };
        let replicas = |primary: usize| -> Vec<usize> {
            let servers = self.servers.borrow();
            let follow = |number: &usize| servers[*number].follows == Some(primary);
            let there = (0..self.count()).filter(|number| self.reaches(*number, *number));
            there.filter(follow).collect()
        };
        if !replicas(primary).is_empty() {
            return;
        }
        let spare = self.primaries().into_iter().flatten().find_map(|other| {
            let all = replicas(other);
            if all.len() > 1 { all.last().copied() } else { None }
        });
        if let Some(spare) = spare {
            self.servers.borrow_mut()[spare].follows = Some(primary);
            self.copy_all(primary, spare);
        }
    }

    /// Who a server thinks should be asked for a key, if that is not it.
    fn elsewhere(&self, number: usize, key: &[u8]) -> Option<String> {
        let servers = self.servers.borrow();
        let shard = part(key) * self.shards / PARTS;
        let (primary, _) = servers[number].knows[shard];
        let its = primary == number || servers[number].follows == Some(primary);
        (!its).then(|| format!("MOVED {} 127.0.0.1:{}", part(key), 1 + primary))
    }

    /// Why a server does not take changes now.
    fn refusal(&self, number: usize, key: &[u8]) -> Option<String> {
        if let Some(moved) = self.elsewhere(number, key) {
            return Some(moved);
        }
        let servers = self.servers.borrow();
        if servers[number].follows.is_some() {
            return Some(format!("MOVED {} 127.0.0.1:{}", part(key), 1));
        }
        if servers[number].alone_since.is_some_and(|since| self.now() > since + NODE_TIMEOUT_NS) {
            return Some("CLUSTERDOWN The cluster is down".into());
        }
        let follows = |replica: &Server| replica.is_alive && replica.follows == Some(number);
        (!servers.iter().any(follows)).then(|| "NOREPLICAS Not enough good replicas".into())
    }

    fn change(&self, number: usize, change: Change) {
        let random = &self.cables.scheduler.random;
        let now = self.now();
        let mut servers = self.servers.borrow_mut();
        servers[number].apply(change.clone());
        servers[number].offset += 1;
        let offset = servers[number].offset;
        let replicas = servers.iter_mut().filter(|replica| replica.follows == Some(number));
        for replica in replicas {
            let last = replica.stream.back().map_or(0, |(arrives, ..)| *arrives);
            let arrives = (now + random.below(LAG_NS)).max(last);
            replica.stream.push_back((arrives, offset, change.clone()));
        }
    }

    /// Puts bytes into a value; the error is the server's.
    pub fn put(&self, number: usize, key: &[u8], at: usize, bytes: &[u8]) -> Result<i64, String> {
        if let Some(why) = self.refusal(number, key) {
            return Err(why);
        }
        self.change(number, Change::Put(key.to_vec(), at, bytes.to_vec()));
        let servers = self.servers.borrow();
        Ok(servers[number].values.get(key).map_or(0, Vec::len) as i64)
    }

    pub fn delete(&self, number: usize, key: &[u8]) -> Result<i64, String> {
        if let Some(why) = self.refusal(number, key) {
            return Err(why);
        }
        let was = self.servers.borrow()[number].values.contains_key(key);
        self.change(number, Change::Delete(key.to_vec()));
        Ok(was.into())
    }

    /// Whether a value is there.
    pub fn has(&self, number: usize, key: &[u8]) -> Result<i64, String> {
        match self.refusal(number, key) {
            Some(why) => Err(why),
            None => Ok(self.servers.borrow()[number].values.contains_key(key).into()),
        }
    }

    pub fn get(
        &self,
        number: usize,
        key: &[u8],
        from: usize,
        to: usize,
    ) -> Result<Vec<u8>, String> {
        if let Some(why) = self.elsewhere(number, key) {
            return Err(why);
        }
        let servers = self.servers.borrow();
        let value = servers[number].values.get(key).map_or(&[][..], Vec::as_slice);
        let end = value.len().min(to + 1);
        Ok(value[from.min(end)..end].to_vec())
    }

    /// How many changes a server has seen.
    pub fn offset(&self, number: usize) -> u64 {
        self.servers.borrow()[number].offset
    }

    /// How many replicas of a server have seen so many changes.
    pub fn acknowledged(&self, number: usize, offset: u64) -> i64 {
        let has = |replica: &usize| {
            let servers = self.servers.borrow();
            servers[*replica].follows == Some(number) && servers[*replica].offset >= offset
        };
        let there = (0..self.count()).filter(|replica| self.reaches(number, *replica));
        there.filter(has).count() as i64
    }

    /// How all of them are, for messages.
    pub fn describe(&self) -> String {
        let servers = self.servers.borrow();
        let of = |(number, server): (usize, &Server)| {
            let Server { offset, follows, knows, is_alive, alone_since, stream, .. } = server;
            let (keys, behind) = (server.values.len(), stream.len());
            format!(
                "{number}: alive {is_alive}, follows {follows:?}, knows {knows:?}, {keys} values, offset {offset}, \
                 {behind} behind, alone since {alone_since:?}"
            )
        };
        let all: Vec<String> = servers.iter().enumerate().map(of).collect();
        format!("at {}:\n{}", self.now(), all.join("\n"))
    }

    /// What a server answers to `CLUSTER NODES`.
    pub fn view(&self, number: usize) -> String {
        let servers = self.servers.borrow();
        let mut text = String::new();
        for (other, server) in servers.iter().enumerate() {
            let own = if other == number { "myself," } else { "" };
            let gone = other != number && !self.reaches(number, other);
            let gone = if gone { ",fail" } else { "" };
            let shard = servers[number].knows.iter().position(|(primary, _)| *primary == other);
            let (role, of) = match (shard, server.follows) {
                (None, Some(of)) => ("slave", format!("node{of}")),
                _ => ("master", "-".into()),
            };
            let epoch = shard.map_or(0, |shard| servers[number].knows[shard].1);
            let keys = shard.map_or(String::new(), |shard| {
                let first = |shard: usize| (shard * PARTS).div_ceil(self.shards);
                format!(" {}-{}", first(shard), first(shard + 1) - 1)
            });
            // Writing to memory does not fail.
            let _ = writeln!(
                text,
                "node{other} 127.0.0.1:{}@1 {own}{role}{gone} {of} 0 0 {epoch} connected{keys}",
                other + 1
            );
        }
        text
    }
}

impl Server {
    fn apply(&mut self, change: Change) {
        match change {
            Change::Put(key, at, bytes) => {
                let value = self.values.entry(key).or_default();
                value.resize(value.len().max(at + bytes.len()), 0);
                value[at..at + bytes.len()].copy_from_slice(&bytes);
            }
            Change::Delete(key) => _ = self.values.remove(&key),
        }
    }
}
