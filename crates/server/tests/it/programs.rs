//! The JSON and the metrics, held against what describes them by other people's programs.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::archive_tools::{environment, run};
use crate::stand::Stand;

const PACKAGES: [&str; 2] = ["prometheus-client==0.23.1", "jsonschema==4.25.1"];

fn python(folder: &Path, script: &str, arguments: &[&str]) -> String {
    let file = folder.join("script.py");
    fs::write(&file, script).unwrap();
    let python = environment(&PACKAGES).join("bin/python");
    run(Command::new(python).arg(file).args(arguments))
}

const VALIDATE: &str = r##"
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
for name, file in zip(sys.argv[2::2], sys.argv[3::2]):
    part = {"$schema": schema["$schema"], "$ref": "#/$defs/" + name, "$defs": schema["$defs"]}
    jsonschema.Draft202012Validator(part).validate(json.load(open(file)))
    print(name)
"##;

#[test]
fn every_answer_in_json_is_as_the_schema_says() {
    let stand = Stand::open(None);
    let json = "content-type: application/json\r\n";
    let api = "/api/v1/crawls/-b-crawl";
    let order = |body: &str| stand.ask("POST", &format!("{api}/orders"), json, body);
    let answers = [
        ("crawls", stand.get("/api/v1/crawls")),
        ("crawl", stand.get(api)),
        ("settings", stand.get(&format!("{api}/settings"))),
        (
            "why",
            stand.get(&format!("{api}/why?url=http://a.example/1")),
        ),
        (
            "diff",
            stand.get(&format!("{api}/diff?url=http://a.example/1")),
        ),
        ("done", order(r#"{"order":"pause"}"#)),
        ("error", order(r#"{"order":"seeds","add":["nowhere"]}"#)),
        ("error", stand.get("/api/v1/crawls/none")),
    ];
    let folder = tempfile::tempdir().unwrap();
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/server-v1.json");
    let mut arguments = vec![schema.to_str().unwrap().to_owned()];
    for (number, (name, answer)) in answers.iter().enumerate() {
        let file = folder.path().join(format!("{number}.json"));
        fs::write(&file, &answer.body).unwrap();
        arguments.extend([(*name).to_owned(), file.to_str().unwrap().to_owned()]);
    }
    // What is ordered is described too.
    for (number, order) in stand.orders.lock().unwrap().iter().enumerate() {
        let file = folder.path().join(format!("order-{number}.json"));
        fs::write(&file, serde_json::to_string(order).unwrap()).unwrap();
        arguments.extend(["order".to_owned(), file.to_str().unwrap().to_owned()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let told = python(folder.path(), VALIDATE, &arguments);
    assert_eq!(told.lines().count(), answers.len() + 1, "{told}");
    let crawl = answers[1].1.json();
    assert_eq!(
        (crawl["pages"].as_u64(), crawl["version"].as_u64()),
        (Some(19), Some(1))
    );
}

const PARSE: &str = r#"
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
found = {}
for family in text_string_to_metric_families(open(sys.argv[1]).read()):
    for sample in family.samples:
        found[sample.name + json.dumps(sample.labels, sort_keys=True)] = sample.value
    assert family.documentation, family.name
print(json.dumps(found))
"#;

#[test]
fn the_metrics_are_openmetrics_and_the_dashboard_asks_for_those_there_are() {
    let stand = Stand::open(None);
    let answer = stand.get("/metrics");
    assert!(
        answer
            .head
            .contains("content-type: application/openmetrics-text; version=1.0.0")
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("metrics");
    fs::write(&file, &answer.body).unwrap();
    let told = python(folder.path(), PARSE, &[file.to_str().unwrap()]);
    let found: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&told).unwrap();
    let number = |key: &str| found.get(key).and_then(serde_json::Value::as_f64);
    let of = r#"{"crawl": "-b-crawl"}"#;
    assert_eq!(
        number(&format!("turnstone_pages_stored{of}")),
        Some(19.0),
        "{told}"
    );
    assert_eq!(number(&format!("turnstone_requests_total{of}")), Some(23.0));
    let proven = number(&format!("turnstone_coverage_proven_ratio{of}")).unwrap();
    assert!((proven - 0.55).abs() < 1e-6, "{proven}");
    let failing = r#"turnstone_hosts{"condition": "failing", "crawl": "-b-crawl"}"#;
    assert_eq!(number(failing), Some(1.0));
    let running =
        r#"turnstone_crawl_state{"crawl": "-b-crawl", "turnstone_crawl_state": "running"}"#;
    assert_eq!(number(running), Some(1.0));

    // Every metric that the Grafana dashboard asks for is one of these.
    let grafana = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/grafana.json");
    let grafana = fs::read_to_string(grafana).unwrap();
    let document: serde_json::Value = serde_json::from_str(&grafana).unwrap();
    let mut asked = 0;
    for panel in document["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let words = target["expr"].as_str().unwrap();
            let words = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            for name in words.filter(|word| word.starts_with("turnstone_")) {
                asked += 1;
                assert!(
                    found.keys().any(|key| key.split('{').next() == Some(name)),
                    "{name}"
                );
            }
        }
    }
    assert!(asked > 8);
}
