//! A file that a process executes.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use framehop::ExplicitModuleSectionInfo;
use gimli::{BaseAddresses, EhFrame, LittleEndian, UnwindSection};
use object::{
    Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache, ReadRef, SectionKind,
    SegmentFlags, SymbolKind,
};

/// Bytes that are mapped at least.
const PAGE: u64 = 4096;

/// Bytes of a section.
pub type Bytes = Arc<[u8]>;

/// What is known of a file.
#[derive(Debug)]
pub struct Image {
    pub path: PathBuf,
    /// Parts of the file that are executed, and the addresses that the file gives them.
    segments: Vec<(Range<u64>, u64)>,
    /// The tables for unwinding: section and address.
    eh_frame: Option<(Bytes, u64)>,
    eh_frame_hdr: Option<(Bytes, u64)>,
    text: Option<Range<u64>>,
    got: Option<Range<u64>>,
    debug_frame: Option<Bytes>,
    /// The file with its debugging information, if that is kept apart.
    debug_file: Option<PathBuf>,
}

impl Image {
    /// Reads the file at `path`; `None` if it is gone, or nothing that is executed.
    pub fn open(path: &Path) -> Option<Self> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let executed = file.segments().filter(|segment| match segment.flags() {
            SegmentFlags::Elf { p_flags } => p_flags & object::elf::PF_X != 0,
            _ => false,
        });
        let segments = executed.map(|segment| {
            let (start, length) = segment.file_range();
            // Whole pages are mapped, whatever else lies on the first one.
            let before = start % PAGE;
            (start - before..start + length, segment.address().wrapping_sub(before))
        });
        let segments = segments.collect();
        let range = |name| {
            let section = file.section_by_name(name)?;
            Some(section.address()..section.address() + section.size())
        };
        let whole = |name| section(&file, name).map(|(bytes, _)| bytes);
        Some(Self {
            path: path.to_owned(),
            segments,
            eh_frame: section(&file, ".eh_frame"),
            eh_frame_hdr: section(&file, ".eh_frame_hdr"),
            text: range(".text"),
            got: range(".got"),
            debug_frame: whole(".debug_frame"),
            debug_file: debug_file(&file),
        })
    }

    /// The address that the file gives to what lies at `offset` in it.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let (range, address) = self.segments.iter().find(|(range, _)| range.contains(&offset))?;
        Some(address.wrapping_add(offset - range.start))
    }

    /// Where to look for names.
    pub fn file_with_names(&self) -> &Path {
        self.debug_file.as_deref().unwrap_or(&self.path)
    }

    /// What is needed for unwinding.
    pub fn sections(&self) -> ExplicitModuleSectionInfo<Bytes> {
        let range = |section: &Option<(Bytes, u64)>| {
            section.as_ref().map(|(bytes, address)| *address..*address + bytes.len() as u64)
        };
        let bytes =
            |section: &Option<(Bytes, u64)>| section.as_ref().map(|(bytes, _)| bytes.clone());
        ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: self.text.clone(),
            got_svma: self.got.clone(),
            eh_frame_svma: range(&self.eh_frame),
            eh_frame: bytes(&self.eh_frame),
            eh_frame_hdr_svma: range(&self.eh_frame_hdr),
            eh_frame_hdr: bytes(&self.eh_frame_hdr),
            debug_frame: self.debug_frame.clone(),
            ..Default::default()
        }
    }

    /// Up to `most` bytes of code from this address of the file on.
    pub fn code(&self, address: u64, most: usize) -> Option<Vec<u8>> {
        let cache = ReadCache::new(File::open(&self.path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let holds = |section: &object::Section<'_, '_, _>| {
            let start = section.address();
            section.kind() == SectionKind::Text
                && (start..start + section.size()).contains(&address)
        };
        let section = file.sections().find(holds)?;
        let left = section.address() + section.size() - address;
        let bytes = section.data_range(address, left.min(most as u64)).ok()??;
        Some(bytes.to_vec())
    }

    /// Where the function begins that holds this address of the file, as the tables for unwinding tell; programs without
    /// symbols have them, too.
    pub fn function_at(&self, address: u64) -> Option<u64> {
        self.unwound(address).map(|range| range.start)
    }

    /// The code of the function that holds this address of the file: of one of its parts, if it has several.
    pub fn function_range(&self, address: u64) -> Option<Range<u64>> {
        self.unwound(address).or_else(|| self.symbol(address))
    }

    /// The function at an address as the tables for unwinding have it.
    fn unwound(&self, address: u64) -> Option<Range<u64>> {
        let (bytes, start) = self.eh_frame.as_ref()?;
        let mut bases = BaseAddresses::default().set_eh_frame(*start);
        if let Some(text) = &self.text {
            bases = bases.set_text(text.start);
        }
        let section = EhFrame::new(bytes, LittleEndian);
        let fde = section.fde_for_address(&bases, address, EhFrame::cie_from_offset).ok()?;
        let start = fde.initial_address();
        Some(start..start.saturating_add(fde.len()))
    }

    /// The function at an address as the symbols have it.
    fn symbol(&self, address: u64) -> Option<Range<u64>> {
        let cache = ReadCache::new(File::open(&self.path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let range = |symbol: object::Symbol<'_, '_, _>| {
            symbol.address()..symbol.address().saturating_add(symbol.size())
        };
        let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
        functions.map(range).find(|range| range.contains(&address))
    }
}

/// A section's bytes and its address.
fn section<'a, R: ReadRef<'a>>(file: &object::File<'a, R>, name: &str) -> Option<(Bytes, u64)> {
    let section = file.section_by_name(name)?;
    let bytes = section.uncompressed_data().ok()?;
    (!bytes.is_empty()).then(|| (Arc::from(&*bytes), section.address()))
}

/// The file with debugging information that a package of the distribution installed for this build.
fn debug_file<'a, R: ReadRef<'a>>(file: &object::File<'a, R>) -> Option<PathBuf> {
    let id = file.build_id().ok()??;
    let (first, rest) = id.split_first()?;
    let hex: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = PathBuf::from(format!("/usr/lib/debug/.build-id/{first:02x}/{hex}.debug"));
    path.exists().then_some(path)
}
