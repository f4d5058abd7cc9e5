//! The least memory with which nobody is slowed down more than need be.

use crate::sharing::{Program, Sharing};

/// The smallest shares with which the greatest slowdown is as small as can be: all others that are
/// as fair have at least as many pages for each program.
pub fn fairest<P: Program>(sharing: &Sharing<P>) -> Vec<usize> {
    let slowdown = least_worst(sharing);
    let share = |program: &P| {
        let mut pages = program.least();
        while program.slowdown(pages) > slowdown {
            let Some(step) = program.next_step(pages) else { break };
            pages = step;
        }
        pages
    };
    sharing.programs().iter().map(share).collect()
}

/// The smallest greatest slowdown.
///
/// The program that is worst off gets what takes it to the next step of its curve. All shares under
/// which the greatest slowdown is less than its present one give it that much, so nothing is lost
/// by doing so; and when it does not fit, the greatest slowdown is this one.
fn least_worst<P: Program>(sharing: &Sharing<P>) -> f64 {
    let programs = sharing.programs();
    let mut shares: Vec<usize> = programs.iter().map(P::least).collect();
    let mut slowdowns: Vec<f64> =
        programs.iter().zip(&shares).map(|(program, pages)| program.slowdown(*pages)).collect();
    let mut left = sharing.memory() - shares.iter().sum::<usize>();
    loop {
        let worst = slowdowns.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((worst, slowdown)) = worst else { return 1.0 };
        let Some(step) = programs[worst].next_step(shares[worst]) else { return slowdown };
        let more = step - shares[worst];
        if more > left {
            return slowdown;
        }
        left -= more;
        shares[worst] = step;
        slowdowns[worst] = programs[worst].slowdown(step);
    }
}
