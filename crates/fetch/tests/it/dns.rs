//! Rows D1 to D3: name servers that fail, stall, and say too much.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};
use tokio::task::JoinSet;
use turnstone_fetch::{
    Answer, Client, Config, ErrorClass, Limits, Request, Resolve, SystemDns, Url,
};

use crate::server::{After, Server, config, limits};

/// Never answers, and counts how many wait.
#[derive(Default)]
struct Silent {
    waiting: AtomicUsize,
    most: AtomicUsize,
}

struct Leave<'a>(&'a Silent);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Resolve for Silent {
    fn resolve<'a>(&'a self, _: &'a str) -> Answer<'a> {
        Box::pin(async move {
            let now = self.waiting.fetch_add(1, Ordering::SeqCst) + 1;
            let _leave = Leave(self);
            self.most.fetch_max(now, Ordering::SeqCst);
            std::future::pending().await
        })
    }
}

/// Always the same addresses.
struct Fixed(Vec<IpAddr>);

impl Resolve for Fixed {
    fn resolve<'a>(&'a self, _: &'a str) -> Answer<'a> {
        Box::pin(async { Ok(self.0.clone()) })
    }
}

fn client_with(resolver: Arc<dyn Resolve>, limits: Limits) -> Client {
    Client::new(Config {
        resolver: Some(resolver),
        ..config(limits)
    })
    .unwrap()
}

async fn class_of(client: &Client, host: &str) -> ErrorClass {
    let url = Url::parse(&format!("http://{host}/")).unwrap();
    let error = client.fetch(Request::get(url)).await.unwrap_err();
    assert_eq!(error.requests_sent, 0, "{error}");
    error.class
}

