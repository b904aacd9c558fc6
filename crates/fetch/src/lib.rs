//! Speaking to the web: HTTP, robots.txt, URLs, links.

mod error;
mod guard;
mod identity;
mod limits;
mod redirect;
mod retry_after;

pub use error::{ErrorClass, FetchError};
pub use guard::{
    AllowPorts, AllowPrivate, Guard, Refusal, Special, WEB_PORTS, is_loopback, special,
};
pub use identity::{Identity, IdentityError};
pub use ipnet::IpNet;
pub use limits::{Limits, WIRE_OVERHEAD_FACTOR, WIRE_SLACK_BYTES};
pub use redirect::{ChainEnd, REDIRECTS_MAX, Redirect, RedirectChain, RedirectRefusal};
pub use retry_after::{RETRY_AFTER_MAX, parse_retry_after, retry_after};
pub use url::Url;
