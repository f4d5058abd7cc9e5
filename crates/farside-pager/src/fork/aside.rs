//! Pages that are served aside while a process forks: beside the pager, which stands still.
//!
//! The C library has a part in a fork before and after its handlers run: it takes the locks of its streams and of its
//! name services, and copies what belongs to these. That lies in memory of the program, which can be far, so the thread
//! that forks may wait for a page; and another one may, which holds such a lock. The pager cannot serve them: a child must
//! not begin with a copy of what is half changed. So the page is mapped and nothing else is changed; it is put down as
//! served, and taken note of when the fork is over.

use farside_os::memory::PAGE;
use farside_os::thread::waits_for_lock;
use farside_os::userfault::Userfault;

use super::Underway;
use crate::frames::bytes_at;
use crate::pager::Pager;
use crate::record::Fault;
use crate::service::Service;
use crate::stop::stop;
use crate::word::State;

/// Reads what a page holds, from the state that the closed gate keeps; none if it is mapped, and only kept from writes.
fn content<'a>(pager: &Pager, page: u64, buffer: &'a mut [u8; PAGE]) -> Option<&'a [u8; PAGE]> {
    let word = pager.table.load(page);
    match word.state() {
        State::Far => {
            let read = pager
                .store
                .begin_read(page, 1)
                .and_then(|ticket| pager.store.finish_read(ticket, buffer));
            if let Err(error) = read {
                stop(&error);
            }
        }
        State::Watched => {
            // SAFETY: the frame is out of reach, and nothing changes it while the gate is closed.
            buffer.copy_from_slice(unsafe { bytes_at(pager.area.address(word.position()), PAGE) });
        }
        State::Untouched | State::Zero => buffer.fill(0),
        State::Resident | State::Busy | State::Foreign | State::Leaving => return None,
    }
    Some(buffer)
}

/// Maps a page with this content in a process, or lets it write to the page. Says whether that could be done.
fn map_page(process: &Userfault, address: usize, content: Option<&[u8; PAGE]>) -> bool {
    let Some(content) = content else {
        let done = process.write_protect(address, PAGE, false).is_ok();
        return process.wake(address, PAGE).is_ok() && done;
    };
    // SAFETY: the content is a page of ours, the destination that process's copy of a managed page.
    unsafe { process.copy(address, content.as_ptr() as usize, PAGE, false, true) }.is_ok()
}

impl Underway {
    /// Whether another page can be put down as served.
    fn has_room(&self) -> bool {
        self.served.len() < self.served.capacity()
            && self.message.len() + 8 <= self.message.capacity()
    }

    /// Whether the fork cannot go on before a thread has its page: the one that forks, or, while that waits for a lock,
    /// any, since it may be the holder.
    fn needs(&self, thread: u32) -> bool {
        thread == self.thread || waits_for_lock(self.thread)
    }

    /// Maps a page in the child, and puts that down.
    pub(super) fn serve_child(&mut self, pager: &Pager, child: &Userfault, address: usize) {
        if !pager.contains(address) || !self.has_room() {
            return;
        }
        let page = pager.page_of(address);
        let content = content(pager, page, &mut self.page);
        // Put down before it is done: what the child does not know it would lose.
        self.message.extend_from_slice(&page.to_le_bytes());
        if !map_page(child, address, content) {
            self.message.truncate(self.message.len() - 8);
        }
    }

    /// Maps a page in this process for one of its threads, and puts that down.
    fn serve_parent(&mut self, service: &Service, thread: u32, address: usize) -> bool {
        let page = service.pager.page_of(address);
        let content = content(service.pager, page, &mut self.page);
        // Reading took its time. Whoever waits for a lock does not fork meanwhile.
        if thread != self.thread && !waits_for_lock(self.thread) {
            return false;
        }
        // Put down before it is done: the thread goes on, and may fork, as soon as its page is there.
        let told = self.message.len();
        self.served.push(page);
        self.message.extend_from_slice(&page.to_le_bytes());
        let done = map_page(service.space.uffd(), address, content);
        if !done {
            self.served.pop();
            self.message.truncate(told);
        }
        done
    }
}

impl Service {
    /// Serves a fault while the gate is closed for a fork, if the fork cannot go on without. Says whether it did.
    pub(crate) fn serve_aside(&self, fault: Fault) -> bool {
        let address = fault.addr & !(PAGE - 1);
        let mut forks = self.forks.lock();
        match forks.as_deref_mut() {
            Some(Some(underway)) if underway.has_room() && underway.needs(fault.thread) => {
                self.pager.contains(address) && underway.serve_parent(self, fault.thread, address)
            }
            _ => false,
        }
    }
}
