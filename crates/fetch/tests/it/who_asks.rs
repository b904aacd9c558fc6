//! What a host is told of us, and by which way: secrets, signatures, names, proxies.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use turnstone_fetch::{
    Client, Config, Credentials, ErrorClass, Guard, Identity, Request, Response, Secret, Signer,
    Tls, Url, common_header, new_key,
};

use crate::server::{Server, config, limits, read_request, summary};
use crate::tls::{AUTHORITY, good_acceptor, site};

const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/// What a server was sent, head by head.
type Heads = Arc<Mutex<Vec<String>>>;

/// A server that keeps the heads of what it is asked.
async fn listener() -> (Server, Heads) {
    let heads = Heads::default();
    let kept = heads.clone();
    let server = Server::start(move |mut stream, _| {
        let kept = kept.clone();
        async move {
            loop {
                let head = read_request(&mut stream).await;
                if head.is_empty() || stream.write_all(PAGE).await.is_err() {
                    return;
                }
                kept.lock().unwrap().push(String::from_utf8(head).unwrap());
            }
        }
    })
    .await;
    (server, heads)
}

fn origin(server: &Server) -> String {
    format!("http://{}", server.address)
}

fn shown(response: &Response) -> String {
    String::from_utf8(response.request_bytes.clone()).unwrap()
}

#[tokio::test]
async fn a_secret_reaches_its_origin_alone_and_is_not_kept() {
    let (mine, told) = listener().await;
    let (other, others) = listener().await;
    let mut credentials = Credentials::default();
    let basic = Secret::Basic {
        user: "me",
        password: "s3cret",
    };
    credentials.add(&origin(&mine), basic).unwrap();
    let key = Secret::Header {
        name: "X-Key",
        value: "s3cret too",
    };
    credentials.add(&origin(&mine), key).unwrap();
    let client = Client::new(Config {
        credentials,
        headers: [common_header("X-Crawl: 42").unwrap()]
            .into_iter()
            .collect(),
        ..config(limits())
    })
    .unwrap();
    let got = client.fetch(Request::get(mine.url())).await.unwrap();
    let got_other = client.fetch(Request::get(other.url())).await.unwrap();

    let told = told.lock().unwrap().concat();
    assert!(
        told.contains("Authorization: Basic bWU6czNjcmV0\r\n"),
        "{told}"
    );
    assert!(told.contains("X-Key: s3cret too\r\n") && told.contains("X-Crawl: 42\r\n"));
    let kept = shown(&got);
    assert!(kept.contains("Authorization: (not kept)\r\n"), "{kept}");
    assert!(kept.contains("X-Key: (not kept)\r\n") && kept.contains("X-Crawl: 42\r\n"));
    assert!(!kept.contains("s3cret") && !kept.contains("bWU6"), "{kept}");
    assert!(kept.ends_with("\r\n\r\n"));

    let others = others.lock().unwrap().concat();
    assert!(!others.to_lowercase().contains("authorization"), "{others}");
    assert!(!others.contains("X-Key") && others.contains("X-Crawl: 42\r\n"));
    assert_eq!(shown(&got_other), others);
}

#[tokio::test]
async fn each_request_has_a_signature_and_a_name_of_its_own() {
    let (server, heads) = listener().await;
    let signer = Signer::new(&new_key().unwrap(), "https://bots.example.org").unwrap();
    let client = Client::new(Config {
        identity: Identity::loopback_only().named("acme-crawler/2.1").unwrap(),
        signer: Some(signer),
        ..config(limits())
    });
    let client = client.unwrap();
    for _ in 0..2 {
        client.fetch(Request::get(server.url())).await.unwrap();
    }
    let heads = heads.lock().unwrap();
    let line = |head: &str, name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(name));
        line.map(str::to_owned)
            .unwrap_or_else(|| panic!("{name} in {head}"))
    };
    for head in heads.iter() {
        assert_eq!(line(head, "User-Agent: "), "acme-crawler/2.1");
        assert_eq!(
            line(head, "Signature-Agent: "),
            "sig1=\"https://bots.example.org\""
        );
        assert!(line(head, "Signature-Input: ").contains("tag=\"web-bot-auth\""));
    }
    assert_ne!(
        line(&heads[0], "Signature: "),
        line(&heads[1], "Signature: ")
    );
}

