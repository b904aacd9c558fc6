//! Row T19: TLS that must fail, each fault with its class. The authority is made here.
//!
//! Hosts are names under `localhost`, which lead to loopback without a look-up.

use std::sync::Arc;
use std::sync::LazyLock;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use turnstone_fetch::{Client, Config, ErrorClass, Protocol, Request, Tls, Url, Verification};

use crate::server::{Server, config, drain, limits};

/// An authority of our own.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    root: Vec<u8>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let root = params.self_signed(&key).unwrap().der().to_vec();
        Self {
            issuer: Issuer::new(params, key),
            root,
        }
    }

    /// Its own certificate.
    pub(crate) fn root(&self) -> &[u8] {
        &self.root
    }

    /// A certificate for `host`, changed by `change` before it is signed.
    fn certify(&self, host: &str, change: impl FnOnce(&mut CertificateParams)) -> Certified {
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        Certified { certificate, key }
    }
}

/// The authority that test clients trust.
pub(crate) static AUTHORITY: LazyLock<Authority> =
    LazyLock::new(|| Authority::new("test authority"));

struct Certified {
    certificate: CertificateDer<'static>,
    key: KeyPair,
}

impl Certified {
    fn acceptor(self, alpn: &[&str]) -> TlsAcceptor {
        let key = PrivateKeyDer::Pkcs8(self.key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate], key)
            .unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// Accepts TLS as `site.localhost` with a good certificate.
pub(crate) fn good_acceptor(alpn: &[&str]) -> TlsAcceptor {
    AUTHORITY.certify("site.localhost", |_| {}).acceptor(alpn)
}

/// A client that trusts the test authority.
pub(crate) fn trusting(limits: turnstone_fetch::Limits) -> Client {
    let tls = Tls {
        extra_roots: vec![AUTHORITY.root.clone()],
        ..Tls::default()
    };
    Client::new(Config {
        tls,
        ..config(limits)
    })
    .unwrap()
}

pub(crate) fn site(server: &Server) -> Url {
    Url::parse(&format!(
        "https://site.localhost:{}/page",
        server.address.port()
    ))
    .unwrap()
}

async fn page(stream: TcpStream, acceptor: TlsAcceptor) {
    let Ok(mut stream) = acceptor.accept(stream).await else {
        return;
    };
    answer(&mut stream).await;
}

async fn answer(stream: &mut TlsStream<TcpStream>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else {
            return;
        };
        head.push(byte);
    }
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        .await
        .unwrap();
    stream.shutdown().await.unwrap();
}

async fn serve(certified: Certified) -> Server {
    let acceptor = certified.acceptor(&["http/1.1"]);
    Server::start(move |stream, _| page(stream, acceptor.clone())).await
}

async fn class_of(client: &Client, url: Url) -> ErrorClass {
    let error = client.fetch(Request::get(url)).await.unwrap_err();
    assert_eq!(error.requests_sent, 0, "{error}");
    error.class
}

async fn check(certified: Certified, want: ErrorClass) {
    let server = serve(certified).await;
    assert_eq!(class_of(&trusting(limits()), site(&server)).await, want);
}

#[tokio::test]
async fn a_good_certificate() {
    let server = serve(AUTHORITY.certify("site.localhost", |_| {})).await;
    let response = trusting(limits())
        .fetch(Request::get(site(&server)))
        .await
        .unwrap();
    assert_eq!(
        (response.body.as_slice(), response.protocol),
        (&b"ok"[..], Protocol::Http11)
    );
    assert!(
        response
            .request_bytes
            .starts_with(b"GET /page HTTP/1.1\r\n")
    );
    assert!(response.head_bytes.starts_with(b"HTTP/1.1 200 OK\r\n"));
    let tls = response.tls.unwrap();
    assert_eq!(
        (tls.version.as_str(), tls.verification),
        ("TLSv1_3", Verification::Full)
    );
    assert!(response.timings.tls.is_some());
}

#[tokio::test]
async fn t19_expired() {
    let past = AUTHORITY.certify("site.localhost", |params| {
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2001, 1, 1);
    });
    check(past, ErrorClass::TlsExpired).await;
    let future = AUTHORITY.certify("site.localhost", |params| {
        params.not_before = date_time_ymd(3000, 1, 1);
        params.not_after = date_time_ymd(3001, 1, 1);
    });
    check(future, ErrorClass::TlsExpired).await;
}

#[tokio::test]
async fn t19_wrong_host() {
    check(
        AUTHORITY.certify("other.localhost", |_| {}),
        ErrorClass::TlsWrongHost,
    )
    .await;
}

