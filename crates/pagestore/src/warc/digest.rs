//! SHA-1 digests, the fingerprints by which web archives tell payloads apart.
//!
//! SHA-1 because every tool of the field writes and compares it; it says "the same bytes" among
//! pages that nobody forged, and nothing here depends on it for safety.

use std::fmt;

use data_encoding::BASE32;
use sha1::{Digest as _, Sha1};

/// The SHA-1 of some bytes; written in BASE32, as web archives do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 20]);

impl Digest {
    /// The digest of all parts, one after the other.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut state = Sha1::new();
        for part in parts {
            state.update(part);
        }
        Self(state.finalize().into())
    }

    /// Reads 32 BASE32 or 40 hexadecimal digits, with or without `sha1:` before them.
    pub fn parse(text: &str) -> Option<Self> {
        let text = match text.split_once(':') {
            Some((algorithm, value)) if algorithm.eq_ignore_ascii_case("sha1") => value,
            Some(_) => return None,
            None => text,
        };
        let bytes = match text.len() {
            32 => BASE32.decode(text.to_ascii_uppercase().as_bytes()).ok()?,
            40 => data_encoding::HEXLOWER_PERMISSIVE
                .decode(text.as_bytes())
                .ok()?,
            _ => return None,
        };
        Some(Self(bytes.try_into().ok()?))
    }
}

/// The 32 BASE32 digits alone: an index line has them so, a WARC field puts `sha1:` before.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE32.encode(&self.0))
    }
}

/// A body and its digest, which was computed from it once.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    bytes: &'a [u8],
    digest: Digest,
}

impl<'a> Payload<'a> {
    /// Digests a body.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            digest: Digest::of(&[bytes]),
        }
    }

    /// The body.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its digest.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_well_known_one() {
        let digest = Digest::of(&[]);
        assert_eq!(digest.to_string(), "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        assert_eq!(
            Digest::parse("sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            Some(digest)
        );
    }

    #[test]
    fn other_digests_are_not_ours() {
        for bad in [
            "",
            "-",
            "md5:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
            "sha1:xyz",
            "1I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
        ] {
            assert_eq!(Digest::parse(bad), None, "{bad}");
        }
    }
}
