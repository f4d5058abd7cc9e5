//! Walks through a table, many walks at once, each a task: while one waits for far memory, others go on.
//!
//! `lookups [MEGABYTES [WALKS [STEPS]]]` prints a sum that does not depend on the order, and to standard error how long it
//! took.

use std::process::ExitCode;
use std::rc::Rc;
use std::time::Instant;

use tokio::runtime::Builder;
use tokio::task::LocalSet;

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

async fn walk(table: Rc<Vec<u64>>, mut at: u64, steps: u64) -> u64 {
    for _ in 0..steps {
        let place = &table[(at % table.len() as u64) as usize];
        farside_hints::resident(place).await;
        at = mix(at.wrapping_add(*place));
    }
    at
}

async fn all(table: Rc<Vec<u64>>, walks: u64, steps: u64) -> u64 {
    let tasks: Vec<_> =
        (1..=walks).map(|i| tokio::task::spawn_local(walk(table.clone(), mix(i), steps))).collect();
    let mut sum = 0u64;
    for task in tasks {
        sum = sum.wrapping_add(task.await.expect("a walk does not fail"));
    }
    sum
}

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let mut next = |default| numbers.next().unwrap_or(Ok(default));
    let (Ok(megabytes @ 1..), Ok(walks), Ok(steps)) = (next(64), next(32), next(2000)) else {
        eprintln!("usage: lookups [MEGABYTES [WALKS [STEPS]]]");
        return ExitCode::from(2);
    };
    let table = Rc::new((0..megabytes << 17).map(mix).collect::<Vec<u64>>());
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    let begin = Instant::now();
    let sum = LocalSet::new().block_on(&runtime, all(table, walks, steps));
    let took = begin.elapsed().as_secs_f64();
    println!("{sum:016x}");
    eprintln!("{took:.4} s, {:.0} steps/s", (walks * steps) as f64 / took);
    ExitCode::SUCCESS
}
