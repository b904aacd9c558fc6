//! Sending, whichever way.

use std::io;

use crate::courier::Batch;
use crate::receiver::{Receiver, To};
use crate::{exec, file, mail, webhook};

/// Why a batch was not taken. It is sent again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// A server said no.
    #[error("{url}: status {status}")]
    Status {
        /// Which.
        url: String,
        /// What it said.
        status: u16,
    },
    /// A server cannot be reached, or does not answer in time.
    #[error("{url}: {why}")]
    Unreachable {
        /// Which.
        url: String,
        /// Why.
        why: String,
    },
    /// A command failed.
    #[error("`{command}`: {why}")]
    Command {
        /// Which.
        command: String,
        /// How.
        why: String,
    },
    /// A file cannot be written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// An e-mail was not taken.
    #[error("e-mail to {to}: {why}")]
    Mail {
        /// To whom.
        to: String,
        /// Why.
        why: String,
    },
}

/// Sends a batch and says whether it was taken.
pub trait Post: Sync {
    /// Returns once the batch was taken; an error means that it is sent again, all of it.
    fn send(&self, receiver: &Receiver, batch: &Batch<'_>) -> Result<(), SendError>;
}

/// Sends for real.
#[derive(Debug, Default)]
pub struct Sender;

impl Post for Sender {
    fn send(&self, receiver: &Receiver, batch: &Batch<'_>) -> Result<(), SendError> {
        match &receiver.to {
            To::Webhook {
                url,
                secret,
                private,
            } => webhook::send(url, secret.as_ref(), private, batch),
            To::Exec { command } => exec::send(command, &receiver.name, batch),
            To::Atom { file } => file::write_feed(file, &receiver.name, batch),
            To::Ndjson { file } => file::add_lines(file, batch),
            To::Mail(mail) => mail::send(mail, &receiver.name, batch),
        }
    }
}
