//! Parameters of a prefetcher, as a user says them: `name=number,...`.

/// Reads parameters, and hands each to `set`. The error says what is wrong.
pub(super) fn read(
    text: &str,
    mut set: impl FnMut(&str, u32) -> Result<(), String>,
) -> Result<(), String> {
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("{part:?} is not of the form NAME=NUMBER"))?;
        let value = value.parse().map_err(|_| format!("{name} must be a number, not {value:?}"))?;
        set(name, value)?;
    }
    Ok(())
}
