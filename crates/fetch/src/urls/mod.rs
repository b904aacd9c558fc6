//! URLs: which ones we can use, and which ones mean the same page.
//!
//! [`parse`] reads a URL as browsers do (WHATWG) and refuses what a crawler cannot use, naming
//! the limit. [`canonical_key`] gives the text by which two spellings of one page are recognised;
//! it is for identity only, the URL fetched is always the URL found. [`surt`] is the key archive
//! indexes sort by, [`site_of`] the registrable domain, [`shown`] a form safe for logs.

mod key;
mod parse;
mod session;
mod site;
mod standard;
mod surt;

pub use key::{KeyOptions, canonical_key};
pub(crate) use parse::resolve_in;
pub use parse::{UrlError, UrlLimits, UserinfoRule, parse, resolve, shown};
pub use session::{is_session_param, is_tracking_param, without_path_session};
pub use site::{host_of, origin_of, site_of};
pub use standard::read_standard;
pub use surt::surt;