#[tokio::test]
async fn d2_slow_answers_are_bounded_and_others_proceed() {
    let silent = Arc::new(Silent::default());
    let limits = Limits {
        dns_open_max: 8,
        dns_time: Duration::from_millis(20),
        ..limits()
    };
    let client = client_with(silent.clone(), limits);
    let mut fetches = JoinSet::new();
    for n in 0..200 {
        let client = client.clone();
        fetches.spawn(async move { class_of(&client, &format!("n{n}.example")).await });
    }
    // A host whose address is known needs no turn.
    let server = Server::reply("HTTP/1.1 204 No Content\r\n\r\n", After::Close).await;
    assert_eq!(
        client
            .fetch(Request::get(server.url()))
            .await
            .unwrap()
            .status,
        204
    );
    for class in fetches.join_all().await {
        assert_eq!(class, ErrorClass::DnsFailure);
    }
    assert_eq!(silent.most.load(Ordering::SeqCst), 8);
    assert_eq!(silent.waiting.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn d3_a_thousand_addresses_are_cut_and_few_are_tried() {
    let server = Server::reply("HTTP/1.1 204 No Content\r\n\r\n", After::Close).await;
    let port = server.address.port();
    // Nobody listens at 127.0.1.x on that port; the third address answers, the fourth is not tried.
    let mut addresses: Vec<IpAddr> = (0..1000_u16)
        .map(|n| Ipv4Addr::from(0x7f00_0100 + u32::from(n)).into())
        .collect();
    addresses[2] = Ipv4Addr::LOCALHOST.into();
    let fetch = async |addresses: Vec<IpAddr>| {
        let client = client_with(Arc::new(Fixed(addresses)), limits());
        let url = Url::parse(&format!("http://many.example:{port}/")).unwrap();
        client.fetch(Request::get(url)).await
    };
    let response = fetch(addresses.clone()).await.unwrap();
    assert_eq!((response.status, response.remote), (204, server.address));
    addresses.swap(2, 3);
    assert_eq!(
        fetch(addresses).await.unwrap_err().class,
        ErrorClass::ConnectRefused
    );
}

#[tokio::test]
async fn d3_an_empty_answer_is_a_failure() {
    let client = client_with(Arc::new(Fixed(Vec::new())), limits());
    assert_eq!(
        class_of(&client, "empty.example").await,
        ErrorClass::DnsFailure
    );
}

/// A name server on loopback, over UDP and TCP, that answers by the first label of the name.
struct NameServer {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
    tasks: JoinSet<()>,
}

const NOERROR: u8 = 0;
const SERVFAIL: u8 = 2;
const NXDOMAIN: u8 = 3;

impl NameServer {
    async fn start() -> Self {
        let (udp, tcp) = loop {
            // Both protocols on one port; another test may just have taken it.
            let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
            if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()).await {
                break (udp, tcp);
            }
        };
        let address = tcp.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        let count = asked.clone();
        tasks.spawn(async move {
            let mut buffer = [0; 1500];
            while let Ok((length, from)) = udp.recv_from(&mut buffer).await {
                count.fetch_add(1, Ordering::SeqCst);
                if let Some(reply) = reply(&buffer[..length], Over::Udp) {
                    let _ = udp.send_to(&reply, from).await;
                }
            }
        });
        tasks.spawn(async move {
            while let Ok((mut stream, _)) = tcp.accept().await {
                while let Ok(length) = stream.read_u16().await {
                    let mut query = vec![0; usize::from(length)];
                    if stream.read_exact(&mut query).await.is_err() {
                        break;
                    }
                    if let Some(reply) = reply(&query, Over::Tcp) {
                        stream
                            .write_u16(u16::try_from(reply.len()).unwrap())
                            .await
                            .unwrap();
                        stream.write_all(&reply).await.unwrap();
                    }
                }
            }
        });
        Self {
            address,
            asked,
            tasks,
        }
    }

    fn client(&self) -> Client {
        client_with(
            Arc::new(SystemDns::with_servers(&[self.address], &limits())),
            limits(),
        )
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.tasks.abort_all();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Udp,
    Tcp,
}

/// Answers one query (RFC 1035, 4.1).
fn reply(query: &[u8], over: Over) -> Option<Vec<u8>> {
    let question_end = 12 + query[12..].iter().position(|&byte| byte == 0)? + 5;
    let question = &query[12..question_end];
    let label = &question[1..=usize::from(question[0])];
    let wants_a = question[question.len() - 3] == 1;
    let record =
        |address: [u8; 4]| [&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4][..], &address].concat();
    let (code, cut, answers): (u8, bool, Vec<Vec<u8>>) = match label {
        b"silent" => return None,
        b"nx" => (NXDOMAIN, false, Vec::new()),
        b"fail" => (SERVFAIL, false, Vec::new()),
        b"inside" if wants_a => {
            // inside.test is an alias of localhost, whose address comes along.
            let alias = b"\xc0\x0c\0\x05\0\x01\0\0\0\x3c\0\x0b\x09localhost\0";
            let address = b"\x09localhost\0\0\x01\0\x01\0\0\0\x3c\0\x04\x7f\0\0\x01";
            (NOERROR, false, vec![alias.to_vec(), address.to_vec()])
        }
        b"long" if over == Over::Udp => (NOERROR, true, Vec::new()),
        b"long" if wants_a => {
            let address = |n: u32| record((0x7f00_0001 + n).to_be_bytes());
            (NOERROR, false, (0..1000).map(address).collect())
        }
        b"page" if wants_a => (NOERROR, false, vec![record([127, 0, 0, 1])]),
        _ => (NOERROR, false, Vec::new()),
    };
    let count = u16::try_from(answers.len()).unwrap().to_be_bytes();
    let flags = [0x80 | u8::from(cut) << 1 | (query[2] & 1), 0x80 | code];
    let head = [&query[..2], &flags, &[0, 1], &count, &[0, 0, 0, 0]].concat();
    Some([head, question.to_vec(), answers.concat()].concat())
}

#[tokio::test]
async fn d3_real_name_servers_give_classes() {
    let names = NameServer::start().await;
    let client = names.client();
    assert_eq!(class_of(&client, "nx.test").await, ErrorClass::DnsNxdomain);
    assert_eq!(class_of(&client, "fail.test").await, ErrorClass::DnsFailure);
    assert_eq!(
        class_of(&client, "empty.test").await,
        ErrorClass::DnsFailure
    );
    let server = Server::reply("HTTP/1.1 204 No Content\r\n\r\n", After::Close).await;
    let port = server.address.port();
    for host in ["page.test", "long.test", "LONG.test."] {
        let url = Url::parse(&format!("http://{host}:{port}/")).unwrap();
        let response = client.fetch(Request::get(url)).await.unwrap();
        assert_eq!(response.status, 204, "{host}");
        assert!(response.timings.dns.is_some());
    }
}

#[tokio::test]
async fn d3_a_name_that_does_not_exist_is_remembered() {
    let names = NameServer::start().await;
    let client = names.client();
    assert_eq!(class_of(&client, "nx.test").await, ErrorClass::DnsNxdomain);
    let asked = names.asked();
    for _ in 0..5 {
        assert_eq!(class_of(&client, "nx.test").await, ErrorClass::DnsNxdomain);
    }
    assert_eq!(names.asked(), asked);
}

#[tokio::test]
async fn d1_servers_that_are_down_end_in_time_and_are_asked_again() {
    let names = NameServer::start().await;
    let client = names.client();
    for _ in 0..2 {
        let asked = names.asked();
        assert_eq!(
            class_of(&client, "silent.test").await,
            ErrorClass::DnsFailure
        );
        assert!(names.asked() > asked, "a failure is not remembered");
        assert!(
            names.asked() <= asked + 8,
            "no tight loop: {}",
            names.asked() - asked
        );
    }
    assert_eq!(class_of(&client, "nx.test").await, ErrorClass::DnsNxdomain);
}

#[tokio::test]
async fn s4_an_alias_of_localhost_is_refused() {
    let names = NameServer::start().await;
    let resolver = Arc::new(SystemDns::with_servers(&[names.address], &limits()));
    let identity = turnstone_fetch::Identity::with_contact("ops@example.org").unwrap();
    let config = Config {
        resolver: Some(resolver),
        limits: limits(),
        ..Config::new(identity)
    };
    let client = Client::new(config).unwrap();
    assert_eq!(
        class_of(&client, "inside.test").await,
        ErrorClass::GuardRefused
    );
}
