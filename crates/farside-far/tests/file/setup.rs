//! A file store with a real keeper of its tables, in a directory of its own.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use farside_far::{FarError, FarStore, FarUrl, File};
use farside_os::memory::PAGE;
use farside_os::socket;
use farside_wire::pool::Message;
use tempfile::TempDir;

/// Pages of the far region.
pub const PAGES: u64 = 1 << 16;

/// A store.
pub struct Client {
    pub store: File,
    supervisor: OwnedFd,
    directory: PathBuf,
    _whole: Option<TempDir>,
}

impl Client {
    /// One with those options, in a new directory.
    pub fn new(options: &str) -> Self {
        // Not in memory, if the directory for temporary files is.
        let whole = tempfile::tempdir_in("/var/tmp").unwrap();
        let client = Self::within(whole.path().to_owned(), options).unwrap();
        Self { _whole: Some(whole), ..client }
    }

    /// One in a directory that is there.
    pub fn within(directory: PathBuf, options: &str) -> Result<Self, FarError> {
        let (supervisor, link) = socket::pair().unwrap();
        std::thread::spawn(move || farside_node::embedded::serve(link, |_| ()));
        let client = attach(&supervisor, std::process::id(), 0);
        let url: FarUrl = format!("file:{}?{options}", directory.display()).parse().unwrap();
        let FarUrl::File(url) = url else { panic!("{url}") };
        let store = File::connect(client, &url, PAGES)?;
        Ok(Self { store, supervisor, directory, _whole: None })
    }

    /// A connection to the keeper, for a child of this process.
    pub fn link_of_child(&self, child: u32) -> OwnedFd {
        attach(&self.supervisor, child, std::process::id())
    }

    pub fn write(&self, first: u64, fills: &[u8]) -> Result<(), FarError> {
        self.store.write(first, &content(fills))
    }

    /// By what each page is filled, if all of it is.
    pub fn read(&self, first: u64, count: u32) -> Result<Vec<u8>, FarError> {
        let ticket = self.store.begin_read(first, count)?;
        let mut into = vec![0xAA; count as usize * PAGE];
        self.store.finish_read(ticket, &mut into)?;
        Ok(fills(&into))
    }

    /// The open file.
    pub fn file(&self) -> std::fs::File {
        let within = |path: &PathBuf| {
            std::fs::read_link(path).is_ok_and(|target| target.starts_with(&self.directory))
        };
        let mut all = std::fs::read_dir("/proc/self/fd").unwrap().flatten().map(|fd| fd.path());
        let path = all.find(within).expect("the file is open");
        std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap()
    }

    /// Names in the directory.
    pub fn names(&self) -> usize {
        std::fs::read_dir(&self.directory).unwrap().count()
    }
}

fn attach(supervisor: &OwnedFd, pid: u32, fork_of: u32) -> OwnedFd {
    let (client, theirs) = socket::pair().unwrap();
    let message = Message::Attach { pid, fork_of }.encode();
    socket::send(supervisor.as_fd(), &message, &[theirs.as_fd()]).unwrap();
    client
}

/// Pages that show if they are mixed with another one.
pub fn content(fills: &[u8]) -> Vec<u8> {
    let byte = |fill: u8, at: usize| {
        if at.is_multiple_of(64) { fill } else { fill.wrapping_mul(at as u8 | 1) }
    };
    fills.iter().flat_map(|fill| (0..PAGE).map(move |at| byte(*fill, at))).collect()
}

pub fn fills(pages: &[u8]) -> Vec<u8> {
    pages
        .chunks_exact(PAGE)
        .map(|got| if got == content(&got[..1]) { got[0] } else { panic!("torn page") })
        .collect()
}

/// Says that a test did nothing, and why; past libtest's capture.
pub fn skipped(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "\nskipped: {test}: {why}");
}
