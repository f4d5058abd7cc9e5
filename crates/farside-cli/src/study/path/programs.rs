//! The programs, what they have to say, and what they stand for.

/// How large the inputs are.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Scale {
    /// As in the study.
    Full,
    /// To try the study out.
    Small,
}

/// What a program is given, and what it has to print.
#[derive(Copy, Clone, Debug)]
pub struct Input {
    pub arguments: &'static [&'static str],
    pub prints: &'static str,
}

/// What a program is written in.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    Java,
}

/// A program of the study.
#[derive(Debug)]
pub struct Program {
    /// Its name, and that of its source.
    pub name: &'static str,
    pub language: Language,
    /// The program of the paper that it is like.
    pub like: &'static str,
    full: Input,
    small: Input,
}

impl Program {
    const fn c(name: &'static str, like: &'static str, full: Input, small: Input) -> Self {
        Self { name, language: Language::C, like, full, small }
    }

    /// The input of a scale.
    pub const fn input(&self, scale: Scale) -> &Input {
        match scale {
            Scale::Full => &self.full,
            Scale::Small => &self.small,
        }
    }
}

const fn input(arguments: &'static [&'static str], prints: &'static str) -> Input {
    Input { arguments, prints }
}

/// All programs.
pub const PROGRAMS: &[Program] = &[
    Program::c(
        "fft",
        "FFT (Splash-2)",
        input(&["20", "2"], "checksum -2.838465e+06"),
        input(&["12", "1"], "checksum -1.023945e+04"),
    ),
    Program::c(
        "lu_contiguous",
        "LU, contiguous blocks (Splash-2)",
        input(&["2048", "12"], "checksum 2.513162e+07"),
        input(&["256", "16"], "checksum 3.894769e+05"),
    ),
    Program::c(
        "lu_noncontiguous",
        "LU, non-contiguous blocks (Splash-2)",
        input(&["2048", "12"], "checksum 2.513162e+07"),
        input(&["256", "16"], "checksum 3.894769e+05"),
    ),
    Program::c(
        "ocean",
        "Ocean (Splash-2)",
        input(&["512", "6"], "checksum 1.208832e-04"),
        input(&["64", "2"], "checksum 6.065981e-06"),
    ),
    Program::c(
        "radix",
        "Radix (Splash-2)",
        input(&["3000000"], "checksum 2381810434991495730"),
        input(&["60000"], "checksum 8314839033720094792"),
    ),
    Program::c(
        "cg",
        "CG (NAS)",
        input(&["100003", "4"], "checksum 1.054509e+05"),
        input(&["3001", "4"], "checksum 3.160053e+03"),
    ),
    Program::c(
        "mg",
        "MG (NAS)",
        input(&["128", "2"], "checksum 7.728012e-01"),
        input(&["32", "2"], "checksum 8.130256e-01"),
    ),
    Program::c(
        "bt",
        "BT (NAS)",
        input(&["64", "4"], "checksum -7.323220e+04"),
        input(&["16", "2"], "checksum -3.143627e+02"),
    ),
    Program::c(
        "cube",
        "MMCubing (Illimine)",
        input(&["300000", "2000"], "found 430 checksum 14846967035862292944"),
        input(&["10000", "100"], "found 272 checksum 7036437260746862599"),
    ),
    Program {
        name: "Warehouse",
        language: Language::Java,
        like: "SPECjbb 2000",
        full: input(&["60000"], "checksum 8031627871740837748"),
        small: input(&["2000"], "checksum 7240843944699730032"),
    },
];
