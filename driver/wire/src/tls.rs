//! Encrypted connections (TLS 1.2 and 1.3), with the levels of checking that libpq knows under the same names
//! (PostgreSQL manual, "Protection Provided in Different Modes"). One level is stricter than there: a certificate must
//! name the host in its alternative names, its common name does not count.

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use dyno_core::plan::{Target, Tls};
use rustls::SignatureScheme;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
};

use crate::raw::Raw;

/// Encrypted bytes asked for in one receive; a record has at most 16 KiB.
const RECEIVE_BYTES: usize = 32 * 1024;
/// Where systems keep the certificates of the authorities that they trust.
const SYSTEM_AUTHORITIES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

/// The encryption of one connection.
pub struct Cipher {
    connection: ClientConnection,
    /// Encrypted bytes on their way.
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    /// What of `incoming` was received and not yet decrypted.
    start: usize,
    end: usize,
}

/// Agrees on keys with the server and checks it as the target wants it. The message says what failed.
pub async fn handshake(raw: &mut Raw, target: &Target) -> Result<Cipher, String> {
    let config = config(target.tls, &target.tls_ca)?;
    let host = if target.host.is_empty() {
        "localhost"
    } else {
        &target.host
    };
    let name = ServerName::try_from(host.to_string()).map_err(|_| format!("{host:?} is no name of a host"))?;
    let mut connection = ClientConnection::new(config, name).map_err(|error| error.to_string())?;
    // What we send is limited by the protocols above.
    connection.set_buffer_limit(None);
    let mut cipher = Cipher {
        connection,
        outgoing: Vec::new(),
        incoming: vec![0; RECEIVE_BYTES],
        start: 0,
        end: 0,
    };
    let done = async {
        while cipher.connection.is_handshaking() {
            cipher.flush(raw).await?;
            if cipher.connection.is_handshaking() && !cipher.advance(raw).await? {
                return Err(io::Error::other("the server closed the connection"));
            }
        }
        cipher.flush(raw).await
    };
    done.await
        .map_err(|error| format!("the encrypted connection was not made: {error}"))?;
    Ok(cipher)
}

impl Cipher {
    pub async fn send(&mut self, raw: &mut Raw, bytes: &[u8]) -> io::Result<()> {
        self.connection.writer().write_all(bytes)?;
        self.flush(raw).await
    }

    pub fn send_now(&mut self, raw: &mut Raw, bytes: &[u8]) {
        // A failure does not matter: the connection is going away.
        let _ = self.connection.writer().write_all(bytes);
        self.connection.send_close_notify();
        if self.encrypt().is_ok() {
            raw.send_now(&self.outgoing);
        }
    }

    pub async fn receive(&mut self, raw: &mut Raw, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
            if !self.advance(raw).await? {
                return Ok(0);
            }
            // An answer to a message about keys.
            self.flush(raw).await?;
        }
    }

    /// Decrypts some of what has arrived, waiting for it; false at the end of the stream.
    async fn advance(&mut self, raw: &mut Raw) -> io::Result<bool> {
        if self.start == self.end {
            self.start = 0;
            self.end = raw.receive(&mut self.incoming).await?;
            if self.end == 0 {
                return Ok(false);
            }
        }
        self.start += self.connection.read_tls(&mut &self.incoming[self.start..self.end])?;
        if let Err(error) = self.connection.process_new_packets() {
            // The server is told what we did not like.
            if self.encrypt().is_ok() {
                raw.send_now(&self.outgoing);
            }
            return Err(io::Error::other(words(&error)));
        }
        Ok(true)
    }

    fn encrypt(&mut self) -> io::Result<()> {
        self.outgoing.clear();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.outgoing)?;
        }
        Ok(())
    }

    async fn flush(&mut self, raw: &mut Raw) -> io::Result<()> {
        if self.connection.wants_write() {
            self.encrypt()?;
            raw.send(&self.outgoing).await?;
        }
        Ok(())
    }
}

