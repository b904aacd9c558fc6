//! What warcio and pywb make of our files: the same as we put in, byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use turnstone_pagestore::warc::{CdxLine, CdxReader, index_time, warc_date};

use crate::archive_tools::{Wayback, program, run, warcio_check};
use crate::warc_samples::{Kept, Sample, samples, settings, write_all};

/// Prints each record as warcio reads it.
const DUMP: &str = r#"
import json, sys
from warcio.archiveiterator import ArchiveIterator
for name in sys.argv[1:]:
    with open(name, 'rb') as file:
        records = ArchiveIterator(file, check_digests='raise')
        for record in records:
            body = record.raw_stream.read()
            print(json.dumps({
                'type': record.rec_type,
                'fields': dict(record.rec_headers.headers),
                'status': record.http_headers and record.http_headers.get_statuscode(),
                'http': record.http_headers and dict((n.lower(), v) for n, v in record.http_headers.headers),
                'body': body.hex(),
            }))
        assert records.err_count == 0, 'warcio saw errors'
"#;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn w1_warcio_reads_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let samples = samples();
    write_all(folder.path(), &samples, settings());
    let file = folder.path().join("test-00001.warc.gz");
    warcio_check(std::slice::from_ref(&file));
    let told = run(Command::new(program("python"))
        .args(["-c", DUMP])
        .arg(&file));
    let mut records = told
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let info = records.next().unwrap();
    assert_eq!(info["type"], "warcinfo");
    let lines = info["body"].as_str().unwrap();
    assert!(!lines.contains(&hex(b"\nX-Forged")), "{info}");
    for sample in &samples {
        check_pair(
            sample,
            &samples,
            &records.next().unwrap(),
            &records.next().unwrap(),
        );
    }
    assert_eq!(records.next(), None);
}

fn check_pair(sample: &Sample, all: &[Sample], answer: &Value, request: &Value) {
    let fields = &answer["fields"];
    for record in [answer, request] {
        assert_eq!(record["fields"]["WARC-Target-URI"], sample.recorded_uri());
        assert_eq!(record["fields"]["WARC-Date"], warc_date(sample.date_ms));
        assert_eq!(record["fields"]["WARC-IP-Address"], "2001:db8::1");
    }
    assert_eq!(request["type"], "request");
    assert_eq!(
        request["fields"]["WARC-Concurrent-To"],
        fields["WARC-Record-ID"]
    );
    assert_eq!(fields["WARC-Protocol"], "http/1.1");
    assert_eq!(
        answer["status"],
        sample.status().to_string(),
        "{}",
        sample.uri
    );
    let (original, body) = match sample.kept {
        Kept::Response => (None, &sample.body[..]),
        Kept::SamePayload(i) | Kept::NotModified(i) => (Some(&all[i]), &[][..]),
    };
    assert_eq!(answer["body"], hex(body), "{}", sample.uri);
    let http = &answer["http"];
    assert_eq!(http["transfer-encoding"], Value::Null);
    if sample.status() == 200 && http["content-length"] != Value::Null {
        assert_eq!(http["content-length"], sample.body.len().to_string());
    }
    assert_eq!(
        fields["WARC-Truncated"] == Value::Null,
        sample.truncated.is_none() && !matches!(sample.kept, Kept::SamePayload(_)),
        "{}",
        sample.uri
    );
    if let Some(original) = original {
        assert_eq!(answer["type"], "revisit");
        assert_eq!(fields["WARC-Refers-To-Target-URI"], original.recorded_uri());
        assert_eq!(fields["WARC-Refers-To-Date"], warc_date(original.date_ms));
    }
}

/// Header lines that readers disagree about: blank in some alphabet, without a name, with a
/// carriage return, long.
fn odd_lines() -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = [
        &b" "[..],
        b"\t\r",
        b"\r",
        b"\x0b\x0c",
        b"\x1c\x1f",
        b"\0",
        b"\x85",
        b"\xa0",
        b"\xc2\xa0\xc2\x85",
        b"\xe2\x80\x83\xe3\x80\x80",
        b"\xe2\x80\xa8",
        b"no colon",
        b":",
        b": no name",
        b"A: b\rTransfer-Encoding: chunked",
        b"Transfer-Encoding\t : chunked, gzip",
        b"Content-Length: 99999999999999999999999",
        b"Content-Length: +3",
        b"\tContent-Length: 7",
        b"WARC/1.1",
        b"Content-Encoding: nonsense",
    ]
    .map(<[u8]>::to_vec)
    .to_vec();
    lines.push([&b"Long: "[..], &b"x".repeat(200_000)].concat());
    lines
}

