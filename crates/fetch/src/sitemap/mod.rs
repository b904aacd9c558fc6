//! Sitemaps: lists of pages that a site writes for crawlers (protocol 0.9).
//!
//! [`read_sitemap`] takes any of the forms: XML `urlset` and index, plain text, RSS and Atom, each
//! plain or in gzip (told by content). It is lenient, as the files demand: wrong namespaces,
//! byte-order marks, missing roots and junk dates are fine, and entries before a break are kept.
//! [`SitemapWalk`] leads through an index and stops at loops, depth and number.

mod read;
mod walk;

pub use read::{Sitemap, SitemapEntry, SitemapInput, SitemapKind, SitemapLimits, read_sitemap};
pub use walk::{SitemapWalk, WalkLimits};