#[tokio::test]
async fn t19_unknown_root_and_self_signed() {
    let stranger = Authority::new("stranger");
    check(
        stranger.certify("site.localhost", |_| {}),
        ErrorClass::TlsUnknownIssuer,
    )
    .await;
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["site.localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    check(Certified { certificate, key }, ErrorClass::TlsUnknownIssuer).await;
}

#[tokio::test]
async fn t19_a_certificate_for_another_purpose() {
    let client_only = AUTHORITY.certify("site.localhost", |params| {
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    });
    check(client_only, ErrorClass::TlsBadCertificate).await;
}

/// A server that reads the client's hello, then sends `bytes` and closes.
async fn raw(bytes: &'static [u8]) -> Server {
    Server::start(move |mut stream, _| async move {
        let mut hello = [0; 64];
        stream.read_exact(&mut hello).await.unwrap();
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        drain(&mut stream).await;
    })
    .await
}

#[tokio::test]
async fn t19_handshakes_that_fail() {
    for (what, bytes) in [
        (
            "TLS 1.0 only: alert protocol_version",
            &b"\x15\x03\x01\x00\x02\x02\x46"[..],
        ),
        (
            "no shared cipher: alert handshake_failure",
            b"\x15\x03\x03\x00\x02\x02\x28",
        ),
        (
            "unknown name: alert unrecognized_name",
            b"\x15\x03\x03\x00\x02\x02\x70",
        ),
        ("end of stream", b""),
        ("end in the middle of a record", b"\x16\x03\x03\x10\x00\x02"),
        ("plain HTTP", b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    ] {
        let server = raw(bytes).await;
        let class = class_of(&trusting(limits()), site(&server)).await;
        assert_eq!(class, ErrorClass::TlsHandshake, "{what}");
    }
}

#[tokio::test]
async fn t19_a_server_hello_of_tls_1_0() {
    // A ServerHello that chooses TLS 1.0 and an old cipher, without extensions.
    let mut hello = vec![0x16, 3, 1, 0, 42, 2, 0, 0, 38, 3, 1];
    hello.extend([7; 32]);
    hello.extend([0, 0x00, 0x2f, 0]);
    let server = raw(hello.leak()).await;
    assert_eq!(
        class_of(&trusting(limits()), site(&server)).await,
        ErrorClass::TlsHandshake
    );
}

#[tokio::test]
async fn t19_silence_in_the_handshake() {
    let server = Server::start(|mut stream, _| async move { drain(&mut stream).await }).await;
    assert_eq!(
        class_of(&trusting(limits()), site(&server)).await,
        ErrorClass::TlsTimeout
    );
}

#[tokio::test]
async fn t19_never_unverified_unless_told_and_then_it_is_recorded() {
    let stranger = Authority::new("stranger");
    let server = serve(stranger.certify("other.localhost", |_| {})).await;
    let tls = Tls {
        verification: Verification::Off,
        ..Tls::default()
    };
    let client = Client::new(Config {
        tls,
        ..config(limits())
    })
    .unwrap();
    let response = client.fetch(Request::get(site(&server))).await.unwrap();
    assert_eq!(response.tls.unwrap().verification, Verification::Off);
}

#[tokio::test]
async fn a_body_cut_without_farewell_is_not_whole() {
    let acceptor = good_acceptor(&["http/1.1"]);
    let server = Server::start(move |stream, _| {
        let acceptor = acceptor.clone();
        async move {
            let mut stream = acceptor.accept(stream).await.unwrap();
            let mut request = [0; 16];
            stream.read_exact(&mut request).await.unwrap();
            stream
                .write_all(b"HTTP/1.1 200 OK\r\n\r\nhalf a pa")
                .await
                .unwrap();
            stream.flush().await.unwrap();
            // No close_notify: whoever sits in between could have cut it.
            let (tcp, _) = stream.get_mut();
            tcp.shutdown().await.unwrap();
            drain(tcp).await;
        }
    })
    .await;
    let result = trusting(limits()).fetch(Request::get(site(&server))).await;
    assert_eq!(
        crate::server::summary(&result),
        "200 9 bytes, cut: disconnect (disconnect)"
    );
}

#[tokio::test]
async fn bad_roots_are_named() {
    let tls = Tls {
        extra_roots: vec![AUTHORITY.root.clone(), b"junk".to_vec()],
        ..Tls::default()
    };
    let error = Client::new(Config {
        tls,
        ..config(limits())
    })
    .err()
    .unwrap()
    .to_string();
    assert!(error.starts_with("extra root certificate 2: "), "{error}");
}

/// What an operator gives as a file is what is trusted.
#[test]
fn authorities_are_read_from_pem() {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in AUTHORITY.root.chunks(3) {
        let bits = three.iter().chain(&[0, 0]).take(3);
        let bits = bits.fold(0usize, |bits, byte| bits << 8 | usize::from(*byte));
        for place in 0..4 {
            let letter = LETTERS[bits >> (18 - 6 * place) & 63];
            text.push(if place > three.len() {
                '='
            } else {
                char::from(letter)
            });
        }
    }
    let pem = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
    let twice = format!("# ours\n{pem}{pem}");
    let read = turnstone_fetch::certificates_of(twice.as_bytes()).unwrap();
    assert_eq!(read, [AUTHORITY.root.clone(), AUTHORITY.root.clone()]);
    for junk in [
        "",
        "junk",
        "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n",
    ] {
        assert!(
            turnstone_fetch::certificates_of(junk.as_bytes()).is_err(),
            "{junk}"
        );
    }
}
