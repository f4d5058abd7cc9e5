//! How a process under Farside is set up: the values behind the options of `farside run`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::cached::Sections;
use crate::fault_log::LogFaults;
use crate::record::Recording;
use crate::track::Track;

/// The local limit as the user stated it.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Limit {
    /// So many bytes.
    Bytes(u64),
    /// This percentage of what the process has touched so far; from 100 on, there is no limit.
    PercentOfTouched(f64),
}

impl Limit {
    /// Whether all may be resident.
    pub fn is_none(self) -> bool {
        matches!(self, Self::PercentOfTouched(percent) if percent >= 100.0)
    }
}

/// Everything a process must know to run on far memory.
///
/// `farside run` passes it through the environment (`to_env`), so that programs started by the
/// program find it again (`from_env`).
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Most bytes of the far region that may be resident at once.
    pub limit: Limit,
    /// Name of the replacement policy.
    pub replacement: String,
    /// Name of the prefetcher, and its parameters behind a colon.
    pub prefetch: String,
    /// Largest number of pages that one fault may fetch besides its own.
    pub readahead: u32,
    /// Whether prefetched pages stay unmapped until touched, so that their use is counted exactly.
    pub exact_prefetch_count: bool,
    /// Whether frames are moved where the kernel can do it; else their content is always copied.
    pub move_frames: bool,
    /// Whether pages are evicted before room is needed, by a thread of its own; else by whoever needs room.
    pub evict_ahead: bool,
    /// How the process is recorded, if it is.
    pub record: Option<Recording>,
    /// How the faults of the process are logged, if they are.
    pub log_faults: Option<LogFaults>,
    /// When it is seen which pages are used.
    pub track: Track,
    /// When functions that can run where their data is do.
    pub offload: Offloading,
    /// Which sections of the program are more than plain memory.
    pub sections: Sections,
}

/// When functions that can run where their data is do so.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Offloading {
    /// When they take less time there, as far as was seen.
    #[default]
    Auto,
    /// Whenever they can.
    Always,
    /// Not at all.
    Never,
}

impl fmt::Display for Offloading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Offloading::Auto => "auto",
            Offloading::Always => "always",
            Offloading::Never => "never",
        })
    }
}

impl FromStr for Offloading {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Offloading::Auto, Offloading::Always, Offloading::Never]
            .into_iter()
            .find(|when| when.to_string() == text)
            .ok_or("neither \"auto\", \"always\" nor \"never\"")
    }
}

/// Names of the environment variables that carry [`Settings`].
pub mod env {
    /// Local limit: bytes, or a percentage followed by `%`.
    pub const LOCAL: &str = "FARSIDE_LOCAL";
    /// Replacement policy.
    pub const REPLACEMENT: &str = "FARSIDE_REPLACEMENT";
    /// Prefetcher.
    pub const PREFETCH: &str = "FARSIDE_PREFETCH";
    /// Read-ahead in pages.
    pub const READAHEAD: &str = "FARSIDE_READAHEAD";
    /// `1` to count prefetches exactly.
    pub const EXACT_PREFETCH: &str = "FARSIDE_EXACT_PREFETCH";
    /// `copy` to copy the content of frames even where the kernel can move them.
    pub const FRAMES: &str = "FARSIDE_FRAMES";
    /// `ahead` to evict before room is needed.
    pub const RECLAIM: &str = "FARSIDE_RECLAIM";
    /// Pages in a microset, and `,exact` if each is to be noted by a fault of its own.
    pub const RECORD: &str = "FARSIDE_RECORD";
    /// `1` to log faults; behind it `,instructions` to log them with instructions, and `,hints` to count hints.
    pub const LOG_FAULTS: &str = "FARSIDE_LOG_FAULTS";
    /// When it is seen which pages are used, and behind a colon the percentage of the time that it may take.
    pub const TRACK: &str = "FARSIDE_TRACK";
    /// When functions that can run where their data is do.
    pub const OFFLOAD: &str = "FARSIDE_OFFLOAD";
    /// Which sections are more than plain memory, and behind a colon what is known of them.
    pub const SECTIONS: &str = "FARSIDE_SECTIONS_CACHED";
    /// Far memory, as `--far` names it.
    pub const FAR: &str = "FARSIDE_FAR";
    /// File with a secret that memory nodes know, too.
    pub const PSK: &str = "FARSIDE_PSK";
    /// File with certificates of authorities for TLS.
    pub const TLS_CA: &str = "FARSIDE_TLS_CA";
    /// File with the own certificate.
    pub const TLS_CERT: &str = "FARSIDE_TLS_CERT";
    /// File with its key.
    pub const TLS_KEY: &str = "FARSIDE_TLS_KEY";
    /// File with the password of a cluster's user.
    pub const PASSWORD: &str = "FARSIDE_PASSWORD";
    /// Abstract socket name of the supervisor.
    pub const CONTROL: &str = "FARSIDE_CONTROL";
}

