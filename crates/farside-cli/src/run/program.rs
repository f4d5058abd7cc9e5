//! The program to run: where it is, and whether a preloaded library can manage it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access, getegid, geteuid};

use crate::Failure;

/// How many interpreters of interpreters are followed, as the kernel does.
const MAX_INTERPRETERS: usize = 4;

/// Finds `name` as the shell would: as a path if it has a slash, else along `search`.
pub fn find(name: &OsStr, search: &OsStr) -> Result<PathBuf, Failure> {
    let shown = name.to_string_lossy();
    if name.is_empty() {
        return Err(Failure::not_found("the program's name is empty"));
    }
    if name.as_bytes().contains(&b'/') {
        let path = Path::new(name);
        return match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                Err(Failure::not_executable(format!("cannot run {shown}: {error}")))
            }
            Err(error) => Err(Failure::not_found(format!("cannot run {shown}: {error}"))),
            Ok(_) if executable(path) => Ok(path.to_owned()),
            Ok(found) if found.is_dir() => {
                Err(Failure::not_executable(format!("cannot run {shown}: it is a directory")))
            }
            Ok(_) => Err(Failure::not_executable(format!(
                "cannot run {shown}: it is not executable; try: chmod +x {shown}"
            ))),
        };
    }
    let mut forbidden = None;
    for directory in std::env::split_paths(search) {
        let path = directory.join(name);
        if executable(&path) {
            return Ok(path);
        }
        if path.is_file() {
            forbidden.get_or_insert(path);
        }
    }
    Err(match forbidden {
        Some(path) => {
            Failure::not_executable(format!("cannot run {}: it is not executable", path.display()))
        }
        None => Failure::not_found(format!("cannot run {shown}: no such program in PATH")),
    })
}

fn executable(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}

/// Why the program at `path` cannot be managed by a preloaded library; `None` if it can.
pub fn unmanageable(path: &Path) -> Option<String> {
    let mut path = path.to_owned();
    for _ in 0..MAX_INTERPRETERS {
        let Ok(file) = File::open(&path) else {
            // What can be executed but not read is left to the kernel.
            return None;
        };
        if let Some(reason) = privileged(&file, &path) {
            return Some(reason);
        }
        let mut start = [0; 256];
        let read = read_start(&file, &mut start);
        let Some(line) = start[..read].strip_prefix(b"#!") else {
            return foreign(&file, &start[..read]);
        };
        path = interpreter(line)?;
    }
    None
}

fn read_start(mut file: &File, start: &mut [u8]) -> usize {
    let mut filled = 0;
    while filled < start.len() {
        match file.read(&mut start[filled..]) {
            Ok(read) if read > 0 => filled += read,
            _ => break,
        }
    }
    filled
}

fn interpreter(line: &[u8]) -> Option<PathBuf> {
    let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let name = line.split(|byte| *byte == b' ' || *byte == b'\t').next()?;
    (!name.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(name)))
}

/// Programs that gain privileges ignore preloaded libraries.
pub fn privileged(file: &File, path: &Path) -> Option<String> {
    let about = file.metadata().ok()?;
    let gains_user = about.mode() & libc::S_ISUID != 0 && about.uid() != geteuid().as_raw();
    let gains_group = about.mode() & libc::S_ISGID != 0 && about.gid() != getegid().as_raw();
    if gains_user || gains_group {
        return Some(format!("{} is a setuid program", path.display()));
    }
    let capable = !geteuid().is_root() && has_capabilities(file);
    capable.then(|| format!("{} has file capabilities", path.display()))
}

fn has_capabilities(file: &File) -> bool {
    use std::os::fd::AsRawFd;
    // SAFETY: asks only for the size of the attribute.
    let size = unsafe {
        libc::fgetxattr(file.as_raw_fd(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0)
    };
    size > 0
}

/// Why an ELF file cannot load the library: another class or machine, no interpreter, or one of
/// another C library. Other files are left to the kernel.
fn foreign(file: &File, start: &[u8]) -> Option<String> {
    const PT_INTERP: u32 = 3;
    let header = start.strip_prefix(b"\x7fELF").map(|_| start)?;
    if header.get(4..6)? != [2, 1] {
        return Some("it is not a 64-bit program of this machine".to_owned());
    }
    let half = |at: usize| Some(u16::from_le_bytes(*header.get(at..)?.first_chunk()?));
    let native = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    if half(18)? != native {
        return Some("it was built for another machine".to_owned());
    }
    let table = u64::from_le_bytes(*header.get(32..)?.first_chunk()?);
    let (size, count) = (u64::from(half(54)?), u64::from(half(56)?));
    for i in 0..count {
        let mut entry = [0; 40];
        let at = table.checked_add(i * size)?;
        file.read_exact_at(&mut entry, at).ok()?;
        let word = |at: usize| entry[at..].first_chunk().map(|b| u64::from_le_bytes(*b));
        if entry.first_chunk().map(|kind| u32::from_le_bytes(*kind)) == Some(PT_INTERP) {
            let mut name = vec![0; word(32)?.min(256) as usize];
            file.read_exact_at(&mut name, word(8)?).ok()?;
            let musl = name.windows(7).any(|part| part == b"ld-musl");
            return musl.then(|| "it uses another C library".to_owned());
        }
    }
    Some("it is statically linked".to_owned())
}
