//! The process that sets up kernel swap and takes it down again when its parent is gone.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;

use super::{Failure, kernel};

/// Options of the hidden `farside bench janitor`.
#[derive(Debug, Args)]
pub(crate) struct JanitorArgs {
    /// Bytes the cgroup may hold.
    #[arg(long)]
    limit: u64,
    /// Size of the swap device in bytes.
    #[arg(long)]
    device: u64,
    /// Swap to a file on a loop device instead of zram.
    #[arg(long)]
    file: bool,
}

/// Sets up, answers `ready CGROUP` or `unavailable WHY`, waits for the end of standard input, and
/// takes everything down.
pub(crate) fn run(args: &JanitorArgs) -> Result<String, Failure> {
    // A ctrl-c meant for the benchmark must not stop the one who cleans up after it.
    kernel::leave_terminal();
    let mut made = Made::default();
    let answer = match made.set_up(args) {
        Ok(cgroup) => format!("ready {}", cgroup.display()),
        Err(why) => format!("unavailable {why}"),
    };
    let ready = answer.starts_with("ready");
    let told = writeln!(std::io::stdout(), "{answer}").and_then(|()| std::io::stdout().flush());
    if ready && told.is_ok() {
        while !kernel::input_ended(Duration::from_millis(2)) {
            made.relieve(args.limit);
        }
    }
    made.take_down();
    Ok(String::new())
}

/// What has been set up so far.
#[derive(Default)]
struct Made {
    device: Option<Device>,
    swapping: bool,
    cgroup: Option<PathBuf>,
}

impl Made {
    fn set_up(&mut self, args: &JanitorArgs) -> Result<PathBuf, String> {
        let cgroup = make_cgroup()?;
        self.cgroup = Some(cgroup.clone());
        limit_cgroup(&cgroup, args.limit)?;
        let device = if args.file { add_loop(args.device)? } else { Device::Zram(add_zram()?) };
        let device = self.device.insert(device);
        device.prepare(args.device)?;
        let device = device.path();
        format_swap(&device, args.device).map_err(|e| format!("{}: {e}", device.display()))?;
        kernel::swap_on(&device).map_err(|e| format!("swapon {}: {e}", device.display()))?;
        self.swapping = true;
        Ok(cgroup)
    }

    /// Gets the cgroup going again when the kernel gave up on reclaim.
    ///
    /// With a swap device as fast as zram the kernel of version 1 declares a cgroup out of memory as
    /// soon as a few scans in a row find every page referenced, although swap is all but empty. The
    /// partner would be killed; instead it waits, and the limit going up and down by a little makes
    /// the kernel try again.
    fn relieve(&self, limit: u64) {
        let Some(cgroup) = &self.cgroup else { return };
        let state = fs::read_to_string(cgroup.join("memory.oom_control")).unwrap_or_default();
        if state.contains("under_oom 1") {
            let file = cgroup.join("memory.limit_in_bytes");
            let _ = fs::write(&file, (limit + (1 << 20)).to_string());
            let _ = fs::write(&file, limit.to_string());
        }
    }

    fn take_down(&mut self) {
        let mut complaints = Vec::new();
        if let Some(cgroup) = self.cgroup.take() {
            empty_cgroup(&cgroup);
            if let Err(error) = fs::remove_dir(&cgroup) {
                complaints.push(format!("cannot remove {}: {error}", cgroup.display()));
            }
        }
        if let Some(device) = self.device.take() {
            let path = device.path();
            if self.swapping
                && let Err(error) = kernel::swap_off(&path)
            {
                complaints.push(format!("swapoff {} failed: {error}", path.display()));
            }
            if let Err(error) = device.remove() {
                complaints.push(format!("cannot remove {}: {error}", path.display()));
            }
        }
        for complaint in complaints {
            let _ = writeln!(std::io::stderr(), "farside bench: {complaint}");
        }
    }
}

/// What is swapped to.
enum Device {
    /// Compressed memory, by its number.
    Zram(u32),
    /// A file, which is deleted already, by its device.
    Loop(PathBuf),
}

impl Device {
    fn path(&self) -> PathBuf {
        match self {
            Self::Zram(number) => PathBuf::from(format!("/dev/zram{number}")),
            Self::Loop(path) => path.clone(),
        }
    }

    fn prepare(&self, bytes: u64) -> Result<(), String> {
        if let Self::Zram(number) = self {
            set_zram(*number, "comp_algorithm", "lz4")?;
            set_zram(*number, "disksize", &bytes.to_string())?;
        }
        Ok(())
    }

