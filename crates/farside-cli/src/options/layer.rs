//! Where settings come from: options, environment, configuration file.

use std::fmt;
use std::path::{Path, PathBuf};

use farside_pager::settings::env;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Failure;

/// Where a value was given, so that an error can name the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An option of the command line.
    Option(&'static str),
    /// An environment variable.
    Variable(&'static str),
    /// A line of a configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// The key on it.
        key: &'static str,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Option(name) | Origin::Variable(name) => f.write_str(name),
            Origin::File { path, line, key } => write!(f, "{}:{line}: {key}", path.display()),
        }
    }
}

/// A value as it was given, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The text.
    pub text: String,
    /// The place.
    pub origin: Origin,
}

impl Given {
    /// An error about this value.
    pub fn refuse(&self, reason: impl fmt::Display) -> Failure {
        let separator = if matches!(self.origin, Origin::Option(_)) { ' ' } else { '=' };
        Failure::usage(format!("{}{separator}{}: {reason}", self.origin, self.text))
    }
}

/// What a key holds.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    TextOrNumber,
    Switch,
}

/// A setting: its key in a file and its environment variable.
struct Key {
    name: &'static str,
    variable: &'static str,
    kind: Kind,
}

/// All settings in the order of their fields in [`Layer`].
const KEYS: [Key; 22] = [
    Key { name: "local", variable: env::LOCAL, kind: Kind::TextOrNumber },
    Key { name: "far", variable: env::FAR, kind: Kind::Text },
    Key { name: "copies", variable: "FARSIDE_COPIES", kind: Kind::Number },
    Key { name: "insecure", variable: "FARSIDE_INSECURE", kind: Kind::Switch },
    Key { name: "seal", variable: "FARSIDE_SEAL", kind: Kind::Switch },
    Key { name: "psk", variable: env::PSK, kind: Kind::Text },
    Key { name: "tls-ca", variable: env::TLS_CA, kind: Kind::Text },
    Key { name: "tls-cert", variable: env::TLS_CERT, kind: Kind::Text },
    Key { name: "tls-key", variable: env::TLS_KEY, kind: Kind::Text },
    Key { name: "password", variable: env::PASSWORD, kind: Kind::Text },
    Key { name: "readahead", variable: env::READAHEAD, kind: Kind::Number },
    Key { name: "replacement", variable: env::REPLACEMENT, kind: Kind::Text },
    Key { name: "prefetch", variable: env::PREFETCH, kind: Kind::Text },
    Key { name: "exact-prefetch-count", variable: env::EXACT_PREFETCH, kind: Kind::Switch },
    Key { name: "track", variable: env::TRACK, kind: Kind::Text },
    Key { name: "offload", variable: env::OFFLOAD, kind: Kind::Text },
    Key { name: "sections", variable: env::SECTIONS, kind: Kind::Text },
    Key { name: "frames", variable: env::FRAMES, kind: Kind::Text },
    Key { name: "reclaim", variable: env::RECLAIM, kind: Kind::Text },
    Key { name: "stats", variable: "FARSIDE_STATS", kind: Kind::Text },
    Key { name: "quiet", variable: "FARSIDE_QUIET", kind: Kind::Switch },
    Key { name: "progress", variable: "FARSIDE_PROGRESS", kind: Kind::Switch },
];

/// The settings that one source gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// Local limit.
    pub local: Option<Given>,
    /// Far memory.
    pub far: Option<Given>,
    /// How many nodes are to have each page.
    pub copies: Option<Given>,
    /// Whether pages may travel unprotected.
    pub insecure: Option<Given>,
    /// Whether nodes are to be unable to read the pages.
    pub seal: Option<Given>,
    /// File with a secret that memory nodes know, too.
    pub psk: Option<Given>,
    /// File with certificates of authorities for TLS.
    pub tls_ca: Option<Given>,
    /// File with the own certificate.
    pub tls_cert: Option<Given>,
    /// File with its key.
    pub tls_key: Option<Given>,
    /// File with the password of a cluster's user.
    pub password: Option<Given>,
    /// Read-ahead in pages.
    pub readahead: Option<Given>,
    /// Replacement policy.
    pub replacement: Option<Given>,
    /// Prefetcher.
    pub prefetch: Option<Given>,
    /// Whether prefetches are counted exactly.
    pub exact_prefetch_count: Option<Given>,
    /// When it is seen which pages are used.
    pub track: Option<Given>,
    /// When functions that can run where their data is do.
    pub offload: Option<Given>,
    /// Which sections are more than plain memory.
    pub sections: Option<Given>,
    /// Whether frames are moved or copied.
    pub frames: Option<Given>,
    /// Who evicts.
    pub reclaim: Option<Given>,
    /// File for the statistics.
    pub stats: Option<Given>,
    /// Whether the summary is left out.
    pub quiet: Option<Given>,
    /// Whether a live line is shown.
    pub progress: Option<Given>,
}

