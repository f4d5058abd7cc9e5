//! Settings of a run: parsing, sources and their order, checks.

mod layer;
mod size;

use std::path::PathBuf;

use farside_far::remote::MOST_NODES;
use farside_far::{FarUrl, FileUrl, NodesUrl, RedisUrl};
use farside_pager::cached::Sections;
use farside_pager::settings::{DEFAULT_READAHEAD, Limit, Offloading, Settings};
use farside_pager::{LogFaults, Recording, Track};
use farside_policy::prefetch::Choice;
use farside_policy::replacement::{self, RegionsInRun};
use farside_wire::transport::Files;

pub use layer::{Given, Layer, Origin};
pub use size::{BadLocal, Local, MAX_SIZE, Size, parse_size};

use crate::Failure;

/// Most pages of read-ahead.
pub const MAX_READAHEAD: u32 = 512;

/// How a tape is to be followed, where that was asked for.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Pages fetched between two that tell how far the program is.
    pub batch: Option<u64>,
    /// Pages that are fetched ahead of the program.
    pub lookahead: Option<u64>,
}

/// Checked settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Local limit; `None` if none was given.
    pub local: Option<Local>,
    /// Far memory.
    pub far: FarUrl,
    /// Whether pages may travel to other machines unprotected.
    pub insecure: bool,
    /// Files that say who may talk to whom.
    pub credentials: Files,
    /// Read-ahead in pages.
    pub readahead: u32,
    /// Replacement policy.
    pub replacement: String,
    /// Prefetcher.
    pub prefetch: String,
    /// Whether prefetches are counted exactly.
    pub exact_prefetch_count: bool,
    /// Offloading it is seen which pages are used.
    pub track: Track,
    /// Offloading functions that can run where their data is do.
    pub offload: Offloading,
    /// Which sections are more than plain memory.
    pub sections: Sections,
    /// Whether frames are moved where the kernel can do it.
    pub move_frames: bool,
    /// Whether pages are evicted before room is needed.
    pub evict_ahead: bool,
    /// How the program is recorded, if it is.
    pub record: Option<Recording>,
    /// How its faults are logged, if they are.
    pub log_faults: Option<LogFaults>,
    /// The tape that the program follows, if there is one.
    pub tape: Option<PathBuf>,
    /// Whether the run looks after its tape itself: records, plans, and follows.
    pub auto: bool,
    /// Whether a tape of another build of the program is followed all the same.
    pub force: bool,
    /// How it is followed.
    pub pace: Pace,
    /// File for the statistics.
    pub stats: Option<PathBuf>,
    /// Whether the summary is left out.
    pub quiet: bool,
    /// Whether a live line is shown on a terminal.
    pub progress: bool,
}

impl Options {
    /// What was given over the environment over the file: `config`, or the one that the environment names.
    pub fn gather(given: Layer, config: Option<PathBuf>) -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var(name).ok();
        let named = std::env::var_os("FARSIDE_CONFIG").filter(|path| !path.is_empty());
        let file = match config.or_else(|| named.map(PathBuf::from)) {
            Some(path) => Layer::from_file(&path)?,
            None => Layer::default(),
        };
        Self::from_layer(&given.or(Layer::from_environment(variable)).or(file))
    }

    /// Checks what was given; what was not takes its default.
    pub fn from_layer(layer: &Layer) -> Result<Self, Failure> {
        let defaults = Settings::default();
        let local = match &layer.local {
            Some(given) => Some(given.text.parse().map_err(|bad: BadLocal| given.refuse(bad))?),
            None => None,
        };
        let far = match &layer.far {
            Some(given) => {
                given.text.parse().map_err(|bad: farside_far::BadUrl| given.refuse(bad))?
            }
            None => FarUrl::default(),
        };
        let far = with_copies(far, layer.copies.as_ref())?;
        let far = with_seal(far, layer.seal.as_ref())?;
        let replacement =
            name(layer.replacement.as_ref(), replacement::of_runs(), defaults.replacement)?;
        let track = match &layer.track {
            Some(given) => given.text.parse().map_err(|bad| given.refuse(bad))?,
            // It decides by what is tracked.
            None if replacement == RegionsInRun::NAME => Track::PRESSURE,
            None => defaults.track,
        };
        let offload = match &layer.offload {
            Some(given) => given.text.parse().map_err(|bad| given.refuse(bad))?,
            None => defaults.offload,
        };
        let sections = match &layer.sections {
            Some(given) => given.text.parse().map_err(|bad| given.refuse(bad))?,
            None => defaults.sections,
        };
        Ok(Self {
            local,
            far,
            insecure: switch(layer.insecure.as_ref())?,
            credentials: credentials(layer)?,
            readahead: readahead(layer.readahead.as_ref())?,
            replacement,
            prefetch: prefetcher(layer.prefetch.as_ref(), defaults.prefetch)?,
            exact_prefetch_count: switch(layer.exact_prefetch_count.as_ref())?,
            track,
            offload,
            sections,
            move_frames: either(layer.frames.as_ref(), "move", "copy")?,
            evict_ahead: !either(layer.reclaim.as_ref(), "needed", "ahead")?,
            record: None,
            log_faults: None,
            tape: None,
            auto: false,
            force: false,
            pace: Pace::default(),
            stats: layer.stats.as_ref().map(|given| given.text.clone().into()),
            quiet: switch(layer.quiet.as_ref())?,
            progress: switch(layer.progress.as_ref())?,
        })
    }

    /// What a process is told, with the limit that was settled on.
    pub fn settings(&self, limit: Limit) -> Settings {
        Settings {
            limit,
            replacement: self.replacement.clone(),
            prefetch: self.prefetch.clone(),
            readahead: self.readahead,
            exact_prefetch_count: self.exact_prefetch_count,
            track: self.track,
            offload: self.offload,
            sections: self.sections.clone(),
            move_frames: self.move_frames,
            evict_ahead: self.evict_ahead,
            record: self.record,
            log_faults: self.log_faults,
        }
    }
}

