//! A program on nodes: with two copies beside one, and with one beside the kernel's own swap; and on a file beside that.

use farside_far::{FarUrl, FileUrl};

use super::super::launch::{Place, Program, Scratch, own};
use super::super::paging::CGROUP_EXTRA;
use super::super::row::{Goal, Row, median};
use super::super::swap::Swap;
use super::super::workload::{self, Measured, Pass};
use super::super::{Failure, Shared, skip, warmup};
use super::process::Process;
use super::{NodesArgs, of};
use crate::progress::Progress;

/// Share of the array that is local.
const LOCAL: u64 = 20;

/// What is run, and where.
struct Runs<'a> {
    args: &'a NodesArgs,
    shared: &'a Shared,
    scratch: Scratch,
    nodes: [Process; 2],
}

/// Adds the rows.
pub(super) fn rows(
    args: &NodesArgs,
    shared: &Shared,
    progress: &Progress,
    rows: &mut Vec<Row>,
) -> Result<(), Failure> {
    let memory = (u64::from(args.mib) << 20) * 5 / 4;
    let start = || Process::node(shared, memory, &["--lease", "0.5"]);
    let runs = Runs { args, shared, scratch: Scratch::new()?, nodes: [start()?, start()?] };
    rows.push(runs.copies(progress)?);
    rows.extend(runs.beside_swap(progress)?);
    Ok(())
}

impl Runs<'_> {
    fn bytes(&self) -> u64 {
        u64::from(self.args.mib) << 20
    }

    fn limit(&self) -> u64 {
        (self.bytes() * LOCAL / 100) & !4095
    }

    fn program(&self, pass: Pass) -> Result<Program, Failure> {
        let mib = self.args.mib.to_string();
        let words = ["bench", "workload", "--mib", &mib, "--pass", pass.name()];
        let own = std::iter::once(own()?.into_os_string());
        Ok(Program::new(own.chain(words.into_iter().map(Into::into))))
    }

    fn far(&self, nodes: usize, copies: usize) -> Vec<String> {
        let hosts: Vec<&str> = self.nodes[..nodes].iter().map(|node| &node.address[..]).collect();
        let far = format!("tcp://{}?copies={copies}", hosts.join(","));
        self.at(far)
    }

    /// A file on the file system on which the swap file of the partner is.
    fn far_on_file(&self) -> Vec<String> {
        let directory = FileUrl {
            path: std::env::temp_dir(),
            size: Some(2 * self.bytes()),
            seal: false,
            depth: 64,
            ring: true,
        };
        self.at(FarUrl::File(directory).to_string())
    }

    fn at(&self, far: String) -> Vec<String> {
        vec!["--local".into(), self.limit().to_string(), "--far".into(), far]
    }

    fn measure(&self, program: &Program, place: Place<'_>) -> Result<Measured, Failure> {
        warmup::before_run(self.bytes(), self.shared, &self.scratch)?;
        let outcome = program.run(place, self.shared, &self.scratch)?;
        let measured = workload::parse(&outcome.stdout.head)?.into_iter().next();
        measured.ok_or_else(|| Failure::new("the workload gave no figure"))
    }

    fn copies(&self, progress: &Progress) -> Result<Row, Failure> {
        let program = self.program(Pass::SeqRw)?;
        let (mut two, mut one) = (Vec::new(), Vec::new());
        for round in 1..=self.shared.repetitions {
            progress.say(of("two copies beside one", round, self.shared));
            let mirrored = self.measure(&program, Place::Far(&self.far(2, 2)))?;
            let striped = self.measure(&program, Place::Far(&self.far(2, 1)))?;
            same_sum(&mirrored, &striped)?;
            two.push(mirrored.ns);
            one.push(striped.ns);
        }
        Ok(Row {
            work: "sequential read-write, 20 % local, two copies beside one".into(),
            ours: median(&two),
            partner: Some(median(&one)),
            unit: "ns/access",
            goal: Some(Goal::AtMost(1.4)),
        })
    }

    fn beside_swap(&self, progress: &Progress) -> Result<[Row; 2], Failure> {
        let program = self.program(Pass::RandRead)?;
        let swap = Swap::set_up_on_file(self.limit() + CGROUP_EXTRA, 2 * self.bytes());
        if let Err(why) = &swap {
            skip("kernel swap to a file through a loop device", why);
        }
        let plain = self.measure(&program, Place::Plain)?;
        let (mut ours, mut on_file, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        for round in 1..=self.shared.repetitions {
            progress.say(of("random read beside kernel swap", round, self.shared));
            let (far, file) = (self.far(1, 1), self.far_on_file());
            let mut places = vec![(Place::Far(&far), &mut ours), (Place::Far(&file), &mut on_file)];
            if let Ok(swap) = &swap {
                places.push((Place::Swap(swap), &mut theirs));
            }
            for (place, figures) in places {
                let run = self.measure(&program, place)?;
                same_sum(&plain, &run)?;
                figures.push(run.ns);
            }
        }
        let row = |far: &str, figures: &[f64], goal| Row {
            work: format!(
                "random read, 20 % local, {far} beside kernel swap to a file on a loop device"
            ),
            ours: median(figures),
            partner: (!theirs.is_empty()).then(|| median(&theirs)),
            unit: "ns/access",
            goal,
        };
        Ok([row("over tcp://", &ours, Some(Goal::Faster(3.0))), row("on a file", &on_file, None)])
    }
}

/// Two runs read the same, or are worth nothing, however fast.
fn same_sum(one: &Measured, other: &Measured) -> Result<(), Failure> {
    if one.sum == other.sum {
        return Ok(());
    }
    Err(Failure::new("the workload read other values than in another run: data was lost"))
}
