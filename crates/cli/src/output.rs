//! What is printed where: results on standard output, everything else on standard error.

use std::io::{self, Write as _};

use serde::Serialize;
use serde_json::{Value, json};
use turnstone_policy::SpecError;
use turnstone_policy::coverage::TrustError;

use crate::caller::caller;
use crate::exit::{Exit, Usage};

/// The version of the documents: another one where something they had is gone or means something else.
const VERSION: u32 = 1;

/// Prints results as the user asked for them.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    /// What the document is called that `--json` prints: a file of `docs/schema`.
    schema: String,
}

impl Output {
    pub(crate) fn new(json: bool, name: &str) -> Self {
        let schema = format!("{name}/{VERSION}");
        Self { json, schema }
    }

    /// The same for a document of another name: of several commands that do one thing.
    pub(crate) fn named(&self, name: &str) -> Self {
        Self::new(self.json, name)
    }

    /// Whether people read it.
    pub(crate) fn is_text(&self) -> bool {
        !self.json
    }

    /// Prints the result: as one JSON document, or as text.
    pub(crate) fn result(
        &self,
        json: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        let text = if self.json {
            serde_json::to_string_pretty(&self.document(json)?)? + "\n"
        } else {
            text()
        };
        self.raw(&text)
    }

    /// Prints the result that comes after others: as the last line of JSON, or as text.
    pub(crate) fn last(
        &self,
        json: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        let text = if self.json {
            serde_json::to_string(&self.document(json)?)? + "\n"
        } else {
            text()
        };
        self.raw(&text)
    }

    /// The document with the name and version of its schema. Lists have no place for it.
    fn document(&self, json: &impl Serialize) -> serde_json::Result<Value> {
        let mut value = serde_json::to_value(json)?;
        if let Value::Object(fields) = &mut value {
            fields.insert("schema".to_owned(), self.schema.as_str().into());
        }
        Ok(value)
    }

    /// Prints one of several results, as [`Output::line`] does. False if the reader went away.
    pub(crate) fn told(
        &self,
        json: impl FnOnce() -> serde_json::Value,
        text: impl FnOnce() -> String,
    ) -> anyhow::Result<bool> {
        let text = if self.json {
            format!("{}\n", json())
        } else {
            text()
        };
        match print(&text) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            outcome => Ok(outcome.map(|()| true)?),
        }
    }

    /// Prints one of several results: as one line of JSON, or as text.
    pub(crate) fn line(
        &self,
        json: impl FnOnce() -> serde_json::Value,
        text: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        self.told(json, text).map(|_| ())
    }

    /// Prints text as it is. A reader who went away is no error.
    pub(crate) fn raw(&self, text: &str) -> anyhow::Result<()> {
        match print(text) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            outcome => Ok(outcome?),
        }
    }

    /// Says something that is not a result.
    pub(crate) fn note(&self, text: &str) {
        match caller() {
            Some(caller) => caller.note(text),
            None => crate::log::info(text),
        }
    }

    /// Says what went wrong, in one line, and with which code to end.
    pub(crate) fn fault(&self, error: &anyhow::Error) -> Exit {
        let (line, exit) = fault(error);
        self.say(&line, exit);
        exit
    }

    /// Says that the arguments could not be read.
    pub(crate) fn misread(&self, why: &str) -> Exit {
        self.say(why, Exit::Usage);
        Exit::Usage
    }

    /// The last line on standard error: why it could not be done.
    fn say(&self, why: &str, exit: Exit) {
        if self.json {
            let schema = format!("error/{VERSION}");
            let document = json!({"schema": schema, "error": why, "code": exit as u8});
            let _ = writeln!(io::stderr(), "{document}");
        } else {
            crate::log::error(&format!("turnstone: {why}"));
        }
    }
}

/// What went wrong, in one line, and with which code to end.
pub(crate) fn fault(error: &anyhow::Error) -> (String, Exit) {
    // Errors that name their cause in their own words are not followed by it once more.
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if line.is_empty() {
            line = cause;
        } else if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    let line = line.replace('\n', " ");
    let wrong_usage = error.is::<Usage>() || error.is::<SpecError>() || error.is::<TrustError>();
    let exit = if wrong_usage {
        Exit::Usage
    } else {
        Exit::Failed
    };
    (line, exit)
}

/// Prints to standard output, or to the program that called.
fn print(text: &str) -> io::Result<()> {
    match caller() {
        Some(caller) => {
            caller.take(text);
            Ok(())
        }
        None => io::stdout().write_all(text.as_bytes()),
    }
}
