//! What `--json` prints is what `docs/schema` says, document by document, by a validator from PyPI.
//!
//! Every command is run that does not wait for somebody; each of its documents names its schema, the
//! validator checks it, and that it has no field the schema does not name. A schema that no document here
//! was checked against fails the test, so none can be written and forgotten; those of the demo, of the server
//! and of a cluster are checked where one runs.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use turnstone_lab::serve::{Answer, Options, Request, Web, start};

use crate::live::archive_tools::{environment, run};
use crate::run::turnstone;

/// The validator of JSON Schema.
const VALIDATOR: [&str; 1] = ["jsonschema==4.26.0"];

/// Checks files against the schemas they name, strictly; prints the schemas that were used.
const CHECK: &str = r#"
import json, pathlib, sys
from jsonschema import Draft202012Validator as Validator
def strict(schema):
    if isinstance(schema, dict):
        schema = {key: strict(value) for key, value in schema.items()}
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    elif isinstance(schema, list):
        schema = [strict(one) for one in schema]
    return schema
schemas, used, wrong = {}, set(), []
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    schema = json.loads(path.read_text())
    Validator.check_schema(schema)
    assert schema["title"] and schema["description"], path
    schemas[path.stem] = Validator(strict(schema))
for path in sorted(pathlib.Path(sys.argv[2]).glob("*.json")):
    document = json.loads(path.read_text())
    name, version = document["schema"].split("/")
    assert version == "1", document["schema"]
    if name not in schemas:
        wrong.append(f"{name}: no schema")
        continue
    used.add(name)
    for error in schemas[name].iter_errors(document):
        wrong.append(f"{path.name} ({name}): {error.json_path}: {error.message[:300]}")
elsewhere = set(sys.argv[3:])
told = wrong if "all" in elsewhere else wrong + [f"{name}: no document was checked" for name in sorted(set(schemas) - used - elsewhere)]
print("\n".join(told))
"#;

/// A site of a few pages, one of which is another each time.
fn answer(request: &Request<'_>) -> Answer {
    static TIMES: AtomicU64 = AtomicU64::new(0);
    match request.path {
        "/" => {
            Answer::html("<a href=/a>a</a><a href=/news>n</a><a href=/gone>g</a><a href=/old>o</a>")
        }
        "/a" => Answer::html("<title>a</title><p>Text of a.</p><a href=/>home</a>"),
        "/news" => {
            let times = TIMES.fetch_add(1, Ordering::Relaxed);
            Answer::html(format!(
                "<title>news</title><p>The news of day {times}.</p><a href=/a>a</a>"
            ))
        }
        "/old" => Answer::redirect(301, "/a"),
        _ => Answer::not_found(),
    }
}

/// Commands that look at a web, a crawl or a site and end.
const COMMANDS: &[&str] = &[
    "crawl ORIGIN/ -o c LIVE",
    "advise c --seeds 2",
    "audit c",
    "backtest coverage w --policies rankmass,breadth-first --delay 1s",
    "backtest coverage w --policies rankmass --confidence 95% --repetitions 2",
    "backtest importance w --visits 2",
    "backtest trap --sections 3 --lists 4 --articles 3",
    "backtest liveness sites --policies tree,random --until-alive 90%",
    "backtest liveness sites --policies random --seeds 2",
    "backtest discovery sites --policies od-1,bandit --budget 1,10",
    "backtest changes sites --policies cohorts,rns --budget 5%",
    "backtest keep sites --days 30 --policies keep,uniform",
    "deliver c --deliver ndjson=events.ndjson",
    "discover c --budget 1 LIVE",
    "export captures c -o captures.parquet",
    "export decisions c -o decisions.jsonl",
    "export events c -o events.csv",
    "export links c -o links.csv",
    "export pages c -o pages.jsonl",
    "export text c -o texts.jsonl",
    "export wacz c -o c.wacz",
    "upload c --to file:///HERE/disk --keep none",
    "upload c --to file:///HERE/disk --back",
    "export graph c -o graph",
    "export edges c -o edges.tsv",
    "export history c -o histories",
    "generate graph --pages 50 -o g",
    "generate history --sites 1 --pages 10 --snapshots 3 -o h",
    "import captures.parquet -o imported",
    "info w",
    "info sites",
    "info c",
    "inspect ORIGIN/old --allow-private",
    "keep c --budget 100/hour --forecast",
    "league w sites --seeds 2",
    "links page.html --base ORIGIN/",
    "man pages-of-the-manual",
    "rank w",
    "rank w --method opic --visits 2",
    "refresh c --budget 100% LIVE",
    "refresh c --budget 100% LIVE",
    "diff c ORIGIN/news",
    "ignore c",
    "report c -o r.html",
    "revive c LIVE",
    "robots robots.txt ORIGIN/secret",
    "show c ORIGIN/a",
    "show c ORIGIN/a --text",
    "show c ORIGIN/a --headers",
    "status c",
    "scope c",
    "scope c --exclude nothing",
    "check ORIGIN/ -o checked LIVE",
    "why c ORIGIN/a",
    "why c ORIGIN/gone",
    "why c ORIGIN/nobody-knows-it",
    "forget c ORIGIN/gone --dry-run",
    "forget c ORIGIN/gone",
    "why c ORIGIN/gone",
    "info nowhere",
];

