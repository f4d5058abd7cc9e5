//! Random bytes from the kernel.

use crate::{OsError, Result};

/// Fills `bytes`, of which there may be up to 256, with unpredictable ones.
pub fn fill(bytes: &mut [u8]) -> Result<()> {
    let error = |errno| OsError { call: "getrandom", subject: "random bytes", errno };
    // SAFETY: the slice has room for the bytes asked for.
    let n = unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), bytes.len(), 0) };
    match n {
        -1 => Err(error(crate::last_errno())),
        // Up to 256 bytes come whole.
        n if n as usize == bytes.len() => Ok(()),
        _ => Err(error(libc::EIO)),
    }
}

/// A number that nobody else draws: for names of what there must not be two of.
pub fn number() -> Result<u128> {
    let mut bytes = [0; 16];
    fill(&mut bytes)?;
    Ok(u128::from_le_bytes(bytes))
}
