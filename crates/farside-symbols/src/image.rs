//! A file that a process executes.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
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
    /// The file itself, which may be replaced meanwhile.
    file: File,
    /// Sections with code: their addresses, and where they lie in the file.
    code: Vec<(Range<u64>, u64)>,
    /// Addresses of what does not change while a program runs.
    constant: Vec<Range<u64>>,
    /// The file with its debugging information, if that is kept apart.
    debug_file: Option<PathBuf>,
}

impl Image {
    /// Reads the file at `path`; `None` if it is gone, or nothing that is executed.
    pub fn open(path: &Path) -> Option<Self> {
        let opened = File::open(path).ok()?;
        let cache = ReadCache::new(&opened);
        let file = object::File::parse(&cache).ok()?;
        let executed = file.segments().filter(|segment| match segment.flags() {
            SegmentFlags::Elf { p_flags } => p_flags & object::elf::PF_X != 0,
            _ => false,
        });
        let segments = executed.map(|segment| {
            let (start, length) = segment.file_range();
            // Whole pages are mapped, whatever else lies on the first one.
            let before = start % PAGE;
            (start - before..start.saturating_add(length), segment.address().wrapping_sub(before))
        });
        let segments = segments.collect();
        let range = |name| Some(addresses(&file.section_by_name(name)?));
        let whole = |name| section(&file, name).map(|(bytes, _)| bytes);
        let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
        let code = code.filter_map(|section| Some((addresses(&section), section.file_range()?.0)));
        let constant = file.sections().filter(is_constant).map(|section| addresses(&section));
        let (code, constant) = (code.collect(), constant.collect());
        let (eh_frame, eh_frame_hdr) =
            (section(&file, ".eh_frame"), section(&file, ".eh_frame_hdr"));
        let (text, got, debug_frame) = (range(".text"), range(".got"), whole(".debug_frame"));
        let debug_file = debug_file(&file);
        drop(cache);
        Some(Self {
            path: path.to_owned(),
            segments,
            eh_frame,
            eh_frame_hdr,
            text,
            got,
            debug_frame,
            file: opened,
            code,
            constant,
            debug_file,
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
        let (range, offset) = self.code.iter().find(|(range, _)| range.contains(&address))?;
        let length = (range.end - address).min(most as u64);
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        let offset = offset.checked_add(address - range.start)?;
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }

    /// Whether memory at this address of the file does not change while a program runs.
    pub fn is_constant(&self, address: u64) -> bool {
        self.constant.iter().any(|range| range.contains(&address))
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

/// The addresses that a section has.
fn addresses<'a>(section: &impl ObjectSection<'a>) -> Range<u64> {
    section.address()..section.address().saturating_add(section.size())
}

/// Whether a section is not changed while a program runs, but for what is put into it when it is loaded.
fn is_constant<'a>(section: &impl ObjectSection<'a>) -> bool {
    let is_relocated = |name| [".got", ".got.plt", ".data.rel.ro"].contains(&name);
    section.kind() == SectionKind::ReadOnlyData || section.name().is_ok_and(is_relocated)
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
