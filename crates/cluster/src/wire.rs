//! Numbers and bytes as they travel: what every message is made of.
//!
//! Numbers are LEB128, so small ones are short; bytes carry their length. Reading trusts nothing: a
//! length beyond the bytes at hand is an error, never an allocation, and so is anything behind the
//! end. Every message begins with the version of its format.

/// Appends to a message under construction.
pub trait Put {
    /// A number.
    fn put_number(&mut self, number: u64);
    /// A sum of masses.
    fn put_wide(&mut self, number: u128);
    /// Bytes with their length.
    fn put_bytes(&mut self, bytes: &[u8]);
}

impl Put for Vec<u8> {
    fn put_number(&mut self, number: u64) {
        self.put_wide(u128::from(number));
    }

    fn put_wide(&mut self, mut number: u128) {
        while number >= 0x80 {
            self.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.push(number as u8);
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.put_number(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }
}

/// A message that this release cannot have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

/// Reads a message from its first byte to its last.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// At the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// At the first byte behind the version, which must be this one.
    pub fn versioned(bytes: &'a [u8], version: u8) -> Result<Self, Malformed> {
        let mut cursor = Self::new(bytes);
        if cursor.byte()? != version {
            return Err(Malformed(
                "a format of another release: run the same release on every node",
            ));
        }
        Ok(cursor)
    }

    /// One byte.
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        let (&first, rest) = self.rest.split_first().ok_or(Malformed("it ends early"))?;
        self.rest = rest;
        Ok(first)
    }

    /// A sum of masses.
    pub fn wide(&mut self) -> Result<u128, Malformed> {
        let mut number = 0u128;
        for shift in (0..128).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Malformed("a number beyond 128 bits"))
    }

    /// A number.
    pub fn number(&mut self) -> Result<u64, Malformed> {
        u64::try_from(self.wide()?).map_err(|_| Malformed("a number beyond 64 bits"))
    }

    /// A number of 32 bits.
    pub fn small(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.number()?).map_err(|_| Malformed("a number beyond 32 bits"))
    }

    /// How many things follow, each of at least so many bytes: no more than can be there.
    pub fn count(&mut self, bytes_each: usize) -> Result<usize, Malformed> {
        let count = usize::try_from(self.number()?).map_err(|_| Malformed("a count too large"))?;
        if count > self.rest.len() / bytes_each {
            return Err(Malformed("a count beyond its end"));
        }
        Ok(count)
    }

    /// So many bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        if count > self.rest.len() {
            return Err(Malformed("a length beyond its end"));
        }
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }

    /// Bytes of a fixed length.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("as many were taken"))
    }

    /// Bytes with their length.
    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.number()?;
        let length = usize::try_from(length).map_err(|_| Malformed("a length beyond memory"))?;
        self.take(length)
    }

    /// Text with its length.
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        str::from_utf8(self.bytes()?).map_err(|_| Malformed("text that is not UTF-8"))
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// How much is left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Nothing may be left.
    pub fn end(&self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed("bytes behind its end"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_put_is_read(numbers in prop::collection::vec(any::<u128>(), 0..20), bytes: Vec<u8>) {
            let mut out = Vec::new();
            for &number in &numbers {
                out.put_wide(number);
                out.put_number(number as u64);
            }
            out.put_bytes(&bytes);
            let mut cursor = Cursor::new(&out);
            for &number in &numbers {
                prop_assert_eq!(cursor.wide(), Ok(number));
                prop_assert_eq!(cursor.number(), Ok(number as u64));
            }
            prop_assert_eq!(cursor.bytes(), Ok(bytes.as_slice()));
            prop_assert_eq!(cursor.end(), Ok(()));
        }
    }

    #[test]
    fn no_length_is_trusted() {
        assert!(Cursor::new(&[0xff; 40]).wide().is_err());
        assert!(Cursor::new(&[0xff, 0xff, 0x03]).bytes().is_err());
        assert!(Cursor::new(&[0x05, 0, 0]).count(1).is_err());
        assert!(Cursor::versioned(&[2], 1).is_err());
    }
}