fn words(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "no authority that we trust signed the server's certificate (name yours in tls_ca)".into()
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "the server's certificate is for another host".into(),
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "the server's certificate has expired".into()
        }
        Error::AlertReceived(AlertDescription::HandshakeFailure | AlertDescription::ProtocolVersion) => {
            "the server has nothing of TLS 1.3, or of TLS 1.2 with ECDHE, that we know".into()
        }
        other => other.to_string(),
    }
}

type Configs = HashMap<(Tls, String), Arc<ClientConfig>>;

/// What was read for a level of checking and a file of authorities. All connections of a driver have the same.
fn config(level: Tls, authorities: &str) -> Result<Arc<ClientConfig>, String> {
    static MADE: Mutex<Option<Configs>> = Mutex::new(None);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let made = made.get_or_insert_default();
    let key = (level, authorities.to_string());
    if let Some(config) = made.get(&key) {
        return Ok(config.clone());
    }
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier::new(level, authorities, &provider)?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    // A connection costs what a client's first one costs, however often it was opened before.
    config.resumption = Resumption::disabled();
    let config = Arc::new(config);
    made.insert(key, config.clone());
    Ok(config)
}

/// Checks a server's certificate.
#[derive(Debug)]
struct Verifier {
    /// `None`: any certificate will do.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates that are trusted themselves: a server that signs its own is its own authority.
    trusted: Vec<CertificateDer<'static>>,
    name_matters: bool,
    schemes: Vec<SignatureScheme>,
}

impl Verifier {
    fn new(level: Tls, authorities: &str, provider: &Arc<CryptoProvider>) -> Result<Verifier, String> {
        let schemes = provider.signature_verification_algorithms.supported_schemes();
        if !matches!(level, Tls::VerifyCa | Tls::VerifyFull) {
            return Ok(Verifier {
                chain: None,
                trusted: Vec::new(),
                name_matters: false,
                schemes,
            });
        }
        let trusted = read_authorities(authorities)?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(trusted.iter().cloned());
        let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .build()
            .map_err(|error| format!("{authorities:?} holds no certificate of an authority: {error}"))?;
        Ok(Verifier {
            chain: Some(chain),
            trusted,
            name_matters: level == Tls::VerifyFull,
            schemes,
        })
    }
}

fn read_authorities(path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let path = match path {
        "" => SYSTEM_AUTHORITIES
            .into_iter()
            .find(|path| std::path::Path::new(path).is_file())
            .ok_or("this system has no file of authorities where such files are; name yours in tls_ca")?,
        path => path,
    };
    let unreadable = |error: &dyn std::fmt::Display| format!("the authorities in {path:?} are not readable: {error}");
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(&error))?;
    let certificates: Result<Vec<_>, _> = certificates.collect();
    certificates.map_err(|error| unreadable(&error))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        if self.trusted.contains(certificate) {
            if self.name_matters {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        // The chain is checked before the name, so that a wrong name says that the chain is right.
        match chain.verify_server_cert(certificate, intermediates, name, stapled, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.name_matters => Ok(ServerCertVerified::assertion()),
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match &self.chain {
            Some(chain) => chain.verify_tls12_signature(message, certificate, signed),
            // Whoever may show any certificate need not show that it is his.
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match &self.chain {
            Some(chain) => chain.verify_tls13_signature(message, certificate, signed),
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_that_are_none_are_explained() {
        let missing = config(Tls::VerifyFull, "/nowhere/ca.pem").err().unwrap();
        assert!(missing.contains("/nowhere/ca.pem"), "{missing}");
        let no_certificate = config(Tls::VerifyCa, concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let message = no_certificate.err().unwrap();
        assert!(message.contains("holds no certificate of an authority"), "{message}");
        assert!(config(Tls::Require, "/nowhere/ca.pem").is_ok());
    }
}
