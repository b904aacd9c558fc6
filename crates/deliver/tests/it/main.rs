//! Deliveries over kills, to receivers that fail, are slow or die: over loopback, on a journal of a made-up
//! crawl.
#![allow(clippy::unwrap_used)]

mod smtp;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use turnstone_deliver::{
    Batch, Courier, Cursor, Mail, Pen, Post, Receiver, Said, Secret, SendError, Sender, To, When,
    signature,
};
use turnstone_events::{Filter, SiteEvent};
use turnstone_fetch::AllowPrivate;
use turnstone_frontier::{Change, PageId, Tick};
use turnstone_pagestore::{
    Entry, Facts, Links, NewPage, Outcome, Position, Settled, Store, StoreError,
};

const HOUR_MS: u64 = 3_600_000;

/// A crawl of one host with so many pages, all known and none fetched.
fn crawl(folder: &Path, pages: u32) -> Store {
    let mut store = Store::create(folder, "a test").unwrap();
    for page in 0..pages {
        let url = format!("https://example.org/{page}");
        let host = store.host(Tick(0), "example.org");
        let new = NewPage {
            key: store.keyer().key(&url),
            url: &url,
            host,
            seed: page == 0,
            outside: false,
            listed: false,
            depth: 0,
            refused: ("", ""),
            metadata: &[],
        };
        store.add(Tick(0), new);
    }
    store.write().unwrap();
    store
}

/// A copy of a page comes; the first time it is new, then it is changed.
fn fetched(store: &mut Store, page: u32, when_ms: u64) {
    titled(store, page, when_ms, &format!("title of {page}"));
}

fn titled(store: &mut Store, page: u32, when_ms: u64, title: &str) {
    let outcome = Outcome {
        page: PageId(page),
        settled: Settled::Fetched(Change::Changed),
        links: Links::Ids(&[]),
        before: Position(0),
        facts: Facts {
            wall_ms: when_ms,
            title: title.to_owned(),
            ..Facts::refused("ok", "")
        },
    };
    store.settle(Tick(1), outcome);
    store.write().unwrap();
}

struct StorePen<'a>(&'a RefCell<Store>);

impl Pen for StorePen<'_> {
    fn note(&mut self, kind: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let mut store = self.0.borrow_mut();
        store.append(Tick(2), &Entry::Note { kind, bytes });
        store.write()
    }
}

fn receiver(to: To) -> Receiver {
    Receiver {
        name: "test".to_owned(),
        to,
        filter: Filter::default(),
        when: When::AtOnce,
        from_start: true,
        catch_up_ms: u64::MAX,
    }
}

fn cursor(store: &Store, receiver: &Receiver) -> Cursor {
    let known = Cursor::find(store, receiver).unwrap();
    known.unwrap_or_else(|| Cursor::first(store, receiver, 0))
}

/// Opens what a process would open after a start.
fn courier(folder: &Path, store: &RefCell<Store>, receivers: Vec<Receiver>) -> Courier {
    let store = store.borrow();
    let lines = receivers.into_iter().map(|receiver| {
        let cursor = cursor(&store, &receiver);
        (receiver, cursor)
    });
    let mut courier = Courier::open(folder, lines.collect()).unwrap();
    courier.read().unwrap();
    courier
}

/// Sends everything that is due now; what is written is durable.
fn deliver(
    courier: &mut Courier,
    store: &RefCell<Store>,
    post: &dyn Post,
    now_ms: u64,
) -> Vec<Said> {
    let end = store.borrow().end();
    courier.read().unwrap();
    courier
        .send(now_ms, end, post, &mut StorePen(store))
        .unwrap()
}

/// Takes batches, or does not, by a plan.
#[derive(Default)]
struct Letterbox {
    got: Mutex<Vec<SiteEvent>>,
    skipped: AtomicU64,
    tries: AtomicU64,
    /// Refuses every so many tries.
    refuse_every: u64,
}

