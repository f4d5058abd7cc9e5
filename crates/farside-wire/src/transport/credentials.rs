//! Who may talk to whom: certificates of both sides, or a secret that both know.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::hkdf;
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring as provider,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer,
    UnixTime,
};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    ClientConfig, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig,
    SignatureScheme,
};
use thiserror::Error as ThisError;

/// Least bytes of a shared secret.
const LEAST_SECRET: usize = 16;

/// What an Ed25519 private key (RFC 8410) and public key begin with.
const PRIVATE: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
const PUBLIC: [u8; 12] = *b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";

/// Files that say who may talk to whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Certificates of authorities whose signature the other side's certificate has to have.
    pub authority: Option<PathBuf>,
    /// Own certificate, with those between it and the authority's.
    pub certificate: Option<PathBuf>,
    /// The private key that belongs to it.
    pub key: Option<PathBuf>,
    /// A secret that both sides know, instead of all these.
    pub secret: Option<PathBuf>,
    /// The password of a user of a cluster.
    pub password: Option<PathBuf>,
}

/// Credentials that make no sense.
#[derive(Debug, ThisError)]
pub enum BadCredentials {
    /// A file cannot be read.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file holds something else.
    #[error("{path} holds no {what}: {why}")]
    Useless {
        /// The file.
        path: PathBuf,
        /// What should be in it.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// Some are missing, or too many are given.
    #[error("for TLS, give an authority, a certificate and its key, or else a shared secret")]
    Incomplete,
    /// Some are missing, or do not go with the kind of the cluster.
    #[error(
        "a rediss:// cluster needs an authority (and, if it asks for one, a certificate and its key); a redis:// cluster \
         takes none of these; neither takes a shared secret"
    )]
    IncompleteForCluster,
    /// They do not go together.
    #[error("certificate and key cannot be used: {0}")]
    Unfit(#[from] Error),
}

/// What one side of a connection needs for TLS 1.3 with both sides known.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub(super) client: Arc<ClientConfig>,
    /// For who may be connected to.
    pub(super) server: Option<Arc<ServerConfig>>,
}

/// Whether and how connections are protected.
#[derive(Clone, Debug, Default)]
pub enum Protection {
    /// Not at all.
    #[default]
    None,
    /// By TLS.
    Tls(Credentials),
}

impl Protection {
    /// Whether they are.
    pub fn is_some(&self) -> bool {
        matches!(self, Self::Tls(_))
    }
}

impl Files {
    /// Reads the files, if any are given.
    ///
    /// # Errors
    /// If one cannot be read or holds something else, or they do not go together.
    pub fn read(&self) -> Result<Protection, BadCredentials> {
        let Self { authority, certificate, key, secret, .. } = self;
        match (authority, certificate, key, secret) {
            (None, None, None, None) => Ok(Protection::None),
            (Some(authority), Some(certificate), Some(key), None) => {
                let own = Some((&**certificate, &**key));
                Credentials::from_certificates(authority, own).map(Protection::Tls)
            }
            (None, None, None, Some(secret)) => {
                let bytes = read(secret)?;
                let trimmed = bytes.trim_ascii();
                if trimmed.len() < LEAST_SECRET {
                    let why =
                        format!("{} bytes, of which there should be {LEAST_SECRET}", trimmed.len());
                    return Err(useless(secret, "secret", why));
                }
                Credentials::from_secret(trimmed).map(Protection::Tls)
            }
            _ => Err(BadCredentials::Incomplete),
        }
    }

