//! Orders to a node that has been told of them, but does what the tests do for it.

mod pool;

use std::os::fd::{AsFd, OwnedFd};

use farside_far::{FarStore, Finished, Moved};
use farside_os::memory::PAGE;
use farside_os::socket;
use farside_wire::orders::{Answer, Executor, Work};
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

#[test]
fn what_the_node_does_not_come_to_is_recalled() {
    let (store, node, data) = pool::connect();
    let node = std::thread::spawn(move || answer(node));
    assert_eq!(store.start_mover(data.as_fd()), Ok(true));
    let (_node, executor) = node.join().unwrap();
    let content: Vec<u8> = (0..3 * PAGE).map(|i| (i / 7) as u8).collect();
    store.write(1, &content).unwrap();
    let mover = store.mover().expect("it was started");
    let ordered = |order: Result<Option<_>, _>| order.unwrap().expect("there is room");

    // The first is begun, however late it ends; what comes behind is not held up by what the node does not come to.
    let begun = ordered(mover.land(1, 1, 0, true));
    assert_eq!(executor.wait().map(|order| order.work), Some(Work::Land { protect: true }));
    let landing = ordered(mover.land(2, 2, 0, false));
    let leaving = ordered(mover.take(9, 1, 0, false));
    executor.answer(Answer { done: 1, ..Answer::default() });
    assert_eq!(mover.finish(begun), Ok(Finished::Moved(Moved { done: 1, unchanged: 0 })));
    let Ok(Finished::Recalled(Some(ticket))) = mover.finish(landing) else {
        panic!("it was not recalled");
    };
    let mut read = vec![0; 2 * PAGE];
    store.finish_read(ticket, &mut read).unwrap();
    assert!(read == content[PAGE..], "other pages were read");
    assert_eq!(mover.finish(leaving), Ok(Finished::Recalled(None)));

    // When it is back it passes over these.
    let later = ordered(mover.take(10, 1, 0, false));
    assert_eq!(executor.wait().map(|order| order.work), Some(Work::Take { compare: false }));
    executor.answer(Answer { done: 1, ..Answer::default() });
    assert_eq!(mover.finish(later), Ok(Finished::Moved(Moved { done: 1, unchanged: 0 })));
}
