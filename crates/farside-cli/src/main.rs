//! The `farside` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    farside_cli::main()
}
