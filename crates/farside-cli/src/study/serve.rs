//! What is asked of servers.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::input::{Load, done};

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of a value.
const VALUE: usize = 512;

/// Values in a list.
const LENGTH: u64 = 60;

/// Waits until `server` listens at `socket`, asks, and has it end.
pub fn serve(load: Load, server: &mut Child, socket: &Path, small: bool) -> Result<(), String> {
    let stream = connect(server, socket)?;
    let keys = if small { 5_000 } else { 100_000 };
    match load {
        Load::Redis => {
            drop(stream);
            let (keys, requests) = (keys.to_string(), (keys * 2).to_string());
            let load = ["-n", &requests, "-r", &keys, "-c", "4", "-P", "4", "-q", "-t", "set,get"];
            let size = ["-d", &VALUE.to_string()].map(str::to_owned);
            done(Command::new("redis-benchmark").arg("-s").arg(socket).args(load).args(size))?;
            done(Command::new("redis-cli").arg("-s").arg(socket).args(["shutdown", "nosave"]))?;
        }
        Load::RedisLists => {
            drop(stream);
            ask_lists(socket, keys / 50)?;
            done(Command::new("redis-cli").arg("-s").arg(socket).args(["shutdown", "nosave"]))?;
        }
        Load::Memcached => {
            ask(stream, keys).map_err(|e| format!("memcached: {e}"))?;
            done(Command::new("kill").arg("-TERM").arg(server.id().to_string()))?;
        }
    }
    Ok(())
}

/// Fills lists of redis in turn, so that none of them lies in one piece, and asks for ranges of them in no order.
fn ask_lists(socket: &Path, lists: u64) -> Result<(), String> {
    let value = "v".repeat(VALUE);
    let fill = (0..LENGTH * lists).map(|turn| format!("RPUSH list{} {value}\r\n", turn % lists));
    let ranges = (0..2 * lists).map(|turn| {
        let list = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) % lists;
        format!("LRANGE list{list} 0 -1\r\n")
    });
    let mut cli = Command::new("redis-cli");
    cli.arg("-s").arg(socket).arg("--pipe").stdin(Stdio::piped()).stdout(Stdio::null());
    let failed = |e: std::io::Error| format!("redis-cli: {e}");
    let mut cli = cli.spawn().map_err(failed)?;
    if let Some(mut to) = cli.stdin.take() {
        fill.chain(ranges).try_for_each(|line| to.write_all(line.as_bytes())).map_err(failed)?;
    }
    match cli.wait().map_err(failed)? {
        status if status.success() => Ok(()),
        status => Err(format!("redis-cli: {status}")),
    }
}

fn connect(server: &mut Child, socket: &Path) -> Result<UnixStream, String> {
    let end = Instant::now() + PATIENCE;
    loop {
        match UnixStream::connect(socket) {
            Ok(stream) => return Ok(stream),
            Err(e) if Instant::now() >= end => return Err(format!("the server is silent: {e}")),
            Err(_) => {}
        }
        if let Ok(Some(status)) = server.try_wait() {
            return Err(format!("the server ended before it was asked: {status}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sets all keys of memcached, and gets twice as many in no order.
fn ask(mut to: UnixStream, keys: u64) -> std::io::Result<()> {
    let mut from = BufReader::new(to.try_clone()?);
    let mut line = String::new();
    let value = "v".repeat(VALUE);
    for key in 0..keys {
        to.write_all(format!("set key{key} 0 0 {VALUE}\r\n{value}\r\n").as_bytes())?;
        line.clear();
        from.read_line(&mut line)?;
        if line != "STORED\r\n" {
            return Err(std::io::Error::other(format!("a set was answered {line:?}")));
        }
    }
    for turn in 0..2 * keys {
        let key = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) % keys;
        to.write_all(format!("get key{key}\r\n").as_bytes())?;
        loop {
            line.clear();
            if from.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            if line == "END\r\n" {
                break;
            }
        }
    }
    Ok(())
}
