//! The embedded node: owns the far pages of the programs of one run, on the same machine.
//!
//! Programs reach their pages directly in shared memory that the node created. The node hands that
//! memory out, keeps it alive, and gives back what a program held when it dies, however it dies.

use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use farside_os::socket::{self, Received};
use farside_os::{OsError, Result};
use farside_wire::pool::{LEN, Message};

use crate::family::{Family, Member};

/// The node's state.
struct Node {
    /// The supervisor's end; `None` once it hung up.
    link: Option<OwnedFd>,
    families: Vec<Family>,
}

/// Serves the supervisor at the other end of `link`, and the programs it announces, until all of them
/// are gone. `gone` is told the name of each pool that had pages and whose processes are gone.
pub fn serve(link: OwnedFd, mut gone: impl FnMut(u128)) -> Result<()> {
    let mut node = Node { link: Some(link), families: Vec::new() };
    while node.link.is_some() || !node.families.is_empty() {
        for fd in wait(&node.descriptors())? {
            node.hear(fd);
        }
        node.part(&mut gone);
    }
    Ok(())
}

impl Node {
    fn descriptors(&self) -> Vec<RawFd> {
        let members = self.families.iter().flat_map(|family| &family.members);
        self.link.iter().map(AsRawFd::as_raw_fd).chain(members.map(Member::raw)).collect()
    }

    fn hear(&mut self, fd: RawFd) {
        if self.link.as_ref().is_some_and(|link| link.as_raw_fd() == fd) {
            self.hear_supervisor();
            return;
        }
        let Some(family) =
            self.families.iter_mut().find(|family| family.members.iter().any(|m| m.raw() == fd))
        else {
            return;
        };
        family.hear(fd);
    }

    /// Parts with the families of which nobody is left.
    fn part(&mut self, gone: &mut impl FnMut(u128)) {
        let left = self.families.extract_if(.., |family| family.members.is_empty());
        left.filter(Family::has_stored).for_each(|family| gone(family.name));
    }

    fn hear_supervisor(&mut self) {
        let Some(link) = &self.link else { return };
        let mut bytes = [0; LEN];
        let received = socket::receive(link.as_fd(), &mut bytes);
        let Ok(Received { len, descriptors: [client, ..] }) = received else {
            self.link = None;
            return;
        };
        if len == 0 {
            self.link = None;
            return;
        }
        if let (Ok(Message::Attach { pid, fork_of }), Some(client)) =
            (Message::decode(&bytes[..len]), client)
        {
            self.attach(client, pid, fork_of);
        }
    }

    fn attach(&mut self, client: OwnedFd, pid: u32, fork_of: u32) {
        let parent = self
            .families
            .iter_mut()
            .find(|family| fork_of != 0 && family.members.iter().any(|m| m.pid == fork_of));
        let attached = match parent {
            Some(family) => family.join(client, pid),
            None if fork_of != 0 => refuse(&client, libc::ESRCH),
            None => match Family::found(&client, pid) {
                Ok(mut family) => {
                    family.members[0].socket = Some(client);
                    self.families.push(family);
                    Ok(())
                }
                Err(error) => refuse(&client, error.errno),
            },
        };
        // A client that cannot be told is gone, and its socket's hang-up has the same effect.
        let _ = attached;
    }
}

fn refuse(client: &OwnedFd, errno: i32) -> Result<()> {
    socket::send(client.as_fd(), &Message::Refused { reason: errno as u32 }.encode(), &[])
}

/// Waits until some of `fds` are readable or hung up, and returns those.
fn wait(fds: &[RawFd]) -> Result<Vec<RawFd>> {
    let mut polled: Vec<libc::pollfd> =
        fds.iter().map(|fd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 }).collect();
    // SAFETY: the vector is valid for reads and writes of its length.
    let n = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, -1) };
    if n < 0 {
        let error = OsError::last("poll", "the node's sockets");
        return if error.errno == libc::EINTR { Ok(Vec::new()) } else { Err(error) };
    }
    Ok(polled.iter().filter(|p| p.revents != 0).map(|p| p.fd).collect())
}
