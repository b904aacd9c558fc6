//! Rows S1, S3, S4 and S5: what strangers cannot make us connect to.

use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use turnstone_fetch::{
    AllowPrivate, Answer, Client, Config, DnsError, ErrorClass, Guard, Identity, Request, Resolve,
    Url,
};

use crate::server::{After, Server, client, limits, read_request};

/// Gives the answers in turn, the last one for ever, and counts the questions.
struct Scripted {
    answers: Mutex<Vec<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Scripted {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        let answers = Mutex::new(answers.iter().rev().map(parse).collect());
        Arc::new(Self {
            answers,
            asked: AtomicUsize::new(0),
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Resolve for Scripted {
    fn resolve<'a>(&'a self, _: &'a str) -> Answer<'a> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 {
            answers.pop()
        } else {
            answers.last().cloned()
        };
        Box::pin(async move { answer.ok_or(DnsError::NoSuchName) })
    }
}

fn guarded(private: AllowPrivate, resolver: Arc<Scripted>) -> Client {
    let identity = Identity::with_contact("ops@example.org").unwrap();
    let guard = Guard {
        private,
        ..Guard::default()
    };
    let config = Config {
        guard,
        limits: limits(),
        resolver: Some(resolver),
        ..Config::new(identity)
    };
    Client::new(config).unwrap()
}

fn only(network: &str) -> AllowPrivate {
    AllowPrivate::Networks(vec![network.parse().unwrap()])
}

async fn class_of(client: &Client, url: &str) -> ErrorClass {
    let error = client
        .fetch(Request::get(Url::parse(url).unwrap()))
        .await
        .unwrap_err();
    assert_eq!(error.requests_sent, 0, "{error}");
    error.class
}

#[tokio::test]
async fn s1_literal_addresses_in_any_spelling() {
    let resolver = Scripted::new(&[]);
    let client = guarded(AllowPrivate::None, resolver.clone());
    for url in [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://0x7f.0.0.1/",
        "http://0/",
        "http://①②⑦.⓪.⓪.①/",
        "http://%31%32%37.0.0.1/",
        "http://8.8.8.8@127.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:7f00:1::]/",
        "https://[fd00:ec2::254]/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://foo.localhost/",
    ] {
        assert_eq!(
            class_of(&client, url).await,
            ErrorClass::GuardRefused,
            "{url}"
        );
    }
    assert_eq!(resolver.asked(), 0);
}

#[tokio::test]
async fn s1_the_server_is_never_reached() {
    let server = Server::reply("HTTP/1.1 200 OK\r\n\r\n", After::Close).await;
    // With another network opened, ports are judged only after the address.
    let client = guarded(only("10.0.0.0/8"), Scripted::new(&[&["127.0.0.1"]]));
    for host in [
        "127.0.0.1",
        "localhost",
        "named.example",
        "[::ffff:127.0.0.1]",
    ] {
        let url = format!("http://{host}:{}/", server.address.port());
        assert_eq!(
            class_of(&client, &url).await,
            ErrorClass::GuardRefused,
            "{url}"
        );
    }
    assert_eq!(server.reached().await, 0);
}

#[tokio::test]
async fn odd_ports_are_refused_before_the_look_up() {
    let resolver = Scripted::new(&[&["8.8.8.8"]]);
    let client = guarded(AllowPrivate::None, resolver.clone());
    for port in [22, 25, 81, 6379, 11211] {
        let url = format!("http://named.example:{port}/");
        assert_eq!(class_of(&client, &url).await, ErrorClass::GuardRefused);
    }
    assert_eq!(resolver.asked(), 0);
    let opened = guarded(AllowPrivate::All, resolver);
    assert_eq!(
        class_of(&opened, "http://127.0.0.1:25/").await,
        ErrorClass::GuardRefused
    );
}

/// Two servers on one port: at 127.0.0.1, which is refused, and at 127.0.0.2, which is opened.
async fn inner_and_outer() -> (Server, u16) {
    let inner = Server::reply(
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret",
        After::Close,
    )
    .await;
    let port = inner.address.port();
    let outer = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = outer.accept().await {
            read_request(&mut stream).await;
            let _ = stream
                .write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\npublic",
                )
                .await;
        }
    });
    (inner, port)
}

#[tokio::test]
async fn s3_of_mixed_answers_only_the_allowed_are_asked() {
    let (inner, port) = inner_and_outer().await;
    let resolver = Scripted::new(&[&["127.0.0.1", "::1", "10.0.0.1", "127.0.0.2"]]);
    let client = guarded(only("127.0.0.2/32"), resolver);
    let url = Url::parse(&format!("http://mixed.example:{port}/")).unwrap();
    let response = client.fetch(Request::get(url)).await.unwrap();
    assert_eq!(
        (response.body.as_slice(), inner.reached().await),
        (&b"public"[..], 0)
    );
    assert_eq!(response.remote.ip().to_string(), "127.0.0.2");
}

#[tokio::test]
async fn s3_rebinding_finds_no_second_look_up() {
    let (inner, port) = inner_and_outer().await;
    let resolver = Scripted::new(&[&["127.0.0.2"], &["127.0.0.1"]]);
    let client = guarded(only("127.0.0.2/32"), resolver.clone());
    let url = format!("http://rebind.example:{port}/");
    let response = client
        .fetch(Request::get(url.parse().unwrap()))
        .await
        .unwrap();
    assert_eq!(
        (response.body.as_slice(), resolver.asked()),
        (&b"public"[..], 1)
    );
    assert_eq!(class_of(&client, &url).await, ErrorClass::GuardRefused);
    assert_eq!((inner.reached().await, resolver.asked()), (0, 2));
}

#[tokio::test]
async fn s3_the_peer_is_judged_again_once_connected() {
    // Who connects to 0.0.0.0 reaches this machine: the address is opened, the peer's is not.
    let server = Server::reply("HTTP/1.1 200 OK\r\n\r\n", After::Close).await;
    let client = guarded(only("0.0.0.0/32"), Scripted::new(&[&["0.0.0.0"]]));
    for host in ["0.0.0.0", "named.example"] {
        let url = format!("http://{host}:{}/", server.address.port());
        assert_eq!(
            class_of(&client, &url).await,
            ErrorClass::GuardRefused,
            "{url}"
        );
    }
    // Connected twice, asked not once.
    assert_eq!(server.reached().await, 2);
}

#[tokio::test]
async fn s4_names_that_lead_inside() {
    for inside in [
        "127.0.0.1",
        "169.254.169.254",
        "::1",
        "fd00:ec2::254",
        "::ffff:10.0.0.1",
    ] {
        let client = guarded(AllowPrivate::None, Scripted::new(&[&[inside]]));
        assert_eq!(
            class_of(&client, "http://alias.example/").await,
            ErrorClass::GuardRefused
        );
    }
}

#[test]
fn s5_proxy_variables_are_ignored() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "http1::a_plain_page_with_all_its_bytes"]);
    for name in [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        child.env(name, "http://127.0.0.1:9");
    }
    let output = child.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("1 passed")
    );
}

#[tokio::test]
async fn without_a_contact_only_loopback_is_asked() {
    let client = client(); // may ask every address, but says nothing about who asks
    assert_eq!(
        class_of(&client, "http://10.255.255.1:9999/").await,
        ErrorClass::ContactMissing
    );
    let error = client
        .fetch(Request::get("http://8.8.8.8/".parse().unwrap()))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "http://8.8.8.8/: no contact given: without one only loopback is asked, and 8.8.8.8 is not \
         loopback; give an e-mail address or a URL where site owners can reach you (contact-missing)"
    );
}
