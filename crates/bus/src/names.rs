//! How logs and keys are called on the servers.
//!
//! Streams are `TS-<crawl>-J-17`, subjects `ts.<crawl>.J-17.17`: no URL, host or page ever stands
//! in a name, because names appear in logs and permissions.

use turnstone_cluster::bus::{Key, Keys, Stream};

use crate::error::ConnectError;

/// The names of one crawl.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    crawl: String,
}

impl Names {
    pub(crate) fn new(crawl: &str) -> Result<Self, ConnectError> {
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if crawl.is_empty() || crawl.len() > 32 || !crawl.chars().all(fine) {
            let name = crawl.to_owned();
            return Err(ConnectError::Name { name });
        }
        let crawl = crawl.to_owned();
        Ok(Self { crawl })
    }

    pub(crate) fn crawl(&self) -> &str {
        &self.crawl
    }

    pub(crate) fn stream(&self, stream: Stream) -> String {
        format!("TS-{}-{}", self.crawl, stream.name())
    }

    pub(crate) fn subject(&self, stream: Stream, subject: u32) -> String {
        format!("ts.{}.{}.{subject}", self.crawl, stream.name())
    }

    pub(crate) fn subjects(&self, stream: Stream) -> String {
        format!("ts.{}.{}.*", self.crawl, stream.name())
    }

    pub(crate) fn keys(&self) -> String {
        format!("TS-{}-K", self.crawl)
    }

    pub(crate) fn key(&self, key: Key) -> String {
        self.key_named(&key.name())
    }

    pub(crate) fn key_named(&self, name: &str) -> String {
        format!("ts.{}.K.{name}", self.crawl)
    }

    pub(crate) fn keys_of(&self, keys: Keys) -> String {
        format!("ts.{}.K.{}*", self.crawl, keys.prefix())
    }

    /// The key of a subject.
    pub(crate) fn key_of(&self, subject: &str) -> Option<Key> {
        let prefix = self.key_named("");
        Key::parse(subject.strip_prefix(&prefix)?)
    }

    pub(crate) fn blobs(&self) -> String {
        format!("TS-{}", self.crawl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnstone_cluster::{NodeId, Shard};

    #[test]
    fn keys_come_back() {
        let names = Names::new("web-2026").unwrap();
        for key in [
            Key::Lease(Shard(3)),
            Key::Node(NodeId(u64::MAX)),
            Key::Statement(Shard(255)),
            Key::Budget,
            Key::Level,
        ] {
            assert_eq!(names.key_of(&names.key(key)), Some(key));
        }
        for bad in ["", "a.b", "a b", "ä", ">", &"x".repeat(33)] {
            assert!(Names::new(bad).is_err(), "{bad}");
        }
    }
}
