//! A host name, taken apart as the columns of Common Crawl's index have it.
//!
//! The registry suffix is the part under which a registry sells names (`co.uk`); the private suffix
//! also counts companies that give names away (`github.io`). An address has no parts.

use psl::Type;

/// The parts of a host name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HostParts {
    pub(crate) name: String,
    pub(crate) reversed: String,
    /// The labels from the last on: `org`, `example`, `www`; at most five.
    pub(crate) last: Vec<String>,
    pub(crate) registry_suffix: Option<String>,
    pub(crate) registered_domain: Option<String>,
    pub(crate) private_suffix: Option<String>,
    pub(crate) private_domain: Option<String>,
}

impl HostParts {
    pub(crate) fn of(name: &str) -> Self {
        let is_address = name.starts_with('[') || name.parse::<std::net::Ipv4Addr>().is_ok();
        if is_address || name.is_empty() {
            return Self {
                name: name.to_owned(),
                reversed: name.to_owned(),
                ..Self::default()
            };
        }
        let labels: Vec<&str> = name.trim_end_matches('.').rsplit('.').collect();
        let bare = name.trim_end_matches('.');
        let private = suffix(bare).map(|(suffix, _)| suffix);
        let registry = registry_suffix(bare);
        Self {
            name: name.to_owned(),
            reversed: labels.join("."),
            last: labels
                .iter()
                .take(5)
                .map(|part| (*part).to_owned())
                .collect(),
            registry_suffix: registry.map(str::to_owned),
            registered_domain: registry.and_then(|suffix| domain(bare, suffix)),
            private_suffix: private.map(str::to_owned),
            private_domain: private.and_then(|suffix| domain(bare, suffix)),
        }
    }
}

fn suffix(name: &str) -> Option<(&str, Option<Type>)> {
    let found = psl::suffix(name.as_bytes())?;
    let length = found.as_bytes().len();
    Some((&name[name.len() - length..], found.typ()))
}

/// The longest suffix that is a registry's: below a private one it is that of its parent.
fn registry_suffix(name: &str) -> Option<&str> {
    let mut rest = name;
    loop {
        let (found, kind) = suffix(rest)?;
        if kind != Some(Type::Private) {
            return Some(found);
        }
        rest = found.split_once('.')?.1;
    }
}

/// The suffix and the label before it.
fn domain(name: &str, suffix: &str) -> Option<String> {
    let before = name.strip_suffix(suffix)?.strip_suffix('.')?;
    let label = before.rsplit('.').next().unwrap_or(before);
    Some(format!("{label}.{suffix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expect: [&str; 4]) {
        let parts = HostParts::of(name);
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        let found = [
            text(&parts.registry_suffix),
            text(&parts.registered_domain),
            text(&parts.private_suffix),
            text(&parts.private_domain),
        ];
        assert_eq!(found, expect, "{name}");
    }

    #[test]
    fn suffixes_are_those_of_the_public_suffix_list() {
        check(
            "www.example.co.uk",
            ["co.uk", "example.co.uk", "co.uk", "example.co.uk"],
        );
        check(
            "me.github.io",
            ["io", "github.io", "github.io", "me.github.io"],
        );
        check("com", ["com", "", "com", ""]);
        check("127.0.0.1", ["", "", "", ""]);
        check("[::1]", ["", "", "", ""]);
        let parts = HostParts::of("a.b.example.org");
        assert_eq!(parts.last, ["org", "example", "b", "a"]);
        assert_eq!(parts.reversed, "org.example.b.a");
    }
}
