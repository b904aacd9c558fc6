//! Tables in Parquet, read back by the readers people have: DuckDB, pyarrow and polars, from PyPI.
//!
//! The Parquet file must say what the JSON lines of the same table say, row by row, in the types of the
//! schema; queries in the form that Common Crawl's users write must run on it; and an import of it must
//! know what the crawl knew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use turnstone_lab::serve::{Answer, Handle, Options, Request, Web, start};

use crate::live::archive_tools::{environment, run};
use crate::run::{done, turnstone};

/// What reads the tables.
const READERS: [&str; 4] = [
    "duckdb==2.0.0",
    // For DuckDB's times with a zone.
    "pytz==2025.2",
    "pyarrow==26.0.1",
    "polars==2.1.0",
];

fn answer(request: &Request<'_>) -> Answer {
    let page = |title: &str, links: &str| {
        Answer::html(format!(
            "<title>{title}</title><p>Text of {title}.</p>{links}"
        ))
    };
    match request.path {
        "/robots.txt" => Answer::text("User-agent: *\nDisallow: /secret\n"),
        "/" => page(
            "front, \"quoted\" – ünïcode",
            "<a href=/a>a</a><a href=/b?q=1>b</a><a href=/gone>g</a><a href=/old>o</a><a href=/secret>s</a>",
        ),
        "/a" => page("a", "<a href=/>home</a><a href=/b?q=1>b</a>"),
        "/b?q=1" => page("b", "<a href=/a>a</a>"),
        "/old" => Answer::redirect(301, "/a"),
        _ => Answer::not_found(),
    }
}

pub(crate) fn crawled(folder: &Path) -> Handle {
    let web = start(Web::custom(1, answer), Options::default()).unwrap();
    let command = format!(
        "crawl {}/ -o c --allow-private --delay 0s --clock-scale 1000 --json",
        web.origin(0)
    );
    turnstone(folder, &command);
    web
}

/// Runs a script of Python in the folder; returns the JSON that it prints.
fn python(folder: &Path, script: &str) -> Value {
    let program: PathBuf = environment(&READERS).join("bin/python");
    let out = run(Command::new(program)
        .args(["-c", script])
        .current_dir(folder));
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

#[test]
fn three_readers_see_in_parquet_what_the_json_lines_say() {
    let folder = tempfile::tempdir().unwrap();
    let _web = crawled(folder.path());
    for table in ["pages", "links", "events", "captures", "decisions", "text"] {
        for form in ["jsonl", "parquet", "csv"] {
            let out = done(
                folder.path(),
                &format!("export {table} c -o {table}.{form}"),
            );
            assert!(
                out.out.contains(&format!("{table}s written to"))
                    || out.out.contains(&format!("{table} written to")),
                "{}",
                out.out
            );
        }
        let lines = fs::read_to_string(folder.path().join(format!("{table}.jsonl"))).unwrap();
        let lines: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(!lines.is_empty(), "{table}");
        let read = python(
            folder.path(),
            &format!(
                r#"
import json, datetime, duckdb, polars, pyarrow.parquet
name = "{table}.parquet"
def plain(value):
    if isinstance(value, datetime.datetime):
        assert value.tzinfo is not None
        value = value.astimezone(datetime.timezone.utc)
        assert value.microsecond % 1000 == 0
        return value.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return value
def rows(dicts):
    return [{{k: plain(v) for k, v in row.items()}} for row in dicts]
arrow = pyarrow.parquet.read_table(name)
duck = duckdb.connect()
duck.execute("SET TimeZone = 'UTC'")
duck = duck.execute(f"SELECT * FROM '{{name}}'")
names = [column[0] for column in duck.description]
print(json.dumps({{
    "arrow": rows(arrow.to_pylist()),
    "duckdb": rows(dict(zip(names, row)) for row in duck.fetchall()),
    "polars": rows(polars.read_parquet(name).to_dicts()),
    "types": {{field.name: str(field.type) for field in arrow.schema}},
}}))
"#
            ),
        );
        for reader in ["arrow", "duckdb", "polars"] {
            assert_eq!(
                read[reader],
                Value::from(lines.clone()),
                "{table}: {reader}"
            );
        }
        if table == "captures" {
            for (column, kind) in [
                ("url", "string"),
                ("url_port", "int32"),
                ("fetch_time", "timestamp[ms, tz=UTC]"),
                ("fetch_status", "int16"),
                ("warc_record_offset", "int64"),
                ("imported", "bool"),
                ("chance", "double"),
            ] {
                assert_eq!(read["types"][column], kind, "{column}");
            }
        }
    }
}

#[test]
fn queries_for_common_crawls_index_run_in_duckdb() {
    let folder = tempfile::tempdir().unwrap();
    let _web = crawled(folder.path());
    done(folder.path(), "export captures c -o captures.parquet");
    let read = python(
        folder.path(),
        r#"
import json, duckdb
db = duckdb.connect()
db.execute("CREATE SCHEMA ccindex")
db.execute("CREATE VIEW ccindex.ccindex AS SELECT * FROM 'captures.parquet'")
crawl = db.execute("SELECT DISTINCT crawl FROM ccindex.ccindex").fetchall()[0][0]
pages = db.execute(f"""
    SELECT url_host_name, COUNT(*) AS pages, COUNT(DISTINCT url_path) AS paths
    FROM "ccindex"."ccindex" WHERE crawl = '{crawl}' AND subset = 'warc'
    GROUP BY url_host_name ORDER BY pages DESC""").fetchall()
status = db.execute(f"""
    SELECT fetch_status, COUNT(*) FROM "ccindex"."ccindex"
    WHERE crawl = '{crawl}' AND subset = 'crawldiagnostics'
    GROUP BY fetch_status ORDER BY fetch_status""").fetchall()
records = db.execute(f"""
    SELECT url, warc_filename, warc_record_offset, warc_record_length FROM "ccindex"."ccindex"
    WHERE crawl = '{crawl}' AND subset = 'warc' AND url_path = '/b' AND url_query = 'q=1'""").fetchall()
print(json.dumps({"pages": pages, "status": status, "records": records}))
"#,
    );
    assert_eq!(read["pages"][0][1], 3);
    assert_eq!(read["pages"][0][2], 3);
    assert_eq!(read["status"], serde_json::json!([[301, 1], [404, 1]]));
    // What the query found is where the record is.
    let record = &read["records"][0];
    let file = folder
        .path()
        .join("c/warc")
        .join(record[1].as_str().unwrap());
    let bytes = fs::read(file).unwrap();
    let at = usize::try_from(record[2].as_u64().unwrap()).unwrap();
    let member = &bytes[at..at + usize::try_from(record[3].as_u64().unwrap()).unwrap()];
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(member), &mut text).unwrap();
    assert!(String::from_utf8_lossy(&text).contains("Text of b."));
}