/// Files for TLS, by absolute paths: the program may be elsewhere.
fn credentials(layer: &Layer) -> Result<Files, Failure> {
    let path = |given: &Option<Given>| match given {
        Some(given) => std::path::absolute(&given.text).map(Some).map_err(|bad| given.refuse(bad)),
        None => Ok(None),
    };
    Ok(Files {
        authority: path(&layer.tls_ca)?,
        certificate: path(&layer.tls_cert)?,
        key: path(&layer.tls_key)?,
        secret: path(&layer.psk)?,
        password: path(&layer.password)?,
    })
}

fn with_seal(far: FarUrl, given: Option<&Given>) -> Result<FarUrl, Failure> {
    match (far, given) {
        (FarUrl::Nodes(nodes), Some(_)) => {
            Ok(FarUrl::Nodes(NodesUrl { seal: Some(switch(given)?), ..nodes }))
        }
        (FarUrl::Redis(cluster), Some(_)) => {
            Ok(FarUrl::Redis(RedisUrl { seal: Some(switch(given)?), ..cluster }))
        }
        (FarUrl::File(file), Some(_)) => Ok(FarUrl::File(FileUrl { seal: switch(given)?, ..file })),
        (far, _) => Ok(far),
    }
}

fn with_copies(far: FarUrl, given: Option<&Given>) -> Result<FarUrl, Failure> {
    let Some(given) = given else { return Ok(far) };
    let copies = given.text.parse().ok().filter(|copies| (1..=MOST_NODES).contains(copies));
    let copies =
        copies.ok_or_else(|| given.refuse(format!("not a number from 1 to {MOST_NODES}")))?;
    match far {
        FarUrl::Nodes(nodes) if copies > nodes.hosts.len() => {
            let there = match nodes.hosts.len() {
                1 => "there is only 1 memory node".to_owned(),
                many => format!("there are only {many} memory nodes"),
            };
            Err(given.refuse(there))
        }
        FarUrl::Nodes(nodes) => Ok(FarUrl::Nodes(NodesUrl { copies, ..nodes })),
        FarUrl::Embedded { .. } if copies > 1 => {
            Err(given.refuse("the embedded node keeps one copy; name several nodes with --far"))
        }
        FarUrl::Redis(_) if copies > 1 => Err(given.refuse(
            "a cluster keeps as many copies as it has replicas; ask for more with ?replicas=N",
        )),
        FarUrl::File(_) if copies > 1 => {
            Err(given.refuse("a file keeps one copy; name several nodes with --far"))
        }
        far => Ok(far),
    }
}

fn readahead(given: Option<&Given>) -> Result<u32, Failure> {
    let Some(given) = given else { return Ok(DEFAULT_READAHEAD) };
    let pages = given.text.parse().ok().filter(|pages| *pages <= MAX_READAHEAD);
    pages.ok_or_else(|| given.refuse(format!("not a number of pages from 0 to {MAX_READAHEAD}")))
}

fn name(
    given: Option<&Given>,
    known: impl Iterator<Item = (&'static str, &'static str)>,
    default: String,
) -> Result<String, Failure> {
    let Some(given) = given else { return Ok(default) };
    let names: Vec<&str> = known.map(|(name, _)| name).collect();
    if names.contains(&given.text.as_str()) {
        return Ok(given.text.clone());
    }
    Err(given.refuse(format!("no such name; there are: {}", names.join(", "))))
}

/// A prefetcher with its parameters.
fn prefetcher(given: Option<&Given>, default: String) -> Result<String, Failure> {
    let Some(given) = given else { return Ok(default) };
    given.text.parse().map(|_: Choice| given.text.clone()).map_err(|bad| given.refuse(bad))
}

/// Whether the usual one of two was given, or none.
fn either(given: Option<&Given>, usual: &str, other: &str) -> Result<bool, Failure> {
    match given {
        Some(given) if given.text == other => Ok(false),
        Some(given) if given.text != usual => {
            Err(given.refuse(format!("neither \"{usual}\" nor \"{other}\"")))
        }
        _ => Ok(true),
    }
}

fn switch(given: Option<&Given>) -> Result<bool, Failure> {
    let Some(given) = given else { return Ok(false) };
    match given.text.as_str() {
        "0" | "false" | "no" | "off" => Ok(false),
        "1" | "true" | "yes" | "on" => Ok(true),
        _ => Err(given.refuse("neither 1 nor 0")),
    }
}
