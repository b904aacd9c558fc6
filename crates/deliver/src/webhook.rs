//! A POST of JSON, signed.
//!
//! The signature is over the time and the body, so that neither can be changed nor an old request be
//! sent again unnoticed: `Turnstone-Signature: t=SECONDS,v1=HEX`, where HEX is HMAC-SHA256 of
//! `SECONDS.BODY`. By `ureq`: small, blocking, with limits of time for everything. Redirects are not
//! followed: events go where they were meant to go. Any answer of 2xx is a yes.
//!
//! The address that a name stands for is judged by the crawler's own guard (`guarded`).

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use ring::hmac;
use serde_json::json;
use turnstone_events::json as event_json;
use turnstone_fetch::AllowPrivate;

use crate::courier::Batch;
use crate::guarded;
use crate::receiver::{Secret, origin};
use crate::send::SendError;

/// From the first byte sent to the last byte read.
const TIME_MAX: Duration = Duration::from_secs(20);

pub(crate) fn send(
    url: &Secret,
    secret: Option<&Secret>,
    private: &AllowPrivate,
    batch: &Batch<'_>,
) -> Result<(), SendError> {
    let events: Vec<_> = batch.events.iter().map(event_json).collect();
    let body = json!({
        "version": 1,
        "crawl": batch.crawl,
        "skipped": batch.skipped,
        "events": events,
    });
    let body = body.to_string();
    let agent = guarded::agent(private, TIME_MAX);
    let mut request = agent
        .post(url.reveal())
        .header("content-type", "application/json");
    if let (Some(first), Some(last)) = (batch.events.first(), batch.events.last()) {
        let delivery = format!("{}..{}", first.id, last.id);
        request = request.header("turnstone-delivery", delivery);
    }
    if let Some(secret) = secret {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let seconds = now.unwrap_or_default().as_secs();
        let signed = format!(
            "t={seconds},v1={}",
            signature(secret.reveal(), seconds, &body)
        );
        request = request.header("turnstone-signature", signed);
    }
    let unreachable = |error: ureq::Error| SendError::Unreachable {
        url: origin(url.reveal()),
        why: error.to_string(),
    };
    let answer = request.send(body).map_err(unreachable)?;
    match answer.status().as_u16() {
        200..=299 => Ok(()),
        status => Err(SendError::Status {
            url: origin(url.reveal()),
            status,
        }),
    }
}

/// The signature of a body sent at a time, in hexadecimal digits.
pub fn signature(secret: &str, seconds: u64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{seconds}.{body}").as_bytes());
    let mut hex = String::new();
    for byte in tag.as_ref() {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
