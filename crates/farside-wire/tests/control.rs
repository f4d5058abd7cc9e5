//! The control protocol, over real sockets and over arbitrary bytes.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use farside_os::socket::{pair, receive, send};
use farside_wire::control::{
    Arrival, BadMessage, BeginPart, Begun, ControlError, Hello, LimitState, Listener, MAX_FIGURES,
    MAX_MESSAGE, Message, OrderLimit, PartMode, PartOrder, ProgramName, Refusal, VERSION, Watch,
    Welcome, begin_part, end_part, join, order_limit, watch, watch_within,
};
use proptest::prelude::*;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

fn hello() -> Hello {
    Hello { pid: 42, parent_pid: 41, fork_of: Some(41), program: ProgramName::new(b"sort") }
}

fn closes_on_exec(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: takes no pointers.
    let flags = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFD) };
    flags >= 0 && flags & libc::FD_CLOEXEC != 0
}

/// Waits for the next connection and its first message, as a supervisor does with `poll`.
fn first(listener: &Listener) -> (std::os::fd::OwnedFd, std::io::Result<Arrival>) {
    let session = listener.accept().unwrap().expect("a connection of this user");
    loop {
        let mut ready = libc::pollfd { fd: session.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid `pollfd`.
        assert!(unsafe { libc::poll(&mut ready, 1, 10_000) } != 0, "nothing came");
        match Listener::arrival(session.as_fd()) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            arrival => return (session, arrival),
        }
    }
}

