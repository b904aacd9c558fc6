//! Who we are to those we ask, end to end: secrets stay secrets, signatures can be checked by others.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use turnstone_lab::serve::{Answer, Handle, Options, Request, Web, start};

use super::archive_tools::{environment, run};
use crate::run::{done, turnstone};

/// An independent implementation of RFC 9421.
const VERIFIER: [&str; 1] = ["http-message-signatures==3.0.0"];

/// What was asked, with the headers that tell who asked.
type Seen = Arc<Mutex<Vec<serde_json::Value>>>;

/// Two hosts: the first lets in only who knows the password and sends some pages to the second.
fn web() -> (Handle, Seen) {
    let seen = Seen::default();
    let kept = seen.clone();
    let web = Web::custom(2, move |request: &Request<'_>| {
        let told = |name: &str| request.header(name).map(str::to_owned);
        kept.lock().unwrap().push(serde_json::json!({
            "url": format!("{}{}", request.origin(), request.path),
            "host": request.host,
            "authorization": told("authorization"),
            "x-key": told("x-key"),
            "user-agent": told("user-agent"),
            "signature-agent": told("signature-agent"),
            "signature-input": told("signature-input"),
            "signature": told("signature"),
        }));
        if request.host == 0
            && told("authorization").as_deref() != Some("Basic bWU6czNjcmV0LXBhc3M=")
        {
            return Answer::status(401).header("WWW-Authenticate", "Basic realm=x");
        }
        match request.path {
            "/robots.txt" => Answer::text(
                "User-agent: turnstone\nDisallow: /\n\nUser-agent: acme-crawler\nDisallow: /not-for-acme\n",
            ),
            "/" => Answer::html("<a href=/a>a</a> <a href=/away>b</a> <a href=/not-for-acme>c</a>"),
            "/away" => Answer::redirect(302, &format!("{}/elsewhere", request.origins[1])),
            path => Answer::html(format!("<p>an ordinary page at {path}")),
        }
    });
    (start(web, Options::default()).unwrap(), seen)
}

fn secret_file(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
}

/// All that is below a folder, unpacked.
fn everything(folder: &Path, into: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            everything(&path, into);
            continue;
        }
        let mut bytes = fs::read(&path).unwrap();
        if path.extension().is_some_and(|end| end == "gz") {
            let mut plain = Vec::new();
            let mut packed = flate2::read::MultiGzDecoder::new(bytes.as_slice());
            packed.read_to_end(&mut plain).unwrap();
            bytes = plain;
        }
        into.push((path.display().to_string(), bytes));
    }
}

#[test]
fn a_password_opens_its_host_and_is_kept_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let (server, seen) = web();
    let (mine, other) = (server.origin(0), server.origin(1));
    let secrets = format!(
        "[\"{mine}\"]\nuser = \"me\"\npassword = \"s3cret-pass\"\nheaders = {{ \"X-Key\" = \"s3cret-key\" }}\n"
    );
    secret_file(folder.path(), "secrets.toml", &secrets);
    let crawl = format!(
        "crawl {mine}/ -o c --allow-private --everywhere --delay 0s --policy breadth-first --until pages=50 \
         --credentials secrets.toml --user-agent acme-crawler/2.1"
    );
    let mut said = done(folder.path(), &crawl);
    let mut printed = said.out + &said.err;
    for look in [
        "status c".to_owned(),
        "status c --json".to_owned(),
        format!("why c {mine}/away"),
        "events c --json".to_owned(),
        format!("show c {mine}/ --headers"),
        "export pages c -o pages.jsonl".to_owned(),
        // The file is remembered, and opens the host again.
        "refresh c --budget 2 --delay 0s --allow-private --json".to_owned(),
    ] {
        said = done(folder.path(), &look);
        printed += &(said.out + &said.err);
    }
    {
        let seen = seen.lock().unwrap();
        let at = |host: u64| seen.iter().filter(move |asked| asked["host"] == host);
        assert!(at(0).count() >= 4 && at(1).count() >= 1, "{seen:?}");
        assert!(
            at(0).all(|asked| asked["x-key"] == "s3cret-key"),
            "{seen:?}"
        );
        assert!(at(1).all(|asked| asked["authorization"].is_null() && asked["x-key"].is_null()));
        assert!(
            seen.iter()
                .all(|asked| asked["user-agent"] == "acme-crawler/2.1")
        );
        let asked = |url: String| seen.iter().any(|asked| asked["url"] == url);
        assert!(asked(format!("{other}/elsewhere")) && asked(format!("{mine}/a")));
        assert!(
            !asked(format!("{mine}/not-for-acme")),
            "robots.txt knows us by our name"
        );
    }
    fs::remove_file(folder.path().join("secrets.toml")).unwrap();
    let mut files = vec![("what was printed".to_owned(), printed.into_bytes())];
    everything(folder.path(), &mut files);
    assert!(files.iter().any(|(name, bytes)| {
        name.ends_with(".warc.gz")
            && bytes
                .windows(25)
                .any(|at| at == b"Authorization: (not kept)")
    }));
    for (name, bytes) in &files {
        for secret in ["s3cret-pass", "bWU6czNjcmV0LXBhc3M", "s3cret-key"] {
            let found = bytes
                .windows(secret.len())
                .any(|at| at == secret.as_bytes());
            assert!(!found, "{name} tells {secret}");
        }
    }
}

