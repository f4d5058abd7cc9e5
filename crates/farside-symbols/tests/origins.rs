//! How addresses came about in compiled code.

use std::path::{Path, PathBuf};
use std::process::Command;

use farside_symbols::{Derivation, Images, Origin, Origins, Place};
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, Register};
use object::{Object, ObjectSection, ObjectSymbol};

/// Compiles `origins.c`; `None`, and it is said, if there is no compiler.
fn compiled(test: &str, directory: &Path, flags: &[&str]) -> Option<PathBuf> {
    let program = directory.join("origins");
    let mut command = Command::new("gcc");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/origins.c");
    command.args(["-std=gnu99", "-Wall", "-Werror", "-fno-tree-vectorize", "-fno-ipa-icf"]);
    match command.args(flags).arg(source).arg("-o").arg(&program).status() {
        Ok(status) => {
            assert!(status.success());
            Some(program)
        }
        Err(_) => {
            eprintln!("\nskipped: {test}: gcc is missing; apt-get install gcc");
            None
        }
    }
}

/// A program, and its instructions.
struct Program {
    images: Images,
    bytes: Vec<u8>,
}

impl Program {
    fn new(path: &Path) -> Self {
        let bytes = std::fs::read(path).expect("it was compiled");
        let mut images = Images::default();
        let file = object::File::parse(&*bytes).expect("a program");
        let (offset, length) = file
            .section_by_name(".text")
            .and_then(|section| section.file_range())
            .expect("code in the file");
        let path = path.to_str().expect("a plain path");
        assert!(images.map(1 << 30, length + offset % 4096, offset & !4095, path.as_bytes()));
        Self { images, bytes }
    }

    /// The first instruction of a function of which this is true.
    fn find(&self, function: &str, is: impl Fn(&Instruction) -> bool) -> Place {
        let file = object::File::parse(&*self.bytes).expect("a program");
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(function)).expect(function);
        let section = file.section_by_name(".text").expect("code");
        let code = section.data_range(symbol.address(), symbol.size());
        let code = code.expect("code").expect("code");
        let mut decoder = Decoder::with_ip(64, code, symbol.address(), DecoderOptions::NONE);
        let found = decoder.iter().find(|instruction| is(instruction));
        Place { image: 0, address: found.expect("an instruction").ip() }
    }

    /// Where a function reads a short that is not on its stack.
    fn read(&self, function: &str) -> Place {
        self.find(function, |instruction| {
            matches!(instruction.mnemonic(), Mnemonic::Movsx | Mnemonic::Movzx)
                && instruction.memory_size().size() == 2
                && !matches!(instruction.memory_base(), Register::RBP | Register::RSP)
        })
    }

    fn origin(&self, function: &str) -> Derivation {
        Origins::new(&self.images).of(&[self.read(function)], false)
    }
}

#[test]
fn compiled_code_is_understood() {
    let directory = std::env::temp_dir().join(format!("farside-origins-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    for flags in [
        &["-O0"][..],
        &["-O1"],
        &["-O2"],
        &["-O3", "-fomit-frame-pointer", "-no-pie", "-fno-pie"],
        &["-O2", "-fno-omit-frame-pointer"],
    ] {
        let Some(path) = compiled("compiled_code_is_understood", &directory, flags) else { return };
        let program = Program::new(&path);
        for function in ["list", "pointers", "chains", "tree", "fields", "variable"] {
            let found = program.origin(function);
            assert_eq!(found.origin, Origin::Loaded, "{flags:?} {function}: {found:?}");
        }
        for function in ["array", "records", "table", "matrix", "field", "gather"] {
            let found = program.origin(function);
            assert_eq!(found.origin, Origin::Computed, "{flags:?} {function}: {found:?}");
            assert_eq!(found.is_indexed, function == "gather", "{flags:?} {function}: {found:?}");
            assert_eq!(found.begins_loaded, function == "field", "{flags:?} {function}: {found:?}");
        }
        let found = program.origin("slot");
        assert_eq!((found.origin, found.begins_loaded), (Origin::Computed, true), "{flags:?}");
        assert!(!found.advances, "{flags:?}: {found:?}");
        assert_eq!(program.origin("fixed").origin, Origin::Computed, "{flags:?}");
        let called = program.read("called");
        assert_eq!(program.origin("called").origin, Origin::Undecided, "{flags:?}");
        for (caller, origin) in
            [("hands_loaded", Origin::Loaded), ("hands_computed", Origin::Computed)]
        {
            let call = program.find(caller, |instruction| instruction.mnemonic() == Mnemonic::Call);
            let found = Origins::new(&program.images).of(&[called, call], false);
            assert_eq!(found.origin, origin, "{flags:?} {caller}: {found:?}");
        }
    }
    std::fs::remove_dir_all(&directory).expect("it is ours");
}
