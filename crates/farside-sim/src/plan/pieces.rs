//! The accesses and the mapping events of a block in their order.

use farside_trace::{Access, Block, MappingEvent};

/// Something that comes next.
pub(super) enum Piece<'a> {
    Event(&'a MappingEvent),
    /// Accesses with no event among them, and the number of the first.
    Accesses(u64, &'a [Access]),
}

/// Calls `each` with all that is in `block`, until it fails.
pub(super) fn pieces<E>(
    block: &Block,
    mut each: impl FnMut(Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut events = block.events.iter().peekable();
    let mut from = 0;
    loop {
        let now = block.first + from as u64;
        while let Some(event) = events.next_if(|event| event.access <= now) {
            each(Piece::Event(event))?;
        }
        let ahead = events.peek().map_or(u64::MAX, |event| event.access - block.first);
        let end = block.accesses.len().min(usize::try_from(ahead).unwrap_or(usize::MAX));
        if from == end {
            break;
        }
        each(Piece::Accesses(now, &block.accesses[from..end]))?;
        from = end;
    }
    events.try_for_each(|event| each(Piece::Event(event)))
}
