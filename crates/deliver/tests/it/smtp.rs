//! Mail by a real server, aiosmtpd from PyPI: with a login, over a death of the server, as a mail reader reads it.
//!
//! The package is installed once into an environment of its own; a test that cannot have it fails and says what to
//! install.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use turnstone_deliver::{Mail, Said, Secret, Sender, To};

use crate::{courier, crawl, deliver, receiver, titled};

const PACKAGE: &str = "aiosmtpd==1.4.6";

/// Prints what it takes, a document a line, as Python's own parser of mails reads it. Wants a login.
const SERVER: &str = r#"
import asyncio, email, email.policy, json, sys
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

class Taker:
    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        print(json.dumps({
            "from": envelope.mail_from, "to": envelope.rcpt_tos, "subject": mail["Subject"],
            "header_to": mail["To"], "id": mail["Message-ID"], "date": mail["Date"],
            "defects": [str(defect) for part in mail.walk() for defect in part.defects],
            "text": mail.get_content(),
        }), flush=True)
        return "250 taken"

def login(server, session, envelope, mechanism, data):
    good = isinstance(data, LoginPassword) and data == LoginPassword(b"watcher", b"pass:word")
    return AuthResult(success=good)

async def main():
    make = lambda: SMTP(Taker(), authenticator=login, auth_required=True, auth_require_tls=False)
    server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", int(sys.argv[1]))
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.sleep(120)

asyncio.run(main())
"#;

fn python() -> PathBuf {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-tools");
    fs::create_dir_all(&tools).unwrap();
    let folder = tools.join("py-aiosmtpd-1.4.6");
    let lock = File::create(tools.join("lock-aiosmtpd")).unwrap();
    lock.lock().unwrap();
    let python = folder.join("bin/python");
    if !folder.join("ready").exists() {
        let _ = fs::remove_dir_all(&folder);
        let venv = ["-m", "venv"];
        let pip = ["-m", "pip", "install", "--quiet", "--no-input", PACKAGE];
        let made = Command::new("python3").args(venv).arg(&folder).output();
        let made = made.and_then(|_| Command::new(&python).args(pip).output());
        assert!(
            made.as_ref().is_ok_and(|made| made.status.success()),
            "the test of mail needs python3 with its venv module, and {PACKAGE} from PyPI. Install python3 and \
             python3-venv, see that pip reaches a package index, run again.\n{made:?}"
        );
        File::create(folder.join("ready")).unwrap();
    }
    python
}

struct Server {
    child: Child,
    lines: BufReader<ChildStdout>,
    port: u16,
}

impl Server {
    fn start(port: u16) -> Self {
        let mut child = Command::new(python())
            .args(["-c", SERVER, &port.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self {
            child,
            lines,
            port: 0,
        };
        server.port = server.line().trim().parse().unwrap();
        server
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the server ended");
        line
    }

    fn mail(&mut self) -> serde_json::Value {
        serde_json::from_str(&self.line()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_real_server_takes_mails_and_what_it_missed_comes_later() {
    let folder = tempfile::tempdir().unwrap();
    let store = RefCell::new(crawl(folder.path(), 2));
    let mut server = Server::start(0);
    let port = server.port;
    let by = |login: &str| {
        receiver(To::Mail(Mail {
            server: Secret::new(format!("smtp://{login}@127.0.0.1:{port}")),
            from: "watch@example.org".to_owned(),
            to: vec!["you@example.org".to_owned(), "me@example.org".to_owned()],
        }))
    };
    let right = || courier(folder.path(), &store, vec![by("watcher:pass%3Aword")]);
    titled(&mut store.borrow_mut(), 0, 1, "Größe: 3 €");
    let wrong = deliver(
        &mut courier(folder.path(), &store, vec![by("watcher:wrong")]),
        &store,
        &Sender,
        0,
    );
    let text = format!("{wrong:?}");
    assert!(
        matches!(wrong.as_slice(), [Said::Failed { .. }]) && !text.contains("wrong@"),
        "{text}"
    );

    let said = deliver(&mut right(), &store, &Sender, 1_000_000);
    assert!(
        matches!(said.as_slice(), [Said::Took { events: 1, .. }]),
        "{said:?}"
    );
    let mail = server.mail();
    assert_eq!(mail["from"], "watch@example.org");
    assert_eq!(
        mail["to"],
        serde_json::json!(["you@example.org", "me@example.org"])
    );
    assert_eq!(mail["header_to"], "you@example.org, me@example.org");
    assert_eq!(mail["subject"], "test: 1 new");
    assert_eq!(mail["defects"], serde_json::json!([]));
    assert!(mail["date"].is_string() && mail["id"].is_string(), "{mail}");
    let text = mail["text"].as_str().unwrap();
    assert!(
        text.contains("https://example.org/0") && text.contains("Größe: 3 €"),
        "{text}"
    );

    // It dies; what happens meanwhile comes when it is back, in another mail.
    drop(server);
    titled(&mut store.borrow_mut(), 1, 2, "second");
    let mut process = right();
    let said = deliver(&mut process, &store, &Sender, 2_000_000);
    assert!(matches!(said.as_slice(), [Said::Failed { .. }]), "{said:?}");
    let mut server = Server::start(port);
    let said = deliver(&mut process, &store, &Sender, 20_000_000);
    assert!(
        matches!(said.as_slice(), [Said::Took { events: 1, .. }]),
        "{said:?}"
    );
    let second = server.mail();
    assert_ne!(second["id"], mail["id"]);
    assert!(
        second["text"].as_str().unwrap().contains("second"),
        "{second}"
    );
    assert!(deliver(&mut process, &store, &Sender, 30_000_000).is_empty());
}
