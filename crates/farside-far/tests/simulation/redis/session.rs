//! A connection of a simulated server: commands come in, replies go out.

use std::io::{IoSlice, IoSliceMut};
use std::rc::Rc;

use farside_wire::transport::{Interest, Stream};

use super::server::{Life, Servers};
use crate::cable::End;

/// A connection.
pub struct Session {
    servers: Rc<Servers>,
    life: Life,
    number: u64,
    end: End,
    arrived: Vec<u8>,
    /// How many changes there were after the last one that came this way.
    offset: u64,
    is_over: bool,
}

/// The words of the first command in `bytes`, and how long it is; `None` if it has not come whole.
fn command(bytes: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    let mut at = 0;
    let number = |at: &mut usize| -> Option<usize> {
        let end = bytes.get(*at..)?.windows(2).position(|two| two == b"\r\n")? + *at;
        let text = std::str::from_utf8(bytes.get(*at + 1..end)?).ok()?;
        *at = end + 2;
        text.parse().ok()
    };
    let count = number(&mut at)?;
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        let len = number(&mut at)?;
        words.push(bytes.get(at..at + len)?.to_vec());
        at += len + 2;
    }
    (at <= bytes.len()).then_some((words, at))
}

fn text(word: &[u8]) -> &str {
    std::str::from_utf8(word).expect("a word")
}

fn decimal(word: &[u8]) -> usize {
    text(word).parse().expect("a number")
}

fn answer(result: Result<i64, String>) -> Vec<u8> {
    match result {
        Ok(number) => format!(":{number}\r\n").into_bytes(),
        Err(why) => format!("-{why}\r\n").into_bytes(),
    }
}

fn bulk(bytes: &[u8]) -> Vec<u8> {
    let mut reply = format!("${}\r\n", bytes.len()).into_bytes();
    reply.extend_from_slice(bytes);
    reply.extend_from_slice(b"\r\n");
    reply
}

impl Session {
    /// A connection to a server.
    pub fn new(servers: &Rc<Servers>, life: Life, end: End) -> Self {
        let (servers, number) = (Rc::clone(servers), servers.next_session());
        Self { servers, life, number, end, arrived: Vec::new(), offset: 0, is_over: false }
    }

    /// Answers until one side is gone.
    pub fn serve(mut self) {
        while self.is_open() {
            if !self.receive() {
                self.end.wait(Interest::Receive, u64::MAX);
                continue;
            }
            while let Some((words, len)) = command(&self.arrived) {
                self.arrived.drain(..len);
                let reply = self.reply(&words);
                if !self.is_open() {
                    return;
                }
                // Nobody may be there any more to hear it; commands that have come are carried out all the same.
                let _ = self.end.send(&[IoSlice::new(&reply)]);
            }
        }
    }

    fn is_open(&self) -> bool {
        !self.is_over && self.servers.lives(self.life) && !self.servers.is_killed(self.number)
    }

    /// Takes some of what has arrived; false if there is nothing.
    fn receive(&mut self) -> bool {
        let mut room = [0; 16 << 10];
        match self.end.receive(&mut [IoSliceMut::new(&mut room)]) {
            Ok(0) => self.is_over = true,
            Ok(more) => {
                self.arrived.extend_from_slice(&room[..more]);
                // Others have their turn before the rest of what has come.
                self.servers.cables.scheduler.pause();
            }
            Err(_) => return false,
        }
        true
    }

    fn reply(&mut self, words: &[Vec<u8>]) -> Vec<u8> {
        let (servers, number) = (Rc::clone(&self.servers), self.life.0);
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        match words[..] {
            [b"READONLY"] => b"+OK\r\n".to_vec(),
            [b"CLUSTER", b"NODES"] => bulk(servers.view(number).as_bytes()),
            [b"SETRANGE", key, at, bytes] => {
                let done = servers.put(number, key, decimal(at), bytes);
                self.offset = servers.offset(number);
                answer(done)
            }
            [b"GETRANGE", key, from, to] => {
                match servers.get(number, key, decimal(from), decimal(to)) {
                    Ok(bytes) => bulk(&bytes),
                    Err(why) => format!("-{why}\r\n").into_bytes(),
                }
            }
            [b"PEXPIRE", key, _] => answer(servers.has(number, key)),
            [b"UNLINK", key] => {
                let done = servers.delete(number, key);
                self.offset = servers.offset(number);
                answer(done)
            }
            [b"WAIT", count, ms] => answer(Ok(self.wait(decimal(count) as i64, decimal(ms)))),
            [b"CLIENT", b"ID"] => answer(Ok(self.number as i64)),
            [b"CLIENT", b"KILL", b"ID", other] => {
                answer(Ok(servers.kill_session(decimal(other) as u64)))
            }
            _ => format!("-ERR unknown command {:?}\r\n", words.first()).into_bytes(),
        }
    }

    /// Waits until so many replicas have it, but not longer than so many milliseconds; how many have it.
    fn wait(&mut self, count: i64, ms: usize) -> i64 {
        let servers = Rc::clone(&self.servers);
        let scheduler = &servers.cables.scheduler;
        let until = scheduler.now() + ms as u64 * 1_000_000;
        loop {
            let has = servers.acknowledged(self.life.0, self.offset);
            if has >= count || scheduler.now() >= until || !self.is_open() {
                return has;
            }
            // Who waits is still listened to: if it hangs up, nothing more is done for it.
            if !self.receive() {
                scheduler.wait(scheduler.now() + 500_000, None);
            }
        }
    }
}
