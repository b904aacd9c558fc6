//! Reading a page: its links, title, text and wishes, in one pass and in bounded space.
//!
//! [`read_page`] decodes the body ([`encoding`]), runs html5ever's tokenizer over it with a sink
//! of our own and no tree ([`mod@self`]'s `scan` and `collect`), and resolves the links at the end, when
//! the first `<base>` is known. Depth costs nothing because nothing is nested; each tag, link,
//! title and text has a limit, and what a limit cut is noted in [`Page::cuts`].
//!
//! Cost: linear in the body; memory a small multiple of it.
//! Not here: scripts are not run, so what only they write is not seen; `noscript` is.

mod collect;
mod cuts;
mod elements;
pub mod encoding;
mod fingerprint;
mod link;
mod page;
mod raw_links;
pub mod refresh;
mod resolve;
mod scan;
pub mod srcset;
mod tag;

pub use cuts::{Cuts, LINK_BYTES_MIN, Unseen};
pub use fingerprint::{Fingerprint, simhash_distance};
pub use link::{Link, LinkKind, LinksWanted, Refresh};
pub use page::{LINKS_BYTES_MAX, Page, PageInput, PageLimits, read_page};
pub use resolve::LINK_BYTES;
