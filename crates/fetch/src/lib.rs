//! Speaking to the web: what a crawler asks strangers, and what it makes of their answers.
//!
//! This crate knows nothing of page ids, policies or storage, and trusts nothing it is told.
//! Each module below is a pure function of bytes, strings and history: no sockets, no clock.
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

mod dates;
pub mod feed;
pub mod html;
pub mod media;
mod percent;
pub mod robots;
pub mod scope;
pub mod sitemap;
pub mod soft404;
pub mod traps;
pub mod urls;
mod xml;
