//! Brings what a crawl has to others: events to a webhook, a command, an Atom feed, a file of lines of JSON, an
//! e-mail; files to an object store ([`depot`]).
//!
//! **At least once, in order, over kills.** The journal is the queue. A receiver has a cursor, the place
//! in the journal up to which it has everything; the cursor is an entry of the same journal, written
//! after the receiver said yes. A kill in between means that the same events come again, with the same
//! ids. Only events that are durable are delivered, so that a loss of power cannot take back what was
//! told. A batch is sent again until it is taken, and nothing overtakes it: so the order of events of a
//! page is kept.
//!
//! **Secrets stay secret.** Nothing of a receiver but its name is in the journal, and errors show of a URL
//! no more than scheme and host.
//!
//! **A dead receiver stops nobody.** Sending happens beside the crawl, with limits of time, and is tried
//! again ever more seldom. What is older than the receiver's limit when it could be sent at last is left
//! out, and how many events that were is told with the next batch.
//!
//! | module | what it knows |
//! |---|---|
//! | `receiver` | who wants what, and how often |
//! | `cursor` | how far a receiver is, as an entry of the journal |
//! | `courier` | what is due, and what follows from yes and no |
//! | `webhook`, `exec`, `file`, `mail` | one way of sending each |
//! | `guarded` | which servers may be asked |
//! | [`depot`] | object stores: which files are brought there, once each |
//!
//! Not here: policies, crawling, the terminal; which process writes the journal ([`Pen`] is handed in).

mod courier;
mod cursor;
pub mod depot;
mod exec;
mod file;
mod guarded;
mod mail;
mod receiver;
mod send;
mod webhook;

pub use courier::{Batch, Courier, Pen, Said};
pub use cursor::Cursor;
pub use receiver::{Mail, Receiver, Secret, To, When};
pub use send::{Post, SendError, Sender};
pub use webhook::signature;
