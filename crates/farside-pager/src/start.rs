//! Starting the pager of a process.

use std::borrow::Cow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use farside_far::{FarError, FarStore};
use farside_os::memory::{PAGE, reserve, unmap};
use farside_os::space::{AddressSpace, KernelSpace};
use farside_os::userfault::{Userfault, feature};
use farside_os::{OsError, thread};
use farside_policy::prefetch::{BadChoice, Choice, Conservative, Pointer, Tagged};
use farside_policy::replacement;
use farside_wire::hint_board::HintBoard;
use farside_wire::pool::MAX_PAGES;
use farside_wire::queue::Sender;
use farside_wire::tape_image::Image;
use thiserror::Error;

use crate::counters::{Counters, MAGIC};
use crate::fault_log::{FaultLog, LogFaults, LogSurroundings};
use crate::hint::HintWatch;
use crate::pager::{Pager, Parts};
use crate::part::KeptNames;
use crate::record::{Recorder, Recording, Surroundings};
use crate::replay::Replay;
use crate::service::{Service, ThreadHook};
use crate::settings::{BadSetting, Settings, env};
use crate::table::PageTable;
use crate::tagged::TaggedWords;
use crate::track::Tracking;
use crate::word::POSITION_BITS;

/// Most positions in the frame area, 64 GiB: they bound how much can be watched at once.
const AREA_POSITIONS: u64 = 1 << POSITION_BITS;

/// Pages of the smallest far region that is tried, 1 GiB.
const LEAST_PAGES: u64 = 1 << 18;

/// What the tables of the pager and of the far store take for a page at most, in bytes.
const TABLES_BYTES: usize = 32;

/// Address space that is left for all else, in bytes: what is shared with the node takes 2 GiB.
const LEFT: usize = 7 << 29;

