//! A program's functions, served over a connection.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use farside_os::OsError;
use farside_wire::offload::{BadMessage, Call, HEADER, Reply, Request, content_len};

use crate::{Image, sandbox};

/// Most images of a program: one for each of its units.
const MOST_IMAGES: usize = 4096;

/// Why a program is served no more.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The connection failed.
    #[error("the connection to the program failed: {0}")]
    Connection(#[from] io::Error),
    /// Something came that is no request.
    #[error("the program sent {0}")]
    Message(#[from] BadMessage),
    /// A system call failed.
    #[error(transparent)]
    Os(#[from] OsError),
}

/// Serves the program at the other end of `link`, whose pages are in `pages`, until it is gone.
///
/// # Errors
/// If what comes cannot be read; the program runs its functions itself then.
pub fn serve(mut link: UnixStream, pages: impl AsFd) -> Result<(), ServeError> {
    let mut images = Vec::new();
    while let Some(content) = next(&mut link)? {
        let reply = match Request::decode(&content)? {
            Request::Load(code) => load(&mut images, &code),
            Request::Call(call) => run(&mut images, &call, &link, pages.as_fd()),
        };
        link.write_all(&reply.encode())?;
    }
    Ok(())
}

/// The content of the next message; `None` if there are no more.
fn next(link: &mut UnixStream) -> Result<Option<Vec<u8>>, ServeError> {
    let mut header = [0; HEADER];
    match link.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let mut content = vec![0; content_len(header)?];
    link.read_exact(&mut content)?;
    Ok(Some(content))
}

fn load(images: &mut Vec<Image>, code: &[u8]) -> Reply {
    if images.len() >= MOST_IMAGES {
        return Reply::Failed("there are too many images".into());
    }
    match Image::link(code) {
        Ok(image) => {
            images.push(image);
            Reply::Loaded(images.len() as u32 - 1)
        }
        Err(why) => Reply::Failed(why.to_string()),
    }
}

fn run(images: &mut [Image], call: &Call, link: &UnixStream, pages: BorrowedFd<'_>) -> Reply {
    let Some(image) = images.get_mut(call.image as usize) else {
        return Reply::Failed("there is no such image".into());
    };
    match sandbox::run(image, call, pages, link.as_fd()) {
        Ok((output, time)) => Reply::Done { output, ns: time.as_nanos() as u64 },
        Err(why) => Reply::Failed(why.to_string()),
    }
}
