//! URLs: which ones we can use, and which ones mean the same page.
//!
//! [`parse`] reads a URL as browsers do (WHATWG) and refuses what a crawler cannot use, naming
//! the limit. [`canonical_key`] gives the text by which two spellings of one page are recognised;
//! it is for identity only, the URL fetched is always the URL found. [`surt`] is the key archive
//! indexes sort by, [`site_of`] the registrable domain, [`shown`] a form safe for logs. [`scope`]
//! says which URLs belong to a crawl, [`list`] reads long lists of them, [`traps`] says which lead nowhere.
//!
//! A crate of its own because two that must not know each other need it: the one that speaks to
//! the web, and the ledger, which never does. Pure functions of strings and history: it knows no
//! network, no page ids and no storage.

mod key;
pub mod list;
mod parse;
pub mod percent;
pub mod scope;
mod session;
mod site;
mod standard;
mod surt;
pub mod traps;

pub use key::{KeyOptions, canonical_key};
pub use parse::{UrlError, UrlLimits, UserinfoRule, parse, resolve, resolve_in, shown};
pub use session::{is_session_param, is_tracking_param, without_path_session};
pub use site::{host_of, origin_of, site_of};
pub use standard::read_standard;
pub use surt::surt;
pub use url::Url;
