//! Taking in what another crawler fetched, as if it had come just now.
//!
//! Who reads old crawls (files of any kind) makes an [`OldFetch`] of each fetch and hands them over by time;
//! [`TakeIn`] tells the ledger of them. It is here, beside the asker, because it answers the same questions:
//! what a redirect means, which links are kept, whether a page had changed.
//!
//! | module | what it knows |
//! |---|---|
//! | `old_fetch` | one fetch, as a source tells of it |
//! | `homes` | the hosts there are, and where a crawl of each would begin |
//! | `take_in` | what a fetch means for its page |

mod homes;
mod old_fetch;
mod take_in;

pub use homes::Homes;
pub use old_fetch::{Came, OldFetch};
pub use take_in::{Reach, TakeIn, Taken, TakenBefore};
