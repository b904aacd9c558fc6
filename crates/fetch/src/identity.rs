//! Who we say we are: `turnstone/VERSION (+contact)`.
//!
//! A site's owner who wonders about us must be able to reach the operator, so a contact is
//! required for anything but the operator's own machine. Without one, the client refuses every
//! address that is not loopback.

use std::net::IpAddr;

use http::HeaderValue;

use crate::guard::is_loopback;

/// Longest contact we put into a header.
const CONTACT_BYTES_MAX: usize = 200;

/// The User-Agent of a client, with or without a contact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    user_agent: HeaderValue,
    has_contact: bool,
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
            has_contact: true,
        })
    }

    /// An identity that may ask this machine only.
    pub fn loopback_only() -> Self {
        let user_agent = HeaderValue::from_static(Self::product());
        Self {
            user_agent,
            has_contact: false,
        }
    }

    /// The User-Agent header.
    pub fn user_agent(&self) -> &HeaderValue {
        &self.user_agent
    }

    /// Refuses an address that may not be asked under this identity.
    pub fn may_ask(&self, address: IpAddr) -> Result<(), IdentityError> {
        if self.has_contact || is_loopback(address) {
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
