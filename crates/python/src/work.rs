//! Long work beside the interpreter: in a thread of its own, without the interpreter's lock.
//!
//! The thread that called waits, and looks twenty times a second whether somebody pressed Ctrl-C and what to
//! tell who wants to see progress. Python handles signals in its main thread only, so it must be the one
//! that waits. Work ends at the next moment it looks at [`Shared`]: a policy in Python at each event, a
//! command whenever it would move its bar.
//!
//! Cost: a thread for each piece of work; an answer comes as soon as it is there.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    turnstone,
    Error,
    PyException,
    "Something could not be done. The text says what, where, and what to do."
);
create_exception!(
    turnstone,
    UsageError,
    Error,
    "Something was asked that does not make sense. The text says what would be right."
);

/// How often the one who waits looks up.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The stack of the thread: as much as a program's first thread has.
const STACK_BYTES: usize = 8 << 20;

/// What the one who works and the one who waits know of each other.
#[derive(Default)]
pub(crate) struct Shared {
    stop: AtomicBool,
    /// Why it was stopped: the first error counts.
    why: Mutex<Option<PyErr>>,
    at: Mutex<(String, f64)>,
}

impl Shared {
    /// The work is not wanted any more.
    pub(crate) fn stop(&self, why: PyErr) {
        lock(&self.why).get_or_insert(why);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether to go on.
    pub(crate) fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Says how far the work has come; whether to go on.
    pub(crate) fn at(&self, what: &str, share: f64) -> bool {
        let mut at = lock(&self.at);
        if at.0 != what {
            at.0.clear();
            at.0.push_str(what);
        }
        at.1 = share;
        self.goes_on()
    }
}

/// Does work in a thread of its own. `None` where it was stopped without saying why.
pub(crate) fn beside<T: Send + 'static>(
    py: Python<'_>,
    shared: &Arc<Shared>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    let thread = thread::Builder::new()
        .name("turnstone".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let done = turnstone::stoppable(work);
            // Nobody waits any more only where the interpreter goes down.
            let _ = sender.send(done);
        })
        .map_err(|error| Error::new_err(format!("no thread to work in: {error}")))?;
    let mut told = (String::new(), f64::NAN);
    loop {
        let waited = {
            let receiver = Mutex::new(&mut receiver);
            py.detach(|| lock(&receiver).recv_timeout(LOOK_EVERY))
        };
        match waited {
            Ok(done) => {
                // An error counts even where the work was done before anybody looked.
                if let Some(why) = lock(&shared.why).take() {
                    return Err(why);
                }
                return done.ok_or_else(|| Error::new_err("stopped"));
            }
            Err(RecvTimeoutError::Disconnected) => {
                let why = match thread.join() {
                    Err(payload) => words(payload.as_ref()),
                    Ok(()) => "it ended without an answer".to_owned(),
                };
                return Err(Error::new_err(format!(
                    "a bug in Turnstone, please report it: {why}"
                )));
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(why) = py.check_signals() {
                    shared.stop(why);
                }
                let at = lock(&shared.at).clone();
                if let Some(progress) = progress
                    && at != told
                    && shared.goes_on()
                {
                    if let Err(why) = progress.call1((at.0.as_str(), at.1)) {
                        shared.stop(why);
                    }
                    told = at;
                }
            }
        }
    }
}

/// What a panic said.
fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("it gave no reason").to_owned()
}

/// Ends the work of this thread.
pub(crate) fn end() -> ! {
    turnstone::stop()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
