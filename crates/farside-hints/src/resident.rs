//! Tasks that let others run while what they need is on its way.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::hint::Hint;

/// Ready when a value is here; see [`resident`].
#[derive(Debug)]
#[must_use = "nothing is sent for before it is awaited"]
pub struct Resident<'a> {
    hint: Hint,
    sent: bool,
    value: PhantomData<&'a ()>,
}

/// Waits until a value is here, while other tasks run.
///
/// If it is here, that is a look at a table. If not, its pages are sent for, and the executor is asked to look again after
/// the other tasks: that takes microseconds, so that nobody else would wake it.
pub fn resident<T: ?Sized>(value: &T) -> Resident<'_> {
    Resident { hint: Hint::of(value), sent: false, value: PhantomData }
}

impl Resident<'_> {
    /// It will be written, too.
    pub fn written(self) -> Self {
        Self { hint: self.hint.written(), ..self }
    }

    /// So many pages behind will be used next; if negative, before.
    pub fn ahead(self, pages: isize) -> Self {
        Self { hint: self.hint.ahead(pages), ..self }
    }

    /// Eviction priority; see [`Hint::priority`].
    pub fn priority(self, priority: u8) -> Self {
        Self { hint: self.hint.priority(priority), ..self }
    }
}

impl Future for Resident<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let waits = if self.sent { !self.hint.has_arrived() } else { self.hint.start() };
        self.sent = true;
        if waits {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}