#[test]
fn a_process_joins_and_its_death_is_seen() {
    let listener = Listener::open().unwrap();
    let name = listener.name().to_owned();
    let client = thread::spawn(move || join(&name, &hello()).unwrap());

    let (session, arrival) = first(&listener);
    let Arrival::Process(said) = arrival.unwrap() else { panic!("not a process") };
    assert_eq!(said, hello());
    let (mut counters, theirs) = std::io::pipe().unwrap();
    let (node, client_end) = pair().unwrap();
    let welcome = Welcome { counters_len: 4096, index: 7, supervisor_pid: 1 };
    Listener::welcome(session.as_fd(), welcome, theirs.as_fd(), client_end.as_fd(), None).unwrap();
    drop((theirs, client_end));

    let joined = client.join().unwrap();
    assert_eq!((joined.counters_len, joined.index), (4096, 7));
    for fd in [joined.counters.as_fd(), joined.node.as_fd(), joined.session.as_fd()] {
        assert!(closes_on_exec(fd));
    }
    std::fs::File::from(joined.counters).write_all(b"same pipe").unwrap();
    let mut text = String::new();
    counters.read_to_string(&mut text).unwrap();
    assert_eq!(text, "same pipe");
    send(joined.node.as_fd(), b"page", &[]).unwrap();
    let mut buffer = [0; 16];
    assert_eq!(receive(node.as_fd(), &mut buffer).unwrap().len, 4);

    assert_eq!(Listener::arrival(session.as_fd()).unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(joined.session);
    assert!(matches!(Listener::arrival(session.as_fd()), Ok(Arrival::Gone)));
}

#[test]
fn a_refusal_says_why() {
    let listener = Listener::open().unwrap();
    let name = listener.name().to_owned();
    let client = thread::spawn(move || join(&name, &hello()).unwrap_err());
    let (session, _) = first(&listener);
    Listener::refuse(session.as_fd(), Refusal::NodeGone).unwrap();
    let error = client.join().unwrap();
    assert!(matches!(error, ControlError::Refused(Refusal::NodeGone)), "{error}");
    assert!(error.to_string().contains("node is gone"), "{error}");
}

#[test]
fn an_answer_without_descriptors_is_an_error() {
    let listener = Listener::open().unwrap();
    let name = listener.name().to_owned();
    let client = thread::spawn(move || join(&name, &hello()).unwrap_err());
    let (session, _) = first(&listener);
    let mut buffer = [0; MAX_MESSAGE];
    let welcome = Welcome { counters_len: 4096, index: 0, supervisor_pid: 1 };
    let bytes = Message::Welcome(welcome).encode(&mut buffer).unwrap();
    send(session.as_fd(), bytes, &[]).unwrap();
    assert!(matches!(client.join().unwrap(), ControlError::NoDescriptors));
}

#[test]
fn a_process_asks_what_to_do_with_a_part() {
    let (ours, theirs) = pair().unwrap();
    let begin = BeginPart { mode: PartMode::Auto, site: u64::MAX - 7, nth: 3 };
    for order in [
        PartOrder::Nothing,
        PartOrder::Record { microset: 64 },
        PartOrder::Follow,
        PartOrder::Follow,
    ] {
        let asker = theirs.try_clone().unwrap();
        let client = thread::spawn(move || {
            let begun = begin_part(asker.as_fd(), begin);
            end_part(asker.as_fd()).unwrap();
            begun
        });
        let arrival = Listener::arrival(ours.as_fd()).unwrap();
        assert!(matches!(arrival, Arrival::BeginPart(asked) if asked == begin));
        let (queue, _) = std::io::pipe().unwrap();
        let nothing = order == PartOrder::Nothing;
        Listener::order(ours.as_fd(), order, (!nothing).then(|| queue.as_fd())).unwrap();
        assert!(matches!(Listener::arrival(ours.as_fd()), Ok(Arrival::EndPart)));
        match (client.join().unwrap().unwrap(), order) {
            (Begun::Nothing, PartOrder::Nothing) | (Begun::Follow(_), PartOrder::Follow) => {}
            (Begun::Record { microset, .. }, PartOrder::Record { microset: asked }) => {
                assert_eq!(microset, asked);
            }
            (begun, order) => panic!("{begun:?} for {order:?}"),
        }
    }
}

#[test]
fn an_order_without_its_descriptor_is_an_error() {
    let (ours, theirs) = pair().unwrap();
    let begin = BeginPart { mode: PartMode::Prefetch, site: 0, nth: 0 };
    let client = thread::spawn(move || begin_part(theirs.as_fd(), begin).unwrap_err());
    assert!(matches!(Listener::arrival(ours.as_fd()), Ok(Arrival::BeginPart(_))));
    Listener::order(ours.as_fd(), PartOrder::Follow, None).unwrap();
    assert!(matches!(client.join().unwrap(), ControlError::NoDescriptors));
}

#[test]
fn another_version_is_told_so() {
    let (ours, theirs) = pair().unwrap();
    let mut buffer = [0; MAX_MESSAGE];
    let mut bytes = Message::Hello(hello()).encode(&mut buffer).unwrap().to_vec();
    bytes[4..6].copy_from_slice(&(VERSION + 8).to_le_bytes());
    send(theirs.as_fd(), &bytes, &[]).unwrap();
    assert_eq!(Listener::arrival(ours.as_fd()).unwrap_err().kind(), ErrorKind::InvalidData);
    let got = receive(theirs.as_fd(), &mut buffer).unwrap();
    assert_eq!(
        Message::decode(&buffer[..got.len]),
        Ok(Message::Refusal(Refusal::Version(VERSION)))
    );
    assert_eq!(Message::decode(&bytes), Err(BadMessage::Version(VERSION + 8)));
}

#[test]
fn nobody_at_the_name_is_an_error() {
    let name = Listener::open().unwrap().name().to_owned();
    assert!(matches!(join(&name, &hello()), Err(ControlError::Connect(_))));
    assert!(matches!(join("", &hello()), Err(ControlError::Connect(_))));
    assert!(matches!(join(&"x".repeat(200), &hello()), Err(ControlError::Connect(_))));
}

#[test]
fn a_watcher_gets_the_figures() {
    let listener = Listener::open().unwrap();
    let name = listener.name().to_owned();
    let client = thread::spawn(move || watch(&name).unwrap());
    let (session, arrival) = first(&listener);
    assert!(matches!(arrival, Ok(Arrival::Watcher)));
    let text = "9".repeat(MAX_FIGURES);
    Listener::figures(session.as_fd(), &text).unwrap();
    assert_eq!(client.join().unwrap(), text);
    let too_long = "9".repeat(MAX_FIGURES + 1);
    let error = Listener::figures(session.as_fd(), &too_long).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_limit_is_ordered_and_answered() {
    let listener = Listener::open().unwrap();
    let name = listener.name().to_owned();
    let order = OrderLimit { bytes: Some(5 << 20) };
    // SAFETY: takes no pointers.
    let user = unsafe { libc::geteuid() };
    let client = thread::spawn(move || order_limit(&name, order, PATIENCE, Some(user)).unwrap());
    let (session, arrival) = first(&listener);
    assert!(matches!(arrival, Ok(Arrival::Limit(its)) if its == order));
    let state =
        LimitState { ordered: 5 << 20, limit: 6 << 20, resident: 7, least: 8, refused: true };
    Listener::limit_state(session.as_fd(), state).unwrap();
    assert_eq!(client.join().unwrap(), state);
    assert_eq!(state.claim(), 6 << 20);
}

#[test]
fn who_does_not_answer_is_not_waited_for_and_who_is_another_not_asked() {
    let listener = Listener::open().unwrap();
    let soon = Duration::from_millis(20);
    let order = OrderLimit { bytes: None };
    let silent = order_limit(listener.name(), order, soon, None);
    assert!(matches!(silent, Err(ControlError::Broken(_, error)) if error.errno == libc::EAGAIN));
    assert!(watch_within(listener.name(), soon, None).is_err());
    // SAFETY: takes no pointers.
    let user = unsafe { libc::geteuid() };
    let another = watch_within(listener.name(), soon, Some(user + 1));
    assert!(matches!(another, Err(ControlError::NotTheirs(its)) if its == user));
}

fn mode() -> impl Strategy<Value = PartMode> {
    prop_oneof![Just(PartMode::Record), Just(PartMode::Prefetch), Just(PartMode::Auto)]
}

fn orders() -> impl Strategy<Value = PartOrder> {
    let record = (1..=u32::MAX).prop_map(|microset| PartOrder::Record { microset });
    prop_oneof![Just(PartOrder::Nothing), Just(PartOrder::Follow), record]
}

fn messages() -> impl Strategy<Value = Message<'static>> {
    let pid = 1..=i32::MAX as u32;
    let name = proptest::collection::vec(any::<u8>(), 0..200);
    prop_oneof![
        (pid.clone(), any::<u32>(), proptest::option::of(pid.clone()), name).prop_map(
            |(pid, parent_pid, fork_of, name)| Message::Hello(Hello {
                pid,
                parent_pid,
                fork_of,
                program: ProgramName::new(&name),
            })
        ),
        (any::<u32>(), any::<u32>(), pid).prop_map(|(counters_len, index, supervisor_pid)| {
            Message::Welcome(Welcome { counters_len, index, supervisor_pid })
        }),
        Just(Message::Watch(Watch)),
        (6u16..).prop_map(|code| Message::Refusal(Refusal::Other(code))),
        Just(Message::Refusal(Refusal::Exhausted)),
        Just(Message::Figures("{\"a\": 1}")),
        Just(Message::EndPart),
        (mode(), any::<u64>(), any::<u32>())
            .prop_map(|(mode, site, nth)| Message::BeginPart(BeginPart { mode, site, nth })),
        orders().prop_map(Message::PartOrder),
        proptest::option::of(1..u64::MAX)
            .prop_map(|bytes| Message::OrderLimit(OrderLimit { bytes })),
        (any::<[u64; 4]>(), any::<bool>()).prop_map(
            |([ordered, limit, resident, least], refused)| {
                Message::LimitState(LimitState { ordered, limit, resident, least, refused })
            }
        ),
    ]
}

proptest! {
    #[test]
    fn messages_survive_their_bytes(message in messages()) {
        let mut buffer = [0; MAX_MESSAGE];
        let bytes = message.encode(&mut buffer).unwrap();
        prop_assert_eq!(Message::decode(bytes), Ok(message));
    }

    #[test]
    fn cut_or_padded_messages_are_refused(message in messages(), cut in 0usize..20, pad in 1usize..9) {
        let mut buffer = [0; MAX_MESSAGE];
        let mut bytes = message.encode(&mut buffer).unwrap().to_vec();
        if !matches!(message, Message::Figures(_)) {
            let short = bytes.len().saturating_sub(cut + 1);
            prop_assert!(Message::decode(&bytes[..short]).is_err());
        }
        if !matches!(message, Message::Figures(_) | Message::Refusal(_)) {
            bytes.extend(std::iter::repeat_n(0, pad));
            prop_assert!(Message::decode(&bytes).is_err());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..300), headed: bool) {
        if headed && bytes.len() >= 7 {
            bytes[..4].copy_from_slice(b"FsCt");
            bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
            bytes[6] %= 12;
        }
        if let Ok(message) = Message::decode(&bytes) {
            let mut buffer = [0; MAX_MESSAGE + MAX_FIGURES];
            prop_assert!(message.encode(&mut buffer).unwrap().len() <= bytes.len());
        }
    }
}
