//! Names for things: dense numbers, issued in order, used as indices.
//!
//! A page's state lives in a `Vec` at its id, so a link costs four bytes and no hashing. URLs and
//! host names stay with those who read and write them.

use std::fmt;

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id with this index. Panics past 2³²−1, the most this house can number.
            #[inline]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("ids are 32-bit: at most 2^32 - 1"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

dense_id! {
    /// A page: one URL of the crawl.
    PageId
}
dense_id! {
    /// A host: one unit of politeness.
    HostId
}
