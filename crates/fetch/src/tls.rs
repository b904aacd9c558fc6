//! TLS: whom we trust, and what went wrong in words callers can tell apart.
//!
//! `rustls` with `ring`, which needs only a C compiler and builds in seconds. The roots are
//! Mozilla's, compiled in (`webpki-roots`): a crawl then judges a site alike on every machine;
//! authorities of an intranet are added by name. Revocation is not checked: public lists are too
//! large to fetch in line, and a crawler that reads public pages loses little by it.
//!
//! Verification can be turned off only by saying so, and each response then says so too.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use crate::error::ErrorClass;

/// Whom a client trusts.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// Authorities trusted beside Mozilla's: certificates in DER.
    pub extra_roots: Vec<Vec<u8>>,
    /// Whether certificates are checked.
    pub verification: Verification,
}

/// Whether certificates are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verification {
    /// Chain, dates and host name are checked.
    #[default]
    Full,
    /// Nothing is checked. Anyone on the way can answer in the site's name.
    Off,
}

/// An authority that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("extra root certificate {number}: {detail}; give certificates in DER")]
pub struct TlsError {
    /// Which of the extra roots, counted from 1.
    pub number: usize,
    /// What is wrong with it.
    pub detail: String,
}

/// The certificates of a PEM file, in DER; says what is wrong where there are none.
pub fn certificates_of(pem: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = read.map_err(|error| format!("not a PEM file of certificates: {error}"))?;
    if found.is_empty() {
        return Err("holds no certificate in PEM".to_owned());
    }
    Ok(found.into_iter().map(|one| one.as_ref().to_vec()).collect())
}

impl Tls {
    /// The configuration for `rustls`, offering HTTP/2 before HTTP/1.1.
    pub(crate) fn client_config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let mut roots = RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        };
        for (index, root) in self.extra_roots.iter().enumerate() {
            let added = roots.add(CertificateDer::from(root.as_slice()));
            added.map_err(|error| TlsError {
                number: index + 1,
                detail: error.to_string(),
            })?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("ring supports TLS 1.2 and 1.3");
        let mut config = match self.verification {
            Verification::Full => builder.with_root_certificates(roots).with_no_client_auth(),
            Verification::Off => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
                .with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// Accepts every certificate, though the peer must still hold the key of the one it shows.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The class of a failed handshake.
pub(crate) fn classify(error: &std::io::Error) -> ErrorClass {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>());
    let Some(Error::InvalidCertificate(certificate)) = inner else {
        return ErrorClass::TlsHandshake;
    };
    match certificate {
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => ErrorClass::TlsExpired,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            ErrorClass::TlsWrongHost
        }
        CertificateError::UnknownIssuer => ErrorClass::TlsUnknownIssuer,
        // The list of certificate faults is open; all others mean the same to a caller.
        _ => ErrorClass::TlsBadCertificate,
    }
}
