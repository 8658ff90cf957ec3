//! Password authentication: mysql_native_password and caching_sha2_password (MySQL internals, "Authentication
//! Methods"), and the older sha256_password, which shares the latter's way of handing a password over.

use rsa::pkcs8::DecodePublicKey as _;
use rsa::rand_core::{CryptoRng, Error, RngCore};
use rsa::{Oaep, RsaPublicKey};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// A method that both sides know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Native,
    CachingSha2,
    Sha256,
}

impl Method {
    /// Finds a method by the name of its plug-in.
    pub fn named(plugin: &str) -> Option<Method> {
        match plugin {
            "mysql_native_password" => Some(Method::Native),
            "caching_sha2_password" => Some(Method::CachingSha2),
            "sha256_password" => Some(Method::Sha256),
            _ => None,
        }
    }

    pub fn plugin(self) -> &'static str {
        match self {
            Method::Native => "mysql_native_password",
            Method::CachingSha2 => "caching_sha2_password",
            Method::Sha256 => "sha256_password",
        }
    }

    /// Answers the server's nonce. `secure`: nobody can listen, so that a password may pass as it is.
    pub fn answer(self, password: &str, nonce: &[u8], secure: bool) -> Vec<u8> {
        match self {
            // An empty password has an empty answer.
            Method::Native | Method::CachingSha2 if password.is_empty() => Vec::new(),
            Method::Native => native(password, nonce),
            Method::CachingSha2 => caching_sha2(password, nonce),
            Method::Sha256 if secure || password.is_empty() => plain(password),
            Method::Sha256 => vec![self.key_request()],
        }
    }

    /// What asks the server for its public key.
    pub fn key_request(self) -> u8 {
        if self == Method::Sha256 { 1 } else { 2 }
    }
}

/// The names of all methods, for messages.
pub const METHODS: &str = "mysql_native_password, caching_sha2_password and sha256_password";

/// A password as it is, with its final NUL.
pub fn plain(password: &str) -> Vec<u8> {
    [password.as_bytes(), &[0]].concat()
}

fn mixed(mut one: Vec<u8>, other: &[u8]) -> Vec<u8> {
    one.iter_mut().zip(other).for_each(|(to, from)| *to ^= from);
    one
}

/// SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password))).
fn native(password: &str, nonce: &[u8]) -> Vec<u8> {
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    let mask = Sha1::new().chain_update(nonce).chain_update(twice).finalize();
    mixed(once.to_vec(), &mask)
}

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce).
fn caching_sha2(password: &str, nonce: &[u8]) -> Vec<u8> {
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    let mask = Sha256::new().chain_update(twice).chain_update(nonce).finalize();
    mixed(once.to_vec(), &mask)
}

/// A password that only the owner of the public key `pem` can read.
pub fn sealed(password: &str, nonce: &[u8], pem: &str, entropy: impl FnMut() -> [u8; 18]) -> Result<Vec<u8>, String> {
    if nonce.is_empty() {
        return Err("the server sent no nonce".into());
    }
    let key = RsaPublicKey::from_public_key_pem(pem.trim())
        .map_err(|error| format!("the server's public key is not readable: {error}"))?;
    let repeated: Vec<u8> = nonce.iter().copied().cycle().take(password.len() + 1).collect();
    let message = mixed(plain(password), &repeated);
    let mut random = Random {
        entropy,
        left: Vec::new(),
    };
    key.encrypt(&mut random, Oaep::new::<Sha1>(), &message)
        .map_err(|error| format!("the password could not be sealed with the server's public key: {error}"))
}

/// Unpredictable bytes in the form that the cipher wants.
struct Random<F> {
    entropy: F,
    left: Vec<u8>,
}

impl<F: FnMut() -> [u8; 18]> RngCore for Random<F> {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.fill_bytes(&mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn fill_bytes(&mut self, to: &mut [u8]) {
        for byte in to {
            if self.left.is_empty() {
                self.left = (self.entropy)().to_vec();
            }
            *byte = self.left.pop().unwrap_or_default();
        }
    }

    fn try_fill_bytes(&mut self, to: &mut [u8]) -> Result<(), Error> {
        self.fill_bytes(to);
        Ok(())
    }
}

impl<F: FnMut() -> [u8; 18]> CryptoRng for Random<F> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn answers_are_those_of_the_formulas() {
        // Computed with Python's hashlib from the formulas of the manual.
        let nonce: Vec<u8> = (1..=20).collect();
        assert_eq!(hex(&native("secret", &nonce)), NATIVE);
        assert_eq!(hex(&caching_sha2("secret", &nonce)), CACHING);
        assert!(Method::Native.answer("", &nonce, false).is_empty());
        assert_eq!(Method::Sha256.answer("ab", &nonce, true), b"ab\0");
        assert_eq!(Method::Sha256.answer("ab", &nonce, false), [1]);
    }

    const NATIVE: &str = "b32bb3a583e1340c0a1108d58b1be49781ad8c2f";
    const CACHING: &str = "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9";

    #[test]
    fn plug_ins_are_known_by_name() {
        for method in [Method::Native, Method::CachingSha2, Method::Sha256] {
            assert_eq!(Method::named(method.plugin()), Some(method));
            assert!(METHODS.contains(method.plugin()));
        }
        assert_eq!(Method::named("client_ed25519"), None);
    }

    #[test]
    fn a_password_is_sealed_for_a_key_and_garbage_is_refused() {
        let pem = include_str!("captured/public-key.pem");
        let sealed_once = sealed("secret", &[7; 20], pem, || [9; 18]).unwrap();
        assert_eq!(sealed_once.len(), 256);
        assert!(sealed("secret", &[7; 20], "no key", || [9; 18]).is_err());
        assert!(sealed("secret", &[], pem, || [9; 18]).is_err());
    }
}
