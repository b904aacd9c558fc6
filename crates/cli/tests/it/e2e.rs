//! The live commands on a small made-up history, against the record and the lab: the rehearsal of
//! `make e2e`.

use std::path::Path;
use std::sync::Arc;

use turnstone_lab::history::History;
use turnstone_lab::web::open_histories;

use crate::run::done;

#[path = "../../examples/e2e/rehearsal/mod.rs"]
mod rehearsal;

use rehearsal::Command;
use rehearsal::live::Live;
use rehearsal::predict::DISCOVER;
use rehearsal::soft404::unmask;
use rehearsal::stage::Stage;

fn live(connections: Option<usize>) -> Live<'static> {
    Live {
        turnstone: Path::new(env!("CARGO_BIN_EXE_turnstone")),
        connections,
        clock_scale: 1,
        discover_policy: DISCOVER,
    }
}

/// Three sites that grow, change and lose pages.
fn histories(folder: &Path) -> Vec<Arc<History>> {
    done(
        folder,
        "generate history -o sites --sites 3 --pages 150 --snapshots 12 --births 0.02 --deaths 0.02 --seed 5",
    );
    open_histories(&folder.join("sites"))
        .unwrap()
        .map(|history| Arc::new(history.unwrap()))
        .collect()
}

const COMMANDS: [Command; 4] = [
    Command::Revive(None),
    Command::Revive(Some(60)),
    Command::Discover(12),
    Command::Refresh(60),
];

#[test]
fn one_connection_finds_what_the_record_says_in_the_predicted_order() {
    let folder = tempfile::tempdir().unwrap();
    let histories = histories(folder.path());
    let live = live(Some(1));
    let mut stage = Stage::set(&histories, [0.5, 1.0], live).unwrap();
    stage.seeds = 2;
    let [expected, stored] = stage.stored;
    assert!(expected == stored && stored > 200, "{:?}", stage.missed);
    for command in COMMANDS {
        let row = stage.ask(command, live).unwrap();
        assert_eq!(row.by_seed.len(), 2);
        assert_eq!(row.wrong, 0, "{command:?}: {:?}", row.wrong_words);
        assert!(row.found[0] > 0, "{command:?} proves nothing");
        assert!(row.same_order && row.off() < 0.05, "{row:?}");
        assert_eq!(row.asked[0], row.asked[1], "{command:?}");
        assert_eq!(row.found[0], row.found[1], "{command:?}");
        if let Command::Revive(Some(budget)) = command {
            assert_eq!(
                row.live.requests + row.live.probes,
                budget,
                "spent to the end"
            );
        }
        // Five honest directories a site are enough.
        assert!(row.live.probes <= 15 && row.live.robots == 0, "{row:?}");
        assert!(row.returned <= row.found[1], "{row:?}");
    }
}

#[test]
fn many_connections_cost_what_is_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let histories = histories(folder.path());
    let live = live(None);
    let mut stage = Stage::set(&histories, [0.5, 1.0], live).unwrap();
    for command in COMMANDS {
        let row = stage.ask(command, live).unwrap();
        assert_eq!(row.wrong, 0, "{command:?}: {:?}", row.wrong_words);
        assert_eq!(row.live.robots, 0);
        assert!(row.off() <= 0.2, "{row:?}");
    }
}

/// A site with real pages in two directories, three of which vanish in their own way.
fn soft_site(default: &serde_json::Value) -> serde_json::Value {
    let text = |about: &str| {
        let body = format!(
            "<!doctype html><title>All about {about}</title><p>{about} is what this page is about: \
             how {about} came to be, who looked after {about}, and what {about} is good for today.</p>"
        );
        serde_json::json!({"status": 200, "body": body, "label": "real"})
    };
    serde_json::json!({
        "pages": {
            "/": text("everything"), "/a/opal": text("opal and pepper"),
            "/a/ivory": text("ivory towers"), "/b/linen": text("linen and ribbons"),
        },
        "dead_paths": {"/old/one.html": "soft404", "/a/two": "soft404", "/b/three": "soft404"},
        "default": default,
    })
}

#[test]
fn servers_that_say_200_to_anything_are_unmasked_with_a_probe_a_directory() {
    let sorry = "<!doctype html><title>Welcome</title><p>Sorry, we could not find what you asked \
                 for. Try the search or begin at the front page instead.</p>";
    let defaults = [
        serde_json::json!({"status": 200, "body": sorry}),
        serde_json::json!({"status": 200, "body": sorry.replace("asked", "asked ({path}, {rand})")}),
        serde_json::json!({"status": 302, "location": "/"}),
        serde_json::json!({"status": 404, "body": sorry}),
    ];
    let sites = serde_json::Value::Array(defaults.iter().map(soft_site).collect());
    let found = unmask(&sites, live(None)).unwrap();
    assert_eq!(found.words, Vec::<String>::new());
    assert_eq!((found.gone, found.recall()), ([12, 12], 1.0));
    assert_eq!(found.real, [16, 0]);
    assert!(found.probed[0] >= 9 && found.probed[1] == 1, "{found:?}");
}
