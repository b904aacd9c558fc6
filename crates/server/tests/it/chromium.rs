//! A real Chromium, driven over the DevTools protocol through pipes: no port, no WebSocket, no other program.
//!
//! It uses one that is installed, installs Debian's where it may, and else fails and says what to install: a
//! page that no browser has shown is not tested.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long anything in a browser may take.
const PATIENCE: Duration = Duration::from_secs(60);
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    output: Receiver<Value>,
    session: String,
    last: u64,
    /// What the page said unasked: dialogues, exceptions, violations.
    pub(crate) events: VecDeque<Value>,
    _profile: tempfile::TempDir,
}

fn installed() -> Option<&'static str> {
    NAMES.into_iter().find(|name| {
        let ran = Command::new(name).arg("--version").output();
        ran.is_ok_and(|ran| ran.status.success())
    })
}

fn program() -> &'static str {
    static FOUND: OnceLock<&str> = OnceLock::new();
    FOUND.get_or_init(|| {
        let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-tools");
        fs::create_dir_all(&tools).unwrap();
        let lock = File::create(tools.join("lock")).unwrap();
        lock.lock().unwrap();
        if let Some(name) = installed() {
            return name;
        }
        let mut said = String::new();
        for arguments in [
            &["update"][..],
            &["install", "-y", "--no-install-recommends", "chromium"],
        ] {
            let ran = Command::new("apt-get")
                .env("DEBIAN_FRONTEND", "noninteractive")
                .args(arguments)
                .output();
            said = match ran {
                Ok(ran) => String::from_utf8_lossy(&ran.stderr).into_owned(),
                Err(error) => error.to_string(),
            };
        }
        installed().unwrap_or_else(|| {
            panic!(
                "the tests of the dashboard need a Chromium: install the package chromium (Debian, Fedora, \
                 Alpine), chromium-browser (Ubuntu) or google-chrome, and run again.\nWhat was tried: apt-get \
                 install chromium\n{said}"
            )
        })
    })
}

impl Browser {
    pub(crate) fn open() -> Self {
        let profile = tempfile::tempdir().unwrap();
        // The protocol is spoken on descriptors 3 and 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null", "sh"])
            .arg(program())
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                // As root there is no sandbox; nothing but our own pages is shown.
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--hide-scrollbars",
                "--force-color-profile=srgb",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (told, heard) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while output.read_until(0, &mut bytes).is_ok_and(|read| read > 0) {
                bytes.pop();
                if let Ok(message) = serde_json::from_slice(&bytes) {
                    let _ = told.send(message);
                }
                bytes.clear();
            }
        });
        let mut browser = Self {
            child,
            input,
            output: heard,
            session: String::new(),
            last: 0,
            events: VecDeque::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Calls a method and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).unwrap();
        loop {
            let heard = self.output.recv_timeout(PATIENCE);
            let heard = heard.unwrap_or_else(|_| panic!("no answer to {method}"));
            if heard["id"] != id {
                self.events.push_back(heard);
            } else if heard["error"].is_object() {
                panic!("{method}: {}", heard["error"]);
            } else {
                return heard["result"].clone();
            }
        }
    }

    /// Goes to a page and waits until it is loaded.
    pub(crate) fn go(&mut self, url: &str) {
        self.events
            .retain(|event| event["method"] != "Page.loadEventFired");
        let gone = self.call("Page.navigate", json!({"url": url}));
        assert!(gone["errorText"].is_null(), "{url}: {gone}");
        self.loaded();
    }

    /// Waits until the next page is loaded.
    pub(crate) fn loaded(&mut self) {
        let is_it = |event: &Value| event["method"] == "Page.loadEventFired";
        while !self.events.iter().any(is_it) {
            let heard = self.output.recv_timeout(PATIENCE);
            self.events.push_back(heard.expect("the page is loaded"));
        }
        self.events.retain(|event| !is_it(event));
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", asked);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&mut self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        while self.value(expression) != true {
            if Instant::now() > end {
                let page = self.value("document.body.innerText");
                panic!("never true: {expression}\n{}", page.as_str().unwrap_or(""));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Clicks an element, and waits for the page it leads to.
    pub(crate) fn click_through(&mut self, selector: &str) {
        self.events
            .retain(|event| event["method"] != "Page.loadEventFired");
        self.value(&format!(
            "document.querySelector({selector:?}).click(), true"
        ));
        self.loaded();
    }

    /// A screen so wide, light or dark.
    pub(crate) fn screen(&mut self, width: u32, height: u32, scheme: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// Keeps a picture of the page where a person asked for pictures: in the folder `SCREENS`.
    pub(crate) fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("SCREENS") else {
            return;
        };
        let asked = json!({"format": "png", "captureBeyondViewport": true});
        let answer = self.call("Page.captureScreenshot", asked);
        let png = data_encoding::BASE64
            .decode(answer["data"].as_str().unwrap().as_bytes())
            .unwrap();
        fs::write(Path::new(&folder).join(name), png).unwrap();
    }

    /// What went wrong in the page: exceptions, dialogues, what its policy forbade.
    pub(crate) fn faults(&mut self) -> Vec<Value> {
        self.value("true");
        let events = self.events.iter();
        let bad = events.filter(|event| {
            let method = event["method"].as_str().unwrap_or("");
            method == "Runtime.exceptionThrown"
                || method == "Page.javascriptDialogOpening"
                || (method == "Log.entryAdded" && event["params"]["entry"]["level"] == "error")
        });
        bad.cloned().collect()
    }

    /// Every address that was asked for.
    pub(crate) fn requested(&mut self) -> Vec<String> {
        let events = self.events.iter();
        let sent = events.filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.map(|event| {
            let url = event["params"]["request"]["url"].as_str().unwrap();
            url.to_owned()
        })
        .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
