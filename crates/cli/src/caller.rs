//! A command called by a program instead of a shell.
//!
//! A shell gets text on standard output, a bar on standard error, and ends a command with a signal. A
//! program gets what was printed as a value, is told how far the work has come, may end it there, and may
//! bring policies of its own ([`Spec::guest`]). The commands are the same functions either way, so that
//! they give the same figures.
//!
//! Who called stands in a thread-local and not in the arguments of every command: a command that asks for
//! nothing of it need not know. Work is ended by unwinding, at the next moment it says how far it has come:
//! the alternative, a way out through the results of every function between, would be a way that nobody
//! takes for a shell.
//!
//! Cost: nothing for a shell but the look at a thread-local, once per bar and per line printed.

use std::cell::RefCell;
use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};

use turnstone_policy::{Spec, SpecError};

use crate::exit::Exit;
use crate::output::{Output, fault};

thread_local! {
    static CALLER: RefCell<Option<Arc<Caller>>> = const { RefCell::new(None) };
    static GIVEN: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Told what is being done and which share of it is; says whether to go on.
pub type Watch = dyn Fn(&str, f64) -> bool + Send + Sync;

/// A call of one command.
pub struct Call {
    /// What a shell would be given behind `turnstone`.
    pub arguments: Vec<String>,
    /// Policies that the caller made; where a list of policies names one of them, it is taken.
    pub guests: Vec<Spec>,
    /// Who is told how far the work has come.
    pub watch: Box<Watch>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The command ran to its end.
    Done {
        /// Its exit code: 0, or 3 where a limit stopped it before its goal.
        code: u8,
        /// What it printed on standard output.
        text: String,
        /// What it said beside that, a line each.
        notes: Vec<String>,
    },
    /// It could not, or was asked wrongly.
    Failed {
        /// Its exit code: 1 or 2.
        code: u8,
        /// Why, in one line.
        why: String,
    },
    /// The watcher ended it.
    Stopped,
}

/// Unwinds a stack whose work is not wanted any more.
struct Stop;

pub(crate) struct Caller {
    guests: Vec<Spec>,
    watch: Box<Watch>,
    text: Mutex<String>,
    notes: Mutex<Vec<String>>,
}

impl Call {
    /// Runs the command in this thread.
    ///
    /// # Panics
    /// If the command does, which is a bug in it.
    pub fn run(self) -> Ended {
        let arguments = std::iter::once("turnstone".to_owned()).chain(self.arguments);
        let arguments: Vec<String> = arguments.collect();
        let given: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let (parsed, name) = match crate::read(&given) {
            Ok(read) => read,
            Err(error) => return misread(&error),
        };
        let caller = Arc::new(Caller {
            guests: self.guests,
            watch: self.watch,
            text: Mutex::default(),
            notes: Mutex::default(),
        });
        CALLER.set(Some(Arc::clone(&caller)));
        GIVEN.set(Some(arguments));
        let output = Output::new(parsed.json, &name);
        let forget = Forget;
        let outcome = stoppable(|| parsed.command.run(&output));
        drop(forget);
        match outcome {
            Some(Ok(exit)) => Ended::Done {
                code: exit as u8,
                text: std::mem::take(&mut *lock(&caller.text)),
                notes: std::mem::take(&mut *lock(&caller.notes)),
            },
            Some(Err(error)) => {
                let (why, exit) = fault(&error);
                let code = exit as u8;
                Ended::Failed { code, why }
            }
            None => Ended::Stopped,
        }
    }
}

/// Forgets who called, even where a command panics.
struct Forget;

impl Drop for Forget {
    fn drop(&mut self) {
        CALLER.set(None);
        GIVEN.set(None);
    }
}

/// Does work that [`stop`] may end; nothing where it did.
///
/// # Panics
/// If the work does.
pub fn stoppable<T>(work: impl FnOnce() -> T) -> Option<T> {
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => Some(done),
        Err(payload) if payload.is::<Stop>() => None,
        Err(payload) => panic::resume_unwind(payload),
    }
}

/// Ends the work that [`stoppable`] does in this thread. For policies of the caller that cannot go on.
pub fn stop() -> ! {
    panic::resume_unwind(Box::new(Stop))
}

fn misread(error: &clap::Error) -> Ended {
    let text = error.render().to_string();
    if error.use_stderr() {
        let (code, why) = (Exit::Usage as u8, one_line(&text));
        Ended::Failed { code, why }
    } else {
        let (code, notes) = (Exit::Done as u8, Vec::new());
        Ended::Done { code, text, notes }
    }
}

/// What clap has to say, without its advice on usage.
pub(crate) fn one_line(text: &str) -> String {
    let text = text.trim_start_matches("error: ");
    let told = text.lines().take_while(|line| !line.starts_with("Usage:"));
    let words: Vec<&str> = told.flat_map(str::split_whitespace).collect();
    words.join(" ")
}

impl Caller {
    /// Takes what a shell would see on standard output.
    pub(crate) fn take(&self, text: &str) {
        lock(&self.text).push_str(text);
    }

    /// Takes what a shell would see on standard error.
    pub(crate) fn note(&self, note: &str) {
        lock(&self.notes).push(note.to_owned());
    }

    /// Tells how far the work has come; whether it is still wanted.
    pub(crate) fn wants(&self, what: &str, share: f64) -> bool {
        (self.watch)(what, share)
    }

    /// Tells how far the work has come; does not come back if it is not wanted any more.
    pub(crate) fn at(&self, what: &str, share: f64) {
        if !(self.watch)(what, share) {
            stop();
        }
    }
}

/// Who called, where it was a program.
pub(crate) fn caller() -> Option<Arc<Caller>> {
    CALLER.with_borrow(Clone::clone)
}

/// The program and its arguments as they were given.
pub(crate) fn arguments() -> Vec<String> {
    let given = GIVEN.with_borrow(Clone::clone);
    given.unwrap_or_else(|| std::env::args().collect())
}

/// Remembers arguments that are not those of the process.
pub(crate) fn given(arguments: &[OsString]) {
    let shown = arguments
        .iter()
        .map(|one| one.to_string_lossy().into_owned());
    GIVEN.set(Some(shown.collect()));
}

/// A policy; one that the caller brought is taken as he made it.
pub(crate) fn spec(text: &str) -> Result<Spec, SpecError> {
    let spec: Spec = text.parse()?;
    Ok(brought(&spec).unwrap_or(spec))
}

/// What the caller brought under the name of a policy.
fn brought(spec: &Spec) -> Option<Spec> {
    let caller = caller()?;
    let mut guests = caller.guests.iter();
    guests.find(|guest| guest.name() == spec.name()).cloned()
}

/// A list of policies; those that the caller brought are taken as he made them.
pub(crate) fn specs(list: &str) -> Result<Vec<Spec>, SpecError> {
    let mut specs = Spec::parse_list(list)?;
    for spec in &mut specs {
        if let Some(guest) = brought(spec) {
            *spec = guest;
        }
    }
    Ok(specs)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
