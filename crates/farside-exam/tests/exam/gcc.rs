//! gcc, whose compiler proper is a child process.

use farside_exam::{Exam, Program, has_program, lines, pick};

#[test]
fn gcc_compiles_a_large_file() {
    if !has_program("gcc_compiles_a_large_file", "g++", "g++") {
        return;
    }
    let exam = Exam::new("gcc");
    let source = exam.input("large.cc");
    let text = String::from("#include <map>\n#include <string>\n#include <vector>\n")
        + &lines(pick(120, 3000), |i| {
            format!(
                "struct T{i} {{ std::map<int, std::vector<int>> m; std::string s; }};\n\
                 int f{i}(T{i} &t, int x) {{\n\
                 for (int k = 0; k < x; k++) t.m[k % {}].push_back(k);\n\
                 t.s += std::to_string(x); int r = 0;\n\
                 for (auto &e : t.m) r += e.second.size();\n\
                 return r + t.s.size(); }}",
                i + 2
            )
        });
    std::fs::write(&source, text).expect("the temporary directory has room");
    exam.compare(&Program::new("g++").args(["-O2", "-S", "-o", "large.s"]).arg(source));
}
