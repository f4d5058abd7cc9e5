//! `farside node`: a memory node, for clients across a network or for one run.

mod farewell;

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use farside_far::remote::Carrier;
use farside_node::network::{Node, Options};
use farside_os::memory::{PAGE, available_bytes};
use farside_wire::transport::ucx::UcxListening;
use farside_wire::transport::{Files, TcpListening};
use nix::sys::signal::{SigSet, Signal};

use farewell::Farewell;

use crate::Failure;
use crate::command::CredentialArguments;
use crate::options::{Size, parse_size};
use crate::run::complain;

/// Exit code of a node that ended although it still had pages.
const LEFT_PAGES: i32 = 1;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Serve clients that connect here: HOST:PORT, or ucx://HOST:PORT for those that come over UCX. May be given several
    /// times.
    #[arg(long, value_name = "ADDR", required_unless_present_any = ["embedded", "offload_server"])]
    listen: Vec<String>,
    /// Most memory for pages: 64G, 512M.
    #[arg(long, value_name = "SIZE", required_unless_present_any = ["embedded", "offload_server"])]
    memory: Option<String>,
    /// Tell a monitoring system how the node is: Prometheus metrics at http://HOST:PORT/metrics.
    #[arg(long, value_name = "ADDR", requires = "listen")]
    metrics: Option<String>,
    /// How long the pages of a client are kept of which nothing is heard any more, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    lease: f64,
    /// How long a connection that waits for a request keeps its processor awake: 50us, 0us.
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = time)]
    spin: Duration,
    /// Most connections; each client has two.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    connections: usize,
    /// Run functions of clients that are made to run where their data is: each call in a process of its own, which sees
    /// that client's pages and can do nothing but compute.
    #[arg(long)]
    offload: bool,
    /// Serve clients on other machines although pages travel unprotected.
    #[arg(long)]
    insecure: bool,
    #[command(flatten)]
    credentials: CredentialArguments,
    /// Serve one run over an inherited connection.
    #[arg(long, hide = true, requires_all = ["link", "far"], conflicts_with_all = ["listen", "memory"])]
    embedded: bool,
    /// Run a program's functions: it is asked over the standard input, and its pages are what the standard output is.
    #[arg(long, hide = true, conflicts_with_all = ["listen", "memory", "embedded"])]
    offload_server: bool,
    /// Descriptor of the connection.
    #[arg(long, hide = true, value_name = "FD", value_parser = clap::value_parser!(i32).range(3..))]
    link: Option<RawFd>,
    /// What the run calls its far memory.
    #[arg(long, hide = true, value_name = "URL")]
    far: Option<farside_far::FarUrl>,
}

/// Reads a time with its unit.
fn time(text: &str) -> Result<Duration, String> {
    let ns = farside_far::nanoseconds(text).filter(|ns| *ns <= 1_000_000_000);
    ns.map(Duration::from_nanos).ok_or_else(|| "not a time such as 50us, at most 1s".to_owned())
}

/// Serves until the node is told to end, or the run and its processes are gone.
pub fn node(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.offload_server {
        return offload_server();
    }
    match (arguments.link, &arguments.listen[..], &arguments.memory) {
        (Some(link), [], None) => serve_run(link, arguments),
        (None, [_, ..], Some(memory)) => serve_network(arguments, memory),
        _ => Err(Failure::usage("give --listen and --memory")),
    }
}

/// Runs functions until the program is gone.
fn offload_server() -> Result<ExitCode, Failure> {
    let wrong = |why: &str| {
        Failure::usage(format!("--offload-server: {why}; this command is started by a memory node"))
    };
    let (link, pages) = (std::io::stdin().as_fd().try_clone_to_owned(), std::io::stdout());
    let link = link.map_err(|error| wrong(&error.to_string()))?;
    if !nix::sys::stat::fstat(&link)
        .is_ok_and(|found| found.st_mode & libc::S_IFMT == libc::S_IFSOCK)
    {
        return Err(wrong("the standard input is no socket"));
    }
    match farside_offload::serve(link.into(), pages) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Failure::own(error.to_string())),
    }
}

