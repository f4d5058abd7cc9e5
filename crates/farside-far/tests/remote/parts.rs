//! Parts of pages on nodes across a network.

use farside_far::{FarError, FarStore, Part};
use farside_node::network::Options;
use farside_os::memory::PAGE;
use farside_wire::frame::PARTS;
use farside_wire::transport::ucx;
use proptest::prelude::*;

use crate::cable::Cable;
use crate::forgetful::forgetful_node;
use crate::setup::{Client, eventually, node, timing, ucx_node};

/// Bytes of a line.
const LINE: usize = 128;

/// Lines by their numbers, one behind the other in a buffer.
fn lines(numbers: impl IntoIterator<Item = u64>) -> Vec<Part> {
    let places = (0..).step_by(LINE);
    let part = |(number, place)| Part { start: number * LINE as u64, len: LINE as u32, place };
    numbers.into_iter().zip(places).map(part).collect()
}

/// Stores lines filled with a byte each, in one call.
fn write(client: &Client, filled: &[(u64, u8)]) -> Result<(), FarError> {
    let parts = lines(filled.iter().map(|(line, _)| *line));
    let from: Vec<u8> = filled.iter().flat_map(|(_, fill)| [*fill; LINE]).collect();
    client.store.parts().expect("it moves parts").write_parts(&parts, &from, LINE)
}

fn read_parts(client: &Client, parts: &[Part], len: usize) -> Result<Vec<u8>, FarError> {
    let by_part = client.store.parts().expect("it moves parts");
    let ticket = by_part.begin_read_parts(parts)?;
    let mut into = vec![0xee; len];
    by_part.finish_read_parts(ticket, parts, &mut into)?;
    Ok(into)
}

/// By what each line is filled.
fn read(client: &Client, numbers: std::ops::Range<u64>) -> Result<Vec<u8>, FarError> {
    let parts = lines(numbers);
    let bytes = read_parts(client, &parts, parts.len() * LINE)?;
    let fill = |line: &[u8]| {
        assert!(line.iter().all(|byte| *byte == line[0]), "a torn line");
        line[0]
    };
    Ok(bytes.chunks_exact(LINE).map(fill).collect())
}

/// Lines `0..count`, each with a fill of its own.
fn fills(count: u64, round: u64) -> Vec<(u64, u8)> {
    (0..count).map(|line| (line, (line * 7 + round) as u8)).collect()
}

fn bytes_of(fills: &[(u64, u8)]) -> Vec<u8> {
    fills.iter().map(|(_, fill)| *fill).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn bytes_come_back_as_they_were_stored_last(
        deeds in prop::collection::vec(
            (0u8..10, prop::collection::vec((0u64..5 * PAGE as u64, 1u32..6000), 1..6), any::<u8>()),
            1..25,
        ),
        line in prop::sample::select(vec![1usize, 64, 128, 512, 1 << 20]),
        copies in 1usize..3,
    ) {
        let nodes: Vec<_> = (0..3).map(|_| node(Options::default()).1).collect();
        let client = Client::unsealed(&nodes, copies, timing());
        let by_part = client.store.parts().expect("it moves parts");
        let mut model = vec![0; 8 * PAGE];
        for (what, ranges, fill) in deeds {
            // Anywhere, or where blocks begin and end.
            let whole = u64::from(what % 2) * 127 + 1;
            let mut place = 0;
            let mut parts = Vec::new();
            for (start, len) in ranges {
                let (start, len) = (start / whole * whole, u64::from(len).next_multiple_of(whole) as u32);
                parts.push(Part { start, len, place });
                place += len;
            }
            match what {
                0..6 => {
                    let from: Vec<u8> = (0..place).map(|at| (at as u8).wrapping_mul(fill | 1)).collect();
                    by_part.write_parts(&parts, &from, line).unwrap();
                    for part in &parts {
                        let start = part.start as usize;
                        model[start..start + part.len as usize].copy_from_slice(&from[part.range()]);
                    }
                }
                6 => {
                    let page = parts[0].start / PAGE as u64;
                    client.store.discard(page, 2).unwrap();
                    model[page as usize * PAGE..][..2 * PAGE].fill(0);
                }
                7 => {
                    let page = parts[0].start / PAGE as u64;
                    let content = [fill; PAGE];
                    client.store.write(page, &content).unwrap();
                    model[page as usize * PAGE..][..PAGE].copy_from_slice(&content);
                }
                _ => {}
            }
            let read = read_parts(&client, &parts, place as usize).unwrap();
            for part in &parts {
                let start = part.start as usize;
                prop_assert!(read[part.range()] == model[start..start + part.len as usize], "{:?}", part);
            }
            let all = [Part { start: 0, len: model.len() as u32, place: 0 }];
            prop_assert!(read_parts(&client, &all, model.len()).unwrap() == model);
        }
    }
}

