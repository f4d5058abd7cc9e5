//! Orders to a node that has been told of them, but does nothing.

mod pool;

use std::os::fd::{AsFd, OwnedFd};

use farside_far::FarStore;
use farside_os::memory::PAGE;
use farside_os::socket;
use farside_wire::orders::Executor;
use farside_wire::pool::{LEN, Message};

/// What a node does with the message that tells of orders.
fn answer(node: OwnedFd) -> (OwnedFd, Executor) {
    let mut bytes = [0; LEN];
    let received = socket::receive(node.as_fd(), &mut bytes).unwrap();
    assert_eq!(Message::decode(&bytes[..received.len]), Ok(Message::Orders));
    let [Some(orders), ..] = received.descriptors else { panic!("no orders") };
    let executor = Executor::open(orders.as_fd()).unwrap();
    executor.say_able(true);
    (node, executor)
}

#[test]
fn what_cannot_be_ordered_changes_nothing() {
    let (store, node, data) = pool::connect();
    let node = std::thread::spawn(move || answer(node));
    assert_eq!(store.start_mover(data.as_fd()), Ok(true));
    let _idle = node.join().unwrap();

    let content = [7; PAGE];
    store.write(1, &content).unwrap();
    // From now on it is shared with a child, so that new content needs another place.
    store.before_fork().unwrap();
    store.after_fork_in_parent(true);
    let mover = store.mover().expect("it was started");
    let fits = |page: &u64| mover.take(*page, 1, 0, false).unwrap().is_some();
    let ordered = (100..).take_while(fits).count();
    assert!(ordered > 100, "{ordered} orders fit");
    assert_eq!(mover.take(1, 1, 0, true), Ok(None));
    let mut read = [0; PAGE];
    let ticket = store.begin_read(1, 1).unwrap();
    store.finish_read(ticket, &mut read).unwrap();
    assert!(read == content, "the stored content is gone");
}
