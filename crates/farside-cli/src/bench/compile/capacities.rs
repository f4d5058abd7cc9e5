//! Capacities of sections by what they hold and how much memory is local.

use crate::bench::Failure;

/// What the paged region keeps when sections take the rest: its least, and what the program has besides.
const PAGED: u64 = (1 << 20) + (256 << 10);

/// Most that a section takes whose data come in order, as a share of what there is: a window is enough.
const WINDOW: u64 = 16;
/// Least of it.
const LEAST: u64 = 64 << 10;

/// Each block begins with a line, and the lines of a section are handed out in spans of 64 KiB: with room for everything
/// there is so much more, so that no two lines are of one slot.
const SLACK: u64 = 4 << 20;

/// What is to go to a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// Name of the section.
    pub section: &'static str,
    pub bytes: u64,
    in_order: bool,
}

/// A section and its bytes of local memory.
pub(super) type Capacity = (&'static str, u64);

impl Need {
    /// Data that are used here and there.
    pub fn at_random(section: &'static str, bytes: u64) -> Self {
        Self { section, bytes, in_order: false }
    }

    /// Data that are used one after another.
    pub fn in_order(section: &'static str, bytes: u64) -> Self {
        Self { section, bytes, in_order: true }
    }
}

/// Room for everything.
pub(super) fn all_local(needs: &[Need]) -> Vec<Capacity> {
    needs.iter().map(|need| (need.section, whole(need.bytes + need.bytes / 16 + SLACK))).collect()
}

/// What sections get of so many bytes of local memory: a window for what comes in order, and of the rest all that is used here
/// and there by its size.
pub(super) fn shared_out(needs: &[Need], local: u64) -> Vec<Capacity> {
    let usable = local.saturating_sub(PAGED);
    let window = |need: &Need| need.bytes.min((usable / WINDOW).max(LEAST));
    let (in_order, at_random): (Vec<&Need>, Vec<&Need>) = needs.iter().partition(|it| it.in_order);
    let left = usable.saturating_sub(in_order.iter().map(|need| window(need)).sum());
    let all: u64 = at_random.iter().map(|need| need.bytes).sum();
    let of = |need: &Need| {
        let share = u128::from(left) * u128::from(need.bytes) / u128::from(all.max(1));
        if need.in_order { window(need) } else { (share as u64).min(need.bytes) }
    };
    needs.iter().map(|need| (need.section, whole(of(need)))).collect()
}

/// Whole 64 KiB.
fn whole(bytes: u64) -> u64 {
    (bytes & !0xffff).max(LEAST)
}

/// A section file with other capacities.
pub(super) fn put_in(file: &str, capacities: &[Capacity]) -> Result<String, Failure> {
    let (mut text, mut section, mut put) = (String::new(), None, 0);
    for line in file.lines() {
        if let Some(name) = line.strip_prefix("[section.").and_then(|it| it.strip_suffix(']')) {
            section = capacities.iter().find(|(of, _)| *of == name);
        }
        match section {
            Some((_, bytes)) if line.starts_with("capacity = ") => {
                text.push_str(&format!("capacity = {bytes}"));
                put += 1;
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    if put == capacities.len() {
        Ok(text)
    } else {
        Err(Failure::new(format!("a section file with {put} of {} sections", capacities.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scale;
    use super::super::works::WORKS;
    use super::*;

    #[test]
    fn what_is_local_is_shared_out_and_never_exceeded() {
        let needs = [Need::at_random("a", 64 << 20), Need::in_order("b", 32 << 20)];
        for local in [2 << 20, 10 << 20, 48 << 20] {
            let all: u64 = shared_out(&needs, local).iter().map(|(_, bytes)| bytes).sum();
            assert!(all + (1 << 20) <= local, "{all} of {local}");
            assert!(all + (2 << 20) > local, "{all} of {local}");
        }
        let window = ((48 << 20) - PAGED) / WINDOW;
        assert_eq!(shared_out(&needs, 48 << 20)[1].1, window & !0xffff);
    }

    #[test]
    fn every_section_file_takes_the_capacities_of_its_program() {
        for work in &WORKS {
            let capacities = all_local(&work.needs(Scale::Small));
            let text = put_in(work.sections, &capacities).expect(work.name);
            for (name, bytes) in capacities {
                let (_, after) = text.split_once(&format!("[section.{name}]\n")).expect(name);
                assert!(after.starts_with(&format!("capacity = {bytes}\n")), "{text}");
            }
            assert!(put_in(work.sections, &[("nothing", 1)]).is_err());
        }
    }
}
