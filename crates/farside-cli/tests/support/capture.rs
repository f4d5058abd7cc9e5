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
    build_all(name, arguments, &[root().join(source)])
}

/// Compiles `sources` into an executable or library.
fn build_all(name: &str, arguments: &[&str], sources: &[PathBuf]) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("capture");
    fs::create_dir_all(&directory).unwrap();
    // Test programs run side by side; a file appears whole or not at all.
    let output = directory.join(format!("{name}.{}", std::process::id()));
    let status = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-pthread"])
        .args(arguments)
        .arg("-o")
        .arg(&output)
        .args(sources)
        .status()
        .expect("a C compiler is installed");
    assert!(status.success(), "cannot compile {sources:?}");
    let whole = directory.join(name);
    fs::rename(output, &whole).unwrap();
    whole
}

/// How plugins are compiled.
const FLAGS: [&str; 5] = ["-std=c11", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden"];

/// The C files of the plugin.
pub fn plugin_sources() -> Vec<PathBuf> {
    let files = fs::read_dir(root().join("capture")).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|extension| extension == "c")).collect()
}

/// What the emulator loads.
pub fn plugin() -> &'static Path {
    static PLUGIN: OnceLock<PathBuf> = OnceLock::new();
    PLUGIN.get_or_init(|| build_all("farside-pagetrace.so", &FLAGS, &plugin_sources()))
}

/// The plugin that holds groups against what really happens.
pub fn group_checker() -> &'static Path {
    static CHECKER: OnceLock<PathBuf> = OnceLock::new();
    let files = ["capture/check/check_groups.c", "capture/groups.c", "capture/effects.c"];
    let files = files.map(|file| root().join(file));
    CHECKER.get_or_init(|| build_all("check-groups.so", &FLAGS, &files))
}

/// Whether programs can be captured here; says why not.
pub fn works(test: &str) -> bool {
    let there = Command::new("qemu-x86_64").arg("--version").output().is_ok();
    if !there {
        println!("skipped: {test}: no qemu-x86_64 here (package qemu-user)");
    }
    there
}
