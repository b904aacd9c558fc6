//! What is not of the protocol, or too much: a clear answer, and nothing lost.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tonic::Code;
use turnstone_urlfrontier::wire::urlfrontier::ack_message::Status;
use turnstone_urlfrontier::wire::urlfrontier::*;
use turnstone_urlfrontier::{Frontier, METADATA_BYTES_MAX};

use crate::stand::{Stand, discovered, info, settings};

#[tokio::test]
async fn a_message_of_ten_megabytes_is_refused_and_nothing_is_lost() {
    let (_stand, mut client) = Stand::start(settings()).await;
    let good = DiscoveredBatch {
        id: "good".to_owned(),
        items: vec![info("", "", "http://a.example/")],
    };
    let large = DiscoveredBatch {
        id: "large".to_owned(),
        items: vec![info("", "", &"x".repeat(10 << 20))],
    };
    let sent = tokio_stream::iter([good, large]);
    let mut acks = client
        .calls
        .put_discovered(sent)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(acks.message().await.unwrap().unwrap().id, "good");
    let refused = acks.message().await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    assert!(
        refused.message().contains("4194304") && refused.message().contains("smaller"),
        "{refused}"
    );
    assert_eq!(client.stats("", "").await.0, 1);
    let mut heavy = info("", "", "http://b.example/");
    let values = vec!["v".repeat(METADATA_BYTES_MAX)];
    heavy.metadata.insert("k".to_owned(), StringList { values });
    assert_eq!(client.put_one(discovered(heavy)).await, Status::Skipped);
}

/// Messages as bytes: what a client would send that has another notion of the protocol.
#[tokio::test]
async fn malformed_messages_are_refused_and_the_server_lives() {
    let (stand, mut client) = Stand::start(settings()).await;
    client
        .put_one(discovered(info("", "", "http://a.example/")))
        .await;
    let channel =
        tonic::transport::Channel::from_shared(format!("http://{}", stand.address)).unwrap();
    let channel = channel.connect().await.unwrap();
    for path in ["PutURLs", "PutDiscovered", "GetStats", "GetURLs"] {
        let path: http::uri::PathAndQuery =
            format!("/urlfrontier.URLFrontier/{path}").parse().unwrap();
        let mut grpc = tonic::client::Grpc::new(channel.clone());
        grpc.ready().await.unwrap();
        // Field 1, said to be longer than what follows.
        let noise =
            tonic::Request::new(tokio_stream::iter([Noise(b"\x0a\xff\xff\x03abc".to_vec())]));
        let answer = grpc.streaming(noise, path.clone(), Raw).await;
        let refused = match answer {
            Err(refused) => refused,
            Ok(answer) => answer.into_inner().message().await.unwrap_err(),
        };
        let code = refused.code();
        assert!(
            [Code::InvalidArgument, Code::Internal].contains(&code),
            "{path}: {refused}"
        );
        assert!(!refused.message().is_empty());
    }
    assert_eq!(client.stats("", "").await.0, 1);
}

/// What is not HTTP/2 at all is hung up on.
#[tokio::test]
async fn noise_and_other_protocols_are_hung_up_on() {
    let (stand, mut client) = Stand::start(settings()).await;
    for noise in [
        "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
        "\0\0\0\0\0\0",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnoise noise noise",
    ] {
        let mut stream = tokio::net::TcpStream::connect(&stand.address)
            .await
            .unwrap();
        stream.write_all(noise.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
    }
    assert_eq!(client.stats("", "").await.0, 0);
}

#[tokio::test]
async fn two_servers_on_one_directory_and_foreign_directories_are_refused() {
    let (stand, mut client) = Stand::start(settings()).await;
    client
        .put_one(discovered(info("", "", "http://a.example/")))
        .await;
    let refused = Frontier::open(stand.folder.path(), settings(), None)
        .err()
        .unwrap()
        .to_string();
    assert!(
        refused.contains(&format!("process {}", std::process::id())),
        "{refused}"
    );
    let crawl = stand.folder.path().join("crawls").join("DEFAULT");
    let refused = Frontier::open(&crawl, settings(), None)
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("another directory"), "{refused}");
    assert_eq!(client.stats("", "").await.0, 1);
}

#[tokio::test]
async fn a_token_is_asked_for() {
    let (_stand, mut client) =
        Stand::with_token(settings(), Some("0123456789abcdef".to_owned())).await;
    for shown in [
        None,
        Some("Bearer 0123456789abcdeX"),
        Some("0123456789abcdef"),
    ] {
        let mut asked = tonic::Request::new(Empty {});
        if let Some(shown) = shown {
            asked
                .metadata_mut()
                .insert("authorization", shown.parse().unwrap());
        }
        let refused = client.calls.list_nodes(asked).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated);
    }
    let mut asked = tonic::Request::new(Empty {});
    asked
        .metadata_mut()
        .insert("authorization", "Bearer 0123456789abcdef".parse().unwrap());
    client.calls.list_nodes(asked).await.unwrap();
}

struct Noise(Vec<u8>);
#[derive(Clone, Copy, Default)]
struct Raw;

impl tonic::codec::Codec for Raw {
    type Encode = Noise;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl tonic::codec::Encoder for Raw {
    type Item = Noise;
    type Error = tonic::Status;

    fn encode(
        &mut self,
        item: Noise,
        out: &mut tonic::codec::EncodeBuf<'_>,
    ) -> Result<(), tonic::Status> {
        bytes::BufMut::put_slice(out, &item.0);
        Ok(())
    }
}

impl tonic::codec::Decoder for Raw {
    type Item = Vec<u8>;
    type Error = tonic::Status;

    fn decode(
        &mut self,
        from: &mut tonic::codec::DecodeBuf<'_>,
    ) -> Result<Option<Vec<u8>>, tonic::Status> {
        let length = bytes::Buf::remaining(from);
        Ok(Some(bytes::Buf::copy_to_bytes(from, length).to_vec()))
    }
}
