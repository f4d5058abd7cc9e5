//! What the program keeps: streams, directory, environment, signals, exit codes.

mod support;

use std::fs;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;

use nix::sys::signal::{self, SigHandler, Signal};
use support::{Farside, Running, code, stderr, stdout};

#[test]
fn every_exit_code_is_passed_on() {
    let farside = Farside::new();
    for expected in 0..=255 {
        let output = farside.shell(&format!("exit {expected}")).output().unwrap();
        assert_eq!((code(&output), stderr(&output)), (Some(expected), String::new()));
    }
}

#[test]
fn death_by_signal_is_passed_on() {
    let farside = Farside::new();
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGSEGV, libc::SIGINT, libc::SIGRTMIN() + 3]
    {
        let script = format!("kill -{signal} $$");
        let mut command = farside.shell(&script);
        command.current_dir(farside.path(""));
        // The caller may ignore interrupts, as a shell makes what it starts in the background do.
        // SAFETY: `signal` may be called between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::signal(signal, libc::SIG_DFL);
                Ok(())
            });
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.signal(), Some(signal), "{:?}", output.status);
        assert!(!output.status.core_dumped());
    }
}

#[test]
fn streams_and_directory_are_the_programs_own() {
    let farside = Farside::new();
    let mut command = farside.shell("cat; pwd; echo complaint >&2");
    command.current_dir("/usr").stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"from outside\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(stdout(&output), "from outside\n/usr\n");
    assert_eq!(stderr(&output), "complaint\n");
}

#[test]
fn other_descriptors_and_the_program_name_are_passed_on() {
    let farside = Farside::new();
    let (input, mut output) = std::io::pipe().unwrap();
    output.write_all(b"third\n").unwrap();
    drop(output);
    let mut command = farside.shell("cat <&3; echo $0");
    // The standard way to hand on a descriptor: a shell in front.
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "exec \"$@\" 3<&0", "sh"]).arg(command.get_program());
    shell.args(command.get_args()).stdin(input);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    assert_eq!(stdout(&shell.output().unwrap()), "third\nsh\n");
    command.stdout(Stdio::null());
}

#[test]
fn settings_reach_the_program_in_its_environment() {
    let farside = Farside::new();
    let mut command = farside.command(["run", "-q", "--local", "2M", "--far"]);
    command.args(["embedded:latency=5us", "--readahead", "7", "--", "env"]);
    command.env("LD_PRELOAD", "libm.so.6").env("FARSIDE_PREFETCH", "none");
    let text = stdout(&command.output().unwrap());
    let value = |name: &str| {
        let prefix = format!("{name}=");
        text.lines().find_map(|line| line.strip_prefix(&prefix)).map(str::to_owned)
    };
    assert_eq!(value("FARSIDE_LOCAL").as_deref(), Some("2097152"));
    assert_eq!(value("FARSIDE_READAHEAD").as_deref(), Some("7"));
    assert_eq!(value("FARSIDE_PREFETCH").as_deref(), Some("none"));
    assert_eq!(value("FARSIDE_FAR").as_deref(), Some("embedded:latency=5000ns"));
    assert!(value("FARSIDE_CONTROL").is_some_and(|name| !name.is_empty()));
    let preload = value("LD_PRELOAD").unwrap();
    assert!(preload.starts_with('/') && preload.ends_with(":libm.so.6"), "{preload}");
}

#[test]
fn signals_sent_to_the_supervisor_reach_the_program() {
    let farside = Farside::new();
    for (signal, name) in [
        (Signal::SIGTERM, "TERM"),
        (Signal::SIGHUP, "HUP"),
        (Signal::SIGUSR1, "USR1"),
        (Signal::SIGUSR2, "USR2"),
        (Signal::SIGWINCH, "WINCH"),
    ] {
        let script =
            format!("trap 'echo got; exit 7' {name}; echo ready; while :; do sleep 0.02; done");
        let mut command = farside.shell(&script);
        // A shell cannot trap what was ignored when it started, as under `nohup`.
        // SAFETY: setting a disposition is allowed between fork and exec.
        unsafe {
            command.pre_exec(move || Ok(signal::signal(signal, SigHandler::SigDfl).map(drop)?))
        };
        let mut running = Running::start(command);
        assert_eq!(running.line(), "ready");
        running.signal(signal);
        assert_eq!(running.line(), "got", "{name}");
        assert_eq!(running.child.wait().unwrap().code(), Some(7), "{name}");
    }
}

