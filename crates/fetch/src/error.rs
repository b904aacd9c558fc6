//! Why a fetch failed: a closed list of classes to match on, and a sentence to read.
//!
//! Callers decide by [`ErrorClass`] (back off the host, drop the page, try again) and show the
//! text. The list is closed on purpose, so that adding a class makes every `match` speak up.

use std::fmt;

/// A fetch that brought no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{subject}: {detail} ({class})")]
pub struct FetchError {
    /// What kind of failure it was.
    pub class: ErrorClass,
    /// What was asked: the URL, without user name and password.
    pub subject: String,
    /// What happened, for people.
    pub detail: String,
    /// Requests that may have reached the peer: 0, 1, or 2 after a retry that the request allowed. Each counts against
    /// the host's delay.
    pub requests_sent: u32,
}

/// The kinds of failure, with stable names for logs, JSON and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorClass {
    /// The URL cannot be asked for: no host, or a scheme other than http and https.
    UrlRefused,
    /// The URL is longer than the limit.
    UrlTooLong,
    /// The address guard refused the address or the port.
    GuardRefused,
    /// No contact address was given, and the host is not this machine.
    ContactMissing,
    /// The name does not exist.
    DnsNxdomain,
    /// The name servers failed, gave no address, or did not answer in time.
    DnsFailure,
    /// The peer refused the connection.
    ConnectRefused,
    /// The connection took too long.
    ConnectTimeout,
    /// The connection failed in another way (unreachable, reset).
    ConnectFailed,
    /// This process or this machine may open no further socket: nobody's fault but ours.
    OutOfFiles,
    /// Who had permitted the request took that back before its first byte was written.
    NotPermitted,
    /// The certificate has expired or is not valid yet.
    TlsExpired,
    /// The certificate is for another host.
    TlsWrongHost,
    /// No authority we know issued the certificate; it may have signed itself.
    TlsUnknownIssuer,
    /// The certificate is bad in another way (revoked, malformed, wrong purpose).
    TlsBadCertificate,
    /// The handshake failed: no common version or cipher, an alert, or the end of the stream.
    TlsHandshake,
    /// The handshake took too long.
    TlsTimeout,
    /// The response head did not come, or not whole, in time.
    TimeoutFirstByte,
    /// The whole fetch took too long.
    TimeoutTotal,
    /// The peer sent, but less than the minimum throughput.
    TooSlow,
    /// What came is not HTTP as we accept it.
    Protocol,
    /// The response head is too long, has too many lines, or too many 1xx heads came first.
    HeaderLimit,
    /// The body is longer than the limit. Only ever the cause of a truncation.
    BodyLimit,
    /// The peer closed or reset the connection before the response was whole.
    Disconnect,
    /// The peer closed a kept connection before the first byte of an answer, and the request was not to
    /// be sent twice.
    StaleConnection,
}

impl ErrorClass {
    /// Every class, in the order declared.
    pub const ALL: [Self; 25] = [
        Self::UrlRefused,
        Self::UrlTooLong,
        Self::GuardRefused,
        Self::ContactMissing,
        Self::DnsNxdomain,
        Self::DnsFailure,
        Self::ConnectRefused,
        Self::ConnectTimeout,
        Self::ConnectFailed,
        Self::OutOfFiles,
        Self::NotPermitted,
        Self::TlsExpired,
        Self::TlsWrongHost,
        Self::TlsUnknownIssuer,
        Self::TlsBadCertificate,
        Self::TlsHandshake,
        Self::TlsTimeout,
        Self::TimeoutFirstByte,
        Self::TimeoutTotal,
        Self::TooSlow,
        Self::Protocol,
        Self::HeaderLimit,
        Self::BodyLimit,
        Self::Disconnect,
        Self::StaleConnection,
    ];

    /// The name used in logs, JSON and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UrlRefused => "url-refused",
            Self::UrlTooLong => "url-too-long",
            Self::GuardRefused => "guard-refused",
            Self::ContactMissing => "contact-missing",
            Self::DnsNxdomain => "dns-nxdomain",
            Self::DnsFailure => "dns-failure",
            Self::ConnectRefused => "connect-refused",
            Self::ConnectTimeout => "connect-timeout",
            Self::ConnectFailed => "connect-failed",
            Self::OutOfFiles => "out-of-files",
            Self::NotPermitted => "not-permitted",
            Self::TlsExpired => "tls-expired",
            Self::TlsWrongHost => "tls-wrong-host",
            Self::TlsUnknownIssuer => "tls-unknown-issuer",
            Self::TlsBadCertificate => "tls-bad-certificate",
            Self::TlsHandshake => "tls-handshake",
            Self::TlsTimeout => "tls-timeout",
            Self::TimeoutFirstByte => "timeout-first-byte",
            Self::TimeoutTotal => "timeout-total",
            Self::TooSlow => "too-slow",
            Self::Protocol => "protocol",
            Self::HeaderLimit => "header-limit",
            Self::BodyLimit => "body-limit",
            Self::Disconnect => "disconnect",
            Self::StaleConnection => "stale-connection",
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failure inside the fetch, before the client adds what was asked.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) class: ErrorClass,
    pub(crate) detail: String,
}

impl Fault {
    pub(crate) fn new(class: ErrorClass, detail: impl Into<String>) -> Self {
        Self {
            class,
            detail: detail.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorClass;

    #[test]
    fn names_are_distinct_and_all_is_whole() {
        let names: std::collections::BTreeSet<_> =
            ErrorClass::ALL.iter().map(|class| class.as_str()).collect();
        assert_eq!(names.len(), ErrorClass::ALL.len());
        assert_eq!(
            ErrorClass::StaleConnection as usize + 1,
            ErrorClass::ALL.len()
        );
    }
}
