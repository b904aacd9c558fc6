//! Signed requests, so that a site can know that it is really us who ask (Web Bot Auth).
//!
//! A user agent is a claim; a signature can be checked. Each request carries a signature over the host that
//! it is for, with a key whose public half stands at an address that the request names: RFC 9421, in the
//! profile of draft-ietf-webbotauth-httpsig-protocol-01 (October 2026), Ed25519. A redirect is a request of
//! its own and gets a signature of its own: one for `a.example` says nothing at `b.example`.
//!
//! What is signed: `@authority` and the member of `Signature-Agent`; a signature is good for
//! [`GOOD_FOR_S`] seconds and has a nonce, so that nobody can use it later or twice.
//!
//! Keys are JSON Web Keys, for the public half is published as one anyway. Cost: a signature, about 20 µs.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use http::{HeaderMap, HeaderName, HeaderValue};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use url::Url;

use crate::connection::authority;

/// How long a signature is good, in seconds.
const GOOD_FOR_S: u64 = 60;
/// Where the public half of a key stands, below the address of the signature agent.
pub const KEY_DIRECTORY: &str = "/.well-known/http-message-signatures-directory";
/// The media type of what stands there.
pub const KEY_DIRECTORY_TYPE: &str = "application/http-message-signatures-directory+json";
/// The label of our signature: a request has one.
const LABEL: &str = "sig1";

/// A private key, and the address of its public half.
#[derive(Clone)]
pub struct Signer {
    key: Arc<Ed25519KeyPair>,
    key_id: String,
    agent: String,
}

/// Why nothing can be signed. Texts never hold the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SigningError {
    /// Not a private key of ours.
    #[error(
        "this is not an Ed25519 private key as a JSON Web Key; `turnstone key new FILE` makes one"
    )]
    Key,
    /// No address where a site could find the public half.
    #[error("give the https address of the site that publishes the key, as https://example.org")]
    Agent,
    /// The machine gives no random numbers.
    #[error("the machine gives no random numbers")]
    Random,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer {} of {}", self.key_id, self.agent)
    }
}

/// A private key just made, as a JSON Web Key.
pub fn new_key() -> Result<String, SigningError> {
    let mut seed = [0; 32];
    SystemRandom::new()
        .fill(&mut seed)
        .map_err(|_| SigningError::Random)?;
    let key = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| SigningError::Key)?;
    let public = BASE64URL_NOPAD.encode(key.public_key().as_ref());
    let secret = BASE64URL_NOPAD.encode(&seed);
    Ok(format!(
        "{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"d\":\"{secret}\",\"x\":\"{public}\"}}\n"
    ))
}

impl Signer {
    /// Signs with a private key, a JSON Web Key, whose public half `agent` publishes.
    pub fn new(jwk: &str, agent: &str) -> Result<Self, SigningError> {
        let (key, key_id) = read_key(jwk)?;
        let url = Url::parse(agent).map_err(|_| SigningError::Agent)?;
        let plain = url.scheme() == "https"
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
            && url.path() == "/";
        if !plain {
            return Err(SigningError::Agent);
        }
        Ok(Self {
            key: Arc::new(key),
            key_id,
            agent: url.as_str().trim_end_matches('/').to_owned(),
        })
    }

    /// Signs a request for `url`.
    pub(crate) fn sign(&self, url: &Url, headers: &mut HeaderMap) -> Result<(), SigningError> {
        let mut nonce = [0; 32];
        SystemRandom::new()
            .fill(&mut nonce)
            .map_err(|_| SigningError::Random)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let created = now.map_or(0, |since| since.as_secs());
        self.sign_at(url, created, &BASE64.encode(&nonce), headers);
        Ok(())
    }

