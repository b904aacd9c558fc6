//! Pages of strangers, and groups held against a slow truth.

#![allow(clippy::unwrap_used)]

mod groups;
mod pages;
