//! What is asked of servers.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::input::{Load, done};

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of a value.
const VALUE: usize = 512;

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
        Load::Memcached => {
            ask(stream, keys).map_err(|e| format!("memcached: {e}"))?;
            done(Command::new("kill").arg("-TERM").arg(server.id().to_string()))?;
        }
    }
    Ok(())
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
