//! Which names the program and its libraries expect others to define.

use std::ffi::{CStr, c_int, c_void};

/// Entries of a dynamic section.
const DT_NULL: i64 = 0;
const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_STRSZ: i64 = 10;
const DT_JMPREL: i64 = 23;

struct Search<'a> {
    name: &'a CStr,
    found: bool,
}

/// Whether a file that is loaded now expects `name` to be defined elsewhere. To be called at
/// start-up, when all files that the program was linked with are loaded.
pub fn wants(name: &CStr) -> bool {
    let mut search = Search { name, found: false };
    // SAFETY: `look` takes the argument for what it is, and it lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

unsafe extern "C" fn look(
    file: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid description, and the argument is the search of `wants`.
    let (file, search) = unsafe { (&*file, &mut *search.cast::<Search<'_>>()) };
    // SAFETY: the file is loaded, and stays so while it is looked at.
    search.found = unsafe { imports(file, search.name) }.unwrap_or(false);
    c_int::from(search.found)
}

/// What a dynamic section says of a file's symbols, and of the places that refer to them. How many
/// symbols there are it does not say, so that they are found from there.
#[derive(Default)]
struct Tables {
    symbols: usize,
    names: usize,
    names_len: usize,
    /// Where relocations are, and how many bytes of them: those of data, and those of calls.
    relocations: [(usize, usize); 2],
}

/// # Safety
/// The file is loaded.
unsafe fn imports(file: &libc::dl_phdr_info, name: &CStr) -> Option<bool> {
    let base = file.dlpi_addr as usize;
    // SAFETY: the loader keeps the program headers of a loaded file.
    let headers =
        unsafe { std::slice::from_raw_parts(file.dlpi_phdr, usize::from(file.dlpi_phnum)) };
    let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
    // SAFETY: the loader has read this section already: it ends with `DT_NULL`.
    let tables = unsafe { tables(base + dynamic.p_vaddr as usize, base) };
    if tables.symbols == 0 || tables.names == 0 {
        return None;
    }
    let found = tables.relocations.iter().filter(|(at, _)| *at != 0).any(|(at, len)| {
        let count = len / size_of::<libc::Elf64_Rela>();
        // SAFETY: the dynamic section says that there are so many; the loader has read them.
        let all = unsafe { std::slice::from_raw_parts(*at as *const libc::Elf64_Rela, count) };
        all.iter().map(|relocation| (relocation.r_info >> 32) as usize).any(|index| {
            // SAFETY: the tables are those of a loaded file, whose relocations name symbols that it
            // has.
            index != 0 && unsafe { is_undefined(&tables, index, name) }
        })
    });
    Some(found)
}

/// Whether the symbol is `name`, to be defined elsewhere.
///
/// # Safety
/// The tables are those of a loaded file, and it has a symbol `index`.
unsafe fn is_undefined(tables: &Tables, index: usize, name: &CStr) -> bool {
    // SAFETY: it is in the table.
    let symbol = unsafe { &*(tables.symbols as *const libc::Elf64_Sym).add(index) };
    let at = symbol.st_name as usize;
    if symbol.st_shndx != 0 || at + name.count_bytes() >= tables.names_len {
        return false;
    }
    // SAFETY: as many bytes as compared are in the table.
    let bytes = unsafe {
        std::slice::from_raw_parts((tables.names + at) as *const u8, name.count_bytes() + 1)
    };
    bytes == name.to_bytes_with_nul()
}

/// # Safety
/// There is a dynamic section at `at`.
unsafe fn tables(at: usize, base: usize) -> Tables {
    let mut tables = Tables::default();
    let mut entry = at as *const [i64; 2];
    loop {
        // SAFETY: the section goes on until an entry that says it ends.
        let [tag, value] = unsafe { *entry };
        // The loader has added the base in place, but not where it cannot write.
        let value = value as usize;
        let address = if value < base { base + value } else { value };
        match tag {
            DT_NULL => return tables,
            DT_RELA => tables.relocations[0].0 = address,
            DT_RELASZ => tables.relocations[0].1 = value,
            DT_JMPREL => tables.relocations[1].0 = address,
            DT_PLTRELSZ => tables.relocations[1].1 = value,
            DT_STRTAB => tables.names = address,
            DT_SYMTAB => tables.symbols = address,
            DT_STRSZ => tables.names_len = value,
            _ => {}
        }
        // SAFETY: as above.
        entry = unsafe { entry.add(1) };
    }
}
