//! Who we say we are: `turnstone/VERSION (+contact)`, or another name in place of ours.
//!
//! A site's owner who wonders about us must be able to reach the operator, so a contact is
//! required for anything but the operator's own machine. Without one, the client refuses every
//! address that is not loopback.

use std::net::IpAddr;

use http::HeaderValue;

use crate::guard::is_loopback;

/// Longest contact we put into a header.
const CONTACT_BYTES_MAX: usize = 200;

/// The name under which robots.txt files know us, unless the operator gives another.
const AGENT: &str = "turnstone";
/// The longest name of an operator's own.
const PRODUCT_BYTES_MAX: usize = 60;

/// The User-Agent of a client, with or without a contact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    user_agent: HeaderValue,
    agent: String,
    contact: Option<String>,
}

/// Why an identity cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The contact is not something a site's owner could use.
    #[error(
        "contact {0:?}: give an e-mail address or an http(s) URL, at most 200 plain characters"
    )]
    Contact(String),
    /// The name is not one that robots.txt files could use.
    #[error(
        "name {0:?}: give NAME or NAME/VERSION, as in acme-crawler/2.1; a name has letters, - and _ only, \
         for robots.txt files call us by it"
    )]
    Product(String),
    /// A host other than this machine was to be asked without a contact.
    #[error(
        "no contact given: without one only loopback is asked, and {0} is not loopback; \
         give an e-mail address or a URL where site owners can reach you"
    )]
    Missing(IpAddr),
}

impl Identity {
    /// An identity for the web; `contact` is an e-mail address or an http(s) URL.
    pub fn with_contact(contact: &str) -> Result<Self, IdentityError> {
        let contact = contact.trim();
        let refused = || IdentityError::Contact(contact.chars().take(CONTACT_BYTES_MAX).collect());
        let plain = contact
            .bytes()
            .all(|b| b.is_ascii_graphic() && !matches!(b, b'(' | b')' | b'\\'));
        let mail = contact.strip_prefix("mailto:").unwrap_or(contact);
        let reachable = contact.starts_with("http://")
            || contact.starts_with("https://")
            || mail
                .split_once('@')
                .is_some_and(|(user, host)| !user.is_empty() && !host.is_empty());
        if !plain || !reachable || contact.len() > CONTACT_BYTES_MAX {
            return Err(refused());
        }
        let text = format!("{} (+{contact})", Self::product());
        let user_agent = HeaderValue::from_str(&text).map_err(|_| refused())?;
        Ok(Self {
            user_agent,
            agent: AGENT.to_owned(),
            contact: Some(contact.to_owned()),
        })
    }

    /// The same identity under another name: `product` is `NAME` or `NAME/VERSION`. Rules of robots.txt
    /// files are those for `NAME` then, no longer those for turnstone.
    pub fn named(mut self, product: &str) -> Result<Self, IdentityError> {
        let refused = || IdentityError::Product(product.chars().take(PRODUCT_BYTES_MAX).collect());
        let (name, version) = product.split_once('/').unwrap_or((product, "0"));
        let is_name = |b: u8| b.is_ascii_alphabetic() || matches!(b, b'-' | b'_');
        let is_version = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
        let plain = !name.is_empty()
            && !version.is_empty()
            && name.bytes().all(is_name)
            && version.bytes().all(is_version)
            && product.len() <= PRODUCT_BYTES_MAX;
        if !plain {
            return Err(refused());
        }
        let text = match &self.contact {
            Some(contact) => format!("{product} (+{contact})"),
            None => product.to_owned(),
        };
        self.user_agent = HeaderValue::from_str(&text).map_err(|_| refused())?;
        name.clone_into(&mut self.agent);
        Ok(self)
    }

    /// The name by which robots.txt files know us.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// An identity that may ask this machine only.
    pub fn loopback_only() -> Self {
        let user_agent = HeaderValue::from_static(Self::product());
        Self {
            user_agent,
            agent: AGENT.to_owned(),
            contact: None,
        }
    }

    /// The User-Agent header.
    pub fn user_agent(&self) -> &HeaderValue {
        &self.user_agent
    }

    /// Refuses an address that may not be asked under this identity.
    pub fn may_ask(&self, address: IpAddr) -> Result<(), IdentityError> {
        if self.contact.is_some() || is_loopback(address) {
            return Ok(());
        }
        Err(IdentityError::Missing(address))
    }

    fn product() -> &'static str {
        concat!("turnstone/", env!("CARGO_PKG_VERSION"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_agent_carries_the_contact() {
        let identity = Identity::with_contact(" ops@example.org ").unwrap();
        let want = format!("turnstone/{} (+ops@example.org)", env!("CARGO_PKG_VERSION"));
        assert_eq!(identity.user_agent(), &want);
        assert!(identity.may_ask("8.8.8.8".parse().unwrap()).is_ok());
    }

    #[test]
    fn an_operator_may_give_another_name() {
        let check = |product: &str, expect: Option<(&str, &str)>| {
            let identity = Identity::with_contact("ops@example.org").unwrap();
            let named = identity.named(product);
            let got = named.as_ref().ok().map(|identity| {
                let user_agent = identity.user_agent().to_str().unwrap();
                (user_agent, identity.agent())
            });
            assert_eq!(got, expect, "{product:?}");
        };
        let full = "acme-crawler/2.1 (+ops@example.org)";
        check("acme-crawler/2.1", Some((full, "acme-crawler")));
        check("acme", Some(("acme (+ops@example.org)", "acme")));
        let long = "x".repeat(61);
        for bad in [
            "",
            "/1",
            "a/",
            "a b",
            "a/1 (x)",
            "acme2",
            "a\r\nX: y",
            "ü",
            &long,
        ] {
            check(bad, None);
        }
        let here = Identity::loopback_only().named("acme/1").unwrap();
        assert_eq!(here.user_agent(), "acme/1");
        assert!(here.may_ask("8.8.8.8".parse().unwrap()).is_err());
    }

    #[test]
    fn contacts_nobody_could_use_are_refused() {
        for bad in [
            "",
            "me",
            "@",
            "a@",
            "http:/x",
            "a@b\r\nX: y",
            "a@b)",
            "ü@example.org",
            "a b@c",
        ] {
            assert!(Identity::with_contact(bad).is_err(), "{bad:?}");
        }
        assert!(Identity::with_contact(&format!("https://{}", "x".repeat(200))).is_err());
    }

    #[test]
    fn without_a_contact_only_loopback_is_asked() {
        let identity = Identity::loopback_only();
        assert!(identity.may_ask("127.0.0.1".parse().unwrap()).is_ok());
        assert!(identity.may_ask("::1".parse().unwrap()).is_ok());
        let error = identity
            .may_ask("10.0.0.1".parse().unwrap())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("10.0.0.1") && error.contains("e-mail"),
            "{error}"
        );
    }
}
