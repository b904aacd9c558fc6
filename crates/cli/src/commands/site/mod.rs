//! What the crawler sees of a site: `inspect`, `robots`, `links`, `canon`.
//!
//! For people who debug a site. They ask as the crawler would, with its identity, limits and guard.

pub(crate) mod canon;
pub(crate) mod inspect;
pub(crate) mod links;
pub(crate) mod robots;

mod ask;
