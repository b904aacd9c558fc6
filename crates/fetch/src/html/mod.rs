//! Reading a page: its links, title, text and wishes, in one pass and in bounded space.
//!
//! [`read_page`] decodes the body ([`encoding`]), finds its tokens (`scan`: plain markup by ourselves,
//! the rest by html5ever's tokenizer), adds them up without a tree (`collect`), and resolves the
//! links at the end, when the first `<base>` is known (`resolve`). Depth costs nothing because nothing is nested; each tag, link,
//! title and text has a limit, and what a limit cut is noted in [`Page::cuts`].
//!
//! Cost: linear in the body; memory a small multiple of it.
//! Not here: scripts are not run, so what only they write is not seen; `noscript` is.

mod collect;
mod cuts;
mod elements;
pub mod encoding;
mod fingerprint;
mod ignored;
mod link;
pub mod outline;
mod page;
mod plain;
mod raw_links;
mod references;
pub mod refresh;
mod resolve;
mod scan;
mod sink;
pub mod srcset;
mod tag;

pub use cuts::{Cuts, LINK_BYTES_MIN, Unseen};
pub use fingerprint::{Fingerprint, simhash_distance};
pub use ignored::{IgnoreError, IgnoreRule, Ignored, IgnoredCount};
pub use link::{Link, LinkKind, LinksWanted, Refresh};
pub use page::{LINKS_BYTES_MAX, Page, PageInput, PageLimits, read_page, read_page_by_tokenizer};
pub use resolve::LINK_BYTES;
