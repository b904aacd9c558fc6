//! Whoever may not join is told why, in one sentence.

use turnstone_bus::{ConnectError, Credentials, Founding, NatsBus, Options, Tls};

use crate::nats_server::Servers;
use crate::{FOUNDING, options};

type Bus = NatsBus<u32>;

async fn refused(options: &Options) -> ConnectError {
    Bus::found(options, FOUNDING)
        .await
        .expect_err("it must be refused")
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_listens() {
    let error = refused(&options(vec!["nats://127.0.0.1:9".into()])).await;
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_machine_needs_tls_and_credentials() {
    let error = refused(&options(vec!["nats://192.0.2.1:4222".into()])).await;
    assert!(matches!(error, ConnectError::Exposed { .. }), "{error}");
    let mut half = options(vec!["nats://192.0.2.1:4222".into()]);
    half.credentials = Some(Credentials::Nkey("secret".into()));
    assert!(matches!(refused(&half).await, ConnectError::Exposed { .. }));
    assert!(!format!("{half:?}").contains("secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_jetstream() {
    let servers = Servers::without_jetstream();
    let error = refused(&options(servers.addresses())).await;
    assert!(matches!(error, ConnectError::NoJetStream { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_credentials() {
    let servers = Servers::one("authorization { user: node, password: right }\n");
    let with = |password: &str| {
        let (user, password) = ("node".to_owned(), password.to_owned());
        let credentials = Some(Credentials::Password { user, password });
        Options {
            credentials,
            ..options(servers.addresses())
        }
    };
    for wrong in [options(servers.addresses()), with("wrong")] {
        let error = refused(&wrong).await;
        assert!(matches!(error, ConnectError::Credentials { .. }), "{error}");
    }
    Bus::found(&with("right"), FOUNDING).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn clocks_names_and_formats() {
    let servers = Servers::one("");
    let good = options(servers.addresses());
    let error = Bus::join(&good).await.expect_err("nothing is founded");
    assert!(matches!(error, ConnectError::NoSuchCrawl { .. }), "{error}");
    for offset in [-3_000, 3_000] {
        let skewed = Options {
            clock_offset_ms: offset,
            ..good.clone()
        };
        let error = refused(&skewed).await;
        let ConnectError::Skew { ahead_ms } = error else {
            panic!("{error}")
        };
        assert!(
            (ahead_ms - offset).abs() < 1_000,
            "{ahead_ms} instead of {offset}"
        );
    }
    Bus::found(&good, FOUNDING).await.unwrap();
    Bus::found(&good, FOUNDING)
        .await
        .expect("a founder comes back");
    let other = Founding {
        identity: [8; 16],
        ..FOUNDING
    };
    let error = Bus::found(&good, other).await.expect_err("another crawl");
    assert!(matches!(error, ConnectError::NameTaken { .. }), "{error}");
    let skewed = Options {
        clock_offset_ms: 3_000,
        ..good.clone()
    };
    let error = Bus::join(&skewed).await.expect_err("a wrong clock");
    assert!(matches!(error, ConnectError::Skew { .. }), "{error}");
    // A newer release rewrites the founding.
    let client = async_nats::connect(&good.servers[0]).await.unwrap();
    let jetstream = async_nats::jetstream::new(client);
    let sent = jetstream
        .publish("ts.test.K.founding", vec![2, 0].into())
        .await
        .unwrap();
    sent.await.unwrap();
    let error = Bus::join(&good).await.expect_err("a newer format");
    assert!(
        matches!(error, ConnectError::Newer { found: 2, .. }),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(path("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(path("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(path("other.pem"), other.cert.pem()).unwrap();
    let servers = Servers::one(&format!(
        "tls {{ cert_file: {:?}, key_file: {:?} }}\nauthorization {{ user: a, password: b }}\n",
        path("cert.pem"),
        path("key.pem")
    ));
    let with = |authorities: &str| Options {
        credentials: Some(Credentials::Password {
            user: "a".into(),
            password: "b".into(),
        }),
        tls: Some(Tls {
            authorities: path(authorities),
        }),
        ..options(vec![format!("nats://localhost:{}", servers.port(0))])
    };
    Bus::found(&with("cert.pem"), FOUNDING).await.unwrap();
    let error = refused(&with("other.pem")).await;
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    let error = refused(&with("missing.pem")).await;
    assert!(matches!(error, ConnectError::File { .. }), "{error}");
}