/// Why a process cannot be put on far memory.
#[derive(Debug, Error)]
pub enum StartError {
    /// The kernel refuses something that is needed.
    #[error("{0}; `farside doctor` tells what is missing and how to repair it")]
    Os(#[from] OsError),
    /// The far store cannot be used.
    #[error(transparent)]
    Far(#[from] FarError),
    /// A setting names nothing that exists.
    #[error(transparent)]
    Setting(#[from] BadSetting),
    /// No thread could be started.
    #[error("cannot start the fault handler: {0}")]
    Thread(#[from] std::io::Error),
}

/// What the pager calls in the program it is part of.
#[derive(Copy, Clone, Debug)]
pub struct Hooks {
    /// Runs at the start of every thread that the runtime makes, before it allocates anything.
    pub thread: ThreadHook,
    /// Names the place in the program from which the calling thread allocates; 0 if it is not known.
    pub site: fn() -> u64,
    /// Whether parts of the run may be recorded or follow tapes: the names of pages are kept from the start.
    pub parts: bool,
}

/// Where to tell what is recorded.
#[derive(Debug)]
pub struct Reader {
    /// The queue to tell through.
    pub queue: OwnedFd,
    /// The process that reads it.
    pub pid: u32,
}

/// Processors that are looked for.
const MAX_PROCESSORS: usize = 1024;

/// First characters of the names of all threads that the runtime makes, which never fault.
const RUNTIME: &[u8] = b"farside-";

/// Makes the recorder that is asked for, if there is somebody to tell.
pub(crate) fn recorder(
    how: Option<Recording>,
    reader: Option<Reader>,
    hooks: Hooks,
) -> Result<Option<Recorder>, OsError> {
    let (Some(how), Some(Reader { queue, pid })) = (how, reader) else {
        return Ok(None);
    };
    let surroundings = Surroundings {
        reader_lives: Box::new(move || thread::process_lives(pid)),
        site: hooks.site,
        threads: || thread::all_but(RUNTIME),
        instruction: thread::instruction,
    };
    Ok(Some(Recorder::new(how, Sender::open(queue.as_fd())?, surroundings)))
}

/// Makes the log of faults that is asked for, if there is somebody to read it.
fn fault_log(how: Option<LogFaults>, reader: &Option<Reader>) -> Result<Option<FaultLog>, OsError> {
    let (Some(how), Some(Reader { queue, pid })) = (how, reader) else {
        return Ok(None);
    };
    let pid = *pid;
    let surroundings = LogSurroundings {
        reader_lives: Box::new(move || thread::process_lives(pid)),
        instruction: thread::program_counter,
    };
    Ok(Some(FaultLog::new(how, Sender::open(queue.as_fd())?, surroundings)))
}

/// Makes what counts hints, if that is asked for and there is somebody to read it.
fn hint_watch(
    how: Option<LogFaults>,
    reader: &Option<Reader>,
    pages: u64,
) -> Result<Option<HintWatch>, OsError> {
    match (how, reader) {
        (Some(LogFaults { hints: true, .. }), Some(reader)) => {
            HintWatch::new(HintBoard::open(reader.queue.as_fd())?, pages).map(Some)
        }
        _ => Ok(None),
    }
}

/// Makes what follows the tape, if there is one.
pub(crate) fn replay(tape: Option<OwnedFd>, hooks: Hooks) -> Result<Option<Replay>, OsError> {
    let Some(tape) = tape else { return Ok(None) };
    let threads = || thread::all_but(RUNTIME);
    let processors = thread::allowed_processors(MAX_PROCESSORS).len();
    Ok(Some(Replay::new(Image::open(tape.as_fd())?, hooks.site, threads, processors)))
}

/// Sets up the far region and starts serving it.
///
/// `store` makes the far store for a region of the given number of pages. `reader` is told what is recorded or
/// logged, if the settings say that something is; `tape` is the image of the tape to follow.
pub fn start(
    settings: &Settings,
    counters: &'static Counters,
    store: impl FnOnce(u64) -> Result<Box<dyn FarStore>, FarError>,
    reader: Option<Reader>,
    tape: Option<OwnedFd>,
    hooks: Hooks,
) -> Result<&'static Service, StartError> {
    let unknown = |name, value: &str, reason: Cow<'static, str>| BadSetting {
        name,
        value: value.into(),
        reason,
    };
    let policy = replacement::in_run(&settings.replacement)
        .ok_or_else(|| unknown(env::REPLACEMENT, &settings.replacement, "no such policy".into()))?;
    let choice: Choice = (settings.prefetch.parse()).map_err(|bad: BadChoice| {
        unknown(env::PREFETCH, &settings.prefetch, bad.to_string().into())
    })?;
    let prefetcher = choice.prefetcher(settings.readahead);
    let mut features = feature::WRITE_PROTECT | feature::EVENT_FORK | feature::THREAD_ID;
    let offered = Userfault::offered_features()?;
    if settings.move_frames {
        features |= offered & feature::MOVE;
    }
    let follow = choice.pointers.filter(|_| offered & feature::EXACT_ADDRESS != 0);
    if follow.is_some() {
        features |= feature::EXACT_ADDRESS;
    }
    let space = Arc::new(KernelSpace::new(Userfault::open(features)?));
    let Reserved { base, pages, area, area_positions } = reserve_both()?;
    space.manage(base, pages as usize * PAGE)?;
    space.manage(area, area_positions as usize * PAGE)?;
    let mut tag_seed = [0; 8];
    farside_os::random::fill(&mut tag_seed)?;
    let tagged = Arc::new(TaggedWords::new(base, pages));
    let pager = Pager::new(Parts {
        base,
        area,
        area_positions,
        table: PageTable::new(pages)?,
        policy,
        prefetcher,
        pointers: follow.map(|options| {
            let otherwise = Conservative { first: base as u64, len: pages * PAGE as u64 };
            let identify = Box::new(Tagged { tags: Arc::clone(&tagged), otherwise });
            let mut pointers = Pointer::new(options, identify);
            if settings.log_faults.is_some() {
                pointers.keep_journal();
            }
            pointers
        }),
        tagged,
        space: Arc::clone(&space) as Arc<dyn AddressSpace>,
        store: store(pages)?,
        counters,
        limit: settings.limit,
        exact_prefetch_count: settings.exact_prefetch_count,
        // On the only processor it would take the time that it is to save.
        evict_ahead: settings.evict_ahead && thread::allowed_processors(2).len() > 1,
        tag_seed: u64::from_ne_bytes(tag_seed),
        fault_log: fault_log(settings.log_faults, &reader)?,
        hint_watch: hint_watch(settings.log_faults, &reader, pages)?,
        recorder: recorder(settings.record, reader, hooks)?,
        replay: replay(tape, hooks)?,
        names: hooks.parts.then(|| KeptNames::new(hooks)),
        tracking: Tracking::new(settings.track, u64::from_ne_bytes(tag_seed).rotate_left(32)),
    });
    pager.prepare_aside(space.uffd().lend())?;
    counters.magic.store(MAGIC, std::sync::atomic::Ordering::Release);
    let service: &'static Service =
        Box::leak(Box::new(Service::new(Box::leak(Box::new(pager)), space, hooks.thread)));
    service.start_threads()?;
    Ok(service)
}

/// Address space of a process on far memory.
struct Reserved {
    base: usize,
    pages: u64,
    area: usize,
    area_positions: u32,
}

/// Reserves the far region and the frame area: as much address space as there may be, less where a limit is in force.
fn reserve_both() -> Result<Reserved, OsError> {
    let mut pages = MAX_PAGES;
    loop {
        match reserve_for(pages) {
            Err(_) if pages > LEAST_PAGES => pages /= 2,
            result => return result,
        }
    }
}

/// Reserves a far region of so many pages, and a frame area for what may be unmapped of it, if enough is left then.
fn reserve_for(pages: u64) -> Result<Reserved, OsError> {
    let region = "the far region";
    let base = reserve(pages as usize * PAGE, 2 << 20, region)?;
    let area_positions = (pages / 4).min(AREA_POSITIONS) as u32;
    let left = LEFT + pages as usize * TABLES_BYTES;
    let reserved =
        reserve(area_positions as usize * PAGE, PAGE, "the frame area").and_then(|area| {
            let free = reserve(left, PAGE, "what else a process needs");
            match free.and_then(|at| unmap(at, left, "address space")) {
                Ok(()) => Ok(Reserved { base, pages, area, area_positions }),
                Err(error) => {
                    unmap(area, area_positions as usize * PAGE, "the frame area")?;
                    Err(error)
                }
            }
        });
    if reserved.is_err() {
        unmap(base, pages as usize * PAGE, region)?;
    }
    reserved
}

impl Service {
    /// The pager that is served.
    pub fn pager(&self) -> &'static Pager {
        self.pager
    }
}
