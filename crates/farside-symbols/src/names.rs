//! The names of places: functions, inlined ones among them, files and lines.

use std::borrow::Cow;
use std::collections::HashMap;

use addr2line::Loader;

use crate::images::{Images, Place};

/// A function that an instruction belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// Its name; if there is none, the file and where the function begins in it.
    pub function: String,
    /// The file's name, without folders.
    pub image: String,
    /// The source file, if debugging information says.
    pub file: Option<String>,
    /// The line, counted from 1.
    pub line: Option<u32>,
    /// Whether the function was inlined into the next one.
    pub inlined: bool,
}

/// Finds names; debugging information is read when it is first needed.
#[derive(Default)]
pub struct Names {
    loaders: HashMap<u32, Option<Loader>>,
    known: HashMap<Place, Vec<Frame>>,
}

impl Names {
    /// The functions of a place: the innermost inlined one first, the one that was called last. There is at least one.
    pub fn frames(&mut self, images: &Images, place: Place) -> &[Frame] {
        let loaders = &mut self.loaders;
        self.known.entry(place).or_insert_with(|| {
            let loader = loaders.entry(place.image).or_insert_with(|| {
                let image = images.all().get(place.image as usize)?;
                let apart = Loader::new(image.file_with_names()).ok();
                apart.or_else(|| Loader::new(&image.path).ok())
            });
            look_up(loader.as_ref(), images, place)
        })
    }
}

/// A name in an object as it is in the source, with its types; any other name as it is.
pub fn demangled(name: &str) -> String {
    addr2line::demangle_auto(Cow::Borrowed(name), None).into_owned()
}

fn look_up(loader: Option<&Loader>, images: &Images, place: Place) -> Vec<Frame> {
    let image = images.path(place.image).file_name();
    let image = image.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let symbol = || {
        let name = loader?.find_symbol(place.address)?;
        Some(demangled(name))
    };
    let unnamed = || match images.function_of(place) {
        Some(start) => format!("{image}+{start:#x}"),
        None => format!("{image}+{:#x}", place.address),
    };
    let mut frames = Vec::new();
    if let Some(mut found) = loader.and_then(|loader| loader.find_frames(place.address).ok()) {
        while let Ok(Some(frame)) = found.next() {
            let name = frame.function.as_ref().and_then(|name| name.demangle().ok());
            let function = name.map(Cow::into_owned).or_else(symbol).unwrap_or_else(unnamed);
            let location = frame.location.as_ref();
            frames.push(Frame {
                function,
                image: image.clone(),
                file: location.and_then(|location| location.file).map(str::to_owned),
                line: location.and_then(|location| location.line).filter(|line| *line > 0),
                inlined: true,
            });
        }
    }
    if frames.is_empty() {
        let function = symbol().unwrap_or_else(unnamed);
        frames.push(Frame { function, image, file: None, line: None, inlined: true });
    }
    if let Some(outermost) = frames.last_mut() {
        outermost.inlined = false;
    }
    frames
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Names").finish_non_exhaustive()
    }
}
