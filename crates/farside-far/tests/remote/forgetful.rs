//! A node that says that it has stored parts of pages, and has not.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use farside_os::memory::PAGE;
use farside_wire::frame::{BLOCK, HEADER, Header, Kind, MOST_HEAD, Record, Vitals};
use farside_wire::page_part::PagePart;

type Pages = Arc<Mutex<HashMap<u64, Vec<u8>>>>;

/// Starts one, which says that it can do that.
pub fn forgetful_node(can: u32) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let pages = Pages::default();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let pages = Arc::clone(&pages);
            // Until the client hangs up.
            std::thread::spawn(move || while answer(&stream, can, &pages).is_ok() {});
        }
    });
    address
}

fn answer(mut stream: &TcpStream, can: u32, pages: &Pages) -> io::Result<()> {
    let mut head = vec![0; HEADER];
    stream.read_exact(&mut head)?;
    let header = Header::decode(head[..].try_into().expect("as long"))?;
    head.resize(HEADER + header.records_len(), 0);
    stream.read_exact(&mut head[HEADER..])?;
    let mut content = vec![0; header.content_len()];
    stream.read_exact(&mut content)?;
    let asked: Vec<Record> = header.records(&head)?.collect();
    let mut pages = pages.lock().unwrap();
    let (mut records, mut content_of_reply) = (Vec::new(), Vec::new());
    match header.kind {
        Kind::Hello | Kind::Ping => {
            let vitals = Vitals { total: 1 << 30, free: 1 << 30, can, lease_ms: 1000 };
            records.push(vitals.record());
        }
        Kind::Write => {
            let slots = asked.iter().map(|record| record.slot);
            pages.extend(slots.zip(content.chunks(PAGE).map(<[u8]>::to_vec)));
        }
        Kind::ReadParts => {
            for part in asked.iter().filter_map(PagePart::of) {
                content_of_reply.extend_from_slice(&pages[&part.slot][part.range()]);
            }
            records = asked.iter().map(|record| Record { code: 0, ..*record }).collect();
        }
        _ => {}
    }
    let blocks = (content_of_reply.len() / BLOCK) as u16;
    let mut reply = [0; MOST_HEAD];
    let len = Header { epoch: 1, pages: blocks, ..header.reply() }.encode(&records, &mut reply);
    stream.write_all(&reply[..len])?;
    stream.write_all(&content_of_reply)
}
