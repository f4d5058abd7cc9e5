//! The process beside a node that runs a program's functions.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use farside_os::memory::PAGE;
use farside_wire::offload::{Area, HEADER, Reply, Request, Run, content_len};
use farside_wire::transport::{Buffered, Patience, Stream, send_all};

use crate::counters::Counters;
use crate::frames::{Frames, Pinned};
use crate::pool::Pool;

/// A process that runs functions; it is ended with this.
pub(crate) struct OffloadServer(Child);

impl OffloadServer {
    /// Starts it: this program again, told to be that. It finds the program at `link`, and its pages in `pages`.
    pub fn start(link: OwnedFd, pages: BorrowedFd<'_>) -> io::Result<Self> {
        let pages = pages.try_clone_to_owned()?;
        let mut command = Command::new("/proc/self/exe");
        command.args(["node", "--offload-server"]);
        command.stdin(Stdio::from(link)).stdout(Stdio::from(pages)).stderr(Stdio::null());
        command.spawn().map(Self)
    }
}

impl Drop for OffloadServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The way from a client across the network to such a process.
pub(crate) struct Relay {
    link: UnixStream,
    _server: OffloadServer,
}

/// For the next request, and for the rest of one.
const NEXT: Patience = Patience::of(0, u64::MAX);
const REST: Patience = Patience::of(0, 30_000_000_000);

impl Relay {
    /// Starts one, to which the node's pages are in `pages`.
    pub fn start(pages: BorrowedFd<'_>) -> io::Result<Self> {
        let (link, theirs) = UnixStream::pair()?;
        Ok(Self { link, _server: OffloadServer::start(theirs.into(), pages)? })
    }

    /// Passes on what a client asks for, and the answers, until it hangs up.
    ///
    /// # Errors
    /// If what comes is no request, or a connection fails.
    pub fn run(
        mut self,
        stream: &dyn Stream,
        arrived: &mut Buffered,
        (pool, frames): (&Pool, &Frames),
        counters: &Counters,
    ) -> io::Result<()> {
        loop {
            let header = arrived.receive_start::<HEADER>(stream, NEXT)?;
            let mut content = vec![0; content_len(header).map_err(invalid)?];
            arrived.receive_all(stream, &mut [IoSliceMut::new(&mut content)], REST)?;
            let mut request = Request::decode(&content).map_err(invalid)?;
            let mut pinned = Vec::new();
            let known = match &mut request {
                Request::Load(_) => true,
                Request::Call(call) => {
                    Counters::add(&counters.requests, 1);
                    call.areas.iter_mut().all(|area| settle(area, pool, frames, &mut pinned))
                }
            };
            let reply = if known {
                self.pass_on(&request.encode())?
            } else {
                Reply::Failed("a page of its data is not at this memory node".into()).encode()
            };
            // Pages may change again.
            drop(pinned);
            send_all(stream, &mut [IoSlice::new(&reply)], REST, || Ok(()))?;
        }
    }

    fn pass_on(&mut self, frame: &[u8]) -> io::Result<Vec<u8>> {
        self.link.write_all(frame)?;
        let mut header = [0; HEADER];
        self.link.read_exact(&mut header)?;
        let mut reply = vec![0; HEADER + content_len(header).map_err(invalid)?];
        reply[..HEADER].copy_from_slice(&header);
        self.link.read_exact(&mut reply[HEADER..])?;
        Ok(reply)
    }
}

fn invalid(bad: farside_wire::offload::BadMessage) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, bad)
}

/// Puts frames in the place of slots in what an area says of where its content lies; false if some are not here. Pages
/// stay where they are as long as they are pinned.
fn settle<'a>(
    area: &mut Area,
    pool: &Pool,
    frames: &'a Frames,
    pinned: &mut Vec<Pinned<'a>>,
) -> bool {
    let page = PAGE as u64;
    let mut runs: Vec<Run> = Vec::new();
    for run in std::mem::take(&mut area.runs) {
        if !run.place.is_multiple_of(page) || !run.len.is_multiple_of(page) {
            return false;
        }
        for at in (0..run.len).step_by(PAGE) {
            let Some(found) = pool.pin(frames, (run.place + at) / page) else { return false };
            let (offset, place) = (run.offset + at, u64::from(found.number()) * page);
            pinned.push(found);
            match runs.last_mut() {
                Some(last)
                    if last.offset + last.len == offset && last.place + last.len == place =>
                {
                    last.len += page;
                }
                _ => runs.push(Run { offset, place, len: page }),
            }
        }
    }
    area.runs = runs;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_become_frames_and_what_is_not_here_is_refused() {
        let frames = Frames::new(8 * PAGE as u64, true).expect("there is room");
        let pool = Pool::new(1);
        // Slot 7 lies in the frame behind that of slot 6, slot 8 does not.
        for slot in [9, 6, 7, 3, 8] {
            let blank = frames.take().expect("there is room");
            pool.write(&frames, (slot, 1, 0), blank).expect("it is new");
        }
        let page = PAGE as u64;
        let run = |offset, place, count| Run {
            offset: offset * page,
            place: place * page,
            len: count * page,
        };
        let area = |runs| Area { tag: 0, len: 10 * page, runs };
        let mut pinned = Vec::new();
        let mut known = area(vec![run(0, 6, 3), run(5, 9, 1)]);
        assert!(settle(&mut known, &pool, &frames, &mut pinned));
        assert_eq!(known.runs, [run(0, 1, 2), run(2, 4, 1), run(5, 0, 1)]);
        assert_eq!(pinned.len(), 4);
        assert!(!settle(&mut area(vec![run(0, 6, 5)]), &pool, &frames, &mut pinned));
        assert!(!settle(
            &mut area(vec![Run { offset: 0, place: 5, len: 7 }]),
            &pool,
            &frames,
            &mut pinned
        ));
    }
}