    /// Reads the files for a cluster of servers of another kind, which may take clients without a certificate.
    ///
    /// # Errors
    /// As [`read`](Self::read); or if it is to be `tls` and there is no authority, or the other way round.
    pub fn read_for_cluster(&self, tls: bool) -> Result<Protection, BadCredentials> {
        let Self { authority, certificate, key, secret, .. } = self;
        let own = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((&**certificate, &**key)),
            (None, None) => None,
            _ => return Err(BadCredentials::IncompleteForCluster),
        };
        match (authority, secret) {
            (None, None) if !tls && own.is_none() => Ok(Protection::None),
            (Some(authority), None) if tls => {
                Credentials::from_certificates(authority, own).map(Protection::Tls)
            }
            _ => Err(BadCredentials::IncompleteForCluster),
        }
    }

    /// The password, if there is one.
    ///
    /// # Errors
    /// If its file cannot be read, or holds none.
    pub fn read_password(&self) -> Result<Option<String>, BadCredentials> {
        let Some(path) = &self.password else { return Ok(None) };
        let text = String::from_utf8(read(path)?);
        let text = text.map_err(|error| useless(path, "password", error.to_string()))?;
        match text.trim_end_matches(['\r', '\n']) {
            "" => Err(useless(path, "password", "it is empty".into())),
            password => Ok(Some(password.to_owned())),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, BadCredentials> {
    std::fs::read(path).map_err(|error| BadCredentials::Unreadable { path: path.into(), error })
}

fn useless(path: &Path, what: &'static str, why: String) -> BadCredentials {
    BadCredentials::Useless { path: path.into(), what, why }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, BadCredentials> {
    let bytes = read(path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let all = all.map_err(|error| useless(path, "certificate", error.to_string()))?;
    if all.is_empty() {
        Err(useless(path, "certificate", "it is no PEM file".into()))
    } else {
        Ok(all)
    }
}

impl Credentials {
    /// Of an authority, and of a certificate and its key.
    fn from_certificates(
        authority: &Path,
        own: Option<(&Path, &Path)>,
    ) -> Result<Self, BadCredentials> {
        let mut roots = RootCertStore::empty();
        for root in certificates(authority)? {
            roots.add(root)?;
        }
        let roots = Arc::new(roots);
        let provider = Arc::new(provider::default_provider());
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])?
            .with_root_certificates(Arc::clone(&roots));
        let Some((certificate, key)) = own else {
            return Ok(Self { client: Arc::new(client.with_no_client_auth()), server: None });
        };
        let chain = certificates(certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&read(key)?)
            .map_err(|error| useless(key, "private key", error.to_string()))?;
        let client = client.with_client_auth_cert(chain.clone(), key.clone_key())?;
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|error| useless(authority, "authority", error.to_string()))?;
        let server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)?;
        Ok(Self { client: Arc::new(client), server: Some(Arc::new(server)) })
    }

    /// Both sides have the one key that follows from the secret, and take none but that.
    ///
    /// # Errors
    /// None that a secret could cause.
    pub fn from_secret(secret: &[u8]) -> Result<Self, BadCredentials> {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"farside memory node, version 1");
        let mut seed = [0; 32];
        salt.extract(secret)
            .expand(&[b"identity"], hkdf::HKDF_SHA256)
            .and_then(|okm| okm.fill(&mut seed))
            .map_err(|_| Error::General("no key follows from the secret".into()))?;
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed)
            .map_err(|error| Error::General(error.to_string()))?;
        let public = [&PUBLIC[..], pair.public_key().as_ref()].concat();
        let private = PrivatePkcs8KeyDer::from([&PRIVATE[..], &seed].concat());
        let provider = Arc::new(provider::default_provider());
        let key = provider.key_provider.load_private_key(private.into())?;
        let own = Arc::new(CertifiedKey::new(vec![CertificateDer::from(public.clone())], key));
        let known = Arc::new(OnlyKey {
            key: SubjectPublicKeyInfoDer::from(public),
            algorithms: provider.signature_verification_algorithms,
        });
        let client = client_of_key(&provider, Arc::clone(&known), Arc::clone(&own))?;
        let server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(known)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(own)));
        Ok(Self { client: Arc::new(client), server: Some(Arc::new(server)) })
    }
}

fn client_of_key(
    provider: &Arc<CryptoProvider>,
    known: Arc<OnlyKey>,
    own: Arc<CertifiedKey>,
) -> Result<ClientConfig, Error> {
    Ok(ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(known)
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(own))))
}

/// Takes nobody but who has the one key.
#[derive(Debug)]
struct OnlyKey {
    key: SubjectPublicKeyInfoDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl OnlyKey {
    fn check(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        // Both are public: how long this takes tells nothing.
        if **shown == *self.key {
            Ok(())
        } else {
            Err(Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer))
        }
    }

    fn check_signature(
        &self,
        message: &[u8],
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature_with_raw_key(message, &self.key, signature, &self.algorithms)
    }
}

/// Signatures of TLS 1.2, which is not spoken.
fn no_tls12() -> Result<HandshakeSignatureValid, Error> {
    Err(Error::PeerIncompatible(rustls::PeerIncompatible::Tls12NotOffered))
}

impl ServerCertVerifier for OnlyKey {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(shown).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        _: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for OnlyKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(shown).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        _: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
