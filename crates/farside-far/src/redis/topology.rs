//! Which server has which part of the keys, as the servers themselves see it.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};

/// Parts into which a cluster divides its keys.
pub const PARTS: usize = 16_384;

/// A server, as another one describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    address: SocketAddr,
    name: String,
    primary: Option<String>,
    has_failed: bool,
    epoch: u64,
    parts: Vec<(u16, u16)>,
}

/// How one server sees the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    members: BTreeMap<String, Member>,
    own: String,
}

/// Where a server is, and what its certificate calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it is.
    pub address: SocketAddr,
    /// What it is called.
    pub name: String,
}

/// A server that has keys, and those that have copies of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The server that takes what is written.
    pub primary: Place,
    /// Those that are not known to have failed.
    pub replicas: Vec<Place>,
}

/// Who has what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Servers that have keys.
    pub shards: Vec<Shard>,
    /// By part: the shard's place among these, or more than any.
    pub owners: Vec<u16>,
}

impl View {
    /// Reads the answer to `CLUSTER NODES` of the server at `from`. Lines that make no sense are passed over.
    pub fn parse(text: &str, from: IpAddr) -> Self {
        let mut view = Self::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(id), Some(address), Some(flags), Some(primary)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                continue;
            };
            let flags: Vec<&str> = flags.split(',').collect();
            if flags.contains(&"myself") {
                view.own = id.to_owned();
            }
            let Some((address, name)) = place(address, from) else { continue };
            let epoch = words.nth(2).and_then(|epoch| epoch.parse().ok()).unwrap_or(0);
            let parts = words.skip(1).filter_map(range).collect();
            let has_failed = ["fail", "noaddr", "handshake"].iter().any(|bad| flags.contains(bad));
            let primary = (primary != "-").then(|| primary.to_owned());
            let member = Member { address, name, primary, has_failed, epoch, parts };
            view.members.insert(id.to_owned(), member);
        }
        view
    }

    /// Servers that are not known to have failed.
    pub fn servers(&self) -> impl Iterator<Item = Place> {
        self.members.values().filter(|member| !member.has_failed).map(Member::place)
    }

    fn replicas(&self, primary: &str) -> Vec<Place> {
        let is_its = |member: &&Member| member.primary.as_deref() == Some(primary);
        let members = self.members.values().filter(is_its);
        members.filter(|member| !member.has_failed).map(Member::place).collect()
    }
}

impl Member {
    fn place(&self) -> Place {
        Place { address: self.address, name: self.name.clone() }
    }
}

/// `127.0.0.1:7000@17000,name`; a server that does not know its own address is where it was asked.
fn place(text: &str, from: IpAddr) -> Option<(SocketAddr, String)> {
    let mut words = text.split(',');
    let address = words.next()?.split('@').next()?;
    let (host, port) = address.rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port != 0)?;
    let ip = if host.is_empty() { from } else { host.trim_matches(['[', ']']).parse().ok()? };
    let name = words.next().filter(|name| !name.is_empty() && !name.contains('='));
    Some((SocketAddr::new(ip, port), name.map_or_else(|| ip.to_string(), str::to_owned)))
}

/// `5` or `0-5460`; parts that are on their way, in brackets, still belong to where they were.
fn range(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && usize::from(last) < PARTS).then_some((first, last))
}

/// What follows from several views: a part belongs to whoever claims it in the youngest epoch; of replicas, the primary
/// itself knows best.
pub fn merge(views: &[View]) -> Layout {
    let mut owners: Vec<Option<(u64, &str)>> = vec![None; PARTS];
    for view in views {
        for (id, member) in view.members.iter().filter(|(_, member)| member.primary.is_none()) {
            for part in member.parts.iter().flat_map(|(first, last)| *first..=*last) {
                let owner = &mut owners[usize::from(part)];
                if owner.is_none_or(|(epoch, _)| epoch < member.epoch) {
                    *owner = Some((member.epoch, id));
                }
            }
        }
    }
    let mut layout = Layout { shards: Vec::new(), owners: vec![u16::MAX; PARTS] };
    let mut known: HashMap<&str, u16> = HashMap::new();
    for (part, owner) in owners.iter().enumerate() {
        let Some((_, id)) = *owner else { continue };
        let shard = known.entry(id).or_insert_with(|| {
            layout.shards.extend(shard(views, id));
            (layout.shards.len() - 1) as u16
        });
        layout.owners[part] = *shard;
    }
    layout
}