impl Post for Letterbox {
    fn send(&self, _: &Receiver, batch: &Batch<'_>) -> Result<(), SendError> {
        let number = self.tries.fetch_add(1, Ordering::SeqCst) + 1;
        if self.refuse_every > 0 && number.is_multiple_of(self.refuse_every) {
            return Err(SendError::Status {
                url: "a test".to_owned(),
                status: 503,
            });
        }
        self.got.lock().unwrap().extend_from_slice(batch.events);
        self.skipped.fetch_add(batch.skipped, Ordering::SeqCst);
        Ok(())
    }
}

fn a_file() -> To {
    To::Exec {
        command: String::new(),
    }
}

/// 200 kills, each at another place: before a batch, between a yes and its note, after the note. Every event
/// comes, with its one id, in order; nothing comes that did not happen.
#[test]
fn through_two_hundred_kills_every_event_comes_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let store = RefCell::new(crawl(folder.path(), 20));
    let post = Letterbox {
        refuse_every: 7,
        ..Letterbox::default()
    };
    struct NoPen;
    impl Pen for NoPen {
        fn note(&mut self, _: &str, _: &[u8]) -> Result<(), StoreError> {
            Ok(())
        }
    }
    let mut state = 1_u64;
    let mut dice = move |sides: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % sides
    };
    for kill in 0..200 {
        for _ in 0..dice(6) {
            fetched(&mut store.borrow_mut(), dice(20) as u32, 1000 + kill);
        }
        let mut process = courier(folder.path(), &store, vec![receiver(a_file())]);
        let end = store.borrow().end();
        match dice(3) {
            0 => {}                                                         // killed before it sent
            1 => drop(process.send(kill, end, &post, &mut NoPen).unwrap()), // before the note
            _ => drop(
                process
                    .send(kill, end, &post, &mut StorePen(&store))
                    .unwrap(),
            ),
        }
    }
    let mut last = courier(folder.path(), &store, vec![receiver(a_file())]);
    for second in 1..5 {
        deliver(&mut last, &store, &post, 100_000 * second);
    }
    let mut stream = turnstone_events::Stream::open(folder.path()).unwrap();
    let mut happened = Vec::new();
    stream
        .pull(Position::FIRST, |event| -> Result<(), StoreError> {
            happened.push(event);
            Ok(())
        })
        .unwrap();
    assert!(happened.len() > 300, "{}", happened.len());
    let got = post.got.into_inner().unwrap();
    assert!(
        got.len() > happened.len(),
        "no kill made anything come again"
    );
    let by_id: HashMap<&str, &SiteEvent> = happened
        .iter()
        .map(|event| (event.id.as_str(), event))
        .collect();
    assert_eq!(by_id.len(), happened.len());
    let mut first_time: Vec<&str> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for event in &got {
        assert_eq!(by_id[event.id.as_str()].url, event.url);
        if seen.insert(event.id.as_str()) {
            first_time.push(&event.id);
        }
    }
    let ids: Vec<&str> = happened.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(first_time, ids);
}

#[test]
fn a_dead_receiver_is_tried_ever_more_seldom_and_caught_up_within_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let store = RefCell::new(crawl(folder.path(), 3));
    let limited = Receiver {
        catch_up_ms: HOUR_MS,
        ..receiver(a_file())
    };
    let mut process = courier(folder.path(), &store, vec![limited]);
    let dead = Letterbox {
        refuse_every: 1,
        ..Letterbox::default()
    };
    fetched(&mut store.borrow_mut(), 0, 1);
    for ms in 0..60_000 {
        if ms % 100 == 0 {
            deliver(&mut process, &store, &dead, ms);
        }
    }
    // At 0, 1, 3, 7, 15 and 31 s.
    assert_eq!(dead.tries.load(Ordering::SeqCst), 6);
    fetched(&mut store.borrow_mut(), 1, HOUR_MS);
    let alive = Letterbox::default();
    let said = deliver(&mut process, &store, &alive, HOUR_MS + 1000);
    let (receiver, events) = ("test".to_owned(), 1);
    let skipped = Said::Skipped {
        receiver: receiver.clone(),
        events,
    };
    assert_eq!(said, [skipped, Said::Took { receiver, events }]);
    assert_eq!(alive.got.lock().unwrap()[0].url, "https://example.org/1");
    assert_eq!(alive.skipped.load(Ordering::SeqCst), 1);
}