    fn remove(&self) -> std::io::Result<()> {
        match self {
            Self::Zram(number) => {
                fs::write("/sys/class/zram-control/hot_remove", number.to_string())
            }
            Self::Loop(path) => losetup(&["--detach", &path.to_string_lossy()]).map(drop),
        }
    }
}

fn losetup(arguments: &[&str]) -> std::io::Result<String> {
    let output = std::process::Command::new("losetup").args(arguments).output()?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(std::io::Error::other(why))
    }
}

/// Makes a file of that size and a loop device on it. The file goes with the device.
fn add_loop(bytes: u64) -> Result<Device, String> {
    let path = std::env::temp_dir().join(format!("farside-swap-{}", std::process::id()));
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = fs::File::create(&path).map_err(failed)?;
    // A swap area must not have holes.
    let made = nix::fcntl::posix_fallocate(&file, 0, bytes as libc::off_t)
        .map_err(std::io::Error::from)
        .and_then(|()| losetup(&["--find", "--show", &path.to_string_lossy()]));
    let _ = fs::remove_file(&path);
    made.map(|device| Device::Loop(device.into())).map_err(failed)
}

/// Adds a zram device of our own, so that nobody else's is touched.
fn add_zram() -> Result<u32, String> {
    let control = Path::new("/sys/class/zram-control/hot_add");
    if !control.exists() {
        // On most systems zram is a module that nothing has asked for yet.
        let _ = std::process::Command::new("modprobe").arg("zram").status();
    }
    let text = fs::read_to_string(control).map_err(|e| format!("{}: {e}", control.display()))?;
    let number: u32 = text.trim().parse().map_err(|_| format!("odd zram number {text:?}"))?;
    Ok(number)
}

fn set_zram(number: u32, name: &str, value: &str) -> Result<(), String> {
    let file = format!("/sys/block/zram{number}/{name}");
    fs::write(&file, value).map_err(|e| format!("cannot write {value} to {file}: {e}"))
}

/// Writes the header that makes a device a swap area (version 1, one page of header).
fn format_swap(device: &Path, bytes: u64) -> std::io::Result<()> {
    const PAGE: usize = 4096;
    let pages = u32::try_from(bytes / PAGE as u64).unwrap_or(u32::MAX);
    let mut header = vec![0u8; PAGE];
    header[1024..1028].copy_from_slice(&1u32.to_ne_bytes());
    header[1028..1032].copy_from_slice(&(pages - 1).to_ne_bytes());
    header[PAGE - 10..].copy_from_slice(b"SWAPSPACE2");
    let mut file = fs::OpenOptions::new().write(true).open(device)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&header)?;
    file.sync_all()
}

/// Makes a memory cgroup below our own, for version 1 or 2 of the interface.
fn make_cgroup() -> Result<PathBuf, String> {
    let name = format!("farside-bench-{}", std::process::id());
    let v1 = Path::new("/sys/fs/cgroup/memory");
    let v2 = Path::new("/sys/fs/cgroup");
    let parent = if v1.join("memory.limit_in_bytes").exists() {
        v1
    } else if v2.join("cgroup.controllers").exists() {
        let control = v2.join("cgroup.subtree_control");
        fs::write(&control, "+memory").map_err(|e| format!("{}: {e}", control.display()))?;
        v2
    } else {
        return Err("no memory cgroup is mounted at /sys/fs/cgroup".into());
    };
    let cgroup = parent.join(name);
    fs::create_dir(&cgroup).map_err(|e| format!("{}: {e}", cgroup.display()))?;
    Ok(cgroup)
}

fn limit_cgroup(cgroup: &Path, limit: u64) -> Result<(), String> {
    let v1 = cgroup.join("memory.limit_in_bytes");
    let file = if v1.exists() { v1 } else { cgroup.join("memory.max") };
    fs::write(&file, limit.to_string()).map_err(|e| format!("{}: {e}", file.display()))?;
    // Version 1 only, see `relieve`; version 2 has no such switch.
    let _ = fs::write(cgroup.join("memory.oom_control"), "1");
    Ok(())
}

/// Kills what still runs in the cgroup and waits until it is gone, but not for ever.
fn empty_cgroup(cgroup: &Path) {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        let procs = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
        if procs.trim().is_empty() {
            return;
        }
        for pid in procs.lines().filter_map(|line| line.trim().parse().ok()) {
            kernel::kill_process(pid);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
