//! Which files a process executes, and where.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::image::Image;

/// An instruction in a file.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The file: its number among [`Images`].
    pub image: u32,
    /// The address that the file gives to the instruction.
    pub address: u64,
}

/// A mapping of a file.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Mapped {
    pub end: u64,
    pub image: u32,
    /// What to subtract from an address of the process to get one of the file.
    pub bias: u64,
}

/// The files that a process executes. What was unmapped is remembered until something else is mapped there.
#[derive(Debug, Default)]
pub struct Images {
    images: Vec<Image>,
    mapped: BTreeMap<u64, Mapped>,
}

impl Images {
    /// What the process `pid` has mapped.
    ///
    /// # Errors
    /// If there is no such process, or this user may not look at it.
    pub fn of_process(pid: u32) -> io::Result<Self> {
        let text = std::fs::read(format!("/proc/{pid}/maps"))?;
        let mut images = Self::default();
        for line in text.split(|byte| *byte == b'\n') {
            if let Some(Line { start, end, offset, path, executable: true }) = Line::read(line) {
                images.map(start, end.saturating_sub(start), offset, path);
            }
        }
        Ok(images)
    }

    /// Takes note that `length` bytes of a file, from `offset` on, are mapped at `start`; returns whether they are of a
    /// file that can be read.
    pub fn map(&mut self, start: u64, length: u64, offset: u64, path: &[u8]) -> bool {
        let end = start.saturating_add(length);
        self.forget(start, end);
        let Some(image) = self.image(Path::new(OsStr::from_bytes(path))) else { return false };
        let Some(address) = self.images[image as usize].address_of(offset) else { return false };
        self.mapped.insert(start, Mapped { end, image, bias: start.wrapping_sub(address) });
        true
    }

    /// Takes note of what the same process has mapped by now.
    pub fn learn(&mut self, now: Self) {
        let Self { images, mapped } = now;
        for (start, mapped) in mapped {
            if self.mapped.get(&start).is_some_and(|known| known.end == mapped.end) {
                continue;
            }
            self.forget(start, mapped.end);
            if let Some(image) = self.image(&images[mapped.image as usize].path) {
                self.mapped.insert(start, Mapped { image, ..mapped });
            }
        }
    }

    /// Forgets what was mapped in a range.
    fn forget(&mut self, start: u64, end: u64) {
        let overlapping = self.mapped.range(..end).filter(|(_, mapped)| mapped.end > start);
        let overlapping: Vec<u64> = overlapping.map(|(start, _)| *start).collect();
        overlapping.iter().for_each(|start| {
            self.mapped.remove(start);
        });
    }

    /// The number of the file at `path`, which is read if it is new.
    fn image(&mut self, path: &Path) -> Option<u32> {
        if !path.is_absolute() {
            // Memory without a file, or code of the kernel.
            return None;
        }
        if let Some(known) = self.images.iter().position(|image| image.path == path) {
            return Some(known as u32);
        }
        self.images.push(Image::open(path)?);
        Some(self.images.len() as u32 - 1)
    }

    /// Where an address of the process lies in a file.
    pub fn place(&self, address: u64) -> Option<Place> {
        let (_, mapped) = self.mapped.range(..=address).next_back()?;
        (address < mapped.end)
            .then(|| Place { image: mapped.image, address: address.wrapping_sub(mapped.bias) })
    }

    /// The file with this number.
    ///
    /// # Panics
    /// If no [`Place`] has it.
    pub fn path(&self, image: u32) -> &Path {
        &self.images[image as usize].path
    }

    pub(crate) fn mapped(&self) -> impl Iterator<Item = (u64, Mapped, &Image)> {
        self.mapped
            .iter()
            .map(|(start, mapped)| (*start, *mapped, &self.images[mapped.image as usize]))
    }

    pub(crate) fn all(&self) -> &[Image] {
        &self.images
    }

    /// Where the function of this instruction begins, if the tables for unwinding tell.
    pub fn function_of(&self, place: Place) -> Option<u64> {
        self.images.get(place.image as usize)?.function_at(place.address)
    }
}

/// A line of a list of mappings (`proc_pid_maps(5)`).
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    start: u64,
    end: u64,
    offset: u64,
    executable: bool,
    path: &'a [u8],
}

impl<'a> Line<'a> {
    fn read(line: &'a [u8]) -> Option<Self> {
        // Range, permissions, offset, device, inode, and, after spaces, the path, which may hold spaces.
        let mut fields = line.splitn(6, |byte| *byte == b' ');
        let mut text = || std::str::from_utf8(fields.next()?).ok();
        let (start, end) = text()?.split_once('-')?;
        let permissions = text()?;
        let offset = text()?;
        let (_device, _inode) = (text()?, text()?);
        let number = |text| u64::from_str_radix(text, 16).ok();
        let path = fields.next().unwrap_or_default();
        Some(Self {
            start: number(start)?,
            end: number(end)?,
            offset: number(offset)?,
            executable: permissions.as_bytes().get(2) == Some(&b'x'),
            path: path.trim_ascii_start(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_read() {
        let line = b"7f00-8f00 r-xp 00001000 fe:00 1234   /usr/lib/a name with spaces (deleted)";
        let read = Line::read(line).expect("a line");
        assert_eq!((read.start, read.end, read.offset), (0x7f00, 0x8f00, 0x1000));
        assert!(read.executable);
        assert_eq!(read.path, b"/usr/lib/a name with spaces (deleted)");
        assert_eq!(Line::read(b"7f00-8f00 rw-p 00000000 00:00 0 ").expect("a line").path, b"");
    }

    proptest! {
        #[test]
        fn nonsense_is_no_line(line in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = Line::read(&line);
        }
    }

    #[test]
    fn what_is_mapped_later_hides_what_was_there() {
        let text = std::fs::read("/proc/self/maps").expect("own mappings");
        let here = what_is_mapped_later_hides_what_was_there as *const () as u64;
        let lines = text.split(|byte| *byte == b'\n').filter_map(Line::read);
        let line = { lines }.find(|line| (line.start..line.end).contains(&here)).expect("own code");
        let mut images = Images::of_process(std::process::id()).expect("own mappings");
        let place = images.place(here).expect("own code");
        assert_eq!(images.path(place.image).as_os_str().as_bytes(), line.path);
        assert!(!images.map(here - 100, 4096, 0, b"[anonymous]"));
        assert_eq!(images.place(here), None);
        assert!(images.map(here, 4096, line.offset, line.path));
        assert_eq!(images.place(here).map(|place| place.image), Some(place.image));
        assert_eq!(
            images
                .all()
                .iter()
                .filter(|image| image.path.as_os_str().as_bytes() == line.path)
                .count(),
            1
        );
    }
}
