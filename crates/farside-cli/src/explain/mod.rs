//! `farside explain`: what the compiler made of a program's allocations (Mira, chapters 3 and 4).

pub mod notes;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use object::{Object, ObjectSection, ReadCache};

use crate::Failure;
use crate::options::Size;
use crate::output;
use notes::{Access, Fields, Kind, Offload, Site, Unit};

/// The part of a program that holds the notes.
const PART: &str = ".farside.notes";
/// The part of an object file that the linker is to compile.
const LEFT_TO_LINKER: &str = ".llvm.lto";

pub(crate) const HELP: &str = "\
Compile with farside-cc -fsections=FILE, and with -g for the names of lines. Lines are told by how they come to the memory:
  by lookup    each time
  shared       by the lookup of one close to it
  held         a loop looks its line up once for many turns
  held, ahead  and also sends for lines before it comes to them
  leaves first lines give way to others as soon as the loop has left them
  fused        in a loop that was made of two
  jammed       in a loop that takes several turns together";

/// Options of `farside explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// A program, a library, or an object file that farside-cc has made.
    program: PathBuf,
    /// Only what became of each allocation, without the lines that come to it.
    #[arg(long, short, conflicts_with = "json")]
    summary: bool,
    /// Print an array with an object for each unit.
    #[arg(long)]
    json: bool,
}

