//! Touches free memory, so that the run that follows does not pay for what the machine below charges.
//!
//! A virtual machine may hand free memory back to its host, and then the first touch of a page costs
//! several times what paging it would. Each of the runs that are compared would pay that for another
//! number of pages, by chance.

use clap::Args;

use super::launch::{Place, Program, Scratch, own};
use super::uffd::Pages;
use super::{Failure, Shared};

/// Options of the hidden `farside bench warmup`.
#[derive(Debug, Args)]
pub(crate) struct WarmupArgs {
    /// How much to touch.
    #[arg(long, default_value_t = 1280)]
    mib: usize,
}

/// Touches memory and gives it back.
pub(crate) fn run(args: &WarmupArgs) -> Result<String, Failure> {
    let pages = Pages::anonymous(args.mib << 20 >> 12)
        .map_err(|e| Failure::io(format!("{} MiB to warm up", args.mib), &e))?;
    // Huge pages and small ones come from different lists of free memory; this serves both. Without
    // support for huge pages there are only small ones.
    let _ = pages.advise(0, pages.len(), libc::MADV_HUGEPAGE);
    for page in 0..pages.len() {
        pages.write(page, 1);
    }
    Ok(format!("{} pages", pages.len()))
}

/// Touches two and a half times the memory that a run over `bytes` takes: enough to include the pages
/// that it will get.
///
/// In a process of its own: programs started later would inherit this process's peak.
pub(crate) fn before_run(bytes: u64, shared: &Shared, scratch: &Scratch) -> Result<(), Failure> {
    let mib = (bytes >> 20) * 5 / 2;
    let own = own()?.into_os_string();
    let program = Program::new([
        own,
        "bench".into(),
        "warmup".into(),
        "--mib".into(),
        mib.to_string().into(),
    ]);
    program.run(Place::Plain, shared, scratch).map(drop)
}