/// Serves a run until it and its processes are gone.
fn serve_run(link: RawFd, arguments: &Arguments) -> Result<ExitCode, Failure> {
    // SAFETY: takes no pointers; a number that is no descriptor is refused.
    if unsafe { libc::fcntl(link, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(Failure::usage(format!(
            "--link {link}: {}; this command is started by `farside run`",
            std::io::Error::last_os_error()
        )));
    }
    // SAFETY: the descriptor is open and was inherited for this purpose alone.
    let link = unsafe { OwnedFd::from_raw_fd(link) };
    let far = arguments.far.as_ref();
    let farewell = far.map(|far| Farewell::to(far, files_of(&arguments.credentials)));
    let gone = |name| farewell.iter().for_each(|farewell| farewell.say(name));
    let served = farside_node::embedded::serve(link, gone);
    farewell.into_iter().for_each(Farewell::finish);
    match served {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            // The supervisor that would read this may be gone.
            let _ = writeln!(std::io::stderr(), "the memory node failed: {error}");
            Ok(ExitCode::from(125))
        }
    }
}

/// Where clients connect.
enum Listening {
    Tcp(TcpListening),
    Ucx(UcxListening),
}

/// An address to listen at, and for what.
struct Place<'a> {
    /// As it was given.
    text: &'a str,
    carrier: Carrier,
    address: SocketAddr,
}

impl<'a> Place<'a> {
    /// Reads an address, which clients on other machines may reach only as they are protected there.
    fn read(text: &'a str, arguments: &Arguments, has_credentials: bool) -> Result<Self, Failure> {
        let scheme = Carrier::Ucx.scheme();
        let (carrier, host) = match text.strip_prefix(scheme) {
            Some(host) => (Carrier::Ucx, host),
            None => (Carrier::Tcp, text.strip_prefix(Carrier::Tcp.scheme()).unwrap_or(text)),
        };
        let address = address_of("--listen", host)?;
        let protected = has_credentials && carrier == Carrier::Tcp;
        if protected || arguments.insecure || address.ip().is_loopback() {
            return Ok(Self { text, carrier, address });
        }
        Err(Failure::usage(match carrier {
            Carrier::Tcp => format!(
                "--listen {text}: clients on other machines would send pages unprotected: give --psk, or --tls-ca, \
                 --tls-cert and --tls-key; or allow it with --insecure"
            ),
            Carrier::Ucx => format!(
                "--listen {text}: UCX protects nothing and lets everybody in: use it on an isolated network only, and \
                 allow it with --insecure"
            ),
        }))
    }

    fn listen(&self) -> Result<Listening, Failure> {
        let cannot = |error| Failure::own(format!("cannot listen at {}: {error}", self.text));
        match self.carrier {
            Carrier::Tcp => TcpListening::bind(self.address).map(Listening::Tcp),
            Carrier::Ucx => UcxListening::bind(self.address).map(Listening::Ucx),
        }
        .map_err(cannot)
    }
}

impl Listening {
    /// Where it is, as clients are to name it.
    fn name(&self) -> Result<String, Failure> {
        match self {
            Listening::Tcp(tcp) => {
                let address = tcp.address();
                let address = address.map_err(|error| Failure::own(error.to_string()))?;
                Ok(address.to_string())
            }
            Listening::Ucx(ucx) => Ok(format!("{}{}", Carrier::Ucx.scheme(), ucx.address())),
        }
    }

    fn serve(&self, node: &Arc<Node>) -> std::io::Result<()> {
        match self {
            Listening::Tcp(tcp) => node.serve(tcp),
            Listening::Ucx(ucx) => node.serve_ucx(ucx),
        }
    }
}

/// The files that say who we are.
fn files_of(credentials: &CredentialArguments) -> Files {
    let CredentialArguments { psk, tls_ca, tls_cert, tls_key } = credentials;
    let file = |path: &Option<String>| path.as_ref().map(PathBuf::from);
    Files {
        authority: file(tls_ca),
        certificate: file(tls_cert),
        key: file(tls_key),
        secret: file(psk),
        password: None,
    }
}

