//! Machine code that came as an object file, put where it can be run.

use std::collections::HashMap;

use farside_os::OsError;
use farside_os::code::Code;
use farside_os::memory::PAGE;
use object::elf::{
    R_X86_64_64, R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX, R_X86_64_PC32, R_X86_64_PC64,
    R_X86_64_PLT32, R_X86_64_REX_GOTPCRELX, SHF_ALLOC, SHF_EXECINSTR, SHF_TLS,
};
use object::read::elf::ElfFile64;
use object::{
    Architecture, Endianness, Object, ObjectKind, ObjectSection, ObjectSymbol, RelocationFlags,
    RelocationTarget, SectionFlags, SectionIndex, SymbolIndex, SymbolSection,
};
use thiserror::Error;

use crate::functions;

/// Most bytes of an image in memory.
const MOST: u64 = 64 << 20;

/// What is the first part of the names of functions that can be called.
const ENTRY: &str = "farside_entry_";

/// What has to be added to pointers into sections.
const BASES: &str = "farside_bases";

/// Most functions that can be called.
const MOST_ENTRIES: usize = 1 << 16;

/// Why code cannot be run here.
#[derive(Debug, Error)]
pub enum BadImage {
    /// It is no object file, or damaged.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] object::Error),
    /// It is for another machine, or made in another way.
    #[error("{0}")]
    Unfit(String),
    /// There is no room for it.
    #[error(transparent)]
    Os(#[from] OsError),
}

fn unfit<T>(why: impl Into<String>) -> Result<T, BadImage> {
    Err(BadImage::Unfit(why.into()))
}

type File<'a> = ElfFile64<'a, Endianness>;

/// Code that can be run.
#[derive(Debug)]
pub struct Image {
    code: Code,
    entries: Vec<usize>,
    bases: usize,
    sections: usize,
}

/// Where the sections of a file go, from the start of an image on.
struct Layout {
    places: HashMap<SectionIndex, u64>,
    /// Bytes that can be run, whole pages.
    text: u64,
    /// Addresses of functions that are elsewhere.
    outside: u64,
    len: u64,
}

fn elf_flags<'a>(section: &impl ObjectSection<'a>) -> u64 {
    match section.flags() {
        SectionFlags::Elf { sh_flags } => sh_flags,
        _ => 0,
    }
}

/// Moves `end` behind `len` bytes at a multiple of `align`, which are where it returns.
fn take(end: &mut u64, len: u64, align: u64) -> Result<u64, BadImage> {
    let align = align.max(1);
    if !align.is_power_of_two() || align > PAGE as u64 {
        return unfit(format!("a part of it lies at multiples of {align} bytes"));
    }
    let start = end.next_multiple_of(align);
    match start.checked_add(len) {
        Some(after) if after <= MOST => *end = after,
        _ => return unfit("it is too long"),
    }
    Ok(start)
}

impl Layout {
    fn of(file: &File<'_>, outside: usize) -> Result<Self, BadImage> {
        let mut layout = Self { places: HashMap::new(), text: 0, outside: 0, len: 0 };
        let page = PAGE as u64;
        for text in [true, false] {
            for section in file.sections() {
                let flags = elf_flags(&section);
                let is_text = flags & u64::from(SHF_EXECINSTR) != 0;
                if flags & u64::from(SHF_ALLOC) == 0 || is_text != text {
                    continue;
                }
                if flags & u64::from(SHF_TLS) != 0 {
                    return unfit("it has variables of each thread's own");
                }
                let place = take(&mut layout.len, section.size(), section.align())?;
                layout.places.insert(section.index(), place);
            }
            if text {
                layout.len = layout.len.next_multiple_of(page);
                layout.text = layout.len;
            }
        }
        layout.outside = take(&mut layout.len, 8 * outside as u64, 8)?;
        Ok(layout)
    }
}

/// A file that is being put into memory.
struct Linking<'a> {
    file: &'a File<'a>,
    layout: Layout,
    /// Where the address of each symbol that is elsewhere is found.
    outside: HashMap<SymbolIndex, u64>,
    base: u64,
    content: Vec<u8>,
}

impl Image {
    /// Puts an object file into memory.
    ///
    /// # Errors
    /// If it is none, refers to what is not offered, or there is no room.
    pub fn link(bytes: &[u8]) -> Result<Self, BadImage> {
        let file = File::parse(bytes)?;
        if file.kind() != ObjectKind::Relocatable || file.architecture() != Architecture::X86_64 {
            return unfit("it is no object file for x86-64");
        }
        if cfg!(not(target_arch = "x86_64")) {
            return unfit("this machine is no x86-64");
        }
        let mut addresses = Vec::new();
        let mut outside = HashMap::new();
        for symbol in file.symbols().filter(|symbol| symbol.is_undefined()) {
            let name = symbol.name()?;
            if name.is_empty() || name == "_GLOBAL_OFFSET_TABLE_" {
                continue;
            }
            let Some(address) = functions::address(name) else {
                return unfit(format!("it needs '{name}'"));
            };
            outside.insert(symbol.index(), addresses.len() as u64 * 8);
            addresses.push(address);
        }
        let layout = Layout::of(&file, addresses.len())?;
        let mut code = Code::reserve(layout.len as usize)?;
        let content = vec![0; layout.len as usize];
        let base = code.base() as u64;
        let mut linking = Linking { file: &file, layout, outside, base, content };
        linking.copy(&addresses)?;
        linking.relocate()?;
        let (entries, bases, sections) = linking.find_entries()?;
        code.fill(&linking.content, linking.layout.text as usize)?;
        Ok(Self { code, entries, bases, sections })
    }

