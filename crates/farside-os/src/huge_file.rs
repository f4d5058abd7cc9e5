//! A file in memory that is made of huge pages.
//!
//! Reading and writing pages of it costs about half: the kernel finds one entry where there would be
//! 512, and takes memory for it in one step. Files that are made without a file system follow a setting
//! of the whole machine, which is off by default, so the file comes from a file system of its own,
//! which is mounted nowhere and goes with its last file.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::Result;
use crate::error::check;

const SUBJECT: &str = "a file system for memory in huge pages";
const FSOPEN_CLOEXEC: u32 = 1;
const FSMOUNT_CLOEXEC: u32 = 1;
const FSCONFIG_SET_STRING: u32 = 1;
const FSCONFIG_CMD_CREATE: u32 = 6;

/// Makes a file of `len` bytes without a name, closed on exec. It takes memory only where it is
/// written.
///
/// # Errors
/// `EPERM` for users who may not mount file systems, `EINVAL` from kernels without transparent huge
/// pages, `ENOSYS` from kernels before 5.2: an [anonymous file](crate::memory::anonymous_file) does
/// the same, more slowly.
pub fn huge_file(len: u64) -> Result<OwnedFd> {
    // SAFETY: the name is a valid C string.
    let fs = unsafe { libc::syscall(libc::SYS_fsopen, c"tmpfs".as_ptr(), FSOPEN_CLOEXEC) };
    let fs = owned(fs, "fsopen")?;
    // Without bounds: what limits the node is the machine.
    for (key, value) in [(c"huge", c"always"), (c"size", c"0"), (c"nr_inodes", c"0")] {
        configure(&fs, FSCONFIG_SET_STRING, Some((key, value)))?;
    }
    configure(&fs, FSCONFIG_CMD_CREATE, None)?;
    // That nobody wants to know when it was read makes reading cheaper.
    // SAFETY: plain system call on a descriptor of ours.
    let root = unsafe {
        libc::syscall(libc::SYS_fsmount, fs.as_raw_fd(), FSMOUNT_CLOEXEC, libc::MOUNT_ATTR_NOATIME)
    };
    let root = owned(root, "fsmount")?;
    let flags = libc::O_TMPFILE | libc::O_RDWR | libc::O_CLOEXEC;
    // SAFETY: the path is a valid C string.
    let file =
        unsafe { libc::syscall(libc::SYS_openat, root.as_raw_fd(), c".".as_ptr(), flags, 0o600) };
    let file = owned(file, "openat")?;
    // SAFETY: plain system call on a descriptor of ours.
    let result = unsafe { libc::ftruncate(file.as_raw_fd(), len as libc::off_t) };
    check(i64::from(result), "ftruncate", SUBJECT)?;
    Ok(file)
}

fn owned(fd: i64, call: &'static str) -> Result<OwnedFd> {
    let fd = check(fd, call, SUBJECT)?;
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn configure(fs: &OwnedFd, command: u32, option: Option<(&CStr, &CStr)>) -> Result<()> {
    let (key, value) = option.map_or((std::ptr::null(), std::ptr::null()), |(key, value)| {
        (key.as_ptr(), value.as_ptr())
    });
    // SAFETY: both are null or valid C strings.
    let result =
        unsafe { libc::syscall(libc::SYS_fsconfig, fs.as_raw_fd(), command, key, value, 0) };
    check(result, "fsconfig", SUBJECT).map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::memory::{PAGE, punch_hole, read_at, write_at};

    #[test]
    fn it_holds_what_is_written_and_gives_back_what_is_punched() {
        let file = match huge_file(1 << 40) {
            Ok(file) => file,
            Err(error) => {
                let test = "it_holds_what_is_written_and_gives_back_what_is_punched";
                return println!("skipped: {test}: {error}");
            }
        };
        let far = (1 << 39) + 5 * PAGE as u64;
        write_at(file.as_fd(), far, &[7; PAGE], "the file").expect("there is room");
        let mut page = [1; PAGE];
        read_at(file.as_fd(), far, &mut page, "the file").expect("reads");
        assert_eq!(page, [7; PAGE]);
        read_at(file.as_fd(), far + PAGE as u64, &mut page, "the file").expect("reads");
        assert_eq!(page, [0; PAGE], "its neighbours are empty");
        punch_hole(file.as_fd(), far, PAGE as u64, "the file").expect("punches");
        read_at(file.as_fd(), far, &mut page, "the file").expect("reads");
        assert_eq!(page, [0; PAGE]);
    }
}
