//! Soft 404: pages that are gone although the server says all is well.
//!
//! The idea (Bar-Yossef, Broder, Kumar, Tomkins, WWW 2004): ask for a page that surely does not
//! exist, a random name in the same directory, and compare. If the server tells the truth about
//! the random one, it is believed about all; if both end at the same place or with nearly the same
//! text, the page is gone. One probe serves a whole directory for a day.
//!
//! The caller does the fetching: [`judge`] answers either with a verdict and its evidence or with
//! [`Verdict::Probe`], the URL to fetch next; what came of it goes to [`HostEvidence::add_probe`].
//!
//! We are careful to the side of life: the root of a host is never judged, titles that differ save
//! a page unless the texts are one, phrases like "not found" only decide a near tie, and a login
//! wall means we cannot know.

mod evidence;
mod facts;
mod judge;
mod phrases;

pub use evidence::{HostEvidence, directory_of, probe_url};
pub use facts::{PageFacts, is_root};
pub use judge::{Evidence, SoftOptions, Verdict, judge};
pub use phrases::says_not_found;