#[test]
fn w5_odd_heads_are_split_by_all_alike() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    for line in odd_lines() {
        for body in ["", "\r\n\r\nbody"] {
            let mut sample = samples().swap_remove(0);
            sample.head = [
                b"HTTP/1.1 200 OK\r\nA: b\r\n",
                &line[..],
                b"\r\nC: d\r\n\r\n",
            ]
            .concat();
            sample.body = body.into();
            sample.date_ms += all.len() as u64;
            all.push(sample);
        }
    }
    write_all(folder.path(), &all, settings());
    let file = folder.path().join("test-00001.warc.gz");
    warcio_check(std::slice::from_ref(&file));
    let told = run(Command::new(program("python"))
        .args(["-c", DUMP])
        .arg(&file));
    let answers: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|record: &Value| record["type"] == "response")
        .collect();
    assert_eq!(answers.len(), all.len());
    for (sample, answer) in all.iter().zip(answers) {
        assert_eq!(answer["body"], hex(&sample.body), "{answer}");
        assert_eq!(answer["http"]["c"], "d", "{answer}");
    }
}

/// One pywb with two collections: `added` as `wb-manager add` indexes our files, `ours` by our own
/// index.
fn serve(folder: &Path, samples: &[Sample]) -> Wayback {
    let warc = folder.join("warc");
    // Small files, so that several are made.
    let mut settings = settings();
    settings.file_bytes_max = 4_000;
    write_all(&warc, samples, settings);
    let mut files: Vec<_> = fs::read_dir(&warc)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "gz"))
        .collect();
    files.sort();
    assert!(files.len() > 2, "{files:?}");
    warcio_check(&files);
    let manager = || {
        let mut command = Command::new(program("wb-manager"));
        command.current_dir(folder);
        command
    };
    run(manager().args(["init", "added"]));
    run(manager().args(["add", "added"]).args(&files));
    fs::write(
        folder.join("config.yaml"),
        "collections:\n  ours:\n    index_paths: ./warc/index.cdxj\n    archive_paths: ./warc/\n",
    )
    .unwrap();
    Wayback::start(folder)
}

#[test]
fn w1_pywb_replays_every_record_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let samples = samples();
    let wayback = serve(folder.path(), &samples);
    compare_indexes(folder.path(), samples.len());
    for collection in ["added", "ours"] {
        for sample in &samples {
            let uri = sample.recorded_uri();
            if uri.len() > 8100 {
                // pywb refuses requests that long (414); the half as long one is replayed.
                continue;
            }
            let time = index_time(sample.date_ms);
            let answer = wayback.get(&format!("/{collection}/{time}id_/{uri}"));
            let what = format!("{collection}: {uri} at {time}: {}", answer.head);
            assert_eq!(answer.status, sample.status(), "{what}");
            assert!(answer.body == sample.body, "{what}");
            assert!(answer.head.contains("Memento-Datetime"), "{what}");
        }
    }
}

/// Our index tells what pywb's own index of the same files tells.
fn compare_indexes(folder: &Path, count: usize) {
    let read = |path: &Path| -> BTreeMap<(String, u64), CdxLine> {
        CdxReader::new(&fs::read(path).unwrap()[..])
            .map(Result::unwrap)
            .map(|line| ((line.surt.clone(), line.date_ms), line))
            .collect()
    };
    let ours = read(&folder.join("warc/index.cdxj"));
    let theirs = read(&folder.join("collections/added/indexes/index.cdxj"));
    assert_eq!(ours.len(), count);
    for (key, mut line) in ours {
        let mut their = theirs
            .get(&key)
            .unwrap_or_else(|| panic!("{key:?}"))
            .clone();
        if line.mime.as_deref() == Some("warc/revisit") {
            // pywb leaves the status of revisits away.
            line.status = None;
        }
        // pywb leaves these away where they are not known.
        their.mime = their.mime.or(Some("unk".to_owned()));
        assert_eq!(line, their);
    }
}
