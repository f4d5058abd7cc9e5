//! What it takes to examine servers.

use std::io::BufRead;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::program::Running;

/// Connects to a server's socket as soon as it answers.
pub fn connect(server: &mut Running, socket: &Path) -> UnixStream {
    let stream = until(server, "its socket", || UnixStream::connect(socket).ok());
    let patience = Some(Duration::from_secs(120));
    stream.set_read_timeout(patience).expect("a socket takes a timeout");
    stream.set_write_timeout(patience).expect("a socket takes a timeout");
    stream
}

/// Waits until a file exists and is not empty.
pub fn wait_for_file(server: &mut Running, path: &Path) {
    until(server, &path.display().to_string(), || {
        std::fs::metadata(path).ok().filter(|meta| meta.len() > 0)
    });
}

/// Asks again and again, for as long as the server lives but not for ever.
fn until<T>(server: &mut Running, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(server.is_running(), "the server died: {}", server.errors_so_far());
        assert!(Instant::now() < end, "waited too long for {what}: {}", server.errors_so_far());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// One reply of the redis protocol, as the text of its value; nil is `None`.
pub fn read_reply(from: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    from.read_line(&mut line).expect("the server answers");
    let line = line.trim_end();
    let (kind, rest) = line.split_at_checked(1).unwrap_or_else(|| panic!("reply {line:?}"));
    match kind {
        "$" if rest == "-1" => None,
        "$" => {
            let size: usize = rest.parse().expect("a bulk reply has a length");
            let mut value = vec![0; size + 2];
            from.read_exact(&mut value).expect("the server sends the whole value");
            value.truncate(size);
            Some(String::from_utf8_lossy(&value).into_owned())
        }
        "+" | ":" => Some(rest.to_string()),
        _ => panic!("the server says {line:?}"),
    }
}
