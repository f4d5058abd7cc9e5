//! A store at an embedded node that only has memory.

use std::os::fd::{AsFd, OwnedFd};

use farside_far::{Embedded, FarUrl};
use farside_os::memory::anonymous_file;
use farside_os::socket;
use farside_wire::pool::{DATA_BYTES, MAX_PAGES, Message, REFS_BYTES};

/// The store, the node's end of the connection, and the file that pages are in.
pub fn connect() -> (Embedded, OwnedFd, OwnedFd) {
    let (client, node) = socket::pair().unwrap();
    let data = anonymous_file(c"data", DATA_BYTES).unwrap();
    let refs = anonymous_file(c"refs", REFS_BYTES).unwrap();
    let map = anonymous_file(c"map", MAX_PAGES * 4).unwrap();
    let files = [data.as_fd(), refs.as_fd(), map.as_fd()];
    socket::send(node.as_fd(), &Message::Pool { name: 1 }.encode(), &files).unwrap();
    let url: FarUrl = "embedded:".parse().unwrap();
    (Embedded::connect(client, &url, 1 << 20).unwrap(), node, data)
}