impl Layer {
    fn places(&mut self) -> [&mut Option<Given>; KEYS.len()] {
        [
            &mut self.local,
            &mut self.far,
            &mut self.copies,
            &mut self.insecure,
            &mut self.seal,
            &mut self.psk,
            &mut self.tls_ca,
            &mut self.tls_cert,
            &mut self.tls_key,
            &mut self.password,
            &mut self.readahead,
            &mut self.replacement,
            &mut self.prefetch,
            &mut self.exact_prefetch_count,
            &mut self.track,
            &mut self.offload,
            &mut self.sections,
            &mut self.frames,
            &mut self.reclaim,
            &mut self.stats,
            &mut self.quiet,
            &mut self.progress,
        ]
    }

    /// These settings, and those of `weaker` where these say nothing.
    pub fn or(mut self, mut weaker: Layer) -> Layer {
        for (place, fallback) in self.places().into_iter().zip(weaker.places()) {
            if place.is_none() {
                *place = fallback.take();
            }
        }
        self
    }

    /// The settings in the environment, read through `lookup`. Empty variables count as unset.
    pub fn from_environment(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let mut layer = Layer::default();
        for (place, key) in layer.places().into_iter().zip(&KEYS) {
            *place = lookup(key.variable)
                .filter(|text| !text.is_empty())
                .map(|text| Given { text, origin: Origin::Variable(key.variable) });
        }
        layer
    }

    /// The settings in a configuration file.
    pub fn from_file(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::usage(format!("cannot read the configuration {}: {error}", path.display()))
        })?;
        Self::from_toml(&text, path)
    }

    /// The settings in `text`; `path` is only for error messages.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, Failure> {
        let refuse = |at: usize, reason: String| {
            Failure::usage(format!("{}:{}: {reason}", path.display(), line_of(text, at)))
        };
        let table = DeTable::parse(text).map_err(|error| {
            refuse(error.span().map_or(0, |span| span.start), error.message().to_owned())
        })?;
        let mut layer = Layer::default();
        for (name, value) in table.get_ref() {
            let at = name.span().start;
            let Some(index) = KEYS.iter().position(|key| key.name == name.get_ref()) else {
                let known = KEYS.map(|key| key.name).join(", ");
                return Err(refuse(
                    at,
                    format!("no setting {:?}; there are: {known}", name.get_ref()),
                ));
            };
            let key = &KEYS[index];
            let text_of = value_text(value, key.kind)
                .map_err(|wanted| refuse(at, format!("{} must be {wanted}", key.name)))?;
            let origin =
                Origin::File { path: path.to_owned(), line: line_of(text, at), key: key.name };
            *layer.places()[index] = Some(Given { text: text_of, origin });
        }
        Ok(layer)
    }
}

/// The line of `text` that byte `at` lies on, from 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// A value as the text an option would have, or what it should have been.
fn value_text(value: &Spanned<DeValue<'_>>, kind: Kind) -> Result<String, &'static str> {
    match (value.get_ref(), kind) {
        (DeValue::String(text), Kind::Text | Kind::TextOrNumber) => Ok(text.to_string()),
        (DeValue::Integer(number), Kind::Number | Kind::TextOrNumber) => {
            Ok(i128::from_str_radix(number.as_str(), number.radix())
                .map_or_else(|_| number.as_str().to_owned(), |number| number.to_string()))
        }
        (DeValue::Boolean(switch), Kind::Switch) => Ok(u8::from(*switch).to_string()),
        (_, Kind::Text) => Err("a string"),
        (_, Kind::Number) => Err("a whole number"),
        (_, Kind::TextOrNumber) => Err("a string or a whole number"),
        (_, Kind::Switch) => Err("true or false"),
    }
}
