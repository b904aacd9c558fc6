//! The package for Python, from outside.
#![allow(clippy::unwrap_used)]

#[path = "../../../pagestore/tests/support/archive_tools.rs"]
mod archive_tools;
mod wheel;