#[test]
fn parts_are_moved_without_the_rest_of_their_pages() {
    let (node, address) = node(Options::default());
    let client = Client::unsealed(&[address], 1, timing());
    let counted = |name| {
        let figures = farside_wire::figures::FIGURES.iter().zip(node.figures());
        figures.filter(|(figure, _)| figure.name == name).map(|(_, value)| value).sum::<u64>()
    };
    write(&client, &fills(3200, 0)).unwrap();
    // What was never stored before goes as whole pages.
    assert_eq!((counted("pages_written"), counted("parts_written")), (100, 0));
    for line in (0..3200).step_by(5) {
        write(&client, &[(line, 9)]).unwrap();
    }
    let mut expected = bytes_of(&fills(3200, 0));
    expected.iter_mut().step_by(5).for_each(|fill| *fill = 9);
    assert_eq!(read(&client, 0..3200).unwrap(), expected);
    assert_eq!((counted("pages_written"), counted("parts_written")), (100, 640));
    assert_eq!((counted("pages_read"), counted("parts_read")), (0, 3200));
    // They are pages, too.
    let mut page = [0; PAGE];
    let ticket = client.store.begin_read(1, 1).unwrap();
    client.store.finish_read(ticket, &mut page).unwrap();
    assert!(page.chunks_exact(LINE).map(|line| line[0]).eq(expected[32..64].iter().copied()));
    assert_eq!(read(&client, 5000..5003).unwrap(), [0; 3], "they were never stored");
}

#[test]
fn several_reads_are_under_way_at_once() {
    let (_node, address) = node(Options::default());
    let client = Client::unsealed(&[address], 1, timing());
    let by_part = client.store.parts().expect("it moves parts");
    write(&client, &fills(3200, 1)).unwrap();
    let begun: Vec<_> = (0..200u64)
        .map(|at| {
            let parts = lines([at * 16, at * 16 + 3]);
            (by_part.begin_read_parts(&parts).unwrap(), parts)
        })
        .collect();
    let is_ready = |(ticket, _): &(_, _)| client.store.is_ready(ticket);
    eventually("all arrive", || begun.iter().all(is_ready));
    for (at, (ticket, parts)) in (0..200u64).zip(begun) {
        let mut into = [0; 2 * LINE];
        by_part.finish_read_parts(ticket, &parts, &mut into).unwrap();
        let expected = [at * 16, at * 16 + 3].map(|line| (line * 7 + 1) as u8);
        assert_eq!([into[0], into[LINE]], expected);
    }
}

#[test]
fn a_node_that_is_lost_costs_no_part_if_another_one_has_it() {
    let nodes: Vec<_> = (0..3).map(|_| node(Options::default()).1).collect();
    let cables: Vec<_> = nodes.iter().map(|node| Cable::to(*node)).collect();
    let addresses: Vec<_> = cables.iter().map(|cable| cable.address).collect();
    let client = Client::unsealed(&addresses, 2, timing());
    let mut now = fills(16_000, 2);
    write(&client, &now).unwrap();
    cables[0].cut();
    assert!(read(&client, 0..16_000).unwrap() == bytes_of(&now));
    for line in (0..16_000).step_by(9) {
        now[line].1 = 77;
        write(&client, &[now[line]]).unwrap();
    }
    let health = || client.store.health();
    eventually("repairs end", || health().repaired_copies > 0 && health().lacking_pages == 0);
    // What it has is older by now, and not asked for.
    cables[0].mend(nodes[0]);
    cables[1].cut();
    assert!(read(&client, 0..16_000).unwrap() == bytes_of(&now), "the second loss cost parts");
}

#[test]
fn a_node_that_missed_a_write_is_not_read_from() {
    let nodes: Vec<_> = (0..2).map(|_| node(Options::default()).1).collect();
    let cables: Vec<_> = nodes.iter().map(|node| Cable::to(*node)).collect();
    let client = Client::unsealed(&[cables[0].address, cables[1].address], 2, timing());
    write(&client, &fills(3200, 3)).unwrap();
    cables[0].stop(true);
    let changed: Vec<(u64, u8)> = (0..100).map(|page| (page * 32 + 5, 200)).collect();
    for line in &changed {
        write(&client, &[*line]).unwrap();
    }
    cables[0].stop(false);
    let mut expected = bytes_of(&fills(3200, 3));
    changed.iter().for_each(|(line, fill)| expected[*line as usize] = *fill);
    let health = || client.store.health();
    eventually("the copies are made", || {
        health().lacking_pages == 0 && health().repaired_copies > 0
    });
    assert!(read(&client, 0..3200).unwrap() == expected);
    cables[1].cut();
    assert!(read(&client, 0..3200).unwrap() == expected, "a copy is an older one");
}

#[test]
fn a_node_that_comes_back_empty_has_lost_parts() {
    let (_node, address) = node(Options::default());
    let cable = Cable::to(address);
    let client = Client::unsealed(&[cable.address], 1, timing());
    write(&client, &fills(320, 4)).unwrap();
    cable.cut();
    let (_other, other) = node(Options::default());
    cable.mend(other);
    assert_eq!(read(&client, 40..41), Err(FarError::Lost(1)));
    assert_eq!(write(&client, &[(80, 1)]), Err(FarError::Lost(2)), "the rest of its page is lost");
    write(&client, &[(1000, 6)]).unwrap();
    assert_eq!(read(&client, 1000..1001), Ok(vec![6]));
}

