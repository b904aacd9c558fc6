//! Who wants which events, how often, and how they are sent.

use std::fmt;
use std::path::PathBuf;

use turnstone_events::Filter;
use turnstone_fetch::AllowPrivate;

/// Somebody who wants events.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// What its cursor is called; never the same for two.
    pub name: String,
    /// Where events go.
    pub to: To,
    /// Which events.
    pub filter: Filter,
    /// How often.
    pub when: When,
    /// From the beginning of the journal, not from where it was when the receiver was first seen.
    pub from_start: bool,
    /// Events older than this when they could be sent are left out and counted.
    pub catch_up_ms: u64,
}

impl Receiver {
    /// How old an event may be when it is sent, unless it is said otherwise: 7 days.
    pub const CATCH_UP_MS: u64 = 7 * 86_400_000;
}

/// Where events go.
#[derive(Clone, Debug)]
pub enum To {
    /// A POST of JSON, signed with HMAC-SHA256 where there is a secret.
    Webhook {
        /// Where to. Who knows the address of a hook may often use it, so it is a secret, too.
        url: Secret,
        /// What signatures are made with.
        secret: Option<Secret>,
        /// Which addresses beyond the public ones it may have.
        private: AllowPrivate,
    },
    /// A command of the shell: one process for a batch, lines of JSON on its standard input.
    Exec {
        /// The command.
        command: String,
    },
    /// An Atom feed of the last 1,000 events.
    Atom {
        /// Where it is written, whole.
        file: PathBuf,
    },
    /// A file to which lines of JSON are added.
    Ndjson {
        /// The file.
        file: PathBuf,
    },
    /// An e-mail.
    Mail(Mail),
}

/// An e-mail and who takes it.
#[derive(Clone, Debug)]
pub struct Mail {
    /// The server, as `smtps://user:password@mail.example.org`.
    pub server: Secret,
    /// From whom.
    pub from: String,
    /// To whom.
    pub to: Vec<String>,
}

/// How often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// As soon as there is an event.
    #[default]
    AtOnce,
    /// Once an hour at most.
    Hourly,
    /// Once a day at most.
    Daily,
}

impl When {
    /// Every way, by its name.
    pub const ALL: [(&'static str, Self); 3] = [
        ("at-once", Self::AtOnce),
        ("hourly", Self::Hourly),
        ("daily", Self::Daily),
    ];

    /// The least time between two digests.
    pub fn period_ms(self) -> u64 {
        match self {
            Self::AtOnce => 0,
            Self::Hourly => 3_600_000,
            Self::Daily => 86_400_000,
        }
    }
}

/// Text that is never shown, not even by `Debug`, and never written.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for whoever must send it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl To {
    /// The way, in one word.
    pub fn way(&self) -> &'static str {
        match self {
            Self::Webhook { .. } => "webhook",
            Self::Exec { .. } => "exec",
            Self::Atom { .. } => "atom",
            Self::Ndjson { .. } => "ndjson",
            Self::Mail(_) => "mail",
        }
    }

    /// Where events go, without what is secret of it.
    pub fn shown(&self) -> String {
        match self {
            Self::Webhook { url, .. } => origin(url.reveal()),
            Self::Exec { command } => command.clone(),
            Self::Atom { file } | Self::Ndjson { file } => file.display().to_string(),
            Self::Mail(mail) => mail.to.join(", "),
        }
    }

    /// A name for a receiver that was given none: the same for the same target, and nothing can be
    /// read from it.
    pub fn made_up_name(&self) -> String {
        let target = match self {
            Self::Webhook { url, .. } => url.reveal().to_owned(),
            other => other.shown(),
        };
        let digest = ring::digest::digest(&ring::digest::SHA256, target.as_bytes());
        let hex: String = digest.as_ref()[..4]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("{}-{hex}", self.way())
    }
}

/// Scheme and host of a URL: the rest of a hook's address is often what permits to use it.
pub(crate) fn origin(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "a URL without a scheme".to_owned();
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or("");
    let host = host.rsplit('@').next().unwrap_or("");
    format!("{scheme}://{host}")
}
