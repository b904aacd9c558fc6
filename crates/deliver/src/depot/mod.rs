//! Files of a crawl in an object store: anything that speaks S3, or a folder of another disk.
//!
//! A depot is a URL: `s3://BUCKET/PREFIX` or `file:///FOLDER`. Where the server is and who asks stands in the
//! environment, under the names that every tool for S3 reads (`AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID`,
//! `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`): so no credential is ever in a configuration, a
//! journal, an argument or a log, and what a server says of them is taken out of errors.
//!
//! The protocol is that of the `object_store` crate, without its HTTP client: requests go through the client that
//! webhooks use, so that there is one HTTP stack, one set of trusted authorities, and one address guard.
//!
//! | module | what it knows |
//! |---|---|
//! | `place` | which store a URL names, and how its server is asked |
//! | `files` | bringing one file there, and back |
//! | `bring` | which files of a crawl are brought, once each, and which may be dropped here |

mod bring;
mod files;
mod place;

pub use bring::{Back, Brought, Keep, Load, State, back, bring};
pub use files::{Depot, DepotError, Put};
