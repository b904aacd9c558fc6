//! Speaking to the web: HTTP, robots.txt, URLs, links.
//!
//! The part that meets strangers: it trusts nothing it is told and gives everything a limit. It
//! knows nothing of page ids, policies or storage.
//!
//! [`Client::fetch`] asks once and returns what came, as raw bytes and parsed: a fetch is one
//! request and its answer. Redirects ([`Redirect`]), waits ([`retry_after`]) and codings
//! ([`decode`]) are read by functions beside it, so that the caller decides what to do about
//! them. On the way to the socket stand the [`Guard`], which keeps strangers from steering us
//! into the operator's own network, and the [`Identity`], without whose contact nobody but this
//! machine is asked.

mod body;
mod client;
mod connect;
mod connection;
mod decode;
mod dns;
mod error;
mod guard;
mod h1;
mod h2;
mod identity;
mod limits;
mod message;
mod pool;
mod redirect;
mod retry_after;
mod tls;
mod validators;
mod wire;

pub use client::{Client, Config};
pub use decode::{Coding, DecodeFault, Decoded, allowed, decode};
pub use dns::{Answer, DnsError, Resolve, SystemDns};
pub use error::{ErrorClass, FetchError};
pub use guard::{
    AllowPorts, AllowPrivate, Guard, NetworkError, Refusal, Special, WEB_PORTS, is_loopback,
    special,
};
pub use identity::{Identity, IdentityError};
pub use ipnet::IpNet;
pub use limits::{Limits, WIRE_OVERHEAD_FACTOR, WIRE_SLACK_BYTES};
pub use message::{
    Method, Note, Protocol, Request, Response, Timings, TlsInfo, Truncation, TruncationMark,
};
pub use redirect::{ChainEnd, REDIRECTS_MAX, Redirect, RedirectChain, RedirectRefusal};
pub use retry_after::{RETRY_AFTER_MAX, parse_retry_after, retry_after};
pub use tls::{Tls, TlsError, Verification};
pub use url::Url;
pub use validators::Validators;