fn keep(folder: &Path, number: usize, printed: &str) {
    let whole = serde_json::from_str::<Value>(printed).into_iter();
    let lines = printed.lines().flat_map(serde_json::from_str::<Value>);
    for (index, document) in whole.chain(lines).enumerate() {
        if document["schema"].is_string() {
            let file = folder.join(format!("{number:03}-{index}.json"));
            fs::write(file, document.to_string()).unwrap();
        }
    }
}

#[test]
fn what_is_printed_as_json_is_what_the_schemas_say() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let documents = here.join("documents");
    fs::create_dir(&documents).unwrap();
    let web = start(Web::custom(1, answer), Options::default()).unwrap();
    fs::write(here.join("page.html"), "<a href=/x>x</a>").unwrap();
    fs::write(
        here.join("robots.txt"),
        "User-agent: *\nDisallow: /secret\n",
    )
    .unwrap();
    for make in [
        "graph --pages 200 -o w",
        "history --sites 2 --pages 40 -o sites",
    ] {
        crate::run::done(here, &format!("generate {make}"));
    }
    let origin = web.origin(0);
    for (number, command) in COMMANDS.iter().enumerate() {
        let command = command
            .replace("ORIGIN", origin)
            .replace("/HERE", &here.display().to_string())
            .replace("LIVE", "--allow-private --delay 0s --clock-scale 1000");
        let ran = turnstone(here, &format!("{command} --json"));
        // A check that finds something ends with 1, and has a document all the same.
        let printed = match ran.out.as_str() {
            "" => ran.err.lines().last().unwrap_or_default(),
            out => out,
        };
        let told = printed.contains("\"schema\":");
        assert!(
            told,
            "{command} ended with {} and no document\n{}{}",
            ran.code, ran.out, ran.err
        );
        keep(&documents, number, printed);
    }
    let elsewhere = [
        "demo",
        "server-v1",
        "cluster-node",
        "cluster-status",
        "cluster-audit",
        "cluster-copy",
        "cluster-stop",
        "cluster-drain",
    ];
    hold(&documents, &elsewhere);
}

/// Holds documents against the schemas they name; all others must be checked elsewhere.
pub(crate) fn hold(documents: &Path, elsewhere: &[&str]) {
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let python = environment(&VALIDATOR).join("bin/python");
    let wrong = run(Command::new(python)
        .args(["-c", CHECK])
        .arg(schemas)
        .arg(documents)
        .args(elsewhere));
    assert_eq!(wrong.trim(), "", "documents and schemas differ");
}

#[test]
fn errors_are_documents_too() {
    let folder = tempfile::tempdir().unwrap();
    for (command, code, word) in [
        ("info nowhere --json", 1, "no such web"),
        ("backtest coverage w --epsilon x --json", 2, "give one like"),
        ("crawl --json", 2, "required"),
        ("nonsense --json", 2, "nonsense"),
    ] {
        let ran = turnstone(folder.path(), command);
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{command}");
        let document: Value = serde_json::from_str(&ran.err).unwrap();
        assert_eq!(document["schema"], "error/1");
        assert_eq!(document["code"], code);
        let why = document["error"].as_str().unwrap();
        assert!(why.contains(word) && !why.contains('\n'), "{why}");
    }
}
