//! Who is let in, and who is not.

use std::io;
use std::path::{Path, PathBuf};

use farside_far::remote::{NodeAddress, TcpNetwork, Timing, probe};
use farside_node::network::Options;
use farside_wire::transport::{BadCredentials, Files, Protection};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use tempfile::TempDir;

use crate::setup::{Client, node, timing};

/// An authority, and what it signs.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    home: TempDir,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { issuer, home }
    }

    fn path(&self) -> PathBuf {
        self.home.path().join("ca.pem")
    }

    /// Files for somebody called `name`.
    fn sign(&self, name: &str, year_of_end: i32) -> Files {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(year_of_end, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let file = |what: &str, text: &str| {
            let path = self.home.path().join(format!("{name}-{year_of_end}-{what}.pem"));
            std::fs::write(&path, text).unwrap();
            path
        };
        Files {
            authority: Some(self.path()),
            certificate: Some(file("certificate", &certificate.pem())),
            key: Some(file("key", &key.serialize_pem())),
            secret: None,
            password: None,
        }
    }
}

fn secret(home: &Path, text: &str) -> Files {
    let path = home.join(format!("secret-{}", text.len()));
    std::fs::write(&path, text).unwrap();
    Files { secret: Some(path), ..Files::default() }
}

/// Asks a node with one kind of credentials how it is, as somebody with other ones.
fn meet(nodes: &Protection, ours: &Protection, name: &str) -> io::Result<()> {
    let (_, address) = node(Options { protection: nodes.clone(), ..Options::default() });
    let network = TcpNetwork { protection: ours.clone() };
    let address = NodeAddress { name: name.into(), address };
    let timing = Timing { connect_ns: 300_000_000, ..timing() };
    probe(&network, &address, &timing).map(drop)
}

#[test]
fn only_who_knows_the_secret_is_let_in() {
    let home = tempfile::tempdir().unwrap();
    let ours = secret(home.path(), "a secret of some length\n").read().unwrap();
    let same = secret(home.path(), "a secret of some length").read().unwrap();
    let other = secret(home.path(), "another secret of some length").read().unwrap();
    assert!(meet(&ours, &same, "127.0.0.1").is_ok());
    assert!(meet(&ours, &other, "127.0.0.1").is_err());
    assert!(meet(&ours, &Protection::None, "127.0.0.1").is_err());
    assert!(meet(&Protection::None, &ours, "127.0.0.1").is_err());
}

#[test]
fn only_who_shows_a_valid_certificate_is_let_in() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let nodes = authority.sign("node.test", 2100).read().unwrap();
    let ours = authority.sign("client.test", 2100).read().unwrap();
    assert!(meet(&nodes, &ours, "node.test").is_ok());
    let wrong_name = meet(&nodes, &ours, "other.test").unwrap_err();
    assert!(wrong_name.to_string().contains("not valid for name"), "{wrong_name}");
    let expired = authority.sign("client.test", 2021).read().unwrap();
    let expired = meet(&nodes, &expired, "node.test").unwrap_err();
    assert!(expired.to_string().contains("our certificate (--tls-cert) has expired"), "{expired}");
    let old_node = authority.sign("node.test", 2021).read().unwrap();
    assert!(meet(&old_node, &ours, "node.test").unwrap_err().to_string().contains("expired"));
    // Signed by somebody else, while knowing whom the node trusts.
    let theirs = Files { authority: Some(authority.path()), ..stranger.sign("client.test", 2100) };
    assert!(meet(&nodes, &theirs.read().unwrap(), "node.test").is_err());
    assert!(meet(&nodes, &Protection::None, "node.test").is_err());
    let home = tempfile::tempdir().unwrap();
    let known = secret(home.path(), "a secret of some length").read().unwrap();
    assert!(meet(&nodes, &known, "node.test").is_err());
    assert!(meet(&known, &ours, "node.test").is_err());
}

#[test]
fn credentials_that_make_no_sense_are_refused() {
    let authority = Authority::new();
    let files = authority.sign("node.test", 2100);
    let home = tempfile::tempdir().unwrap();
    let refused = |files: Files| files.read().unwrap_err().to_string();
    assert!(refused(secret(home.path(), "short")).contains("there should be 16"));
    let missing = Files { key: None, ..files.clone() };
    assert!(matches!(missing.read(), Err(BadCredentials::Incomplete)));
    let both = Files { secret: files.key.clone(), ..files.clone() };
    assert!(matches!(both.read(), Err(BadCredentials::Incomplete)));
    let swapped = Files { key: files.certificate.clone(), ..files.clone() };
    assert!(refused(swapped).contains("private key"));
    let other = authority.sign("other.test", 2100);
    assert!(refused(Files { key: other.key, ..files.clone() }).contains("cannot be used"));
    let nowhere = Files { certificate: Some(home.path().join("none")), ..files };
    assert!(refused(nowhere).contains("cannot read"));
}

#[test]
fn pages_travel_protected() {
    let home = tempfile::tempdir().unwrap();
    let protection = secret(home.path(), "a secret of some length").read().unwrap();
    let options = Options { protection: protection.clone(), ..Options::default() };
    let nodes: Vec<_> = (0..2).map(|_| node(options.clone()).1).collect();
    let client = Client::protected(&nodes, 2, timing(), protection);
    let fills: Vec<u8> = (0..1500u32).map(|i| (i % 253) as u8).collect();
    client.write(0, &fills).unwrap();
    assert!(client.read(0, 1500).unwrap() == fills);
    for page in (0..1500).step_by(37) {
        assert_eq!(client.read(page, 1).unwrap(), [fills[page as usize]]);
    }
}
