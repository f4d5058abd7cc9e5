//! How much work an examined program gets.

/// Whether the exam runs at full size.
pub fn full() -> bool {
    std::env::var_os("FARSIDE_EXAM_FULL").is_some_and(|value| value == "1")
}

/// The second value in a full exam, else the first.
pub fn pick<T>(reduced: T, at_full_size: T) -> T {
    if full() { at_full_size } else { reduced }
}
