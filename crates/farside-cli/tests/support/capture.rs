//! What captures need: the plugin, the emulator, and programs to run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The project's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Compiles `source` into an executable or library.
pub fn build(name: &str, arguments: &[&str], source: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("capture");
    fs::create_dir_all(&directory).unwrap();
    // Test programs run side by side; a file appears whole or not at all.
    let output = directory.join(format!("{name}.{}", std::process::id()));
    let status = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-pthread"])
        .args(arguments)
        .arg("-o")
        .arg(&output)
        .arg(root().join(source))
        .status()
        .expect("a C compiler is installed");
    assert!(status.success(), "cannot compile {source}");
    let whole = directory.join(name);
    fs::rename(output, &whole).unwrap();
    whole
}

/// What the emulator loads.
pub fn plugin() -> &'static Path {
    static PLUGIN: OnceLock<PathBuf> = OnceLock::new();
    let flags = ["-std=c11", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden"];
    PLUGIN.get_or_init(|| build("farside-pagetrace.so", &flags, "capture/pagetrace.c"))
}

/// Whether programs can be captured here; says why not.
pub fn works(test: &str) -> bool {
    let there = Command::new("qemu-x86_64").arg("--version").output().is_ok();
    if !there {
        println!("skipped: {test}: no qemu-x86_64 here (package qemu-user)");
    }
    there
}
