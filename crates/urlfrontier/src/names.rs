//! What crawls and queues are called: by clients, and on the disk.
//!
//! A crawl's name is any text; blank is `DEFAULT`. Its folder has the same name, with everything but letters, digits,
//! dashes and dots written as `%XX`: so no name leads out of the directory, and no two names lead to one folder.

/// The crawl of those who name none.
pub const DEFAULT: &str = "DEFAULT";
/// The longest name of a crawl, so that a folder can have it.
pub const CRAWL_BYTES_MAX: usize = 80;
/// The longest key of a queue, in UTF-16 units, as the protocol counts.
pub const KEY_UNITS_MAX: usize = 255;

/// The crawl that is meant.
pub(crate) fn crawl(name: &str) -> &str {
    match name.trim().is_empty() {
        true => DEFAULT,
        false => name,
    }
}

/// The queue of a URL: the key that the client gave, or the one that everybody derives. Nothing where there is none,
/// or none that is short enough.
pub(crate) fn queue(key: &str, url: &str) -> Option<String> {
    let key = match key {
        "" => turnstone_ledger::usual_host(url),
        key => key.to_owned(),
    };
    let fits = !key.is_empty() && key.encode_utf16().count() <= KEY_UNITS_MAX;
    fits.then_some(key)
}

/// The folder of a crawl; nothing for a name that is too long.
pub(crate) fn folder(crawl: &str) -> Option<String> {
    if crawl.len() > CRAWL_BYTES_MAX {
        return None;
    }
    let mut folder = String::new();
    for (at, byte) in crawl.bytes().enumerate() {
        let plain = byte.is_ascii_alphanumeric() || byte == b'-' || (byte == b'.' && at > 0);
        match plain {
            true => folder.push(char::from(byte)),
            false => folder.push_str(&format!("%{byte:02X}")),
        }
    }
    Some(folder)
}

/// The crawl of a folder; nothing if no crawl has such a folder.
pub(crate) fn of_folder(folder: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), folder.bytes());
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let hex = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(str::from_utf8(&hex).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    let crawl = String::from_utf8(bytes).ok()?;
    (self::folder(&crawl).as_deref() == Some(folder)).then_some(crawl)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_the_name_of_its_crawl() {
        for name in ["DEFAULT", "a_b", "..", "/etc", "ü%41", ".x", "a.b-c", " x "] {
            let folder = folder(name).unwrap();
            assert!(
                !folder.contains(['/', '_']) && !folder.starts_with('.'),
                "{folder}"
            );
            assert_eq!(of_folder(&folder).as_deref(), Some(name));
        }
        assert_eq!(folder(&"x".repeat(CRAWL_BYTES_MAX + 1)), None);
        for foreign in ["%", "%4", "%zz", "%61", "x_y"] {
            assert_eq!(of_folder(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn keys_are_derived_as_everybody_does() {
        for (url, key) in [
            ("http://gac.icann.org?language_id=9", Some("gac.icann.org")),
            ("https://h:8443/x", Some("h")),
            ("h/x", Some("h")),
            ("anything", Some("anything")),
            ("http://", None),
            ("", None),
            ("http://H.example/x", Some("h.example")),
            ("http://user:pw@h.example/x", Some("h.example")),
            ("http://[::1]:80/x", Some("[::1]")),
            ("http://h.example#top", Some("h.example")),
            ("http://h.example/@x", Some("h.example")),
        ] {
            assert_eq!(queue("", url).as_deref(), key, "{url}");
        }
        assert_eq!(queue("_DEFAULT_", "x").as_deref(), Some("_DEFAULT_"));
        assert_eq!(queue(&"k".repeat(256), "x"), None);
    }
}
