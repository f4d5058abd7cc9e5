//! What the trace format costs: bytes per access, and accesses per second on one core.
//!
//! `cargo run --release -p farside-trace --example trace_cost -- FILE...`

use std::time::{Duration, Instant};

use farside_trace::{Access, Block, Metadata, TraceError, TraceReader, TraceWriter};

/// Passes; the fastest counts.
const PASSES: usize = 5;

fn main() -> Result<(), TraceError> {
    println!("trace\taccesses\tbytes/access\twrite M/s\tblocks M/s\titerator M/s");
    let folder = std::env::temp_dir().join(format!("trace-cost-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let copy = folder.join("copy.fpt");
    for path in std::env::args().skip(1) {
        let accesses: Vec<Access> =
            TraceReader::open(&path)?.accesses().collect::<Result<_, _>>()?;
        let write = fastest(|| {
            let mut writer = TraceWriter::create(&copy, &Metadata::default())?;
            accesses.iter().try_for_each(|&access| writer.write(access))?;
            writer.finish().map(drop)
        })?;
        let mut block = Block::default();
        let blocks = fastest(|| {
            let mut reader = TraceReader::open(&copy)?;
            let mut sum = 0;
            while reader.next_block(&mut block)? {
                sum += block.accesses.last().map_or(0, |access| access.page.0);
            }
            std::hint::black_box(sum);
            Ok(())
        })?;
        let iterator = fastest(|| {
            let sum = TraceReader::open(&copy)?
                .try_fold(0u64, |sum, page| Ok::<_, TraceError>(sum.wrapping_add(page?.0)))?;
            std::hint::black_box(sum);
            Ok(())
        })?;
        let bytes = std::fs::metadata(&copy).map_or(0, |file| file.len());
        let rate = |time: Duration| accesses.len() as f64 / time.as_secs_f64() / 1e6;
        println!(
            "{path}\t{}\t{:.4}\t{:.1}\t{:.1}\t{:.1}",
            accesses.len(),
            bytes as f64 / accesses.len() as f64,
            rate(write),
            rate(blocks),
            rate(iterator),
        );
    }
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}

fn fastest(mut pass: impl FnMut() -> Result<(), TraceError>) -> Result<Duration, TraceError> {
    let mut best = Duration::MAX;
    for _ in 0..PASSES {
        let start = Instant::now();
        pass()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}
