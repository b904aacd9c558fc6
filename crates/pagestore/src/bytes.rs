//! Numbers and strings as bytes: what every entry is made of.
//!
//! Numbers are LEB128, so small ones are short; strings carry their length. Reading trusts nothing:
//! a length beyond the bytes at hand is an error, never an allocation.

/// Appends to an entry under construction.
pub(crate) trait Put {
    fn put_number(&mut self, number: u64);
    fn put_bytes(&mut self, bytes: &[u8]);
}

impl Put for Vec<u8> {
    fn put_number(&mut self, mut number: u64) {
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

/// The bytes of an entry that cannot have been written by us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Malformed(pub(crate) &'static str);

/// Reads an entry from its first byte to its last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        let (&first, rest) = self.rest.split_first().ok_or(Malformed("it ends early"))?;
        self.rest = rest;
        Ok(first)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Malformed("a number beyond 64 bits"))
    }

    pub(crate) fn small(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.number()?).map_err(|_| Malformed("a number beyond 32 bits"))
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        if count > self.rest.len() {
            return Err(Malformed("a length beyond its end"));
        }
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("as many were taken"))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.number()?;
        let length = usize::try_from(length).map_err(|_| Malformed("a length beyond memory"))?;
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        str::from_utf8(self.bytes()?).map_err(|_| Malformed("text that is not UTF-8"))
    }

    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed("bytes behind its end"))
        }
    }

    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_put_is_read(numbers in prop::collection::vec(any::<u64>(), 0..20), bytes: Vec<u8>) {
            let mut out = Vec::new();
            for &number in &numbers {
                out.put_number(number);
            }
            out.put_bytes(&bytes);
            let mut cursor = Cursor::new(&out);
            for &number in &numbers {
                prop_assert_eq!(cursor.number(), Ok(number));
            }
            prop_assert_eq!(cursor.bytes(), Ok(bytes.as_slice()));
            prop_assert_eq!(cursor.end(), Ok(()));
        }

        #[test]
        fn noise_is_an_error_or_a_value(noise: Vec<u8>) {
            let mut cursor = Cursor::new(&noise);
            while cursor.left() > 0 && cursor.text().is_ok() && cursor.number().is_ok() {}
        }
    }

    #[test]
    fn a_number_that_never_ends_is_refused() {
        assert!(Cursor::new(&[0xff; 20]).number().is_err());
        assert!(Cursor::new(&[0x80]).number().is_err());
    }
}