/// Serves clients across a network until a signal ends it.
fn serve_network(arguments: &Arguments, memory: &str) -> Result<ExitCode, Failure> {
    let protection = files_of(&arguments.credentials)
        .read()
        .map_err(|error| Failure::usage(error.to_string()))?;
    let has_credentials = protection.is_some();
    let places = arguments.listen.iter().map(|text| Place::read(text, arguments, has_credentials));
    let places: Vec<Place<'_>> = places.collect::<Result<_, _>>()?;
    // Who gives some believes that they protect something.
    if has_credentials && places.iter().all(|place| place.carrier == Carrier::Ucx) {
        return Err(Failure::usage(
            "--listen: UCX protects nothing on its way; --psk and the options of TLS are for HOST:PORT",
        ));
    }
    let bytes = memory_of(memory)?;
    let lease = Duration::try_from_secs_f64(arguments.lease).ok();
    let lease = lease.filter(|lease| *lease <= Duration::from_secs(86_400));
    let lease = lease.ok_or_else(|| {
        Failure::usage(format!("--lease {}: not a number of seconds up to a day", arguments.lease))
    })?;
    let connections = arguments.connections.max(2);
    let spin = arguments.spin;
    let offload = arguments.offload;
    let options = Options { memory: bytes, lease, spin, connections, protection, offload };
    let node = Node::new(options).map_err(|error| Failure::own(error.to_string()))?;
    // Signals are waited for by one thread, and blocked in those that the others start.
    end_by_signal(&node)
        .map_err(|error| Failure::own(format!("cannot wait for signals: {error}")))?;
    let listening = places.iter().map(Place::listen).collect::<Result<Vec<_>, _>>()?;
    let names = listening.iter().map(Listening::name).collect::<Result<Vec<_>, _>>()?;
    if let Some(metrics) = &arguments.metrics {
        let address = address_of("--metrics", metrics)?;
        let cannot = |error| Failure::own(format!("cannot serve metrics at {metrics}: {error}"));
        farside_node::metrics::serve(&node, address).map_err(cannot)?;
    }
    let mut out = std::io::stdout();
    // Nobody may be there to read it.
    let names = names.join(" and ");
    let _ = writeln!(out, "memory node at {names} with {} for pages", Size(bytes));
    let _ = out.flush();
    serve_all(&node, &listening).map_err(|error| Failure::own(error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}

/// Serves at each place, with a thread for each.
fn serve_all(node: &Arc<Node>, listening: &[Listening]) -> std::io::Result<()> {
    std::thread::scope(|scope| {
        let serving: Vec<_> =
            listening.iter().map(|place| scope.spawn(|| place.serve(node))).collect();
        serving.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(std::io::Error::other("a thread has failed")))
        })
    })
}

/// At the first signal that asks the node to end, it gives its pages to others and ends when it has none; at the second
/// it ends at once. Signals are blocked in all threads that are started from now on.
fn end_by_signal(node: &Arc<Node>) -> std::io::Result<()> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    signals.thread_block()?;
    let node = Arc::clone(node);
    let waiting = move || {
        let _ = signals.wait();
        node.drain();
        complain("the memory node gives its pages to others; another signal ends it at once");
        let drained = Arc::clone(&node);
        let draining = move || {
            while !drained.is_empty() {
                std::thread::sleep(Duration::from_millis(20));
            }
            std::process::exit(0);
        };
        // Without the thread, the second signal does it.
        let _ = std::thread::Builder::new().name("drain".into()).spawn(draining);
        let _ = signals.wait();
        std::process::exit(LEFT_PAGES);
    };
    std::thread::Builder::new().name("signals".into()).spawn(waiting).map(drop)
}

fn address_of(option: &str, listen: &str) -> Result<SocketAddr, Failure> {
    let bad = |why: String| Failure::usage(format!("{option} {listen}: {why}; give HOST:PORT"));
    let mut found = listen.to_socket_addrs().map_err(|error| bad(error.to_string()))?;
    found.next().ok_or_else(|| bad("no such address".into()))
}

/// Bytes for pages, which the machine has to have.
fn memory_of(memory: &str) -> Result<u64, Failure> {
    let bytes =
        parse_size(memory).map_err(|bad| Failure::usage(format!("--memory {memory}: {bad}")))?;
    if bytes < PAGE as u64 {
        return Err(Failure::usage(format!("--memory {memory}: less than a page")));
    }
    match available_bytes() {
        Some(available) if bytes > available => Err(Failure::usage(format!(
            "--memory {memory}: the machine has only {} left",
            Size(available)
        ))),
        _ => Ok(bytes),
    }
}
