//! Writes tapes in a thread of its own, while the next steps are planned.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use farside_trace::tape::{Step, TapeError, TapeWriter};

/// Steps that are handed over at once.
const CHUNK_STEPS: usize = 1 << 13;

/// Most chunks that wait to be written.
const MOST_WAITING: usize = 32;

/// Steps of one plan and one of its threads.
#[derive(Debug, Default)]
struct Chunk {
    plan: usize,
    thread: u32,
    steps: Vec<Step>,
}

/// Tapes that are being written.
pub struct Tapes {
    /// By plan: what is not handed over yet.
    gathered: Vec<Chunk>,
    chunks: SyncSender<Chunk>,
    thread: JoinHandle<Result<Vec<TapeWriter>, TapeError>>,
}

impl Tapes {
    /// Before the first step; `writers` by plan.
    ///
    /// # Errors
    /// If there can be no thread.
    pub fn begin(writers: Vec<TapeWriter>) -> io::Result<Self> {
        let chunk = |plan| Chunk { plan, ..Chunk::default() };
        let gathered = (0..writers.len()).map(chunk).collect();
        let (chunks, come) = sync_channel(MOST_WAITING);
        let builder = std::thread::Builder::new().name("tape writer".to_owned());
        let thread = builder.spawn(move || write(writers, &come))?;
        Ok(Self { gathered, chunks, thread })
    }

    /// The next steps of a plan; whether more can be written. [`end`](Self::end) says why not.
    pub fn push(&mut self, plan: usize, thread: u32, steps: &[Step]) -> bool {
        let gathered = &self.gathered[plan];
        let full = gathered.steps.len() + steps.len() > CHUNK_STEPS || gathered.thread != thread;
        if full && !self.hand_over(plan) {
            return false;
        }
        let gathered = &mut self.gathered[plan];
        gathered.thread = thread;
        gathered.steps.extend_from_slice(steps);
        true
    }

    fn hand_over(&mut self, plan: usize) -> bool {
        let gathered = &mut self.gathered[plan];
        if gathered.steps.is_empty() {
            return true;
        }
        let next = Chunk { plan, thread: 0, steps: Vec::with_capacity(CHUNK_STEPS) };
        self.chunks.send(std::mem::replace(gathered, next)).is_ok()
    }

    /// Writes what is left; the writers, which got all steps.
    ///
    /// # Errors
    /// Why not all could be written.
    pub fn end(mut self) -> Result<Vec<TapeWriter>, TapeError> {
        for plan in 0..self.gathered.len() {
            // If that fails, the thread says why.
            let _ = self.hand_over(plan);
        }
        drop(self.chunks);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn write(
    mut writers: Vec<TapeWriter>,
    chunks: &Receiver<Chunk>,
) -> Result<Vec<TapeWriter>, TapeError> {
    for chunk in chunks {
        let writer = &mut writers[chunk.plan];
        chunk.steps.iter().try_for_each(|step| writer.push(chunk.thread, *step))?;
    }
    Ok(writers)
}