/// Least local limit that can work, in bytes: below it one instruction's pages and a batch do not fit.
pub const LEAST_LIMIT: u64 = 1 << 20;

/// Pages in a microset where all fits, as the paper chose it.
pub const MICROSET: usize = 1024;

/// Most pages in a microset.
pub const MOST_MICROSET: usize = 1 << 20;

/// Default read-ahead in pages.
pub const DEFAULT_READAHEAD: u32 = 64;

impl Default for Settings {
    fn default() -> Self {
        Self {
            limit: Limit::PercentOfTouched(100.0),
            replacement: "second-chance".into(),
            prefetch: "adaptive".into(),
            readahead: DEFAULT_READAHEAD,
            exact_prefetch_count: false,
            move_frames: true,
            evict_ahead: false,
            record: None,
            log_faults: None,
            track: Track::OFF,
            offload: Offloading::Auto,
            sections: Sections::default(),
        }
    }
}

/// A value that cannot be used, with the name it was given under.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{name}={value:?}: {reason}")]
pub struct BadSetting {
    /// Variable or option.
    pub name: &'static str,
    /// What was given.
    pub value: String,
    /// What would have been accepted.
    pub reason: Cow<'static, str>,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Bytes(bytes) => write!(f, "{bytes}"),
            Limit::PercentOfTouched(percent) => write!(f, "{percent}%"),
        }
    }
}

impl Settings {
    /// The environment variables that make [`from_env`](Self::from_env) return these settings.
    pub fn to_env(&self) -> Vec<(&'static str, String)> {
        let record = self.record.map(|how| (env::RECORD, how.to_string()));
        let settings = vec![
            (env::LOCAL, self.limit.to_string()),
            (env::REPLACEMENT, self.replacement.clone()),
            (env::PREFETCH, self.prefetch.clone()),
            (env::READAHEAD, self.readahead.to_string()),
            (env::EXACT_PREFETCH, u8::from(self.exact_prefetch_count).to_string()),
            (env::FRAMES, if self.move_frames { "move" } else { "copy" }.into()),
            (env::TRACK, self.track.to_string()),
            (env::OFFLOAD, self.offload.to_string()),
            (env::SECTIONS, self.sections.to_string()),
            (env::RECLAIM, if self.evict_ahead { "ahead" } else { "needed" }.into()),
        ];
        let log = self.log_faults.map(|how| (env::LOG_FAULTS, how.to_string()));
        settings.into_iter().chain(record).chain(log).collect()
    }

    /// Reads the settings through `lookup`, which returns a variable's value; missing ones keep their
    /// default.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, BadSetting> {
        let mut settings = Self::default();
        if let Some(value) = lookup(env::LOCAL) {
            settings.limit = parse_limit(&value).ok_or(BadSetting {
                name: env::LOCAL,
                value,
                reason: "not a number of bytes or a percentage".into(),
            })?;
        }
        if let Some(value) = lookup(env::REPLACEMENT) {
            settings.replacement = value;
        }
        if let Some(value) = lookup(env::PREFETCH) {
            settings.prefetch = value;
        }
        if let Some(value) = lookup(env::READAHEAD) {
            settings.readahead = value.parse().ok().filter(|n| *n <= 512).ok_or(BadSetting {
                name: env::READAHEAD,
                value,
                reason: "not a number of pages from 0 to 512".into(),
            })?;
        }
        if let Some(value) = lookup(env::EXACT_PREFETCH) {
            settings.exact_prefetch_count = value == "1";
        }
        if let Some(value) = lookup(env::FRAMES) {
            settings.move_frames = either(&value, "move", "copy").ok_or(BadSetting {
                name: env::FRAMES,
                value,
                reason: "neither \"move\" nor \"copy\"".into(),
            })?;
        }
        if let Some(value) = lookup(env::RECLAIM) {
            settings.evict_ahead = either(&value, "ahead", "needed").ok_or(BadSetting {
                name: env::RECLAIM,
                value,
                reason: "neither \"needed\" nor \"ahead\"".into(),
            })?;
        }
        if let Some(value) = lookup(env::TRACK) {
            settings.track = value.parse().map_err(|reason: &'static str| BadSetting {
                name: env::TRACK,
                value: value.clone(),
                reason: reason.into(),
            })?;
        }
        if let Some(value) = lookup(env::OFFLOAD) {
            settings.offload = value.parse().map_err(|reason: &'static str| BadSetting {
                name: env::OFFLOAD,
                value: value.clone(),
                reason: reason.into(),
            })?;
        }
        if let Some(value) = lookup(env::SECTIONS) {
            settings.sections = value.parse().map_err(|reason: &'static str| BadSetting {
                name: env::SECTIONS,
                value: value.clone(),
                reason: reason.into(),
            })?;
        }
        if let Some(value) = lookup(env::RECORD) {
            settings.record =
                Some(
                    parse_recording(&value).ok_or(BadSetting {
                        name: env::RECORD,
                        value,
                        reason:
                            "not a number of pages from 1 to 1048576, with or without \",exact\" and \",grows\""
                                .into(),
                    })?,
                );
        }
        if let Some(value) = lookup(env::LOG_FAULTS) {
            settings.log_faults = Some(parse_log(&value).ok_or(BadSetting {
                name: env::LOG_FAULTS,
                value,
                reason: "not \"1\", with or without \",instructions\" and \",hints\"".into(),
            })?);
        }
        Ok(settings)
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = if self.exact { ",exact" } else { "" };
        write!(f, "{}{exact}{}", self.microset, if self.grows { ",grows" } else { "" })
    }
}

