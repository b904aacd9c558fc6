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
mod elements;
pub mod encoding;
mod fingerprint;
mod page;
pub mod refresh;
mod scan;
pub mod srcset;
mod tag;

pub use fingerprint::{Fingerprint, simhash_distance};
pub use page::{Cuts, Link, LinkKind, Page, PageInput, PageLimits, Refresh, read_page};
