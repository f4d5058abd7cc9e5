//! How builds find the header.

use std::path::Path;
use std::process::Command;

use farside_exam::{has_program, source};
use tempfile::TempDir;

/// Runs a command, which must succeed, and returns what it printed.
fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).expect("readable output").trim().to_owned()
}

/// A directory in which the header is installed.
fn installed() -> TempDir {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let prefix = tempfile::tempdir().expect("a temporary directory");
    let mut make = Command::new("make");
    let variable = format!("PREFIX={}", prefix.path().display());
    output_of(make.arg("-C").arg(root).args(["--silent", "install-header", &variable]));
    prefix
}

const PKG_CONFIG: &str = "pkg-config";

#[test]
fn pkg_config_finds_the_header() {
    let test = "pkg_config_finds_the_header";
    if !has_program(test, PKG_CONFIG, PKG_CONFIG) {
        return;
    }
    let prefix = installed();
    let search = prefix.path().join("share/pkgconfig");
    let ask = |what| {
        output_of(Command::new(PKG_CONFIG).env("PKG_CONFIG_PATH", &search).args([what, "farside"]))
    };
    assert_eq!(ask("--modversion"), env!("CARGO_PKG_VERSION"));
    assert_eq!(ask("--cflags"), format!("-I{}/include", prefix.path().display()));
    for name in ["farside.h", "farside/fibers.hpp", "farside/coroutines.hpp"] {
        assert!(prefix.path().join("include").join(name).exists(), "{name}");
    }
}

/// A program that uses pages and sections includes all of them.
#[test]
fn headers_go_together() {
    let prefix = installed();
    let project = tempfile::tempdir().expect("a temporary directory");
    let c = "#include <farside.h>\n#include <farside/section.h>\n\
             int main(void) { static char page[4096]; farside_pin(page, sizeof page); \
             farside_unpin(page, sizeof page); return 0; }\n";
    let cc = "#include <farside/section.h>\n#include <farside/coroutines.hpp>\n#include <farside.h>\n\
              int main() { static char page[4096]; farside::pinned here(page, sizeof page); }\n";
    for (compiler, name, text, options) in [
        ("cc", "program.c", c, &["-std=gnu11"][..]),
        ("cc", "off.c", c, &["-std=gnu11", "-DFARSIDE_OFF"]),
        ("c++", "program.cc", cc, &["-std=c++20"]),
    ] {
        let source = project.path().join(name);
        std::fs::write(&source, text).expect("a file can be written");
        let mut compile = Command::new(compiler);
        compile.args(options).args(["-Wall", "-Wextra", "-Werror", "-I"]);
        compile.arg(prefix.path().join("include")).arg(&source).arg("-o");
        let program = project.path().join("program");
        output_of(compile.arg(&program));
        output_of(&mut Command::new(&program));
    }
}

#[test]
fn cmake_finds_the_header() {
    let test = "cmake_finds_the_header";
    if !has_program(test, "cmake", "cmake") {
        return;
    }
    let prefix = installed();
    let project = tempfile::tempdir().expect("a temporary directory");
    let text = format!(
        "cmake_minimum_required(VERSION 3.13)\nproject(hint C)\nfind_package(farside {} REQUIRED)\n\
         add_executable(hint {})\ntarget_link_libraries(hint PRIVATE farside::farside)\n",
        env!("CARGO_PKG_VERSION"),
        source("hint.c").display()
    );
    std::fs::write(project.path().join("CMakeLists.txt"), text).expect("a file can be written");
    let build = project.path().join("build");
    let mut configure = Command::new("cmake");
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", prefix.path().display());
    output_of(configure.arg("-S").arg(project.path()).arg("-B").arg(&build).arg(prefix));
    output_of(Command::new("cmake").arg("--build").arg(&build));
    let sum = output_of(Command::new(build.join("hint")).arg("1"));
    assert!(!sum.is_empty());
}
