//! From what programs say of themselves to what each is to have.

use std::time::{Duration, Instant};

use farside_os::memory::PAGE;
use farside_pager::settings::LEAST_LIMIT;
use farside_sharing::{Claim, Member, SeenCurve, TooLittle, fair, share_out};

use super::found::{Found, Said};
use super::options::Plan;
use crate::run::Report;

/// What a miss is taken to cost where there are none, in seconds: about a fault and a round trip.
const MISS_SECONDS: f64 = 10e-6;

/// The share of its time that a program is taken to wait at most.
const MOST_WAITING: f64 = 0.99;

/// The same for what one missed that works, but uses none of the pages of which that would be seen.
const UNSEEN_HALF_LIFE: f64 = 1.0;

/// Misses that make what is recent worth more than what is known for longer.
const TELLING: f64 = 200.0;

/// A program grows if it has touched such a part more since it was asked before.
const GROWING: u64 = 32;

/// There is room for so many processes of a program that come before it is asked again, each with the least limit...
const COMING: u64 = 2;

/// ...unless that would take more than this part of all there is.
const PART_FOR_COMING: usize = 8;

/// In so many seconds, what an idle program missed before comes to count half.
const IDLE_HALF_LIFE: f64 = 10.0;

/// What each of the programs is to have, in pages; `before` is what it was to have.
///
/// If there is not enough for all, each is to have the least that it can run with, and how much that is.
pub fn decide(
    plan: &Plan,
    total: u64,
    programs: &[&Found],
    before: Option<&[usize]>,
) -> (Vec<usize>, Option<TooLittle>) {
    let total = shared_out(pages(total), programs.len());
    let members = members(plan, total, programs);
    match share_out(total, plan.rule, &members, before) {
        Ok(shares) => (shares, None),
        Err(too_little) => (members.iter().map(|it| it.least).collect(), Some(too_little)),
    }
}

/// What the rules have to know.
fn members(plan: &Plan, total: usize, programs: &[&Found]) -> Vec<Member> {
    let weight = |found: &Found| plan.weight(found.name(), found.pid());
    let claim = |found: &&Found| Claim { least: 0, most: total, weight: weight(found) };
    let claims: Vec<Claim> = programs.iter().map(claim).collect();
    let by_weight = fair(total, &claims).unwrap_or_default();
    let member = |(found, by_weight): (&&Found, usize)| {
        let need = need(found).map_or(total, |need| pages(need).min(total));
        let floor = plan.floor(found.name(), found.pid(), (by_weight * PAGE) as u64);
        Member {
            curve: curve(found, Instant::now()),
            least: found.least().div_ceil(PAGE as u64) as usize,
            floor: pages(floor).min(need),
            need,
            weight: weight(found),
            user: found.user,
        }
    };
    programs.iter().zip(by_weight).map(member).collect()
}

/// Pages that programs are given. What is kept for their processes that come is shared out to nobody, who would use it, so
/// that all together have no more than there is when they come.
fn shared_out(total: usize, programs: usize) -> usize {
    let kept = pages(COMING * LEAST_LIMIT).saturating_mul(programs);
    if kept <= total / PART_FOR_COMING { total - kept } else { total }
}

fn pages(bytes: u64) -> usize {
    (bytes / PAGE as u64) as usize
}

/// What a program uses, and a little more, so that it may grow; `None` while it grows: nobody knows how far.
fn need(found: &Found) -> Option<u64> {
    let footprint = |said: &Said| said.report.counter("footprint_bytes");
    let (now, before) = (footprint(found.said.as_ref()?), footprint(found.before.as_ref()?));
    let grows = now > before.saturating_add(before / GROWING);
    let each = found.said.as_ref().map_or(1, |said| said.report.living.processes.max(1));
    let more = (now / 8).saturating_add(LEAST_LIMIT.saturating_mul(each));
    (!grows).then(|| now.saturating_add(more))
}

/// What a program misses, by what it said last.
fn curve(found: &Found, now: Instant) -> Option<SeenCurve> {
    let said = found.said.as_ref()?;
    let points = points(&said.report)?;
    let waiting = waiting(said, found.before.as_ref());
    // It works, and comes to none of the pages of which that would be seen: it needs few. Where it is not known whether it
    // works, nothing follows from that.
    let known = said.ticks.map(|_| {
        let idle = now.saturating_duration_since(found.busy_at).as_secs_f64();
        let unseen = found.busy_at.saturating_duration_since(found.seen_at).as_secs_f64();
        (idle, unseen)
    });
    let (idle, unseen) = known.unwrap_or_default();
    let fades = (-idle / IDLE_HALF_LIFE - unseen / UNSEEN_HALF_LIFE).exp2();
    let limit = found.state.map_or_else(|| said.report.counter("limit_bytes"), |it| it.limit);
    let processes = said.report.living.processes.max(1) as f64;
    let behind = points.partition_point(|(bytes, _)| *bytes < limit);
    let misses = points.get(behind).map_or(0.0, |(_, misses)| *misses);
    let each = if misses > 1.0 { waiting * processes / misses } else { MISS_SECONDS };
    // Frames are also in use for what comes and goes.
    let with_slack = |bytes: u64| pages(bytes.saturating_add(bytes / 64)) + 16;
    let of_work = |(bytes, misses): (u64, f64)| {
        let size = if bytes == 0 { 0 } else { with_slack(bytes) };
        (size, misses * fades / (1.0 - waiting))
    };
    Some(SeenCurve::new(points.into_iter().map(of_work), each))
}

/// Sizes in bytes and misses in a second: those of the last seconds, unless they tell nothing.
fn points(report: &Report) -> Option<Vec<(u64, f64)>> {
    let recent = report.recent.as_ref().filter(|recent| {
        recent.misses_per_second.first().is_some_and(|most| most * recent.seconds > TELLING)
    });
    match (recent, &report.curve) {
        (Some(recent), _) => Some(recent.points().collect()),
        (None, Some(curve)) => {
            Some(curve.points.iter().map(|point| (point.bytes, point.misses_per_second)).collect())
        }
        (None, None) => None,
    }
}

/// The share of its time that a program waits, each of its processes on average: since it was asked before, or from its
/// start.
fn waiting(said: &Said, before: Option<&Said>) -> f64 {
    let of = |said: &Said| {
        let waited = said.report.counter("waiting_ns") as f64 / 1e9;
        (waited, said.report.elapsed_seconds)
    };
    let ((waited, elapsed), (earlier, since)) = (of(said), before.map_or((0.0, 0.0), of));
    let share = (waited - earlier) / (elapsed - since).max(Duration::from_millis(1).as_secs_f64());
    let share = share / said.report.living.processes.max(1) as f64;
    if share.is_nan() { 0.0 } else { share.clamp(0.0, MOST_WAITING) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_processes_that_come_unless_programs_are_many() {
        let total = pages(80 << 20);
        let kept = |programs| total - shared_out(total, programs);
        assert_eq!(kept(2), pages(4 * LEAST_LIMIT));
        assert_eq!(kept(5), pages(10 * LEAST_LIMIT));
        assert_eq!(kept(6), 0);
    }
}
