//! Functions that run at a node across a network.

use std::io::{self, IoSlice, IoSliceMut};

use farside_os::memory::PAGE;
use farside_wire::frame::{Code, HEADER, Header, Kind, MOST_HEAD, Record, hello};
use farside_wire::offload::{self, Reply, Request, content_len};
use farside_wire::transport::{Patience, Stream, receive_all, send_all};

use super::{Remote, slot_of};
use crate::offloading::{self, Carry};
use crate::{Offload, OffloadError, Place, RemoteCall};

/// A connection that was handed over to who runs functions.
pub(crate) struct OffloadLine {
    stream: Box<dyn Stream>,
    /// Which of the nodes is at its other end.
    pub node: usize,
}

fn gone(_: io::Error) -> OffloadError {
    OffloadError::Gone
}

impl Carry for OffloadLine {
    fn exchange(&mut self, frame: &[u8], until: u64) -> Result<Vec<u8>, OffloadError> {
        let (stream, patience) = (&*self.stream, Patience::until(0, until));
        send_all(stream, &mut [IoSlice::new(frame)], patience, || Ok(())).map_err(gone)?;
        let mut header = [0; offload::HEADER];
        receive_all(stream, &mut [IoSliceMut::new(&mut header)], patience).map_err(gone)?;
        let mut content = vec![0; content_len(header)?];
        receive_all(stream, &mut [IoSliceMut::new(&mut content)], patience).map_err(gone)?;
        Ok(content)
    }
}

/// Sends a request without pages, and receives the reply's header; its records are passed over.
fn ask(
    stream: &dyn Stream,
    request: Header,
    records: &[Record],
    patience: Patience,
) -> io::Result<Header> {
    let mut head = [0; MOST_HEAD];
    let len = request.encode(records, &mut head);
    send_all(stream, &mut [IoSlice::new(&head[..len])], patience, || Ok(()))?;
    let mut start = [0; HEADER];
    receive_all(stream, &mut [IoSliceMut::new(&mut start)], patience)?;
    let reply = Header::decode(&start)?;
    head[..HEADER].copy_from_slice(&start);
    let rest = &mut head[HEADER..HEADER + reply.records_len()];
    receive_all(stream, &mut [IoSliceMut::new(rest)], patience)?;
    drop(reply.records(&head)?);
    Ok(reply)
}

impl Remote {
    /// Whether nodes can read pages at all.
    pub(super) fn can_offload(&self) -> bool {
        !self.sealing.changes_pages()
    }

    fn connect_offload(&self) -> Result<OffloadLine, OffloadError> {
        let refused =
            || OffloadError::Failed("no memory node runs functions: they need --offload".into());
        let timing = &self.timing;
        let up = self.peers.iter().enumerate().filter(|(_, peer)| peer.is_up());
        for (node, peer) in up {
            let Ok(stream) = self.network.connect(peer.address(), timing.connect_ns) else {
                continue;
            };
            let patience = Patience::of(timing.spin_ns, timing.connect_ns);
            let lease_ms = (timing.lease_ns / 1_000_000) as u32;
            let greeting = [hello(self.pool, lease_ms)];
            let joined = ask(&*stream, Header::request(Kind::Hello, 1, 0), &greeting, patience);
            let Ok(Header { code: Code::Done, epoch, .. }) = joined else { continue };
            let asked = ask(&*stream, Header::request(Kind::Offload, 2, epoch), &[], patience);
            if let Ok(Header { code: Code::Done, .. }) = asked {
                return Ok(OffloadLine { stream, node });
            }
        }
        Err(refused())
    }

    fn ask_offload(&self, request: &Request, most_ns: u64) -> Result<Reply, OffloadError> {
        self.check().map_err(|_| OffloadError::Gone)?;
        self.offloading.ask(request, most_ns, || self.connect_offload())
    }

    /// Whether a node has all that a function reads as it was stored last.
    fn has_all(&self, node: usize, places: &[Place]) -> bool {
        let pages = places.iter().flat_map(|place| &place.pages);
        let mut blocks = pages
            .flat_map(|(first, count)| *first..first + count)
            .filter_map(|page| self.slots.block(page));
        blocks.all(|block| self.seals.get(slot_of(block)).is_at(node))
    }
}

impl Offload for Remote {
    fn load(&self, code: &[u8]) -> Result<u32, OffloadError> {
        offloading::loaded(self.ask_offload(&Request::Load(code.to_vec()), 0)?)
    }

    fn call(&self, call: &RemoteCall<'_>, output: &mut [u8]) -> Result<(), OffloadError> {
        let node = self.offloading.with(|line| line.node).ok_or(OffloadError::Gone)?;
        if !self.has_all(node, call.places) {
            return Err(OffloadError::Failed("no memory node has all of its data".into()));
        }
        let place = |page| self.slots.block(page).map(|block| slot_of(block) * PAGE as u64);
        let areas = offloading::areas(call.places, place);
        let request = offloading::message(call, areas, output.len());
        let reply = self.ask_offload(&request, u64::from(call.most_ms) * 1_000_000)?;
        offloading::take(reply, output)
    }
}
