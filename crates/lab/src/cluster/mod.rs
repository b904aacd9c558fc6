//! Clusters of pages that look alike, for policies that expect them to change alike (Tan, Zhuang,
//! Mitra and Giles 2007, section 4.3).
//!
//! A page becomes a row of numbers: its words, links in and out, images, depth and size, its
//! top-level domain, and twice ten ranks that say how near its text and its address are to the ten
//! largest clusters of texts and of addresses. Rows are divided by repeated bisection. The whole
//! is deterministic: no random starts, ties to the first.
//!
//! Cost: O(words · log clusters), some seconds for a hundred thousand pages of two dozen words.

mod bisect;
mod features;
mod look;
mod tf_idf;

pub use bisect::{Divided, Points, bisect};
pub use features::{Clusters, Features};
pub use look::{Address, Look, Words};