#[test]
fn signatures_are_good_for_those_who_know_the_key_directory() {
    let folder = tempfile::tempdir().unwrap();
    let (server, seen) = web();
    let away = server.origin(1);
    done(folder.path(), "key new bot.jwk");
    let directory = done(folder.path(), "key directory bot.jwk").out;
    let key = fs::read_to_string(folder.path().join("bot.jwk")).unwrap();
    let private: serde_json::Value = serde_json::from_str(&key).unwrap();
    assert!(!directory.contains(private["d"].as_str().unwrap()));
    let again = turnstone(folder.path(), "key new bot.jwk");
    assert_eq!(
        (
            again.code,
            fs::read_to_string(folder.path().join("bot.jwk")).unwrap()
        ),
        (1, key)
    );
    done(
        folder.path(),
        &format!(
            "crawl {away}/elsewhere -o c --allow-private --delay 0s --user-agent acme-crawler \
             --signature-key bot.jwk --signature-agent https://bots.example.org"
        ),
    );
    let seen = serde_json::to_string(&*seen.lock().unwrap()).unwrap();
    fs::write(folder.path().join("seen.json"), seen).unwrap();
    fs::write(folder.path().join("directory.json"), directory).unwrap();
    let script = r#"
import base64, json
from types import SimpleNamespace
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, InvalidSignature, algorithms
keys = {key["kid"]: key["x"] for key in json.load(open("directory.json"))["keys"]}
class Directory(HTTPSignatureKeyResolver):
    def resolve_public_key(self, key_id):
        return Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(keys[key_id] + "=="))
verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Directory())
good = bad = 0
nonces = set()
for asked in json.load(open("seen.json")):
    headers = {name: asked[name] for name in ("signature-agent", "signature-input", "signature")}
    def verify(url):
        return verifier.verify(SimpleNamespace(method="GET", url=url, headers=headers))
    [result] = verify(asked["url"])
    assert result.parameters["tag"] == "web-bot-auth", result.parameters
    assert result.parameters["expires"] - result.parameters["created"] <= 60
    covered = {str(name).split(";")[0].strip('"') for name in result.covered_components}
    assert covered >= {"@authority", "signature-agent"}, covered
    nonces.add(result.parameters["nonce"])
    good += 1
    try:
        verify("http://somebody-else.example/")
    except InvalidSignature:
        bad += 1
print(json.dumps([good, bad, len(nonces)]))
"#;
    let python = environment(&VERIFIER).join("bin/python");
    let mut command = Command::new(python);
    let counts = run(command.args(["-c", script]).current_dir(folder.path()));
    assert_eq!(counts.trim(), "[2, 2, 2]");
}

#[test]
fn what_is_wrong_with_an_identity_is_said_before_anything_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (server, seen) = web();
    secret_file(folder.path(), "good.toml", "");
    secret_file(
        folder.path(),
        "bad.toml",
        "[\"https://a\"]\npassword = s3cret",
    );
    fs::write(folder.path().join("open.toml"), "").unwrap();
    fs::set_permissions(
        folder.path().join("open.toml"),
        fs::Permissions::from_mode(0o644),
    )
    .unwrap();
    done(folder.path(), "key new bot.jwk");
    for (options, expect) in [
        ("--credentials none.toml", "none.toml: No such file"),
        ("--credentials open.toml", "run `chmod 600"),
        ("--credentials bad.toml", "bad.toml: line 2 is not TOML"),
        ("--header Cookie:a", "--header: cookie is a secret"),
        (
            "--header Host:a",
            "--header: host: turnstone sets this header itself",
        ),
        ("--user-agent Mozilla/5.0(X)", "--user-agent: name"),
        ("--proxy socks4://a", "--proxy: give http://HOST:PORT"),
        (
            "--proxy http://me:s3cret@a:1",
            "--proxy: give http://HOST:PORT",
        ),
        (
            "--signature-key bot.jwk",
            "give --signature-key and --signature-agent together",
        ),
        (
            "--signature-key good.toml --signature-agent https://a.example",
            "good.toml: this is not an Ed25519 private key",
        ),
        (
            "--signature-key bot.jwk --signature-agent http://a.example",
            "give the https address",
        ),
    ] {
        let arguments = format!("crawl {}/ -o c --allow-private {options}", server.origin(1));
        let ran = turnstone(folder.path(), &arguments);
        assert_eq!(ran.code, 2, "{options}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(expect), "{options}: {}", ran.err);
        assert_eq!(ran.err.trim().lines().count(), 1, "{options}: {}", ran.err);
        assert!(!ran.err.contains("s3cret"), "{options}: {}", ran.err);
        assert!(!folder.path().join("c").exists(), "{options}");
    }
    assert!(seen.lock().unwrap().is_empty());
}