#[test]
fn interrupts_are_left_to_the_program() {
    let farside = Farside::new();
    let mut running = Running::start(farside.shell("echo ready; read line; exit 5"));
    running.child.stdin.take();
    let mut command = farside.shell("echo ready; read line; exit 5");
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    assert_eq!(running.line(), "ready");
    for signal in [Signal::SIGINT, Signal::SIGQUIT] {
        running.signal(signal);
    }
    // Neither has ended the supervisor: it still passes on this code.
    running.child.stdin.take().unwrap().write_all(b"go on\n").unwrap();
    assert_eq!(running.child.wait().unwrap().code(), Some(5));
}

/// The signals that a process ignores, as bits.
fn ignored(script: &str, farside: Option<&Farside>) -> u64 {
    let status = "grep -E '^Sig(Ign|Blk)' /proc/self/status";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("{script} exec \"$@\""), "sh"]);
    if let Some(farside) = farside {
        let run = farside.run(["sh", "-c", status]);
        shell.arg(run.get_program()).args(run.get_args());
        for (name, value) in run.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
    } else {
        shell.args(["sh", "-c", status]);
    }
    let text = stdout(&shell.output().unwrap());
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap()
    };
    assert_eq!(field("SigBlk"), 0);
    field("SigIgn")
}

#[test]
fn the_program_inherits_the_callers_signal_dispositions() {
    let farside = Farside::new();
    for script in ["", "trap '' PIPE;", "trap '' INT HUP;", "trap '' CHLD TERM;"] {
        assert_eq!(ignored(script, Some(&farside)), ignored(script, None), "{script:?}");
    }
}

#[test]
fn scripts_are_managed_and_static_programs_are_not() {
    use std::os::unix::fs::PermissionsExt;
    let farside = Farside::new();
    let script = farside.path("script");
    fs::write(&script, "#!/bin/sh\necho \"control: $FARSIDE_CONTROL\"\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let output = farside.run([&script]).output().unwrap();
    assert!(stdout(&output).starts_with("control: farside-"), "{}", stderr(&output));

    let program = farside.path("static");
    fs::write(&program, tiny_elf()).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let output = farside.run([&program]).output().unwrap();
    let text = stderr(&output);
    assert_eq!(code(&output), Some(42), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("without far memory") && text.contains("statically linked"), "{text}");
}

/// A program without an interpreter that exits with code 42.
fn tiny_elf() -> Vec<u8> {
    let code: &[u8] = &[
        0xbf, 42, 0, 0, 0, // mov edi, 42
        0xb8, 60, 0, 0, 0, // mov eax, 60 (exit)
        0x0f, 0x05, // syscall
    ];
    let base: u64 = 0x40_0000;
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    for half in [2u16, 62] {
        elf.extend(half.to_le_bytes());
    }
    elf.extend(1u32.to_le_bytes());
    for word in [base + 120, 64, 0] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend(0u32.to_le_bytes());
    for half in [64u16, 56, 1, 64, 0, 0] {
        elf.extend(half.to_le_bytes());
    }
    let size = 120 + code.len() as u64;
    for word in [1u32, 5] {
        elf.extend(word.to_le_bytes());
    }
    for word in [0, base, base, size, size, 4096] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend(code);
    elf
}

#[test]
fn a_summary_goes_to_stderr_unless_quiet() {
    let farside = Farside::new();
    let output = farside.command(["run", "--local", "64M", "--", "true"]).output().unwrap();
    let text = stderr(&output);
    assert_eq!(stdout(&output), "");
    for words in
        ["true: ", "limit 64 MiB", "peak resident", "demand faults", "late hits", "fetched"]
    {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    assert!(text.lines().all(|line| line.starts_with("farside: ")), "{text}");
    assert_eq!(stderr(&farside.run(["true"]).output().unwrap()), "");
}