#[test]
fn an_import_of_captures_knows_what_the_crawl_knew() {
    let folder = tempfile::tempdir().unwrap();
    let _web = crawled(folder.path());
    done(folder.path(), "export captures c -o captures.parquet");
    done(folder.path(), "import captures.parquet -o d");
    done(folder.path(), "export captures d -o again.parquet");
    let read = python(
        folder.path(),
        r#"
import json, duckdb
facts = "url, fetch_time, fetch_status, fetch_redirect, content_digest, content_mime_type, subset"
both = [sorted(map(str, duckdb.sql(f"SELECT {facts} FROM '{name}.parquet' ").fetchall()))
        for name in ("captures", "again")]
print(json.dumps(both))
"#,
    );
    assert_eq!(read[0].as_array().unwrap().len(), 5);
    assert_eq!(read[0], read[1]);
    // Another table is refused in words.
    done(folder.path(), "export links c -o links.parquet");
    let refused = turnstone(folder.path(), "import links.parquet -o e");
    assert_eq!(refused.code, 1, "{}", refused.err);
    assert!(
        refused.err.contains("without the column url"),
        "{}",
        refused.err
    );
}

#[test]
fn a_name_that_says_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let _web = crawled(folder.path());
    for (arguments, told) in [
        ("-o p.txt", "must end in .parquet, .jsonl or .csv"),
        ("-o p.jsonl.gz", "must end in .parquet, .jsonl or .csv"),
        ("-o p.csv --format parquet", "end it in .parquet"),
    ] {
        let ran = turnstone(folder.path(), &format!("export pages c {arguments}"));
        assert_eq!(ran.code, 2, "{arguments}: {}", ran.err);
        assert!(ran.err.contains(told), "{arguments}: {}", ran.err);
    }
    assert!(!folder.path().join("p.txt").exists());
}

#[test]
fn a_table_in_parts_is_the_table_with_each_host_in_one_file() {
    let folder = tempfile::tempdir().unwrap();
    done(folder.path(), "generate graph --pages 300 -o w");
    done(folder.path(), "import w -o c");
    for table in ["pages", "links", "captures", "decisions"] {
        done(
            folder.path(),
            &format!("export {table} c -o {table}.parquet"),
        );
        done(
            folder.path(),
            &format!("export {table} c -o {table} --parts 5"),
        );
        let read = python(
            folder.path(),
            &format!(
                r#"
import json, duckdb, glob
table = "{table}"
host = {{"links": "source_host", "captures": "url_host_name"}}.get(table, "host")
whole, parts = f"'{{table}}.parquet'", f"read_parquet('{{table}}/*.parquet', filename = true)"
db = duckdb.connect()
one = lambda query: db.execute(query).fetchone()[0]
print(json.dumps({{
    "files": len(glob.glob(f"{{table}}/*.parquet")),
    "rows": one(f"SELECT count(*) FROM {{whole}}") - one(f"SELECT count(*) FROM {{parts}}"),
    "missing": one(f"SELECT count(*) FROM (FROM {{whole}} EXCEPT SELECT * EXCLUDE (filename) FROM {{parts}})"),
    "torn": one(f"SELECT count(*) FROM (SELECT {{host}} FROM {{parts}} GROUP BY 1 HAVING count(DISTINCT filename) > 1)"),
}}))
"#
            ),
        );
        assert_eq!(
            read,
            serde_json::json!({"files": 5, "rows": 0, "missing": 0, "torn": 0}),
            "{table}"
        );
    }
    let ran = turnstone(folder.path(), "export pages c -o pages --parts 5");
    assert!(
        ran.code == 2 && ran.err.contains("name a new folder"),
        "{}",
        ran.err
    );
    let ran = turnstone(folder.path(), "export pages c -o other --parts 0");
    assert!(
        ran.code == 2 && ran.err.contains("--parts: 0 is not from 1 to 256"),
        "{}",
        ran.err
    );
}
