//! The least that a page across TCP can cost: a request goes there, a page comes back, both sides look again and
//! again. Nothing is named, checked or kept.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Instant;

use clap::Args;
use farside_wire::transport::ucx::{self, UcxListening};

use super::super::Failure;
use super::PAGE;

/// Bytes of a request: as many as one of a memory node's.
const REQUEST: usize = 56;

/// Options of the hidden `farside bench echo`.
#[derive(Debug, Args)]
pub(crate) struct EchoArgs {
    /// Over UCX.
    #[arg(long)]
    ucx: bool,
    /// Be the client of the one that listens there, and say how long an exchange takes in the median.
    #[arg(long, requires = "ucx")]
    to: Option<SocketAddr>,
    /// How many exchanges.
    #[arg(long, default_value_t = 20_000)]
    exchanges: usize,
}

/// Says where it listens, and answers the one client that connects until that hangs up.
pub(crate) fn run(args: &EchoArgs) -> Result<String, Failure> {
    let served = match args.to {
        Some(address) => ucx::echo::exchanges(address, args.exchanges)
            .map(|took| format!("{}\n", super::median(&took))),
        None if args.ucx => serve_ucx().map(|()| String::new()),
        None => serve().map(|()| String::new()),
    };
    served.map_err(|error| Failure::io("echo", &error))
}

fn serve() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
    let (mut stream, _) = listener.accept()?;
    prepare(&stream)?;
    let (mut request, page) = ([0; REQUEST], [7; PAGE]);
    while spin(&mut stream, &mut request)? {
        stream.write_all(&page)?;
    }
    Ok(())
}

fn serve_ucx() -> std::io::Result<()> {
    let listening = UcxListening::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    writeln!(std::io::stdout(), "{}", listening.address())?;
    ucx::echo::answer(&listening)
}

fn prepare(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)
}

/// Receives until `into` is full; false if the other side hung up.
fn spin(stream: &mut TcpStream, into: &mut [u8]) -> std::io::Result<bool> {
    let mut at = 0;
    while at < into.len() {
        match stream.read(&mut into[at..]) {
            Ok(0) => return Ok(false),
            Ok(more) => at += more,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                std::hint::spin_loop();
            }
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// How long each of `count` exchanges with the echo at `address` takes, in nanoseconds.
pub(super) fn exchanges(address: &str, count: usize) -> std::io::Result<Vec<f64>> {
    let mut stream = TcpStream::connect(address)?;
    prepare(&stream)?;
    let (request, mut page) = ([1; REQUEST], [0; PAGE]);
    let mut took = Vec::with_capacity(count);
    for _ in 0..count {
        let begin = Instant::now();
        stream.write_all(&request)?;
        if !spin(&mut stream, &mut page)? {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        took.push(begin.elapsed().as_nanos() as f64);
    }
    Ok(took)
}