/// A receiver that is dead for long costs bounded memory, and what did not fit is read again.
#[test]
fn a_long_queue_stays_in_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let store = RefCell::new(crawl(folder.path(), 10));
    for number in 0..11_234 {
        fetched(&mut store.borrow_mut(), number % 10, u64::from(number));
    }
    let post = Letterbox::default();
    let mut process = courier(folder.path(), &store, vec![receiver(a_file())]);
    deliver(&mut process, &store, &post, 1);
    let got = post.got.into_inner().unwrap();
    assert_eq!(got.len(), 11_234);
    assert!(got.is_sorted_by(|a, b| a.at < b.at));
}

#[test]
fn a_digest_comes_once_in_its_time_and_a_failed_one_does_not_wait_for_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let store = RefCell::new(crawl(folder.path(), 3));
    let hourly = Receiver {
        when: When::Hourly,
        ..receiver(a_file())
    };
    let mut process = courier(folder.path(), &store, vec![hourly]);
    let post = Letterbox::default();
    fetched(&mut store.borrow_mut(), 0, 1);
    assert_eq!(deliver(&mut process, &store, &post, HOUR_MS - 1), []);
    let dead = Letterbox {
        refuse_every: 1,
        ..Letterbox::default()
    };
    deliver(&mut process, &store, &dead, HOUR_MS);
    assert_eq!(
        deliver(&mut process, &store, &post, HOUR_MS + 2000).len(),
        1
    );
    fetched(&mut store.borrow_mut(), 1, 1);
    assert_eq!(deliver(&mut process, &store, &post, 2 * HOUR_MS), []);
    assert_eq!(
        deliver(&mut process, &store, &post, 2 * HOUR_MS + 2000).len(),
        1
    );
}

#[test]
fn what_is_not_durable_is_not_told() {
    let folder = tempfile::tempdir().unwrap();
    let store = RefCell::new(crawl(folder.path(), 3));
    fetched(&mut store.borrow_mut(), 0, 1);
    let durable = store.borrow().end();
    fetched(&mut store.borrow_mut(), 1, 1);
    let mut process = courier(folder.path(), &store, vec![receiver(a_file())]);
    let post = Letterbox::default();
    process
        .send(1, durable, &post, &mut StorePen(&store))
        .unwrap();
    assert_eq!(post.got.lock().unwrap().len(), 1);
}

/// What a hook was sent: head and body.
type Sent = (String, String);

