//! Nodes that take nobody but those who show a certificate.

use std::io::{Read, Write};
use std::net::TcpStream;

use farside_exam::{Authority, Churn, Finished, Identity, Node, Random, pick, text};

use super::{TO_STOP, can_run, url};

fn start(authority: &Authority, own: &Identity) -> Node {
    let ca = authority.path();
    let files = ["--tls-ca", text(&ca), "--tls-cert", text(&own.certificate)];
    let files = [&files[..], &["--tls-key", text(&own.key)]].concat();
    Node::start_at("127.0.0.1:0", "256M", &files)
}

#[test]
fn only_who_shows_a_valid_certificate_is_let_in() {
    if !can_run("only_who_shows_a_valid_certificate_is_let_in") {
        return;
    }
    let churn = Churn::new("certificates", "16", "4");
    let (authority, stranger) = (Authority::default(), Authority::default());
    let node = start(&authority, &authority.sign("127.0.0.1", 2100));
    let far = url(&[&node], "");
    let run = |trusted: &Authority, own: Option<Identity>| -> Finished {
        let mut program = churn.program.clone().env("FARSIDE_FAR", &far);
        if let Some(own) = own {
            program = program
                .env("FARSIDE_TLS_CA", trusted.path())
                .env("FARSIDE_TLS_CERT", own.certificate)
                .env("FARSIDE_TLS_KEY", own.key);
        }
        churn.start_as(&program).finish()
    };
    churn.same(&run(&authority, Some(authority.sign("client", 2100))));
    for (why, trusted, own, said) in [
        ("it has expired", &authority, Some(authority.sign("client", 2021)), "has expired"),
        ("somebody else signed it", &authority, Some(stranger.sign("client", 2100)), "authority"),
        ("the node's is another's", &stranger, Some(authority.sign("client", 2100)), "authority"),
        ("there is none", &authority, None, "wants --psk or --tls-ca"),
    ] {
        let refused = run(trusted, own);
        assert_eq!(refused.code(), Some(TO_STOP), "{why}: {}", refused.errors());
        assert!(refused.errors().contains("cannot use memory node"), "{why}: {}", refused.errors());
        assert!(refused.errors().contains(said), "{why}: {}", refused.errors());
        assert!(!refused.errors().contains("starts one"), "{why}: {}", refused.errors());
    }
    // A node whose own has expired is not trusted.
    let old = start(&authority, &authority.sign("127.0.0.1", 2021));
    let own = authority.sign("client", 2100);
    let program = churn.program.clone().env("FARSIDE_FAR", url(&[&old], ""));
    let program = program
        .env("FARSIDE_TLS_CA", authority.path())
        .env("FARSIDE_TLS_CERT", own.certificate)
        .env("FARSIDE_TLS_KEY", own.key);
    let refused = churn.start_as(&program).finish();
    assert!(refused.errors().contains("expired"), "{}", refused.errors());
}

#[test]
fn probes_of_a_protected_node_do_not_disturb_it() {
    if !can_run("probes_of_a_protected_node_do_not_disturb_it") {
        return;
    }
    let churn = Churn::new("a protected node is probed", "16", pick("12", "60"));
    let authority = Authority::default();
    let node = start(&authority, &authority.sign("127.0.0.1", 2100));
    let own = authority.sign("client", 2100);
    let program = churn.program.clone().env("FARSIDE_FAR", url(&[&node], ""));
    let program = program
        .env("FARSIDE_TLS_CA", authority.path())
        .env("FARSIDE_TLS_CERT", own.certificate)
        .env("FARSIDE_TLS_KEY", own.key);
    let running = churn.start_as(&program);
    let mut random = Random::new(11);
    for turn in 0..pick(300, 5000) {
        let Ok(mut stream) = TcpStream::connect(&node.address) else { panic!("turn {turn}") };
        let length = (random.draw() % 300) as usize;
        // A record of a handshake, or of data, alert or nonsense, as long as it says or not.
        let kind = [22, 22, 23, 21, 20, random.draw() as u8][turn % 6];
        let said = if turn % 3 == 0 { random.draw() as u16 } else { length as u16 };
        let mut bytes = vec![kind, 3, [1, 3, 4][turn % 3]];
        bytes.extend(said.to_be_bytes());
        bytes.extend((0..length).map(|_| random.draw() as u8));
        // The node may have hung up already; some hang up before it does.
        let _ = stream.write_all(&bytes);
        if turn % 8 == 0 {
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read(&mut [0; 64]);
        }
    }
    churn.same(&running.finish());
}