fn shard(views: &[View], primary: &str) -> Option<Shard> {
    let own = views.iter().find(|view| view.own == primary);
    let view = own.or_else(|| views.iter().find(|view| view.members.contains_key(primary)))?;
    let member = view.members.get(primary)?;
    Some(Shard { primary: member.place(), replicas: view.replicas(primary) })
}

/// The part that a key belongs to: its CRC16 (XMODEM), begun with that of what comes before.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyHash(u16);

impl KeyHash {
    /// With more bytes behind.
    pub fn then(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |crc, byte| {
            (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
                if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
            })
        }))
    }

    /// The part.
    pub fn part(self) -> usize {
        usize::from(self.0) % PARTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    const BEFORE: &str = "\
a1 127.0.0.1:7000@17000,host-a myself,master - 0 0 1 connected 0-8191 [93-<-b2]
b2 127.0.0.1:7001@17001,,shard-id=77 master - 0 1 2 connected 8192-16383
c3 127.0.0.1:7002@17002 slave a1 0 1 1 connected
d4 :0@0 slave,noaddr b2 0 1 2 disconnected
e5 127.0.0.1:7004@17004 slave,fail a1 0 1 1 disconnected
";

    const AFTER: &str = "\
c3 :7002@17002 myself,master - 0 0 3 connected 0-8191
a1 127.0.0.1:7000@17000 master,fail - 0 0 1 disconnected
b2 127.0.0.1:7001@17001 master - 0 1 2 connected 8192-16383
";

    fn ports(layout: &Layout) -> Vec<(u16, Vec<u16>)> {
        let port = |place: &Place| place.address.port();
        let of = |shard: &Shard| (port(&shard.primary), shard.replicas.iter().map(port).collect());
        layout.shards.iter().map(of).collect()
    }

    #[test]
    fn a_view_tells_who_has_what() {
        let view = View::parse(BEFORE, HERE);
        let layout = merge(std::slice::from_ref(&view));
        assert_eq!(ports(&layout), [(7000, vec![7002]), (7001, vec![])]);
        assert_eq!(layout.shards[0].primary.name, "host-a");
        assert_eq!(layout.shards[1].primary.name, "127.0.0.1");
        assert_eq!((layout.owners[0], layout.owners[8191], layout.owners[8192]), (0, 0, 1));
        assert_eq!(view.servers().count(), 3);
    }

    #[test]
    fn the_youngest_claim_counts_whoever_is_asked_first() {
        let (before, after) = (View::parse(BEFORE, HERE), View::parse(AFTER, HERE));
        for views in [[before.clone(), after.clone()], [after, before]] {
            assert_eq!(ports(&merge(&views)), [(7002, vec![]), (7001, vec![])]);
        }
    }

    #[test]
    fn nonsense_is_passed_over() {
        let layout =
            merge(&[View::parse("x\ny z\n\na 1:2:3 - - 0 0 x y 9-3 70000 1-99999\n", HERE)]);
        assert!(layout.shards.is_empty() && layout.owners.iter().all(|owner| *owner == u16::MAX));
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_strange(text in "([-,@:0-9a-z]{0,9} ){0,12}\n?.{0,40}") {
            let layout = merge(&[View::parse(BEFORE, HERE), View::parse(&text, HERE)]);
            proptest::prop_assert_eq!(layout.owners.len(), PARTS);
        }
    }

    #[test]
    fn keys_are_where_redis_says() {
        assert_eq!(KeyHash::default().then(b"123456789"), KeyHash(0x31C3));
        assert_eq!(KeyHash::default().then(b"fo").then(b"o").part(), 12182);
    }
}
