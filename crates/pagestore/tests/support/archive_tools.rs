//! Real clients of web archives for tests: warcio and pywb, from PyPI, in a virtual environment.
//!
//! The environment is made once, in the folder `test-tools` beside the build's own files, by
//! whichever test needs it first; the others wait for a lock. A test that cannot have its tools
//! fails and says what to install: a check that is skipped checks nothing.
//!
//! Included by path: `#[path = "…/pagestore/tests/support/archive_tools.rs"] mod archive_tools;`.

#![allow(dead_code, reason = "not every crate's tests need every tool")]

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// What is installed. The folder is named after it, so another version is another folder.
const PACKAGES: [&str; 2] = ["warcio==1.8.1", "pywb==2.10.0"];

/// How long pywb may take to answer for the first time, and for each answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program of the environment: `python`, `warcio`, `wb-manager`, `wayback`, …
pub(crate) fn program(name: &str) -> PathBuf {
    static BIN: OnceLock<PathBuf> = OnceLock::new();
    BIN.get_or_init(|| environment(&PACKAGES).join("bin"))
        .join(name)
}

/// A virtual environment with these packages, made if it is not there.
pub(crate) fn environment(packages: &[&str]) -> PathBuf {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-tools");
    fs::create_dir_all(&tools).unwrap();
    let folder = tools.join(format!("py-{}", packages.join("-").replace("==", "-")));
    let ready = folder.join("ready");
    let lock = File::create(tools.join("lock")).unwrap();
    lock.lock().unwrap();
    if !ready.exists() {
        let _ = fs::remove_dir_all(&folder);
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(&folder);
        run_installer(make);
        let mut install = Command::new(folder.join("bin/python"));
        install
            .args(["-m", "pip", "install", "--quiet", "--no-input"])
            .arg("--disable-pip-version-check")
            .args(packages);
        run_installer(install);
        File::create(ready).unwrap();
    }
    folder
}

fn run_installer(mut command: Command) {
    let told = match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => return,
        Ok(output) => format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) => error.to_string(),
    };
    panic!(
        "the tests of WARC files need python3 with its venv module and {} from PyPI.\n\
         Install python3 and python3-venv, see that pip reaches a package index, run again.\n\
         {command:?} failed:\n{told}",
        PACKAGES.join(" and ")
    );
}

/// Runs a program to its end; returns what it printed. Panics with everything it said if it fails.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(
        output.status.success(),
        "{command:?} ended with {}:\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Panics unless `warcio check` is content with every file, and has something to check.
pub(crate) fn warcio_check(files: &[PathBuf]) {
    assert!(!files.is_empty(), "no WARC file to check");
    let told = run(Command::new(program("warcio"))
        .args(["check", "-v"])
        .args(files));
    assert!(told.contains("digest pass"), "nothing was checked:\n{told}");
    for bad in ["digest failed", "no digest to check"] {
        assert!(!told.contains(bad), "{told}");
    }
}

/// A pywb that serves a folder on loopback; it ends with this value.
pub(crate) struct Wayback {
    child: Child,
    port: u16,
}

/// An answer of pywb.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Wayback {
    /// Serves the collections of a folder (`wb-manager init`) and of its `config.yaml`.
    pub(crate) fn start(folder: &Path) -> Self {
        let log = folder.join("wayback.log");
        // Another process may take the port between our look and pywb's: then once more.
        for _ in 0..3 {
            let port = free_port();
            let output = File::create(&log).unwrap();
            let child = Command::new(program("wayback"))
                .args(["-b", "127.0.0.1", "-p", &port.to_string()])
                .current_dir(folder)
                .stdin(Stdio::null())
                .stdout(output.try_clone().unwrap())
                .stderr(output)
                .spawn()
                .unwrap();
            let mut wayback = Self { child, port };
            if wayback.answers() {
                return wayback;
            }
        }
        panic!(
            "pywb did not start:\n{}",
            fs::read_to_string(&log).unwrap_or_default()
        );
    }

    /// Whether it takes connections before the patience is over.
    fn answers(&mut self) -> bool {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end && self.child.try_wait().unwrap().is_none() {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok() {
                return true;
            }
            thread::sleep(Duration::from_millis(50));
        }
        false
    }

    /// Asks for a path.
    pub(crate) fn get(&self, path: &str) -> Answer {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // HTTP/1.0, so that the body ends with the connection and has no chunks.
        let request = format!(
            "GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\nAccept-Encoding: gzip, br\r\n\r\n",
            self.port
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer to {path}: {bytes:?}"));
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head,
            body: bytes.split_off(end + 4),
        }
    }
}

impl Drop for Wayback {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}
