//! Numbers in lines of text.

/// An address that does not fit.
pub(super) const ADDRESS_TOO_LARGE: &str = "an address that does not fit in 64 bits";

/// The number that `digits` are in this base; `None` if they are none or it does not fit in 64 bits.
fn number(digits: &[u8], base: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &digit| {
        let digit = (digit as char).to_digit(base)?;
        number.checked_mul(u64::from(base))?.checked_add(u64::from(digit))
    })
}

/// A decimal number.
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    number(digits, 10)
}

/// A hexadecimal number without a prefix.
pub(super) fn hexadecimal(digits: &[u8]) -> Option<u64> {
    number(digits, 16)
}

/// A hexadecimal number, with or without `0x`.
///
/// # Errors
/// `otherwise` if it is none, [`ADDRESS_TOO_LARGE`] if it does not fit.
pub(super) fn address(text: &[u8], otherwise: &'static str) -> Result<u64, &'static str> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(otherwise);
    }
    hexadecimal(digits).ok_or(ADDRESS_TOO_LARGE)
}

/// The words of a line.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}