/// Does what `farside explain` was asked for.
///
/// # Errors
/// If the program cannot be read, or there are no notes in it.
pub fn explain(arguments: &ExplainArguments) -> Result<ExitCode, Failure> {
    let units = units_of(&arguments.program)?;
    if arguments.json {
        output::print_json(&units)?;
    } else {
        output::print(text(&units, !arguments.summary))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The compiler's notes in a program.
pub(crate) fn units_of(program: &Path) -> Result<Vec<Unit>, Failure> {
    let name = program.display();
    let file = File::open(program)
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    let cache = ReadCache::new(file);
    let file = object::File::parse(&cache)
        .map_err(|error| Failure::usage(format!("{name} is no program: {error}")))?;
    let mut units = Vec::new();
    // An object file may have one for each unit that it was linked from.
    for section in file.sections().filter(|section| section.name() == Ok(PART)) {
        let damaged = |why: String| {
            Failure::usage(format!("the compiler's notes in {name} are damaged: {why}"))
        };
        let bytes = section.data().map_err(|error| damaged(error.to_string()))?;
        units.extend(notes::read(bytes).map_err(damaged)?);
    }
    if units.is_empty() && file.section_by_name(LEFT_TO_LINKER).is_some() {
        return Err(Failure::usage(format!(
            "{name} is converted when it is linked; link it with farside-cc and the same -fsections=FILE, and look at the program"
        )));
    }
    if units.is_empty() {
        return Err(Failure::usage(format!(
            "{name} has no notes of the compiler; compile it with farside-cc -fsections=FILE, where the section file names \
             allocations of it"
        )));
    }
    Ok(units)
}

/// All units for people.
fn text(units: &[Unit], lines: bool) -> String {
    let mut text = String::new();
    for unit in units {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "{}", unit.unit);
        for (site, what, times) in told_once(unit, lines) {
            let times = if times > 1 { format!("  ({times} copies)") } else { String::new() };
            let _ = write!(text, "\n  {}  in {}{times}\n{what}", site.place, site.function);
        }
        for section in &unit.fields {
            selected(&mut text, section);
        }
        for function in &unit.offload {
            offloaded(&mut text, function);
        }
    }
    text
}

/// What became of each allocation. The optimizer makes copies of one in the source, as where it puts functions into
/// their callers; those of which the same can be told are told once, with their number.
fn told_once(unit: &Unit, lines: bool) -> Vec<(&Site, String, usize)> {
    let mut told: Vec<(&Site, String, usize)> = Vec::new();
    for (number, site) in unit.sites.iter().enumerate() {
        let mut what = String::new();
        match &site.stays {
            Some(why) => stays(&mut what, site, why),
            None => goes(&mut what, unit, number, site, lines),
        }
        let is_same = |(other, said, _): &&mut (&Site, String, usize)| {
            (&other.place, &other.function, &**said) == (&site.place, &site.function, &what)
        };
        match told.iter_mut().find(is_same) {
            Some((_, _, times)) => *times += 1,
            None => told.push((site, what, 1)),
        }
    }
    told
}

fn selected(text: &mut String, section: &Fields) {
    let name = &section.section;
    let what = match (&section.why, section.selected) {
        (Some(_), _) => "no loop has only fields of its records come and go:",
        (None, true) => "only fields of records come and go",
        (None, false) => {
            "only fields of records could come and go ('fields = true' in the section file)"
        }
    };
    let _ = writeln!(text, "\n  section '{name}': {what}");
    if let Some(why) = &section.why {
        let place = section.because.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
        let _ = writeln!(text, "    {why}{place}");
        return;
    }
    let mut table = Table::new();
    table.load_style(NOTHING);
    for each in &section.loops {
        let bytes = |[start, length]: &[u64; 2]| format!("{start}-{}", start + length - 1);
        let fields: Vec<_> = each.fields.iter().map(bytes).collect();
        let fields = format!("bytes {} of {}", fields.join(", "), each.record);
        table.add_row([&format!("    {}", each.place), &each.function, &fields]);
    }
    let _ = writeln!(text, "{table}");
}

fn offloaded(text: &mut String, function: &Offload) {
    let _ = writeln!(text, "\n  {}  {}", function.place, function.function);
    let Some(why) = &function.stays else {
        let _ = writeln!(text, "    can run where its data is");
        return;
    };
    let place = function.because.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
    let _ = writeln!(text, "    runs in the program, not where its data is:\n    {why}{place}");
}

fn stays(text: &mut String, site: &Site, why: &str) {
    let place = site.because.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
    let _ = writeln!(text, "    stays in paged memory, not in the section '{}':", site.section);
    let _ = writeln!(text, "    {why}{place}");
}

fn goes(text: &mut String, unit: &Unit, number: usize, site: &Site, lines: bool) {
    let structure = match site.ways {
        0 => "any line anywhere".to_owned(),
        1 => "direct".to_owned(),
        ways => format!("sets of {ways}"),
    };
    let (line, capacity) = (Size(site.line), Size(site.capacity));
    let section = &site.section;
    let threads = match site {
        Site { own: true, .. } => ", of which each thread has its own",
        Site { copies: true, .. } => ", of which each thread but the main one has a copy",
        Site { threads: true, .. } => ", for several threads, which makes accesses dearer",
        _ => "",
    };
    let with = site.with.as_ref();
    let with = with.map(|it| format!(", in the memory of '{it}'")).unwrap_or_default();
    let _ = writeln!(
        text,
        "    section '{section}': {capacity} in lines of {line}, {structure}{with}{threads}"
    );
    let of = |is: fn(&Access) -> bool| unit.accesses_of(number).filter(|access| is(access)).count();
    let (all, held, ahead) = (of(is_access), of(|access| access.held), of(|access| access.ahead));
    let shared = of(|access| is_access(access) && !access.held && access.shared);
    let done = match of(|access| access.done) {
        0 => String::new(),
        done => format!(", {done} let lines leave first"),
    };
    let fused = match of(|access| access.fused) {
        0 => String::new(),
        fused => format!(", {fused} in loops that were fused"),
    };
    let jammed = match of(|access| access.jammed) {
        0 => String::new(),
        jammed => format!(", {jammed} in loops that take turns together"),
    };
    let _ = writeln!(
        text,
        "    {} converted: {} by lookup, {shared} shared, {held} held by loops, {ahead} sent for ahead{done}{fused}{jammed}",
        accesses(all),
        all - held - shared
    );
    if lines {
        let _ = writeln!(text, "{}", table(unit, number));
    }
}

fn accesses(count: usize) -> String {
    if count == 1 { "1 access".to_owned() } else { format!("{count} accesses") }
}

/// Whether it comes to what was allocated, other than to allocate or free it.
fn is_access(access: &Access) -> bool {
    !matches!(access.kind, Kind::Allocation | Kind::Free)
}

/// Places in the order of lines, not of digits.
fn order(place: &str) -> (&str, u64) {
    place
        .rsplit_once(':')
        .and_then(|(file, line)| Some((file, line.parse().ok()?)))
        .unwrap_or((place, 0))
}

/// A row for each line of the source and way in which it comes to the memory of a site.
fn table(unit: &Unit, site: usize) -> Table {
    let mut rows = BTreeMap::<_, BTreeMap<Kind, usize>>::new();
    for access in unit.accesses_of(site) {
        let how = how(access);
        let row = (order(&access.place), &access.place, &access.function, how);
        *rows.entry(row).or_default().entry(access.kind).or_default() += 1;
    }
    let mut table = Table::new();
    table.load_style(NOTHING);
    for ((_, place, function, how), kinds) in rows {
        let what: Vec<_> = kinds.into_iter().map(|(kind, count)| counted(kind, count)).collect();
        table.add_row([&format!("    {place}"), function, &what.join(", "), &how]);
    }
    table
}

/// How the program comes to what an access uses.
fn how(access: &Access) -> String {
    let mut how = match access.kind {
        Kind::Allocation | Kind::Free => return String::new(),
        Kind::Call => "lent".to_owned(),
        _ if access.held => "held".to_owned(),
        _ if access.shared => "shared".to_owned(),
        _ => "by lookup".to_owned(),
    };
    if access.ahead {
        how += ", ahead";
    }
    if access.done {
        how += ", leaves first";
    }
    if access.fused {
        how += ", fused";
    }
    if access.jammed {
        how += ", jammed";
    }
    how
}

fn counted(kind: Kind, count: usize) -> String {
    let name = match kind {
        Kind::Load => "load",
        Kind::Store => "store",
        Kind::Copy => "copy",
        Kind::Fill => "fill",
        Kind::Call => "call",
        Kind::Allocation => "allocation",
        Kind::Free => "free",
    };
    if count == 1 { name.to_owned() } else { format!("{count} {name}s").replace("copys", "copies") }
}