impl fmt::Display for LogFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instructions = if self.instructions { ",instructions" } else { "" };
        write!(f, "1{instructions}{}", if self.hints { ",hints" } else { "" })
    }
}

/// Whether a value is the first of two, or else the second.
fn either(value: &str, first: &str, second: &str) -> Option<bool> {
    (value == first || value == second).then_some(value == first)
}

fn parse_log(text: &str) -> Option<LogFaults> {
    let rest = text.strip_prefix('1')?;
    let (instructions, rest) = match rest.strip_prefix(",instructions") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let hints = match rest {
        "" => false,
        ",hints" => true,
        _ => return None,
    };
    Some(LogFaults { instructions, hints })
}

fn parse_recording(text: &str) -> Option<Recording> {
    let (text, grows) = text.strip_suffix(",grows").map_or((text, false), |rest| (rest, true));
    let (number, exact) = text.strip_suffix(",exact").map_or((text, false), |rest| (rest, true));
    let microset = number.parse().ok().filter(|pages| (1..=MOST_MICROSET).contains(pages))?;
    Some(Recording { microset, exact, grows })
}

fn parse_limit(text: &str) -> Option<Limit> {
    if let Some(percent) = text.strip_suffix('%') {
        let percent: f64 = percent.parse().ok()?;
        return (percent > 0.0 && percent <= 1000.0).then_some(Limit::PercentOfTouched(percent));
    }
    text.parse().ok().map(Limit::Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::When;

    #[test]
    fn settings_survive_the_environment() {
        let settings = Settings {
            limit: Limit::PercentOfTouched(12.5),
            replacement: "fifo".into(),
            prefetch: "readahead".into(),
            readahead: 9,
            exact_prefetch_count: true,
            move_frames: false,
            evict_ahead: true,
            record: Some(Recording { microset: 17, exact: true, grows: true }),
            log_faults: Some(LogFaults { instructions: true, hints: true }),
            track: Track { when: When::Pressure, budget: 0.015 },
            offload: Offloading::Always,
            sections: "needed:77,nodes=70000,edges=0".parse().unwrap(),
        };
        let env = settings.to_env();
        let lookup =
            |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
        assert_eq!(Settings::from_env(lookup), Ok(settings));
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let bad = Settings::from_env(|name| (name == env::LOCAL).then(|| "lots".into()));
        assert_eq!(bad.unwrap_err().name, env::LOCAL);
        let bad = Settings::from_env(|name| (name == env::READAHEAD).then(|| "100000".into()));
        assert_eq!(bad.unwrap_err().name, env::READAHEAD);
        for text in ["0", "", "exact", "1024;exact", "99999999"] {
            let bad = Settings::from_env(|name| (name == env::RECORD).then(|| text.into()));
            assert_eq!(bad.unwrap_err().name, env::RECORD);
        }
        for text in ["", "on", "off:2%", "always:", "always:2", "pressure:0%", "pressure:51%"] {
            let bad = Settings::from_env(|name| (name == env::TRACK).then(|| text.into()));
            assert_eq!(bad.unwrap_err().name, env::TRACK);
        }
        for text in ["0", "", "hints", "1,", "1,hints,instructions", "1,hints,"] {
            let bad = Settings::from_env(|name| (name == env::LOG_FAULTS).then(|| text.into()));
            assert_eq!(bad.unwrap_err().name, env::LOG_FAULTS);
        }
    }
}
