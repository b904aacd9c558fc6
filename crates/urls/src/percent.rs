//! Percent forms: the few pieces that robots patterns and URL keys share.

/// RFC 3986 unreserved characters: encoded or not, they mean the same.
pub const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// The value of two hex digits at the start, if there are two.
pub fn hex_pair(bytes: &[u8]) -> Option<u8> {
    let digit = |b: &u8| char::from(*b).to_digit(16);
    let high = bytes.first().and_then(digit)?;
    let low = bytes.get(1).and_then(digit)?;
    u8::try_from(high * 16 + low).ok()
}

/// Appends `%XX`.
pub fn push_percent(out: &mut String, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(HEX[usize::from(byte >> 4)]));
    out.push(char::from(HEX[usize::from(byte & 15)]));
}
