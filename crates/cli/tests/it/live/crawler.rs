//! The binary, started, killed and started again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A crawl that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A crawl directory and the command that crawls into it.
pub(crate) struct Crawler {
    folder: tempfile::TempDir,
    /// The command, and whether the directory is an option of it.
    verb: &'static str,
    arguments: Vec<String>,
}

impl Crawler {
    /// Arguments are split at spaces; the directory is added.
    pub(crate) fn new(arguments: &str) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            verb: "crawl",
            arguments: arguments.split_whitespace().map(str::to_owned).collect(),
        }
    }

    /// Goes on in the directory of another, by other arguments.
    pub(crate) fn resume(other: Self, arguments: &str) -> Self {
        Self {
            folder: other.folder,
            verb: "crawl",
            arguments: arguments.split_whitespace().map(str::to_owned).collect(),
        }
    }

    /// Keeps the directory of another current.
    pub(crate) fn keep(other: Self, arguments: &str) -> Self {
        Self {
            verb: "keep",
            ..Self::resume(other, arguments)
        }
    }

    /// The crawl directory.
    pub(crate) fn directory(&self) -> PathBuf {
        self.folder.path().join("crawl")
    }

    /// What the process said on standard error, all in all.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default()
    }

    /// What the process printed, all in all.
    pub(crate) fn printed(&self) -> String {
        fs::read_to_string(self.folder.path().join("stdout")).unwrap_or_default()
    }

    /// Starts the crawl, or goes on with it.
    pub(crate) fn start(&self) -> Running {
        self.start_with(&[])
    }

    /// The same, with further arguments.
    pub(crate) fn start_with(&self, more: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnstone"));
        command.arg(self.verb).args(&self.arguments).args(more);
        if self.verb == "crawl" {
            command.arg("--output");
        }
        command.arg(self.directory());
        self.start_as(command)
    }

    /// The same, by a command that brings the binary to run.
    pub(crate) fn start_as(&self, mut command: Command) -> Running {
        let stderr = File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("stderr"))
            .unwrap();
        let stdout = File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("stdout"))
            .unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .unwrap();
        Running(child)
    }

    /// Crawls until the crawl ends by itself, as it must.
    pub(crate) fn finish(&self) {
        self.finish_with(&[]);
    }

    /// The same, with further arguments.
    pub(crate) fn finish_with(&self, more: &[&str]) {
        let status = self.start_with(more).wait();
        assert!(status.success(), "{status}: {}", self.said());
    }
}

/// A crawl under way. It is killed when this is dropped.
pub(crate) struct Running(Child);

impl Running {
    /// kill -9. False if the crawl had ended by itself already.
    pub(crate) fn kill(mut self) -> bool {
        let ended = self.0.try_wait().unwrap().is_some();
        let _ = self.0.kill();
        self.0.wait().unwrap();
        !ended
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args(["-s", name, &self.0.id().to_string()])
            .status()
            .unwrap();
        assert!(status.success());
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Whether it has ended, and how.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().unwrap()
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "the crawl does not end");
            std::thread::sleep(Duration::from_millis(3));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// The status file of a crawl directory; nothing before it is written.
pub(crate) fn status(directory: &Path) -> serde_json::Value {
    let text = fs::read_to_string(directory.join("store/status.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}
