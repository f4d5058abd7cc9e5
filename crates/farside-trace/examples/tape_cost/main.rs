//! What the tape format costs: bytes per step and per page fetched, and steps per second on one
//! core.
//!
//! `cargo run --release -p farside-trace --example tape_cost [-- PERCENT [TRACE...]]`: tapes for so
//! much of the memory that programs use, 20 % unless told; of made-up programs if no trace is named.

mod patterns;

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use farside_trace::tape::{Step, TapeError, TapeInfo, TapeReader, TapeRegion, TapeWriter};
use farside_trace::{PageId, TraceReader};

/// Passes; the fastest counts.
const PASSES: usize = 5;

/// Pages of a microset, as in the paper.
const MICROSET: usize = 1024;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let percent: usize = arguments.next().map_or(Ok(20), |text| text.parse())?;
    let traces: Vec<_> = arguments.collect();
    println!(
        "pattern\tpolicy\tsteps\tfetches\tbytes\tbytes/step\tbytes/fetch\t\
         write M/s\tblocks M/s\titerator M/s\tfinish ms"
    );
    if traces.is_empty() {
        patterns::all().into_iter().try_for_each(|(name, pages)| report(name, &pages(), percent))
    } else {
        traces.iter().try_for_each(|path| {
            let pages = TraceReader::open(path)?.map(|page| page.map(|page| page.0));
            report(path, &pages.collect::<Result<Vec<_>, _>>()?, percent)
        })
    }
}

/// Prints what the tapes of a program cost that uses these pages.
fn report(name: &str, pages: &[u64], percent: usize) -> Outcome<()> {
    let folder = std::env::temp_dir().join(format!("tape-cost-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let records = patterns::recorded(pages, MICROSET);
    let extent = records.iter().max().map_or(0, |page| page + 1);
    let capacity = records.iter().collect::<HashSet<_>>().len() * percent / 100;
    for (policy, steps) in
        [("lru", patterns::lru(&records, capacity)), ("min", patterns::min(&records, capacity))]
    {
        let cost = measure(&folder.join("cost.tape"), &steps, extent)?;
        println!("{name}\t{policy}\t{}\t{cost}", steps.len());
    }
    Ok(std::fs::remove_dir_all(folder)?)
}

fn measure(path: &Path, steps: &[Step], extent: u64) -> Result<String, TapeError> {
    let mut finish = Duration::MAX;
    let write = fastest(|| {
        let start = Instant::now();
        let mut writer = TapeWriter::create(path, &TapeInfo::default())?;
        writer.region(TapeRegion { site: 1, nth: 0, first: PageId(0), count: extent })?;
        steps.iter().try_for_each(|&step| writer.push(0, step))?;
        // The end waits for the disk, however long the tape is.
        let pushed = start.elapsed();
        writer.finish()?;
        finish = finish.min(start.elapsed() - pushed);
        Ok(pushed)
    })?;
    let reader = TapeReader::open(path)?;
    let mut block = Vec::new();
    let blocks = fastest(|| {
        let start = Instant::now();
        let (mut read, mut sum) = (reader.steps(0), 0);
        while read.next_block(&mut block)? {
            sum += block.last().map_or(0, |step| step.page.0);
        }
        std::hint::black_box(sum);
        Ok(start.elapsed())
    })?;
    let iterator = fastest(|| {
        let start = Instant::now();
        let sum =
            reader.steps(0).try_fold(0, |sum, step| Ok::<_, TapeError>(sum + step?.page.0))?;
        std::hint::black_box(sum);
        Ok(start.elapsed())
    })?;
    let (bytes, fetches) = (reader.summary().bytes, reader.summary().total().fetches);
    let rate = |time: Duration| steps.len() as f64 / time.as_secs_f64() / 1e6;
    Ok(format!(
        "{fetches}\t{bytes}\t{:.4}\t{:.4}\t{:.1}\t{:.1}\t{:.1}\t{:.1}",
        bytes as f64 / steps.len() as f64,
        bytes as f64 / fetches as f64,
        rate(write),
        rate(blocks),
        rate(iterator),
        finish.as_secs_f64() * 1e3,
    ))
}

fn fastest(mut pass: impl FnMut() -> Result<Duration, TapeError>) -> Result<Duration, TapeError> {
    (0..PASSES).try_fold(Duration::MAX, |best, _| pass().map(|time| best.min(time)))
}
