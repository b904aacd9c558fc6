//! What is said on standard error: a line for people, or with `--log json` a document a line for programs.
//!
//! Everything that is no result comes through here, so that a service whose log is gathered has one form. A
//! document has `time`, `level` (`info`, `warning` or `error`), `message`, and what belongs to it.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use serde_json::{Value, json};

/// The form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// Lines for people.
    #[default]
    Text,
    /// A JSON document a line.
    Json,
}

static AS_JSON: AtomicBool = AtomicBool::new(false);

/// Decides the form, once, before anything is said.
pub(crate) fn begin(form: Form) {
    AS_JSON.store(form == Form::Json, Ordering::Relaxed);
}

/// Whether programs read it: then nothing is drawn on the terminal.
pub(crate) fn is_json() -> bool {
    AS_JSON.load(Ordering::Relaxed)
}

/// Says how things go.
pub(crate) fn info(message: &str) {
    say("info", message, &Value::Null);
}

/// Says what somebody should look at.
pub(crate) fn warning(message: &str) {
    say("warning", message, &Value::Null);
}

/// Says why the process ends.
pub(crate) fn error(message: &str) {
    say("error", message, &Value::Null);
}

/// Says something with what belongs to it: the fields of an object, for programs alone.
pub(crate) fn say(level: &str, message: &str, fields: &Value) {
    let line = if is_json() {
        let name = message.strip_prefix("turnstone: ").unwrap_or(message);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now_ms = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(0));
        let time = turnstone_pagestore::warc::warc_date(now_ms);
        let mut document = json!({"time": time, "level": level, "message": name});
        if let (Value::Object(all), Value::Object(more)) = (&mut document, fields) {
            all.extend(more.clone());
        }
        document.to_string()
    } else {
        message.to_owned()
    };
    let _ = writeln!(std::io::stderr(), "{line}");
}
