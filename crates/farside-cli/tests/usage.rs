//! Bad input: one clear line, the documented exit code, nothing started.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use support::{Farside, assert_refused, code, stderr, stdout};

#[test]
fn bad_command_lines_end_with_code_2() {
    let farside = Farside::new();
    for (arguments, words) in [
        (vec![], vec!["no command"]),
        (vec!["fly"], vec!["fly"]),
        (vec!["--fast"], vec!["--fast"]),
        (vec!["run"], vec!["PROGRAM"]),
        (vec!["run", "--nothing", "true"], vec!["--nothing"]),
        (vec!["run", "--local"], vec!["--local"]),
        (vec!["run", "--local", "lots", "true"], vec!["--local lots", "400M"]),
        (vec!["run", "--local", "1023K", "true"], vec!["--local 1023K", "1 MiB", "without a unit"]),
        (vec!["run", "--local", "0%", "true"], vec!["--local 0%"]),
        (vec!["run", "--local", "9999T", "true"], vec!["--local 9999T", "128 TiB"]),
        (vec!["run", "--readahead", "513", "true"], vec!["--readahead", "512"]),
        (vec!["run", "--replacement", "arc", "true"], vec!["second-chance", "fifo"]),
        (vec!["run", "--prefetch", "magic", "true"], vec!["none", "readahead", "linux"]),
        (vec!["run", "--prefetch", "linux:depth=3", "true"], vec!["linux", "no parameters"]),
        (vec!["run", "--prefetch", "pointer:depth=0", "true"], vec!["--prefetch", "depth", "256"]),
        (vec!["run", "--prefetch", "pointer:deep=3", "true"], vec!["deep", "confidence"]),
        (vec!["run", "--far", "ftp://h", "true"], vec!["embedded", "tcp://"]),
        (vec!["run", "--far", "tcp://h?colour=red", "true"], vec!["colour", "copies"]),
        (vec!["run", "--far", "tcp://h", "--copies", "2", "true"], vec!["--copies 2", "only 1"]),
        (vec!["run", "--copies", "2", "true"], vec!["--copies 2", "--far"]),
        (vec!["run", "--far", "file:/tmp", "--copies", "2", "true"], vec!["--copies 2", "a file"]),
        (vec!["run", "--far", "file:/tmp?size=big", "true"], vec!["size", "64G"]),
        (vec!["run", "--far", "file:", "true"], vec!["path"]),
        (vec!["run", "--far", "tcp://h", "--far", "embedded:", "true"], vec!["tcp://"]),
        (
            vec!["run", "--far", "tcp://127.0.0.1", "--psk", "/no/such/file", "true"],
            vec!["/no/such/file"],
        ),
        (vec!["run", "--tls-cert", "a", "true"], vec!["--tls-ca", "--tls-key"]),
        (
            vec!["run", "--far", "tcp://h", "--tls-ca", "a", "true"],
            vec!["authority", "certificate and its key"],
        ),
        (
            vec!["node", "--listen", "nonsense", "--memory", "1M"],
            vec!["--listen nonsense", "HOST:PORT"],
        ),
        (vec!["node", "--listen", "0.0.0.0:0", "--memory", "1M"], vec!["--psk", "--insecure"]),
        (vec!["node", "--listen", "ucx://0.0.0.0:0", "--memory", "1M"], vec!["UCX", "--insecure"]),
        (vec!["run", "--far", "tcp://h", "--far", "ucx://h", "true"], vec!["ucx://"]),
        (vec!["run", "--far", "ucx://192.0.2.1", "true"], vec!["UCX", "--insecure"]),
        (vec!["node", "--listen", "127.0.0.1:0", "--memory", "1K"], vec!["less than a page"]),
        (vec!["node", "--listen", "127.0.0.1:0", "--memory", "9999T"], vec!["--memory"]),
        (vec!["doctor", "--far", "embedded:"], vec!["tcp://"]),
        (vec!["run", "--far", "embedded:latency=x", "true"], vec!["latency"]),
        (vec!["run", "--config", "/no/such/file", "true"], vec!["/no/such/file"]),
        (vec!["run", "--stats", "/no/such/dir/file", "true"], vec!["/no/such/dir/file"]),
        (vec!["run", "--auto", "true"], vec!["--auto", "--local"]),
        (vec!["run", "--auto", "--tape", "a.tape", "true"], vec!["--auto", "--tape"]),
        (vec!["run", "--force", "true"], vec!["--tape"]),
        (vec!["run", "--auto", "--force", "true"], vec!["--auto", "--force"]),
        (vec!["record", "-o", "a", "--local", "1K", "true"], vec!["--local 1K", "1 MiB"]),
        (vec!["record", "-o", "a", "--far", "x:", "true"], vec!["--far x:"]),
        (vec!["record", "-o", "a", "--config", "/no/such/file", "true"], vec!["/no/such/file"]),
        (vec!["run", "--lookahead", "9", "true"], vec!["--tape"]),
        (vec!["run", "--tape", "t", "--batch", "0", "true"], vec!["--batch", "1073741824"]),
        (vec!["node", "--embedded", "--link", "99", "--far", "embedded:"], vec!["--link 99"]),
        (vec!["run", "--local", "two\nlines\x1b[2J", "true"], vec!["--local two lines"]),
        (vec!["completions", "cobol"], vec!["cobol"]),
    ] {
        assert_refused(farside.command(arguments), 2, &words);
    }
}

