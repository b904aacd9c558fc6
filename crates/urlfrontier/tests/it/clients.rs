//! Clients that others wrote: the Java API of crawler-commons from Maven Central, and Scrapy from PyPI.
//!
//! What they need is used where it is, installed where the test may (Java and Maven from Debian, Python packages into
//! an environment of their own), and else the test fails and says what to install.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::stand::{Client, Process};

const PACKAGES: [&str; 3] = ["scrapy==2.19.0", "grpcio==1.85.1", "grpcio-tools==1.85.1"];

fn tools() -> PathBuf {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-tools");
    fs::create_dir_all(&tools).unwrap();
    tools
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(name)
}

/// Runs a program to its end; with everything it said if it fails.
fn run(command: &mut Command) -> Result<String, String> {
    let ran = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let said = [ran.stdout, ran.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    match ran.status.success() {
        true => Ok(said.concat()),
        false => Err(format!(
            "{command:?} ended with {}:\n{}",
            ran.status,
            said.concat()
        )),
    }
}

fn java_is_there() -> bool {
    let there = |name: &str, version: &str| run(Command::new(name).arg(version)).is_ok();
    there("java", "-version") && there("javac", "-version") && there("mvn", "--version")
}

/// The compiled Java example, and the class path to run it with.
fn java() -> String {
    let folder = tools().join("java-frontier-2.5");
    let lock = File::create(tools().join("lock-java")).unwrap();
    lock.lock().unwrap();
    fs::create_dir_all(&folder).unwrap();
    if !java_is_there() {
        let mut said = String::new();
        let install = "install -y --no-install-recommends maven default-jdk-headless";
        for arguments in ["update", install] {
            let mut apt = Command::new("apt-get");
            apt.env("DEBIAN_FRONTEND", "noninteractive")
                .args(arguments.split(' '));
            said = run(&mut apt).err().unwrap_or_default();
        }
        assert!(
            java_is_there(),
            "the test of the Java client needs java, javac and mvn: install maven and a JDK (Debian: maven, \
             default-jdk-headless), and run again.\nWhat was tried: apt-get {install}\n{said}"
        );
    }
    for file in ["pom.xml", "Client.java"] {
        fs::copy(example("java-frontier").join(file), folder.join(file)).unwrap();
    }
    let libraries = folder.join("classpath");
    if !libraries.exists() {
        let mut maven = Command::new("mvn");
        maven.args([
            "-q",
            "-B",
            "dependency:build-classpath",
            "-Dmdep.outputFile=classpath.new",
        ]);
        run(maven.current_dir(&folder)).unwrap_or_else(|said| {
            panic!("see that Maven reaches a repository, and run again.\n{said}")
        });
        fs::rename(folder.join("classpath.new"), &libraries).unwrap();
    }
    let libraries = fs::read_to_string(&libraries).unwrap();
    let mut compile = Command::new("javac");
    compile.args(["-cp", &libraries, "-d", "classes", "Client.java"]);
    run(compile.current_dir(&folder)).unwrap();
    format!("{libraries}:{}", folder.join("classes").display())
}

#[test]
fn the_public_java_api_talks_to_it() {
    let class_path = java();
    let folder = tempfile::tempdir().unwrap();
    let server = Process::start(folder.path());
    let said = run(Command::new("java").args(["-cp", &class_path, "Client", &server.address]));
    assert!(
        said.as_ref()
            .is_ok_and(|said| said.contains("all is as it should be")),
        "{said:?}"
    );
}

/// The folder with Scrapy's programs.
fn scrapy() -> PathBuf {
    let folder = tools().join("py-scrapy-frontier-2.19.0");
    let lock = File::create(tools().join("lock-scrapy")).unwrap();
    lock.lock().unwrap();
    if !folder.join("ready").exists() {
        let _ = fs::remove_dir_all(&folder);
        let made = run(Command::new("python3").args(["-m", "venv"]).arg(&folder)).and_then(|_| {
            let mut pip = Command::new(folder.join("bin/python"));
            pip.args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-input",
                "--disable-pip-version-check",
            ]);
            run(pip.args(PACKAGES))
        });
        if let Err(said) = made {
            panic!(
                "the test of Scrapy needs python3 with its venv module, and {} from PyPI.\nInstall python3 and \
                 python3-venv, see that pip reaches a package index, run again.\n{said}",
                PACKAGES.join(", ")
            );
        }
        File::create(folder.join("ready")).unwrap();
    }
    folder.join("bin")
}

/// A site of pages that link to each other; says how often each was asked for.
struct Site {
    port: u16,
    asked: Arc<Mutex<BTreeMap<String, usize>>>,
}

const PAGES: usize = 40;

impl Site {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
        let counted = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream
                    .set_read_timeout(Some(Duration::from_secs(20)))
                    .unwrap();
                let (mut head, mut bytes) = (Vec::new(), [0; 4096]);
                while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                    match stream.read(&mut bytes) {
                        Ok(read) if read > 0 => head.extend_from_slice(&bytes[..read]),
                        _ => break,
                    }
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                let number = path.trim_start_matches("/p").parse::<usize>();
                let (status, body) = match number {
                    Ok(number) if number < PAGES => {
                        let links = [number * 2 + 1, number * 2 + 2, number * 7 % PAGES];
                        let links = links.map(|link| format!("<a href=\"/p{link}\">{link}</a>"));
                        ("200 OK", links.concat())
                    }
                    _ => ("404 Not Found", String::new()),
                };
                *counted.lock().unwrap().entry(path).or_default() += 1;
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: \
                     close\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        Self { port, asked }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scrapy_crawls_a_site_through_it() {
    let programs = tokio::task::spawn_blocking(scrapy).await.unwrap();
    let (site, folder) = (Site::start(), tempfile::tempdir().unwrap());
    let server = Process::start(folder.path());
    let start = format!("start=http://127.0.0.1:{}/p0", site.port);
    let mut crawl = Command::new("timeout");
    crawl
        .arg("200")
        .arg(programs.join("scrapy"))
        .args(["runspider", "spider.py", "-a", &start])
        .args(["-s", &format!("TURNSTONE_FRONTIER={}", server.address)])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(example("scrapy-frontier"));
    let said = tokio::task::spawn_blocking(move || run(&mut crawl))
        .await
        .unwrap()
        .unwrap();
    let asked = site.asked.lock().unwrap().clone();
    // Each page once: those that are there, and those that links lead to and that are not.
    let pages: Vec<usize> = (0..PAGES)
        .flat_map(|page| [page, page * 2 + 1, page * 2 + 2])
        .collect();
    for page in &pages {
        assert_eq!(
            asked.get(&format!("/p{page}")),
            Some(&1),
            "/p{page}\n{said}"
        );
    }
    let distinct: std::collections::BTreeSet<usize> = pages.into_iter().collect();
    assert_eq!(asked.len(), distinct.len(), "{asked:?}");
    let mut client = Client::to(&server.address).await;
    let (size, completed, in_process) = client.stats("", "").await;
    assert_eq!(
        (size, completed as usize, in_process),
        (0, distinct.len(), 0)
    );
    // What came of the pages, and their links, are in the crawl's journal, for every command that looks.
    server.kill();
    let store =
        turnstone_pagestore::Store::look(&folder.path().join("crawls").join("DEFAULT")).unwrap();
    assert_eq!(store.index().stored_count() as usize, PAGES);
    let first = turnstone_frontier::PageId(0);
    let mut links = Vec::new();
    let at = store.index().outcome_at(first).unwrap();
    let outcome = store.outcome_and_links(at, &mut links).unwrap();
    assert_eq!((outcome.facts.status, links.len()), (200, 3));
}
