//! Names of records: UUIDs made from what was captured, never from a clock or by chance.
//!
//! A name is a UUID of version 5 (RFC 9562): the SHA-1 of the crawl's own namespace, the role of
//! the record, the moment, a number and the target. So the same capture built twice has the same
//! name, and two captures share one only if all of these agree.

use std::fmt;

use super::digest::Digest;

/// The name of a record, written `<urn:uuid:…>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RecordId([u8; 16]);

impl RecordId {
    /// The name of one record of a crawl: `role` is its type, `number` tells captures of the same
    /// target within one millisecond apart.
    pub(super) fn new(
        namespace: &[u8; 16],
        role: &str,
        date_ms: u64,
        number: u64,
        target: &str,
    ) -> Self {
        let digest = Digest::of(&[
            namespace,
            role.as_bytes(),
            b"\0",
            &date_ms.to_be_bytes(),
            &number.to_be_bytes(),
            target.as_bytes(),
        ]);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest.0[..16]);
        bytes[6] = bytes[6] & 0x0F | 0x50;
        bytes[8] = bytes[8] & 0x3F | 0x80;
        Self(bytes)
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<urn:uuid:")?;
        for (i, byte) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        f.write_str(">")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_uuid_and_hangs_on_every_part() {
        let id = RecordId::new(&[7; 16], "response", 1, 2, "http://example.org/");
        let text = id.to_string();
        assert_eq!(text.len(), 47);
        assert_eq!(&text[24..25], "5");
        assert!("89ab".contains(&text[29..30]), "{text}");
        for other in [
            RecordId::new(&[8; 16], "response", 1, 2, "http://example.org/"),
            RecordId::new(&[7; 16], "request", 1, 2, "http://example.org/"),
            RecordId::new(&[7; 16], "response", 2, 2, "http://example.org/"),
            RecordId::new(&[7; 16], "response", 1, 3, "http://example.org/"),
            RecordId::new(&[7; 16], "response", 1, 2, "http://example.org/a"),
        ] {
            assert_ne!(id, other);
        }
    }
}
