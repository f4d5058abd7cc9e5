//! The programs in `examples/`.

use std::path::Path;

use farside_exam::skipped;

use super::place::{Place, counter};
use super::{MEGABYTES, NODES};

/// Headers that examples include, and their packages.
const BOOST_FIBER: [&str; 2] = ["/usr/include/boost/fiber/all.hpp", "libboost-fiber-dev"];
const SNAPPY: [&str; 2] = ["/usr/include/snappy.h", "libsnappy-dev"];
const OPENSSL: [&str; 2] = ["/usr/include/openssl/evp.h", "libssl-dev"];

/// Compiles an example, if what it includes is there.
fn example(test: &str, name: &str, needs: &[[&str; 2]], libraries: &[&str]) -> Option<Place> {
    for [header, package] in needs {
        if !Path::new(header).exists() {
            skipped(test, &format!("no {header}; install it: apt-get install {package}"));
            return None;
        }
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    Place::of(test, &source, "g++", &[&["-std=c++20"], libraries].concat())
}

/// Runs an example on all nodes; what it waits for comes by hints.
fn hinted(place: &Place, arguments: &[&str], least: u64) {
    for far in NODES {
        let counted = place.run(far, arguments);
        let hinted = counter(&counted, "hinted_pages");
        assert!(hinted > least, "{hinted} hinted pages on {far}");
    }
}

#[test]
fn fibers_wait_while_others_run() {
    let test = "fibers_wait_while_others_run";
    let libraries = ["-lboost_fiber", "-lboost_context"];
    let Some(place) = example(test, "kvserver.cc", &[BOOST_FIBER], &libraries) else { return };
    let load = ["--items", "30000", "--requests", "20000"];
    for more in [&["--fibers", "16"][..], &["--fibers", "1"], &["--blocking"]] {
        hinted(&place, &[&load, more].concat(), 5000);
    }
}

#[test]
fn coroutines_wait_while_others_run() {
    let test = "coroutines_wait_while_others_run";
    let Some(place) = example(test, "coroutines.cc", &[], &[]) else { return };
    hinted(&place, &["--megabytes", MEGABYTES, "--walks", "20", "--steps", "500"], 5000);
}

#[test]
fn tasks_of_rust_wait_while_others_run() {
    let place = Place::built(env!("CARGO_BIN_EXE_lookups"));
    hinted(&place, &[MEGABYTES, "20", "500"], 5000);
}

#[test]
fn hinted_programs_compute_what_they_compute_without() {
    let test = "hinted_programs_compute_what_they_compute_without";
    for (name, needs, libraries, arguments) in [
        ("sort.cc", &[][..], &[][..], &["--numbers", "2000000"][..]),
        ("analytics.cc", &[], &[], &["--trips", "170000"]),
        (
            "webservice.cc",
            &[SNAPPY, OPENSSL],
            &["-lsnappy", "-lcrypto"],
            &["--megabytes", "16", "--requests", "2000"],
        ),
    ] {
        if let Some(place) = example(test, name, needs, libraries) {
            hinted(&place, arguments, 500);
        }
    }
}

#[test]
fn examples_refuse_what_makes_no_sense() {
    let test = "examples_refuse_what_makes_no_sense";
    for name in ["sort.cc", "analytics.cc", "coroutines.cc"] {
        let Some(place) = example(test, name, &[], &[]) else { return };
        for arguments in
            [&["--sorrow"][..], &["--threads", "0"], &["--trips", "x"], &["--walks", "many"]]
        {
            assert_eq!(place.refused(arguments), Some(2), "{name} {arguments:?}");
        }
    }
}