#[test]
fn a_bad_command_line_is_told_whose_help_to_read_and_what_is_spelt_alike() {
    let farside = Farside::new();
    for (arguments, words) in [
        (vec![], vec!["see: farside --help"]),
        (vec!["tune", "--local", "20%"], vec!["--build", "see: farside tune --help"]),
        (vec!["bench", "tune", "--nothing"], vec!["--nothing", "see: farside bench tune --help"]),
        (vec!["size", "me"], vec!["see: farside size --help"]),
        (vec!["siz"], vec!["did you mean 'size'?", "see: farside --help"]),
        (vec!["tune", "--locl", "20%"], vec!["did you mean '--local'?"]),
    ] {
        assert_refused(farside.command(arguments), 2, &words);
    }
}

#[test]
fn bad_settings_outside_the_command_line_name_their_place() {
    let farside = Farside::new();
    let mut command = farside.command(["run", "true"]);
    command.env("FARSIDE_READAHEAD", "many");
    assert_refused(command, 2, &["FARSIDE_READAHEAD=many"]);
    let file = farside.path("far.toml");
    fs::write(&file, "quiet = true\nlocal = '10%'\ncolour = 'red'\n").unwrap();
    let mut command = farside.command(["run", "true"]);
    command.env("FARSIDE_CONFIG", &file);
    assert_refused(command, 2, &["far.toml:3:", "colour", "local"]);
}

#[test]
fn refused_runs_start_nothing() {
    let farside = Farside::new();
    let witness = farside.path("witness");
    let script = format!("touch {}", witness.display());
    for option in ["--local=1", "--far=x:", "--readahead=x", "--stats=/no/such/dir/file"] {
        let output = farside.command(["run", option, "sh", "-c", &script]).output().unwrap();
        assert_eq!(code(&output), Some(2));
    }
    let mut command = farside.command(["run", "sh", "-c", &script]);
    command.env("FARSIDE_PRELOAD", "/no/such/library.so");
    assert_refused(command, 125, &["/no/such/library.so"]);
    assert!(!witness.exists());
}

#[test]
fn missing_programs_end_with_127_and_others_that_cannot_run_with_126() {
    let farside = Farside::new();
    assert_refused(farside.run(["no-such-program-anywhere"]), 127, &["no-such-program-anywhere"]);
    assert_refused(farside.run(["./no/such/program"]), 127, &["./no/such/program"]);
    assert_refused(farside.run([""]), 127, &[]);
    let plain = farside.path("plain");
    fs::write(&plain, "text").unwrap();
    assert_refused(farside.run([&plain]), 126, &["not executable"]);
    assert_refused(farside.run(["/"]), 126, &["directory"]);
    let mut command = farside.run(["plain"]);
    command.env("PATH", plain.parent().unwrap());
    assert_refused(command, 126, &["not executable"]);
    let orphan = farside.path("orphan");
    fs::write(&orphan, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&orphan, fs::Permissions::from_mode(0o755)).unwrap();
    assert_refused(farside.run([&orphan]), 127, &["orphan"]);
}

#[test]
fn options_behind_the_program_are_its_own() {
    let farside = Farside::new();
    let output = farside.command(["run", "-q", "echo", "--local", "x", "--", "-q"]).output();
    assert_eq!(stdout(&output.unwrap()), "--local x -- -q\n");
}

#[test]
fn help_and_version_go_to_stdout() {
    let farside = Farside::new();
    for arguments in [vec!["--help"], vec!["run", "--help"], vec!["--version"]] {
        let output = farside.command(arguments).output().unwrap();
        assert_eq!((code(&output), stderr(&output).as_str()), (Some(0), ""));
        assert!(stdout(&output).contains("farside"));
    }
    let help = stdout(&farside.command(["run", "--help"]).output().unwrap());
    for word in ["second-chance", "readahead", "embedded:", "FARSIDE_LOCAL", "127"] {
        assert!(help.contains(word), "{word}");
    }
}

#[test]
fn completions_and_manual_pages_know_the_options() {
    let farside = Farside::new();
    for shell in ["bash", "zsh", "fish"] {
        let output = farside.command(["completions", shell]).output().unwrap();
        assert_eq!(code(&output), Some(0));
        assert!(stdout(&output).contains("exact-prefetch-count"), "{shell}");
    }
    let directory = farside.path("man/man1");
    let output = farside.command([&"man".into(), &directory]).output().unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (Some(0), ""));
    let page = fs::read_to_string(directory.join("farside-run.1")).unwrap();
    for word in
        ["\\-\\-local", "\\-\\-config", "\\-\\-prefetch", "FARSIDE_CONFIG", "second\\-chance"]
    {
        assert!(page.contains(word), "{word} is not in the manual page");
    }
    assert!(directory.join("farside.1").is_file());
}

/// As with `head`: whoever reads what is printed has seen enough.
#[test]
fn what_nobody_reads_any_more_is_no_failure() {
    let farside = Farside::new();
    for arguments in [&["tapes"][..], &["tapes", "--json"], &["tapes", "prune"]] {
        let (reader, writer) = std::io::pipe().expect("there are pipes");
        drop(reader);
        let mut command = farside.command(arguments);
        let output = command.stdout(writer).output().expect("it starts");
        assert_eq!((code(&output), stderr(&output).as_str()), (Some(0), ""), "{arguments:?}");
    }
    // A disk that is full is one.
    let full = fs::File::options().write(true).open("/dev/full").expect("it is there");
    let mut command = farside.command(["tapes"]);
    command.stdout(full);
    assert_refused(command, 125, &["cannot write to the standard output"]);
}
