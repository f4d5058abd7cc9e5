//! Messages and descriptors over real sockets.

use std::io::Read;
use std::os::fd::AsFd;

use farside_os::socket::{pair, receive, send};

#[test]
fn surplus_bytes_and_descriptors_are_refused_and_closed() {
    let (a, b) = pair().unwrap();
    let (mut output, input) = std::io::pipe().unwrap();
    send(a.as_fd(), &[7; 32], &[input.as_fd()]).unwrap();
    drop(input);
    let error = receive(b.as_fd(), &mut [0; 16]).unwrap_err();
    assert_eq!(error.errno, libc::EBADMSG);
    // Reads end of file only if no copy of the pipe's writing end is left open.
    assert_eq!(output.read(&mut [0]).unwrap(), 0);
    let five = [a.as_fd(); 5];
    assert_eq!(send(a.as_fd(), b"x", &five).unwrap_err().errno, libc::EINVAL);
}
