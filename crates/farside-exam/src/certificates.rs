//! Certificates for servers and their clients.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use tempfile::TempDir;

/// An authority, and the directory of what it signs.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    home: TempDir,
}

/// A certificate and its key, as files.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl Default for Authority {
    fn default() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key can be made");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("it signs itself");
        let home = tempfile::tempdir().expect("a temporary directory can be made");
        std::fs::write(home.path().join("ca.pem"), issuer.pem()).expect("a file can be written");
        Self { issuer, home }
    }
}

impl Authority {
    /// Its own certificate.
    pub fn path(&self) -> PathBuf {
        self.home.path().join("ca.pem")
    }

    /// A certificate for `name`, a host or an address, until the beginning of a year.
    pub fn sign(&self, name: &str, year_of_end: i32) -> Identity {
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name of ASCII");
        // One that is called as its authority would be taken for one that signed itself.
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(year_of_end, 1, 1);
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = params.signed_by(&key, &self.issuer).expect("it can be signed");
        let file = |what: &str, text: &str| {
            let path = self.home.path().join(format!("{name}-{year_of_end}-{what}.pem"));
            std::fs::write(&path, text).expect("a file can be written");
            path
        };
        Identity {
            certificate: file("certificate", &certificate.pem()),
            key: file("key", &key.serialize_pem()),
        }
    }
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path of ASCII")
}