/// Answers one connection after the other by a script: a status, or nothing at all.
fn hook(script: Vec<&'static str>) -> (String, mpsc::Receiver<Sent>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!(
        "http://{}/hook/s3cr3t-path?key=s3cr3t-key",
        listener.local_addr().unwrap()
    );
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for answer in script {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(number) = line.to_lowercase().strip_prefix("content-length:") {
                    length = number.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
                head += &line;
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            tell.send((head, String::from_utf8(body).unwrap())).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (url, told)
}

const YES: &str = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
const NO: &str = "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
const AWAY: &str = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

#[test]
fn a_hook_that_fails_dies_and_redirects_gets_the_same_signed_events_until_it_says_yes() {
    let folder = tempfile::tempdir().unwrap();
    let store = RefCell::new(crawl(folder.path(), 2));
    fetched(&mut store.borrow_mut(), 0, 1);
    fetched(&mut store.borrow_mut(), 1, 2);
    let (url, told) = hook(vec![NO, "", AWAY, YES]);
    let to = |private| To::Webhook {
        url: Secret::new(url.clone()),
        secret: Some(Secret::new("s3cr3t-signing")),
        private,
    };
    // A private address is not asked unless it may be: nothing arrives there.
    let mut process = courier(
        folder.path(),
        &store,
        vec![receiver(to(AllowPrivate::None))],
    );
    let said = deliver(&mut process, &store, &Sender, 0);
    let [Said::Failed { why, .. }] = said.as_slice() else {
        panic!("{said:?}");
    };
    assert!(why.contains("127.0.0.1 is loopback"), "{why}");
    assert!(told.try_recv().is_err());

    let opened = receiver(to(AllowPrivate::All));
    assert!(!format!("{opened:?}").contains("s3cr3t"));
    let mut process = courier(folder.path(), &store, vec![opened]);
    let mut bodies = Vec::new();
    for (try_, wanted) in ["status 503", "", "status 302", "took"]
        .into_iter()
        .enumerate()
    {
        let said = deliver(&mut process, &store, &Sender, HOUR_MS * try_ as u64);
        let text = format!("{said:?}").to_lowercase();
        assert!(text.contains(wanted) && said.len() == 1, "{text}");
        assert!(!text.contains("s3cr3t"), "{text}");
        let (head, body) = told.recv_timeout(Duration::from_secs(10)).unwrap();
        let signed = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("turnstone-signature")
                .then_some(value)
        });
        let (seconds, hex) = signed.unwrap().split_once(",v1=").unwrap();
        let seconds = seconds.strip_prefix("t=").unwrap().parse().unwrap();
        assert_eq!(hex, signature("s3cr3t-signing", seconds, &body));
        bodies.push(body);
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
    let body: serde_json::Value = serde_json::from_str(&bodies[0]).unwrap();
    assert_eq!(body["events"].as_array().unwrap().len(), 2);
    assert_eq!(deliver(&mut process, &store, &Sender, 9 * HOUR_MS), []);
    let journal = fs::read(folder.path().join("store/journal")).unwrap();
    assert!(!journal.windows(6).any(|bytes| bytes == b"s3cr3t"));
}

/// The known answer of RFC 4231 would not have our form; this one was computed with Python's `hmac`.
#[test]
fn signatures_are_hmac_sha256_of_time_and_body() {
    assert_eq!(
        signature("key", 1_700_000_000, "{}"),
        "9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae"
    );
}

#[test]
fn a_command_gets_a_batch_as_lines_and_a_failure_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = RefCell::new(crawl(folder.path(), 2));
    fetched(&mut store.borrow_mut(), 0, 1);
    fetched(&mut store.borrow_mut(), 1, 2);
    let out = folder.path().join("out");
    let command = format!(
        "echo $TURNSTONE_RECEIVER >> {0}; cat >> {0}; test -e {0}.yes",
        out.display()
    );
    let mut process = courier(folder.path(), &store, vec![receiver(To::Exec { command })]);
    let said = deliver(&mut process, &store, &Sender, 0);
    assert!(matches!(said.as_slice(), [Said::Failed { .. }]), "{said:?}");
    fs::write(folder.path().join("out.yes"), "").unwrap();
    let said = deliver(&mut process, &store, &Sender, HOUR_MS);
    assert!(
        matches!(said.as_slice(), [Said::Took { events: 2, .. }]),
        "{said:?}"
    );
    let text = fs::read_to_string(out).unwrap();
    assert_eq!(text.matches("test\n").count(), 2);
    assert_eq!(text.matches("\"kind\":\"new\"").count(), 4, "{text}");
}

