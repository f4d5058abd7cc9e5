//! What must hold of the pager, the address space and the store at any time that nobody works.

use std::sync::atomic::Ordering::Relaxed;

use farside_pager::{Place, Worker};

use crate::PAGE;
use crate::arena::REGION;
use crate::program::World;

/// Keeps everybody out of the pager, as a fork does, and compares the whole of it with the model.
pub fn hold_still(world: &World, worker: &mut Worker) {
    world.pager.close_gate();
    world.scheduler.note("holds still", 0, 0);
    while world.or_stop(world.pager.complete_oldest(worker)) == Some(true) {}
    check_frames(world);
    check_sample(world);
    if !world.store.lost() {
        check_contents(world);
    }
    world.pager.open_gate();
}

/// Frames are where the pager thinks they are, and guarded where it must see writes.
pub fn check_frames(world: &World) {
    for (page, place) in world.pager.inspect().pages.iter().enumerate() {
        let state = world.space.state(page);
        match place {
            Place::Resident { writable } => {
                assert!(state.present, "page {page} is resident, but not there");
                assert!(*writable || state.guarded, "writes to page {page} would go unseen");
            }
            Place::Watched { position } => {
                assert!(!state.present, "page {page} is watched, but mapped");
                assert!(world.space.in_area(*position), "page {page} has no frame");
            }
            Place::Busy => panic!("page {page} stays in transition"),
            _ => assert!(!state.present, "page {page} is {place:?}, but mapped"),
        }
    }
}

/// The policy knows which pages are tracked, if it wants to.
pub fn check_sample(world: &World) {
    if let Some(sample) = world.pager.inspect().sample {
        assert_eq!(world.told.load(Relaxed), sample.halvings(), "the policy was told otherwise");
    }
}

/// Compares the content of all allocated pages, wherever they are, with the model.
pub fn check_contents(world: &World) {
    let places = world.pager.inspect().pages;
    let model = world.model.borrow();
    for object in model.objects.iter().flatten().filter(|object| !object.exclusive) {
        for page in object.first..object.first + object.count {
            let place = places[page as usize];
            let content = match place {
                Place::Untouched | Place::Zero => vec![0; PAGE],
                Place::Far => world.store.content(page).map_or_else(Vec::new, Vec::from),
                Place::Watched { position } => world.space.content(REGION + position as usize),
                Place::Resident { .. } => world.space.content(page as usize),
                Place::Busy | Place::Foreign => panic!("page {page} is {place:?} while held still"),
            };
            assert!(!content.is_empty(), "page {page} is far, but not stored");
            if let Err(wrong) = model.allows(page, &content) {
                panic!("{place:?}: {wrong}");
            }
        }
    }
}
