//! Errors that end the command: one line and an exit code.

use std::fmt;
use std::process::ExitCode;

/// Why the command cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Exit code, as `env` and `timeout` use them.
    pub code: u8,
    /// What happened and what to do, without the leading `farside: `.
    pub message: String,
}

impl Failure {
    /// What a user gave may hold line ends and worse; the message stays one line of text.
    fn new(code: u8, message: String) -> Self {
        Self { code, message: message.replace(char::is_control, " ") }
    }

    /// The command line or a setting makes no sense: exit code 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(2, message.into())
    }

    /// Farside itself failed: exit code 125.
    pub fn own(message: impl Into<String>) -> Self {
        Self::new(125, message.into())
    }

    /// The program cannot be executed: exit code 126.
    pub fn not_executable(message: impl Into<String>) -> Self {
        Self::new(126, message.into())
    }

    /// There is no such program: exit code 127.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(127, message.into())
    }

    /// Prints the message on stderr and returns the exit code.
    pub fn report(&self) -> ExitCode {
        eprintln!("farside: {self}");
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
