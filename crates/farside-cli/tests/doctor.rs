//! `farside doctor`, and the refusals that come from the same checks.

mod support;

use serde_json::Value;
use support::{Farside, code, stdout};

#[test]
fn json_has_every_item_and_agrees_with_the_exit_code() {
    let output = Farside::new().command(["doctor", "--json"]).output().unwrap();
    let items: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap();
    for item in &items {
        for key in ["name", "found", "path"] {
            assert!(item[key].is_string(), "{item}");
        }
        assert!(item["repair"].is_string() || item["repair"].is_null(), "{item}");
        assert!(["ok", "missing", "fatal"].contains(&item["state"].as_str().unwrap()), "{item}");
    }
    let names: Vec<&str> = items.iter().filter_map(|item| item["name"].as_str()).collect();
    for name in
        ["kernel", "userfaultfd", "memory files", "moving pages", "vm.max_map_count", "zram"]
    {
        assert!(names.contains(&name), "{name}");
    }
    let fatal = items.iter().any(|item| item["state"] == "fatal");
    assert_eq!(code(&output), Some(i32::from(fatal)));
    if !fatal {
        let features = names.iter().filter(|name| name.starts_with("feature ")).count();
        assert_eq!(features, farside_os::probe::FEATURES.len());
    }
}

#[test]
fn text_ends_with_a_verdict() {
    let output = Farside::new().command(["doctor"]).output().unwrap();
    let text = stdout(&output);
    let verdict = text.lines().last().unwrap();
    assert_eq!(verdict == "farside run works here", code(&output) == Some(0), "{text}");
}

#[test]
fn a_user_without_permission_is_told_how_to_get_it() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: a_user_without_permission_is_told_how_to_get_it: not root");
        return;
    }
    // Where the command was built, that user may not look.
    let public = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(public.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let copy = public.path().join("farside");
    std::fs::copy(env!("CARGO_BIN_EXE_farside"), &copy).unwrap();
    let farside = |arguments: &[&str]| {
        let mut command = std::process::Command::new(&copy);
        command.args(arguments).uid(NOBODY).gid(NOBODY).current_dir("/").output().unwrap()
    };
    let doctor = farside(&["doctor"]);
    assert_eq!(code(&doctor), Some(1));
    let text = stdout(&doctor);
    let verdict = text.lines().last().unwrap();
    assert!(verdict.contains("to repair: sudo "), "{verdict}");
    let run = farside(&["run", "true"]);
    assert_eq!(code(&run), Some(125));
    assert_eq!(support::stderr(&run), format!("farside: {verdict}\n"), "not the same message");
}
