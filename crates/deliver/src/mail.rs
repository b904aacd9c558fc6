//! An e-mail for a batch. By `lettre`: headers, encodings and the dialogue with a server are easy to get
//! nearly right.
//!
//! The message id is made of the ids of the events, so that a mail that is sent again after a kill can be
//! told from another. Titles and URLs are strangers' text: what could turn a line around or end it is
//! shown as an escape.

use std::fmt::Write as _;
use std::time::Duration;

use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::{Message, SmtpTransport, Transport as _};
use turnstone_events::{Kind, plain};
use turnstone_pagestore::warc::warc_date;

use crate::courier::Batch;
use crate::receiver::Mail;
use crate::send::SendError;

/// For each step of the dialogue.
const TIME_MAX: Duration = Duration::from_secs(20);

pub(crate) fn send(mail: &Mail, name: &str, batch: &Batch<'_>) -> Result<(), SendError> {
    let to = mail.to.join(", ");
    let failed = |why: String| SendError::Mail {
        to: to.clone(),
        why,
    };
    let address = |text: &str| {
        let parsed = text.parse::<Mailbox>();
        parsed.map_err(|error| failed(format!("'{text}' is no address: {error}")))
    };
    let mut message = Message::builder()
        // Without it readers take the text for ASCII.
        .header(ContentType::TEXT_PLAIN)
        .from(address(&mail.from)?)
        .subject(subject(name, batch));
    if let (Some(first), Some(last)) = (batch.events.first(), batch.events.last()) {
        let id = format!("<{}.{}@turnstone.invalid>", first.id, last.at.0);
        message = message.message_id(Some(id));
    }
    for receiver in &mail.to {
        message = message.to(address(receiver)?);
    }
    let message = message.body(text(batch));
    let message = message.map_err(|error| failed(error.to_string()))?;
    let server =
        SmtpTransport::from_url(mail.server.reveal()).map_err(|error| failed(error.to_string()))?;
    let server = server.timeout(Some(TIME_MAX)).build();
    match server.send(&message) {
        Ok(_) => Ok(()),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn subject(name: &str, batch: &Batch<'_>) -> String {
    let of = |kind: Kind| {
        batch
            .events
            .iter()
            .filter(|event| event.kind == kind)
            .count()
    };
    let counts = Kind::ALL.into_iter().filter(|kind| of(*kind) > 0);
    let counts: Vec<String> = counts
        .map(|kind| format!("{} {}", of(kind), kind.name()))
        .collect();
    format!("{name}: {}", counts.join(", "))
}

fn text(batch: &Batch<'_>) -> String {
    let mut text = String::new();
    for event in batch.events {
        let _ = write!(
            text,
            "{} {}\n  {}\n",
            warc_date(event.when_ms),
            event.kind.name(),
            plain(&event.url)
        );
        if let Some(to) = &event.moved_to {
            let _ = writeln!(text, "  leads to {}", plain(to));
        }
        if !event.title.is_empty() {
            let _ = writeln!(text, "  {}", plain(&event.title));
        }
        if matches!(event.kind, Kind::Gone | Kind::Refused) {
            let _ = writeln!(text, "  {}", plain(&event.class));
        }
    }
    if batch.skipped > 0 {
        let _ = writeln!(text, "\n{} older events were left out.", batch.skipped);
    }
    text
}
