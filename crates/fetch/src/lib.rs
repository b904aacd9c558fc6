//! Speaking to the web: what a crawler asks strangers, and what it makes of their answers.
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
//!
//! What came is understood by pure functions of bytes, strings and history, with no sockets and no
//! clock:
//!
//! | module | question it answers |
//! |---|---|
//! | [`robots`] | may this be fetched, by which line, and when must we ask again? |
//! | [`urls`] | is this a URL we can use, and are these two the same page? |
//! | [`html`] | which links, title and text does this page hold? |
//! | [`sitemap`], [`feed`] | which URLs does this list announce? |
//! | [`scope`], [`traps`] | does this URL belong to the crawl, or lead nowhere? |
//! | [`media`] | is this body something we read? |
//! | [`soft404`] | is this page gone although the server says 200? |

mod body;
mod client;
mod connect;
mod connection;
mod credentials;
mod dates;
mod decode;
mod dns;
mod error;
pub mod feed;
mod frames;
mod guard;
mod h1;
mod h2;
pub mod html;
mod identity;
mod limits;
pub mod media;
mod message;
mod pool;
pub mod preferences;
mod proxy;
mod redirect;
mod retry_after;
pub mod robots;
mod room;
mod shortfall;
mod signing;
pub mod sitemap;
pub mod soft404;
mod tls;
mod turn;
mod validators;
pub mod wall;
mod wire;
mod xml;

pub use client::{Client, Config};
pub use credentials::{Credentials, CredentialsError, Secret, common_header};
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
    Kept, Method, Note, Permit, Protocol, Request, Response, Timings, TlsInfo, Truncation,
    TruncationMark, header_map,
};
pub use proxy::{Proxy, ProxyError};
pub use redirect::{ChainEnd, REDIRECTS_MAX, Redirect, RedirectChain, RedirectRefusal};
pub use retry_after::{RETRY_AFTER_MAX, parse_retry_after, retry_after};
pub use room::Room;
pub use shortfall::{Shortfall, ShortfallCause};
pub use signing::{
    KEY_DIRECTORY, KEY_DIRECTORY_TYPE, Signer, SigningError, key_directory, new_key,
};
pub use tls::{Tls, TlsError, Verification, certificates_of};
pub use turn::{Spacing, Turn};
pub use turnstone_urls as urls;
pub use turnstone_urls::{list, scope, traps};
pub use url::Url;
pub use validators::Validators;
