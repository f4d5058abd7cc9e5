//! Real programs run plainly, under the library without far memory, and on far memory with much and
//! with little room: output and exit code must always be the same. A program that is not installed is
//! skipped by name.

mod harness;

use std::path::Path;
use std::process::Command;

use harness::{Run, far_memory_works, run};

fn installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
    if !found.status.success() {
        println!("skipped: {program}: it is not installed");
    }
    found.status.success()
}

fn same_runs(program: &str, args: &[&str]) {
    if !installed(program) {
        return;
    }
    let plain = run(Run::Plain, program, args);
    assert_eq!(plain.code, Some(0), "{program} fails by itself: {plain}");
    for way in [Run::Local, Run::Far, Run::Tight] {
        if way == Run::Local || far_memory_works(program) {
            assert_eq!(plain, run(way, program, args), "{program} differs, {way:?}");
        }
    }
}

#[test]
fn sort_with_threads() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lines");
    let mut seed = 1u64;
    let mut text = String::new();
    for _ in 0..300_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text += &format!("{:x} line\n", seed >> 20);
    }
    std::fs::write(&file, text).unwrap();
    same_runs("sort", &["--parallel=4", "-S", "20M", file.to_str().unwrap()]);
}

#[test]
fn python() {
    same_runs(
        "python3",
        &[
            "-c",
            "import sqlite3, hashlib, json, threading, subprocess\n\
             d = {str(i): [i] * (i % 50) for i in range(200000)}\n\
             c = sqlite3.connect(':memory:')\n\
             c.execute('create table t (a, b)')\n\
             c.executemany('insert into t values (?, ?)', ((i, str(i) * 9) for i in range(50000)))\n\
             r = c.execute('select sum(length(b)) from t where a % 3 = 0').fetchone()\n\
             x = bytearray(64 << 20)\n\
             x[::4096] = b'x' * len(x[::4096])\n\
             out = []\n\
             t = [threading.Thread(target=lambda: out.append(sum(map(len, d.values())))) for _ in range(4)]\n\
             [i.start() for i in t]; [i.join() for i in t]\n\
             h = hashlib.sha256(json.dumps(d).encode()).hexdigest()\n\
             e = subprocess.run(['echo', 'child'], capture_output=True).stdout\n\
             print(r, hashlib.sha256(x).hexdigest(), out, h, e)",
        ],
    );
}

#[test]
fn perl() {
    same_runs(
        "perl",
        &[
            "-e",
            "my %h; $h{$_ * 7 % 100003} .= $_ x 3 for 1..300000; my $s = 0; \
                 $s += length $h{$_} for sort keys %h; my $p = fork // die; \
                 if (!$p) { print scalar(keys %h), \"\\n\"; exit 0 } waitpid $p, 0; print \"$s\\n\"",
        ],
    );
}

#[test]
fn gcc() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source.cc");
    std::fs::write(
        &source,
        "#include <map>\n#include <regex>\n#include <string>\n#include <iostream>\n\
         std::map<std::string, std::regex> all;\n\
         int main() { all[\"a\"] = std::regex(\"b+\"); std::cout << all.size(); }\n",
    )
    .unwrap();
    same_runs("g++", &["-O2", "-S", "-o", "-", source.to_str().unwrap()]);
}

#[test]
fn node() {
    same_runs(
        "node",
        &[
            "-e",
            "const m = new Map(); for (let i = 0; i < 30000; i++) m.set('k' + i, {i, s: 'x'.repeat(i % 100)});\
                 let n = 0; for (const v of m.values()) n += v.s.length;\
                 const b = Buffer.alloc(8 << 20, 7); let s = 0; for (const x of b) s += x; console.log(n, s)",
        ],
    );
}

#[test]
fn java() {
    if !installed("java") {
        return;
    }
    same_runs("java", &["-Xmx512m", "-XX:+UseSerialGC", "-version"]);
    if !installed("javac") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("Work.java");
    std::fs::write(
        &source,
        "import java.util.*;\n\
         public class Work { public static void main(String[] a) throws Exception {\n\
           long sum = 0;\n\
           for (int round = 0; round < 5; round++) {\n\
             HashMap<Integer, byte[]> m = new HashMap<>();\n\
             for (int i = 0; i < 100000; i++) m.put(i, new byte[i % 2000]);\n\
             for (byte[] b : m.values()) sum += b.length;\n\
             System.gc();\n\
           }\n\
           Thread[] t = new Thread[4];\n\
           for (int i = 0; i < 4; i++) { t[i] = new Thread(() -> { new ArrayList<>(Collections.nCopies(1000000, 1)); }); t[i].start(); }\n\
           for (Thread x : t) x.join();\n\
           System.out.println(sum);\n\
         } }\n",
    )
    .unwrap();
    let source = source.to_str().unwrap();
    same_runs("java", &["-Xmx512m", "-XX:+UseG1GC", source]);
    same_runs("java", &["-Xmx512m", "-XX:+UseSerialGC", source]);
}

#[test]
fn git_gc() {
    if !installed("git") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        std::fs::write(dir.path().join(name), name.repeat(200_000)).unwrap();
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let script = format!(
        "set -e; cd {}; rm -rf .git; cp {}/*.rs .; git init -q; \
         git add -A; git -c user.name=n -c user.email=e commit -qm m --date=@1; \
         git gc -q --aggressive; git fsck --strict; git ls-files -s",
        dir.path().display(),
        sources.display()
    );
    same_runs("sh", &["-c", &script]);
}