    /// Functions that can be called.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Sections that their pointers may lead to.
    pub fn sections(&self) -> usize {
        self.sections
    }

    /// Says what has to be added to pointers into a section.
    ///
    /// # Panics
    /// If there is no section of that number.
    pub fn set_base(&mut self, section: usize, base: u64) {
        assert!(section < self.sections, "there are {} sections", self.sections);
        self.code.set(self.bases + 8 * section, base);
    }

    /// Calls a function.
    ///
    /// # Safety
    /// This is a process in which no harm comes of whatever it does.
    ///
    /// # Panics
    /// If there is no function of that number.
    pub unsafe fn call(&self, entry: usize, input: usize, output: usize) {
        // SAFETY: the compiler makes such functions by that name; what comes of it is up to the caller.
        unsafe { self.code.call(self.entries[entry], input, output) };
    }
}

impl Linking<'_> {
    fn copy(&mut self, addresses: &[u64]) -> Result<(), BadImage> {
        for (index, place) in &self.layout.places {
            // Of what is zeros at first, nothing is in the file.
            let data = self.file.section_by_index(*index)?.data()?;
            self.content[*place as usize..][..data.len()].copy_from_slice(data);
        }
        for (at, address) in addresses.iter().enumerate() {
            let place = self.layout.outside as usize + 8 * at;
            self.content[place..place + 8].copy_from_slice(&address.to_le_bytes());
        }
        Ok(())
    }

    fn relocate(&mut self) -> Result<(), BadImage> {
        let places: Vec<_> = self.layout.places.iter().map(|(i, place)| (*i, *place)).collect();
        for (index, place) in places {
            let section = self.file.section_by_index(index)?;
            let len = section.size();
            for (offset, relocation) in section.relocations() {
                let RelocationTarget::Symbol(symbol) = relocation.target() else {
                    return unfit("it refers to what is no symbol");
                };
                let RelocationFlags::Elf { r_type } = relocation.flags() else {
                    return unfit("it refers to something in an unknown way");
                };
                let width = if matches!(r_type, R_X86_64_64 | R_X86_64_PC64) { 8 } else { 4 };
                if offset.checked_add(width).is_none_or(|end| end > len) {
                    return unfit("it refers to something from beyond its own end");
                }
                let value = self.value(r_type, symbol, relocation.addend(), place + offset)?;
                let at = (place + offset) as usize;
                self.content[at..at + width as usize]
                    .copy_from_slice(&value.to_le_bytes()[..width as usize]);
            }
        }
        Ok(())
    }

    /// What a reference is replaced by; `place` is where it is.
    fn value(
        &self,
        kind: u32,
        symbol: SymbolIndex,
        addend: i64,
        place: u64,
    ) -> Result<u64, BadImage> {
        let here = self.base + place;
        let target = match kind {
            R_X86_64_GOTPCREL | R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX => {
                let Some(slot) = self.outside.get(&symbol) else {
                    return unfit("it looks up an address that it has itself");
                };
                self.base + self.layout.outside + slot
            }
            R_X86_64_64 | R_X86_64_PC32 | R_X86_64_PC64 | R_X86_64_PLT32 => self.address(symbol)?,
            _ => return unfit(format!("it refers to something in an unknown way, {kind}")),
        };
        let target = target.wrapping_add_signed(addend);
        if kind == R_X86_64_64 {
            return Ok(target);
        }
        let distance = target.wrapping_sub(here) as i64;
        if kind != R_X86_64_PC64 && i32::try_from(distance).is_err() {
            return unfit("it refers to what is too far away");
        }
        Ok(distance as u64)
    }

    /// Where a symbol of the file itself is.
    fn address(&self, symbol: SymbolIndex) -> Result<u64, BadImage> {
        self.offset(symbol).map(|offset| self.base + offset)
    }

    fn offset(&self, symbol: SymbolIndex) -> Result<u64, BadImage> {
        let symbol = self.file.symbol_by_index(symbol)?;
        let SymbolSection::Section(section) = symbol.section() else {
            return unfit(format!("'{}' is not in it", symbol.name().unwrap_or("?")));
        };
        let Some(place) = self.layout.places.get(&section) else {
            return unfit("it refers to a part of itself that is not for running");
        };
        if symbol.address() > self.file.section_by_index(section)?.size() {
            return unfit("a symbol is beyond its section");
        }
        Ok(place + symbol.address())
    }

    /// Offsets of functions that can be called, and of the table, with its length.
    fn find_entries(&self) -> Result<(Vec<usize>, usize, usize), BadImage> {
        let (mut entries, mut table) = (Vec::new(), None);
        for symbol in self.file.symbols().filter(|symbol| symbol.is_definition()) {
            let name = symbol.name()?;
            if name == BASES {
                table = Some((self.offset(symbol.index())?, symbol.size()));
            }
            let Some(number) = name.strip_prefix(ENTRY).and_then(|text| text.parse().ok()) else {
                continue;
            };
            let offset = self.offset(symbol.index())?;
            if number >= MOST_ENTRIES || offset >= self.layout.text {
                return unfit(format!("'{name}' is no function that can be called"));
            }
            if entries.len() <= number {
                entries.resize(number + 1, usize::MAX);
            }
            entries[number] = offset as usize;
        }
        let Some((bases, len)) = table else { return unfit(format!("it has no '{BASES}'")) };
        let ends = bases.checked_add(len);
        let fits = ends.is_some_and(|end| end <= self.layout.len) && bases >= self.layout.text;
        if !fits || !bases.is_multiple_of(8) || entries.contains(&usize::MAX) {
            return unfit(format!("'{BASES}' is no table, or a function is missing"));
        }
        Ok((entries, bases as usize, (len / 8) as usize))
    }
}