    fn sign_at(&self, url: &Url, created: u64, nonce: &str, headers: &mut HeaderMap) {
        let Self { key, key_id, agent } = self;
        let params = format!(
            "(\"@authority\" \"signature-agent\";key=\"{LABEL}\");created={created};expires={};\
             keyid=\"{key_id}\";alg=\"ed25519\";nonce=\"{nonce}\";tag=\"web-bot-auth\"",
            created + GOOD_FOR_S
        );
        let base = format!(
            "\"@authority\": {}\n\"signature-agent\";key=\"{LABEL}\": \"{agent}\"\n\
             \"@signature-params\": {params}",
            authority(url)
        );
        let signature = BASE64.encode(key.sign(base.as_bytes()).as_ref());
        let lines = [
            ("signature-agent", format!("{LABEL}=\"{agent}\"")),
            ("signature-input", format!("{LABEL}={params}")),
            ("signature", format!("{LABEL}=:{signature}:")),
        ];
        for (name, value) in lines {
            let value = HeaderValue::try_from(value).expect("these are plain ASCII");
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

/// The document that the agent's site is to publish at [`KEY_DIRECTORY`]: the public halves of these
/// private keys.
pub fn key_directory(jwks: &[String]) -> Result<String, SigningError> {
    let mut keys = Vec::new();
    for jwk in jwks {
        let (key, key_id) = read_key(jwk)?;
        let public = BASE64URL_NOPAD.encode(key.public_key().as_ref());
        keys.push(serde_json::json!({
            "kty": "OKP", "crv": "Ed25519", "x": public, "kid": key_id, "use": "sig", "alg": "EdDSA",
        }));
    }
    let document = serde_json::json!({ "keys": keys });
    Ok(format!("{document:#}\n"))
}

fn read_key(jwk: &str) -> Result<(Ed25519KeyPair, String), SigningError> {
    let wrong = |_| SigningError::Key;
    let value: serde_json::Value = serde_json::from_str(jwk).map_err(|_| SigningError::Key)?;
    let field = |name: &str| value.get(name).and_then(serde_json::Value::as_str);
    if field("kty") != Some("OKP") || field("crv") != Some("Ed25519") {
        return Err(SigningError::Key);
    }
    let bytes = |name: &str| BASE64URL_NOPAD.decode(field(name).unwrap_or_default().as_bytes());
    let (seed, public) = (bytes("d").map_err(wrong)?, bytes("x").map_err(wrong)?);
    let key =
        Ed25519KeyPair::from_seed_and_public_key(&seed, &public).map_err(|_| SigningError::Key)?;
    let id = thumbprint(&public);
    Ok((key, id))
}

/// RFC 7638 with RFC 8037: the members that make the key, sorted, without spaces.
fn thumbprint(public: &[u8]) -> String {
    let x = BASE64URL_NOPAD.encode(public);
    let text = format!("{{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"{x}\"}}");
    BASE64URL_NOPAD.encode(digest(&SHA256, text.as_bytes()).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of RFC 8037, appendix A, whose thumbprint stands there.
    const KEY: &str = r#"{"kty":"OKP","crv":"Ed25519",
        "d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
        "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;

    #[test]
    fn the_id_of_a_key_is_its_thumbprint() {
        let signer = Signer::new(KEY, "https://example.org").unwrap();
        assert_eq!(signer.key_id, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
        assert!(!format!("{signer:?}").contains("nWGx"));
    }

    #[test]
    fn a_signature_is_over_the_host_and_the_agent() {
        let signer = Signer::new(KEY, "https://example.org/").unwrap();
        let signed = |url: &str| {
            let mut headers = HeaderMap::new();
            signer.sign_at(&Url::parse(url).unwrap(), 1000, "bm9uY2U=", &mut headers);
            headers
        };
        let headers = signed("https://site.example:443/page?x#y");
        assert_eq!(headers["signature-agent"], "sig1=\"https://example.org\"");
        assert_eq!(
            headers["signature-input"],
            "sig1=(\"@authority\" \"signature-agent\";key=\"sig1\");created=1000;expires=1060;\
             keyid=\"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k\";alg=\"ed25519\";nonce=\"bm9uY2U=\";\
             tag=\"web-bot-auth\""
        );
        assert_eq!(
            headers["signature"],
            signed("https://site.example/other")["signature"]
        );
        assert_ne!(
            headers["signature"],
            signed("https://site.example:8443/")["signature"]
        );
    }

    #[test]
    fn keys_that_are_made_can_be_read_and_published() {
        let (one, two) = (new_key().unwrap(), new_key().unwrap());
        assert_ne!(one, two);
        Signer::new(&one, "https://example.org").unwrap();
        let directory = key_directory(&[one.clone(), two]).unwrap();
        let secret: serde_json::Value = serde_json::from_str(&one).unwrap();
        assert!(directory.contains(secret["x"].as_str().unwrap()));
        assert!(!directory.contains(secret["d"].as_str().unwrap()));
        for bad in [
            "",
            "{}",
            "[]",
            r#"{"kty":"OKP","crv":"Ed25519","d":"AAAA","x":"AAAA"}"#,
        ] {
            assert_eq!(
                Signer::new(bad, "https://example.org").unwrap_err(),
                SigningError::Key
            );
        }
        for bad in [
            "example.org",
            "http://example.org",
            "https://example.org/keys",
            "https://a@b",
        ] {
            assert_eq!(Signer::new(KEY, bad).unwrap_err(), SigningError::Agent);
        }
    }
}