#[test]
fn who_stores_parts_waits_for_the_only_node_that_has_their_page() {
    let (_node, address) = node(Options::default());
    let cable = Cable::to(address);
    let client = Client::unsealed(&[cable.address], 1, timing());
    write(&client, &fills(320, 5)).unwrap();
    cable.cut();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| write(&client, &[(33, 250)]));
        cable.wait_until_tried(3);
        assert!(!writing.is_finished(), "there was no node");
        cable.mend(address);
        assert_eq!(writing.join().unwrap(), Ok(()));
    });
    let mut expected = bytes_of(&fills(320, 5));
    expected[33] = 250;
    assert_eq!(read(&client, 0..320), Ok(expected));
}

#[test]
fn damaged_parts_are_noticed_and_never_seen() {
    let nodes: Vec<_> = (0..2).map(|_| node(Options::default()).1).collect();
    let cables: Vec<_> = nodes.iter().map(|node| Cable::to(*node)).collect();
    let client = Client::unsealed(&[cables[0].address, cables[1].address], 2, timing());
    write(&client, &fills(3200, 6)).unwrap();
    cables.iter().for_each(|cable| cable.flip_every(200_003));
    for round in 0..20u64 {
        let now = fills(3200, round);
        now.chunks(100).for_each(|some| write(&client, some).unwrap());
        assert!(read(&client, 0..3200).unwrap() == bytes_of(&now), "round {round}");
    }
    assert!(client.store.health().damaged_pages > 0);
}

#[test]
fn parts_of_a_page_that_a_forked_process_has_too_are_stored_apart_from_it() {
    let (node, address) = node(Options::default());
    let client = Client::unsealed(&[address], 1, timing());
    write(&client, &fills(64, 7)).unwrap();
    client.store.before_fork().unwrap();
    client.store.after_fork_in_parent(true);
    let used = || (node.vitals().total - node.vitals().free) / PAGE as u64;
    assert_eq!(used(), 2);
    write(&client, &[(3, 200)]).unwrap();
    assert_eq!(used(), 3, "the child's page was overwritten");
    write(&client, &[(4, 201)]).unwrap();
    assert_eq!(used(), 3);
    let mut expected = bytes_of(&fills(64, 7));
    expected[3..5].copy_from_slice(&[200, 201]);
    assert_eq!(read(&client, 0..64), Ok(expected));
}

#[test]
fn threads_share_pages_and_connections() {
    let nodes: Vec<_> = (0..2).map(|_| node(Options::default()).1).collect();
    let client = Client::unsealed(&nodes, 2, timing());
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let client = &client;
            scope.spawn(move || {
                for round in 0..30 {
                    let mine = (0..320).filter(|line| line % 4 == thread);
                    let now: Vec<(u64, u8)> =
                        mine.map(|line| (line, (line + round * 3 + thread) as u8)).collect();
                    now.chunks(5).for_each(|some| write(client, some).unwrap());
                    for (line, fill) in now {
                        assert_eq!(read(client, line..line + 1), Ok(vec![fill]));
                    }
                }
            });
        }
    });
}

#[test]
fn sealed_pages_and_old_nodes_are_moved_as_a_whole() {
    let (_node, address) = node(Options::default());
    let sealed = Client::of(&[address, node(Options::default()).1], 2, timing());
    assert!(sealed.store.parts().is_none());

    // A node that says of itself what nodes said before there were parts.
    let old = forgetful_node(0);
    assert!(Client::unsealed(&[address, old], 1, timing()).store.parts().is_none());
    assert!(Client::unsealed(&[address], 1, timing()).store.parts().is_some());
}

#[test]
fn what_a_node_gives_in_place_of_what_was_stored_last_is_noticed() {
    let client = Client::unsealed(&[forgetful_node(PARTS)], 1, timing());
    write(&client, &fills(64, 8)).unwrap();
    assert_eq!(read(&client, 0..64), Ok(bytes_of(&fills(64, 8))));
    // It says that it has stored this, and gives what was there before.
    write(&client, &[(40, 200)]).unwrap();
    assert_eq!(read(&client, 40..41), Err(FarError::Damaged(1)));
    assert!(client.store.health().damaged_pages > 0);
    // What lies beside it in the page is right.
    assert_eq!(read(&client, 41..43), Ok(bytes_of(&fills(64, 8))[41..43].to_vec()));
}

#[test]
fn parts_come_back_over_ucx() {
    if let Err(error) = ucx::check() {
        println!("skipped: parts_come_back_over_ucx: {error}");
        return;
    }
    let (_node, address) = ucx_node(Options::default());
    let client = Client::over_ucx(&[address], 1, timing());
    for round in 0..3 {
        write(&client, &fills(3200, round)).unwrap();
        assert!(read(&client, 0..3200).unwrap() == bytes_of(&fills(3200, round)));
    }
}
