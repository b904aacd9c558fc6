//! A crawl as WACZ: accepted by `wacz validate` (PyPI), replayed by pywb, and the same while a crawl is under way.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use turnstone_pagestore::Store;

use crate::live::archive_tools::{Wayback, environment, program, run};
use crate::run::{done, turnstone};
use crate::tables::crawled;

/// What says whether a WACZ is one. It asks for a package that it does not name.
const VALIDATOR: [&str; 2] = ["wacz==0.6.0", "setuptools==80.9.0"];

fn validate(file: &Path) {
    let wacz = environment(&VALIDATOR).join("bin/wacz");
    let told = run(Command::new(wacz).args(["validate", "-f"]).arg(file));
    assert!(
        told.contains("is a valid WACZ") || !told.contains("rror"),
        "{told}"
    );
}

/// Everything in the ZIP, as Python's own reader sees it; it checks every sum.
fn listed(folder: &Path, file: &str) -> Value {
    let script = r#"
import sys, json, zipfile, hashlib, gzip
package = zipfile.ZipFile(sys.argv[1])
assert package.testzip() is None
names = package.namelist()
assert all(one.compress_type == zipfile.ZIP_STORED for one in package.infolist())
about = json.loads(package.read("datapackage.json"))
for one in about["resources"]:
    data = package.read(one["path"])
    assert len(data) == one["bytes"], one
    assert "sha256:" + hashlib.sha256(data).hexdigest() == one["hash"], one
seal = json.loads(package.read("datapackage-digest.json"))
assert seal["hash"] == "sha256:" + hashlib.sha256(package.read("datapackage.json")).hexdigest()
lines = gzip.decompress(package.read("indexes/index.cdx.gz")).decode().splitlines()
assert lines == sorted(lines)
idx = package.read("indexes/index.idx").decode().splitlines()
for line in idx[1:]:
    key, at = line.rsplit(" {", 1)
    at = json.loads("{" + at)
    block = package.read("indexes/index.cdx.gz")[at["offset"]:at["offset"] + at["length"]]
    assert gzip.decompress(block).decode().startswith(key + " ")
pages = [json.loads(line) for line in package.read("pages/pages.jsonl").decode().splitlines()]
print(json.dumps({"names": names, "about": about, "captures": len(lines), "pages": pages}))
"#;
    let told = run(Command::new("python3")
        .args(["-c", script, file])
        .current_dir(folder));
    serde_json::from_str(&told).unwrap()
}

#[test]
fn a_crawl_as_one_file_is_valid_and_replays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let web = crawled(path);
    let ran = done(path, "export wacz c -o c.wacz --title Town --json");
    let told = ran.json();
    validate(&path.join("c.wacz"));

    let list = listed(path, "c.wacz");
    assert_eq!(list["captures"], told["captures"]);
    let pages = list["pages"].as_array().unwrap();
    assert_eq!(pages.len() as u64, 1 + told["pages"].as_u64().unwrap());
    assert_eq!(list["about"]["mainPageUrl"], format!("{}/", web.origin(0)));
    assert_eq!(
        (list["about"]["title"].as_str(), &pages[1]["seed"]),
        (Some("Town"), &Value::from(true))
    );
    let warc = list["names"][0].as_str().unwrap();
    assert!(
        warc.starts_with("archive/crawl-") && warc.ends_with("-00001.warc.gz"),
        "{warc}"
    );

    // pywb takes it apart by itself, and replays what the server said.
    run(Command::new(program("wb-manager"))
        .args(["init", "town"])
        .current_dir(path));
    run(Command::new(program("wb-manager"))
        .args(["add", "--unpack-wacz", "town", "c.wacz"])
        .current_dir(path));
    let wayback = Wayback::start(path);
    for (page, text) in [
        ("/", "Text of front"),
        ("/a", "Text of a"),
        ("/b?q=1", "Text of b"),
    ] {
        let answer = wayback.get(&format!("/town/2id_/{}{page}", web.origin(0)));
        assert_eq!(answer.status, 200, "{page}: {}", answer.head);
        assert!(
            String::from_utf8_lossy(&answer.body).contains(text),
            "{page}"
        );
    }
}

#[test]
fn what_is_not_whole_is_not_packed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let _web = crawled(path);
    let refused = |command: &str, code: i32, what: &str| {
        let ran = turnstone(path, command);
        assert_eq!(ran.code, code, "{}", ran.err);
        assert!(ran.err.contains(what), "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    };
    refused("export wacz c -o c.zip", 2, "must end in .wacz");
    refused("export wacz nothing -o c.wacz", 1, "nothing");
    let store = Store::look(&path.join("c")).unwrap();
    let warc = store.archive_folder().join(store.archive().file_name(1));
    let bytes = fs::read(&warc).unwrap();
    fs::write(&warc, &bytes[..bytes.len() - 1]).unwrap();
    refused("export wacz c -o c.wacz", 1, "but the journal says");
    fs::remove_file(&warc).unwrap();
    refused("export wacz c -o c.wacz", 1, "-00001.warc.gz");
    assert!(!path.join("c.wacz").exists(), "half a file was left");
}

/// Files have a size that can be set, names of their crawl, and what a running crawl has so far can be packed.
#[test]
fn warc_files_have_names_of_their_own_and_the_size_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (mut names, mut files) = (Vec::new(), 0);
    let web = crawled(path);
    for crawl in ["d", "e"] {
        let seed = format!("{}/", web.origin(0));
        done(
            path,
            &format!(
                "crawl {seed} -o {crawl} --allow-private --delay 0s --clock-scale 1000 --warc-size 1kB"
            ),
        );
        for entry in fs::read_dir(path.join(crawl).join("warc")).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if name.ends_with(".warc.gz") {
                assert!(entry.metadata().unwrap().len() < 6000, "{name}");
                names.push(name);
                files += 1;
            }
        }
        // It is remembered: the next run writes files of that size too.
        let kept = fs::read_to_string(path.join(crawl).join("turnstone.toml")).unwrap();
        assert!(kept.contains("warc-size = \"1kB\""), "{kept}");
    }
    assert!(files > 4, "{names:?}");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), files, "two crawls have files of one name");
    done(path, "export wacz d -o d.wacz");
    validate(&path.join("d.wacz"));
    let ran = turnstone(
        path,
        "crawl http://127.0.0.1:8999/ -o f --allow-private --warc-size 3quux",
    );
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err.contains("'3quux' is not a number of bytes"),
        "{}",
        ran.err
    );
}
