//! LRANGE over the long lists of a redis-server.

use std::ffi::OsString;
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::chance::{draw, shuffled};
use super::parts::{Part, Ran, Started, Subject};
use super::{Bench, Scale};
use crate::bench::Failure;
use crate::bench::launch::{Place, Program};
use crate::bench::programs::{await_socket, installed};
use crate::run::grouped;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Commands that are sent before answers are read.
const BATCH: usize = 500;

/// Nodes of lists take a page: -1 is 4 KB.
const NODE: [&str; 2] = ["--list-max-listpack-size", "-1"];

/// How many lists there are, and how long they are.
#[derive(Copy, Clone, Debug)]
pub(super) struct Sizes {
    lists: usize,
    elements: usize,
    bytes: usize,
}

impl Sizes {
    pub fn of(scale: Scale) -> Self {
        match scale {
            Scale::Full => Self { lists: 750, elements: 1000, bytes: 400 },
            Scale::Small => Self { lists: 40, elements: 400, bytes: 400 },
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lists, elements, bytes } = *self;
        let elements = grouped(elements as u64);
        write!(f, "{lists} lists of {elements} elements of {bytes} bytes that grew in turn")
    }
}

/// A server with lists.
pub(super) struct Lists(Sizes);

impl Lists {
    /// The error says that there is no server.
    pub fn new(scale: Scale) -> Result<Self, String> {
        installed("redis-server", "redis-server")?;
        Ok(Self(Sizes::of(scale)))
    }
}

impl Subject for Lists {
    fn run(&self, bench: &Bench<'_>, place: Place<'_>) -> Result<Ran, Failure> {
        let socket = bench.scratch.join("redis.sock");
        let _ = std::fs::remove_file(&socket);
        let argv = ["redis-server", "--save", "", "--port", "0", "--daemonize", "no"];
        let argv = argv.into_iter().chain(NODE).map(OsString::from);
        let tail = ["--unixsocket".into(), socket.clone().into_os_string()];
        let program = Program::new(argv.chain(tail));
        let server = Started::new(&program, bench, place, Stdio::null(), Stdio::null())?;
        let served = await_socket(&socket).and_then(|()| self.ask(&server, Client::new(&socket)?));
        match served {
            Ok((result, part)) => {
                Ok(Ran { result, parts: vec![part], footprint: server.finish()? })
            }
            Err(why) => {
                server.give_up();
                Err(why)
            }
        }
    }
}

impl Lists {
    /// Fills the lists, reads all to warm up and all once more, which is measured, and ends the server.
    fn ask(&self, server: &Started, mut client: Client) -> Result<(String, Part), Failure> {
        self.fill(&mut client)?;
        let mut digest = DefaultHasher::new();
        self.read_all(&mut client, 1, &mut digest)?;
        let before = server.counted()?;
        let begin = Instant::now();
        self.read_all(&mut client, 2, &mut digest)?;
        let seconds = begin.elapsed().as_secs_f64();
        let counted = server.counted()? - before;
        client.send(&["SHUTDOWN", "NOSAVE"])?;
        Ok((format!("{:016x}", digest.finish()), Part { seconds, counted }))
    }

    /// All lists grow in turn, so that the nodes of each lie among those of the others.
    fn fill(&self, client: &mut Client) -> Result<(), Failure> {
        let Sizes { lists, elements, bytes } = self.0;
        let mut value = String::new();
        let mut waiting = 0;
        for element in 0..elements {
            for list in 0..lists {
                value.clear();
                let mut state = (element * lists + list) as u64;
                while value.len() < bytes {
                    value.push_str(&format!("{:016x}", draw(&mut state)));
                }
                value.truncate(bytes);
                client.send(&["RPUSH", &key(list), &value])?;
                waiting += 1;
                if waiting == BATCH {
                    client.answers(std::mem::take(&mut waiting), &mut DefaultHasher::new())?;
                }
            }
        }
        client.answers(waiting, &mut DefaultHasher::new())
    }

    fn read_all(
        &self,
        client: &mut Client,
        seed: u64,
        digest: &mut DefaultHasher,
    ) -> Result<(), Failure> {
        let mut state = seed;
        let order = shuffled(self.0.lists, &mut state);
        for list in order {
            client.send(&["LRANGE", &key(list), "0", "-1"])?;
            client.answers(1, digest)?;
        }
        Ok(())
    }
}

fn key(list: usize) -> String {
    format!("list:{list}")
}

/// A connection that speaks Redis's protocol.
struct Client {
    from: BufReader<UnixStream>,
    /// What is still to be sent.
    unsent: Vec<u8>,
    buffer: Vec<u8>,
}

impl Client {
    fn new(socket: &std::path::Path) -> Result<Self, Failure> {
        let connected = UnixStream::connect(socket).and_then(|stream| {
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(stream)
        });
        let stream = connected.map_err(|e| Failure::io("cannot connect to redis-server", &e))?;
        let from = BufReader::with_capacity(1 << 16, stream);
        Ok(Self { from, unsent: Vec::new(), buffer: Vec::new() })
    }

    /// Sends a command, at the latest when the next answer is waited for.
    fn send(&mut self, words: &[&str]) -> Result<(), Failure> {
        let unsent = &mut self.unsent;
        unsent.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            unsent.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
        }
        if words[0] == "SHUTDOWN" { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let sent = self.from.get_mut().write_all(&self.unsent);
        self.unsent.clear();
        sent.map_err(|e| Failure::io("sending to redis-server", &e))
    }

    /// Reads so many answers.
    fn answers(&mut self, count: usize, digest: &mut DefaultHasher) -> Result<(), Failure> {
        self.flush()?;
        (0..count).try_for_each(|_| self.answer(digest))
    }

    /// Reads an answer: a number, or a list of texts, which are added to the digest.
    fn answer(&mut self, digest: &mut DefaultHasher) -> Result<(), Failure> {
        match self.head()? {
            (b':', _) => Ok(()),
            (b'*', count) => (0..count).try_for_each(|_| match self.head()? {
                (b'$', bytes) => self.text(bytes, digest),
                (kind, _) => Err(unexpected(kind)),
            }),
            (kind, _) => Err(unexpected(kind)),
        }
    }

    /// The kind of an answer, and the number that follows it.
    fn head(&mut self) -> Result<(u8, usize), Failure> {
        self.buffer.clear();
        let read = self.from.read_until(b'\n', &mut self.buffer);
        read.map_err(|e| Failure::io("reading from redis-server", &e))?;
        let text = String::from_utf8_lossy(&self.buffer);
        let number = text.get(1..).and_then(|number| number.trim_end().parse().ok());
        match (self.buffer.first(), number) {
            (Some(kind), Some(number)) => Ok((*kind, number)),
            _ => Err(Failure::new(format!("redis-server says {:?}", text.trim_end()))),
        }
    }

    fn text(&mut self, bytes: usize, digest: &mut DefaultHasher) -> Result<(), Failure> {
        self.buffer.resize(bytes + 2, 0);
        let read = self.from.read_exact(&mut self.buffer);
        read.map_err(|e| Failure::io("reading from redis-server", &e))?;
        digest.write(&self.buffer);
        Ok(())
    }
}

fn unexpected(kind: u8) -> Failure {
    Failure::new(format!("redis-server sent an answer of kind {:?}", char::from(kind)))
}
