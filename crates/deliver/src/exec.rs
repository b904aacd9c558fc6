//! A command of the shell: one process for a batch, a line of JSON for each event on its standard input.
//!
//! Exit code 0 is a yes, whether or not it read everything. A command that takes too long is killed.
//! Its standard output goes nowhere, its standard error where ours goes.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use turnstone_events::json;

use crate::courier::Batch;
use crate::send::SendError;

/// How long a command may take.
const TIME_MAX: Duration = Duration::from_secs(60);
/// How often it is looked at.
const NAP: Duration = Duration::from_millis(10);

pub(crate) fn send(command: &str, name: &str, batch: &Batch<'_>) -> Result<(), SendError> {
    let failed = |why: String| SendError::Command {
        command: command.to_owned(),
        why,
    };
    let mut child = Command::new("sh")
        .args(["-c", command])
        .env("TURNSTONE_RECEIVER", name)
        .env("TURNSTONE_CRAWL", batch.crawl)
        .env("TURNSTONE_SKIPPED", batch.skipped.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let lines: String = batch
        .events
        .iter()
        .map(|event| format!("{}\n", json(event)))
        .collect();
    // In a thread: a command that does not read would hold us for ever. One that ends without
    // reading closes the pipe, and that is its right.
    let stdin = child.stdin.take();
    let writer = std::thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(lines.as_bytes());
        }
    });
    let status = wait(&mut child).map_err(|error| failed(error.to_string()))?;
    match status {
        Some(status) if status.success() => {
            let _ = writer.join();
            Ok(())
        }
        Some(status) => Err(failed(status.to_string())),
        None => Err(failed(format!("killed after {} s", TIME_MAX.as_secs()))),
    }
}

fn wait(child: &mut Child) -> std::io::Result<Option<std::process::ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() >= TIME_MAX {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(NAP);
    }
}