/// What a proxy was asked for, target by target.
type Targets = Arc<Mutex<Vec<String>>>;

/// A proxy that opens tunnels by CONNECT, to those who log in if they must.
async fn http_proxy(login: Option<&'static str>) -> (Server, Targets) {
    let targets = Targets::default();
    let kept = targets.clone();
    let server = Server::start(move |mut stream, _| {
        let kept = kept.clone();
        async move {
            let head = String::from_utf8(read_request(&mut stream).await).unwrap();
            let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
            kept.lock().unwrap().push(target.clone());
            let let_in = login.is_none_or(|login| {
                head.contains(&format!("\r\nProxy-Authorization: Basic {login}\r\n"))
            });
            if !let_in {
                let no = b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
                let _ = stream.write_all(no).await;
                return;
            }
            let Ok(mut peer) = TcpStream::connect(&target).await else {
                let _ = stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await;
                return;
            };
            let yes = b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n";
            stream.write_all(yes).await.unwrap();
            let _ = copy_bidirectional(&mut stream, &mut peer).await;
        }
    })
    .await;
    (server, targets)
}

/// A SOCKS 5 proxy that wants a login and takes addresses only.
async fn socks_proxy() -> (Server, Targets) {
    let targets = Targets::default();
    let kept = targets.clone();
    let server = Server::start(move |mut stream, _| {
        let kept = kept.clone();
        async move {
            let mut hello = [0; 3];
            stream.read_exact(&mut hello).await.unwrap();
            assert_eq!(hello, [5, 1, 2]);
            stream.write_all(&[5, 2]).await.unwrap();
            let mut login = [0; 1 + 1 + 2 + 1 + 6];
            stream.read_exact(&mut login).await.unwrap();
            assert_eq!(&login, b"\x01\x02me\x06s3cret");
            stream.write_all(&[1, 0]).await.unwrap();
            let mut ask = [0; 10];
            stream.read_exact(&mut ask).await.unwrap();
            assert_eq!(ask[..4], [5, 1, 0, 1], "an address of four bytes");
            let ip: [u8; 4] = ask[4..8].try_into().unwrap();
            let port = u16::from_be_bytes([ask[8], ask[9]]);
            let target = SocketAddr::from((ip, port));
            kept.lock().unwrap().push(target.to_string());
            let mut peer = TcpStream::connect(target).await.unwrap();
            // It says that it bound a name, which is allowed.
            stream
                .write_all(b"\x05\x00\x00\x03\x02ab\x00\x01")
                .await
                .unwrap();
            let _ = copy_bidirectional(&mut stream, &mut peer).await;
        }
    })
    .await;
    (server, targets)
}

fn through(scheme: &str, proxy: &Server) -> turnstone_fetch::Proxy {
    format!("{scheme}://{}", proxy.address).parse().unwrap()
}

