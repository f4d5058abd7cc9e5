//! What an exchange of a request and a page costs the processors of both sides: both are the same thread, so that nobody
//! waits for anybody.
//!
//! `cargo run --release -p farside-wire --example stream_cost`

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Instant;

use farside_wire::frame::{HEADER, RECORD};
use farside_wire::transport::{
    Buffered, Files, Patience, Protection, Stream, Tcp, Tls, receive_all, send_all,
};

/// Exchanges that are timed.
const EXCHANGES: usize = 50_000;

const REQUEST: usize = HEADER + RECORD;
const PAGE: usize = 4096;
const PATIENCE: Patience = Patience::of(0, 5_000_000_000);

fn pair() -> io::Result<(Tcp, Tcp)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    Ok((Tcp::new(client)?, Tcp::new(listener.accept()?.0)?))
}

fn protected_pair(protection: &Protection) -> io::Result<(Tls, Tls)> {
    let Protection::Tls(credentials) = protection else { return Err(io::ErrorKind::Other.into()) };
    let (client, node) = pair()?;
    std::thread::scope(|scope| {
        let node = scope.spawn(|| Tls::accept(node, credentials, PATIENCE));
        let client = Tls::connect(client, credentials, "localhost", PATIENCE)?;
        Ok((client, node.join().map_err(|_| io::ErrorKind::Other)??))
    })
}

/// Median nanoseconds of an exchange.
fn exchange(client: &dyn Stream, node: &dyn Stream) -> io::Result<u128> {
    let (request, page) = ([1; REQUEST], [2; PAGE]);
    let mut arrived = Buffered::default();
    let (mut head, mut into) = ([0; REQUEST], [0; PAGE]);
    let mut took = Vec::with_capacity(EXCHANGES);
    for _ in 0..EXCHANGES {
        let begin = Instant::now();
        send_all(client, &mut [IoSlice::new(&request)], PATIENCE, || Ok(()))?;
        receive_all(node, &mut [IoSliceMut::new(&mut head)], PATIENCE)?;
        let mut reply = [IoSlice::new(&head), IoSlice::new(&page)];
        send_all(node, &mut reply, PATIENCE, || Ok(()))?;
        let head = arrived.receive_start::<REQUEST>(client, PATIENCE)?;
        arrived.receive_all(client, &mut [IoSliceMut::new(&mut into)], PATIENCE)?;
        took.push(begin.elapsed().as_nanos());
        assert!(head == request && into == page, "something else came back");
    }
    took.sort_unstable();
    Ok(took[EXCHANGES / 2])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let secret = std::env::temp_dir().join(format!("stream_cost.{}", std::process::id()));
    std::fs::write(&secret, "the secret of a measurement")?;
    let files = Files { secret: Some(secret.clone()), ..Files::default() };
    let protection = files.read();
    std::fs::remove_file(secret)?;
    let (client, node) = pair()?;
    println!("TCP: {} ns", exchange(&client, &node)?);
    let (client, node) = protected_pair(&protection?)?;
    println!("TLS: {} ns", exchange(&client, &node)?);
    Ok(())
}