#[test]
fn a_file_of_lines_has_each_event_once_over_kills_and_a_feed_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = RefCell::new(crawl(folder.path(), 2));
    let file = folder.path().join("events.ndjson");
    fs::write(&file, "somebody's own line").unwrap();
    let feed = folder.path().join("feed.xml");
    for round in 0..3 {
        fetched(&mut store.borrow_mut(), round % 2, 1);
        // Killed after it wrote and before it noted so, with half a line at the end.
        let lines = receiver(To::Ndjson { file: file.clone() });
        let mut killed = courier(folder.path(), &store, vec![lines.clone()]);
        struct Lost;
        impl Pen for Lost {
            fn note(&mut self, _: &str, _: &[u8]) -> Result<(), StoreError> {
                Ok(())
            }
        }
        let end = store.borrow().end();
        killed.send(1, end, &Sender, &mut Lost).unwrap();
        let mut half = fs::OpenOptions::new().append(true).open(&file).unwrap();
        half.write_all(b"{\"id\":\"half").unwrap();
        let atom = Receiver {
            name: "feed".to_owned(),
            ..receiver(To::Atom { file: feed.clone() })
        };
        let mut process = courier(folder.path(), &store, vec![lines, atom]);
        assert_eq!(deliver(&mut process, &store, &Sender, 1).len(), 2);
    }
    let text = fs::read_to_string(&file).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("somebody's own line"));
    let kinds: Vec<serde_json::Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = kinds
        .iter()
        .map(|event| event["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["new", "new", "changed"]);
    let feed = fs::read_to_string(feed).unwrap();
    assert_eq!(feed.matches("<entry>").count(), 3, "{feed}");
}

/// A server of mail that takes one mail, as RFC 5321 wants it.
fn mail_sink() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("smtp://{}", listener.local_addr().unwrap());
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut all = String::new();
        let mut in_data = false;
        stream.write_all(b"220 sink\r\n").unwrap();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap() == 0 {
                break;
            }
            all += &line;
            let answer = match line.trim_end() {
                "." if in_data => {
                    in_data = false;
                    "250 taken\r\n"
                }
                _ if in_data => continue,
                "DATA" => {
                    in_data = true;
                    "354 go on\r\n"
                }
                "QUIT" => "221 bye\r\n",
                _ => "250 ok\r\n",
            };
            stream.write_all(answer.as_bytes()).unwrap();
            if line.starts_with("QUIT") {
                break;
            }
        }
        tell.send(all).unwrap();
    });
    (url, told)
}

#[test]
fn a_mail_tells_what_happened_and_a_title_cannot_break_out_of_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let store = RefCell::new(crawl(folder.path(), 1));
    let hostile = "a\r\n.\r\nQUIT\r\n\u{202e}b";
    titled(&mut store.borrow_mut(), 0, 1, hostile);
    let (server, told) = mail_sink();
    let mail = |server: &str| {
        To::Mail(Mail {
            server: Secret::new(server),
            from: "watch@example.org".to_owned(),
            to: vec!["you@example.org".to_owned()],
        })
    };
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let dead = receiver(mail(&format!("smtp://user:s3cr3t@{nobody}")));
    let said = deliver(
        &mut courier(folder.path(), &store, vec![dead]),
        &store,
        &Sender,
        0,
    );
    let text = format!("{said:?}");
    assert!(
        text.contains("Failed") && !text.contains("s3cr3t"),
        "{text}"
    );
    let mut process = courier(folder.path(), &store, vec![receiver(mail(&server))]);
    let said = deliver(&mut process, &store, &Sender, 0);
    assert!(
        matches!(said.as_slice(), [Said::Took { events: 1, .. }]),
        "{said:?}"
    );
    let sent = told.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(sent.contains("Subject: test: 1 new"), "{sent}");
    assert!(sent.contains("https://example.org/0"), "{sent}");
    assert!(sent.contains("a\\u{d}\\u{a}.\\u{d}\\u{a}QUIT"), "{sent}");
    assert_eq!(sent.matches("\r\n.\r\n").count(), 1, "{sent}");
}

/// A receiver that does not answer holds the others up for no longer than it is given, and meanwhile they
/// are sent to.
#[test]
fn a_slow_receiver_and_a_quick_one_are_sent_to_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = RefCell::new(crawl(folder.path(), 1));
    fetched(&mut store.borrow_mut(), 0, 1);
    let quick = folder.path().join("quick");
    // The slow one ends only when the quick one was served.
    let slow = format!("while ! test -e {}; do sleep 0.05; done", quick.display());
    let receivers = [slow, format!("touch {}", quick.display())]
        .into_iter()
        .enumerate()
        .map(|(number, command)| Receiver {
            name: number.to_string(),
            ..receiver(To::Exec { command })
        });
    let mut process = courier(folder.path(), &store, receivers.collect());
    let began = Instant::now();
    let said = deliver(&mut process, &store, &Sender, 0);
    assert!(
        said.iter().all(|said| matches!(said, Said::Took { .. })),
        "{said:?}"
    );
    assert!(began.elapsed() < Duration::from_secs(30));
}