#[tokio::test]
async fn a_proxy_is_given_the_address_that_was_judged() {
    let (server, heads) = listener().await;
    let (proxy, targets) = http_proxy(None).await;
    let client = Client::new(Config {
        proxy: Some(through("http", &proxy)),
        ..config(limits())
    })
    .unwrap();
    let url = Url::parse(&format!(
        "http://site.localhost:{}/x",
        server.address.port()
    ))
    .unwrap();
    let got = client.fetch(Request::get(url)).await;
    assert_eq!(summary(&got), "200 2 bytes");
    assert_eq!(got.unwrap().remote, server.address);
    // `site.localhost` may lead to ::1 first, where nobody listens.
    let asked = targets.lock().unwrap().clone();
    assert_eq!(asked.last().unwrap(), &server.address.to_string());
    assert!(
        asked
            .iter()
            .all(|target| target.parse::<SocketAddr>().is_ok()),
        "{asked:?}"
    );
    assert_eq!(heads.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn no_proxy_is_asked_for_what_the_guard_refuses() {
    let (proxy, targets) = http_proxy(None).await;
    let client = Client::new(Config {
        proxy: Some(through("http", &proxy)),
        guard: Guard::default(),
        ..config(limits())
    })
    .unwrap();
    for url in [
        "http://10.0.0.1/",
        "http://169.254.169.254/latest",
        "http://[fd00::1]/",
    ] {
        let error = client
            .fetch(Request::get(url.parse().unwrap()))
            .await
            .unwrap_err();
        assert_eq!(error.class, ErrorClass::GuardRefused, "{error}");
    }
    // Without a contact strangers are not asked, through a proxy either.
    let error = client
        .fetch(Request::get("http://93.184.216.34/".parse().unwrap()))
        .await;
    assert_eq!(error.unwrap_err().class, ErrorClass::ContactMissing);
    assert!(targets.lock().unwrap().is_empty());
}

#[tokio::test]
async fn tls_runs_through_a_tunnel_and_checks_the_name() {
    let acceptor = good_acceptor(&[]);
    let server = Server::start(move |stream, _| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                return;
            };
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(PAGE).await.unwrap();
            let _ = stream.read_u8().await;
        }
    })
    .await;
    let (proxy, _) = socks_proxy().await;
    let client = |proxy: turnstone_fetch::Proxy| {
        Client::new(Config {
            proxy: Some(proxy),
            tls: Tls {
                extra_roots: vec![AUTHORITY.root().to_vec()],
                ..Tls::default()
            },
            resolver: Some(Arc::new(Here)),
            ..config(limits())
        })
        .unwrap()
    };
    let socks = through("socks5", &proxy)
        .with_login("me", "s3cret")
        .unwrap();
    let got = client(socks.clone())
        .fetch(Request::get(site(&server)))
        .await;
    assert_eq!(summary(&got), "200 2 bytes");
    let mut wrong = site(&server);
    wrong.set_host(Some("other.localhost")).unwrap();
    let got = client(socks).fetch(Request::get(wrong)).await;
    assert_eq!(got.unwrap_err().class, ErrorClass::TlsWrongHost);
}

/// Every name is this machine, by its older address alone.
struct Here;

impl turnstone_fetch::Resolve for Here {
    fn resolve<'a>(&'a self, _: &'a str) -> turnstone_fetch::Answer<'a> {
        Box::pin(async { Ok(vec![std::net::Ipv4Addr::LOCALHOST.into()]) })
    }
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named() {
    let (server, _) = listener().await;
    let (proxy, _) = http_proxy(Some("bWU6czNjcmV0")).await;
    let get = |proxy: turnstone_fetch::Proxy| {
        let client = Client::new(Config {
            proxy: Some(proxy),
            ..config(limits())
        });
        let url = server.url();
        async move { client.unwrap().fetch(Request::get(url)).await }
    };
    let plain = through("http", &proxy);
    let error = get(plain.clone()).await.unwrap_err();
    assert_eq!(
        (error.class, error.requests_sent),
        (ErrorClass::ConnectFailed, 0)
    );
    let said = error.to_string();
    assert!(
        said.contains(&proxy.address.to_string()) && said.contains("407"),
        "{said}"
    );
    let known = plain.with_login("me", "s3cret").unwrap();
    assert_eq!(summary(&get(known).await), "200 2 bytes");
    let gone: turnstone_fetch::Proxy = "http://127.0.0.1:9".parse().unwrap();
    let said = get(gone).await.unwrap_err().to_string();
    assert!(said.contains("proxy 127.0.0.1:9"), "{said}");
}
