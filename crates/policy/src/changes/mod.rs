//! Changes: which stored pages to fetch again, so that most of what is fetched has changed.
//!
//! Time goes in cycles, each announced by [`Event::Round`](turnstone_frontier::Event::Round) with
//! a budget. The pages a driver discovers before the first cycle are the store, with copies of
//! that moment. In a cycle no policy asks for more pages than the budget, nor for one twice.
//!
//! The policies of Tan, Zhuang, Mitra and Giles (2007) fetch random samples and, where a sample
//! has changed, the pages near it ([`Sampling`]); beside them stand what they were compared with,
//! what crawlers do today, and the strongest rules known for pages that change on their own.

mod book;
mod catalogue;
mod cluster_neighbours;
mod cohorts;
mod copies;
mod directory_neighbours;
mod groups;
mod gsb;
mod link_neighbours;
mod lists;
mod neighbourhood;
pub mod paths;
mod pooled;
pub mod rate;
mod refresh;
mod sampling;
mod trigger;

pub use catalogue::{POLICIES, build, check};
pub use cluster_neighbours::{ClusterMap, ClusterNeighbours};
pub use cohorts::{Cohorts, Weighing};
pub use directory_neighbours::{DirectoryNeighbours, DirectoryTree};
pub use gsb::GreedySites;
pub use link_neighbours::{LinkMap, LinkNeighbours};
pub use lists::{Azar, CrawlValue, Interval, Oldest, RoundRobin, azar_rates, crawl_value};
pub use neighbourhood::{Alone, IsFree, Neighbourhood, Store};
pub use pooled::{GroupRates, PooledRates, Pooling};
pub use refresh::{Answer, List, Moment, Refresh};
pub use sampling::Sampling;
pub use trigger::{Cycles, Trigger};
