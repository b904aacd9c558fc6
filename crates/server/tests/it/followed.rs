//! A directory that is followed, while another owner writes it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use turnstone_server::{Answers, Compared, Limits, Picture, State, Told, Watch, Watched};

use crate::stand::Stand;

struct Nothing;

impl Answers for Nothing {
    fn limits(&self, _: &Path) -> Limits {
        Limits::default()
    }
    fn why(&self, _: &Path, _: &str) -> Result<Told, String> {
        Err("nothing".to_owned())
    }
    fn diff(&self, _: &Path, _: &str, _: Option<u64>) -> Result<Compared, String> {
        Err("nothing".to_owned())
    }
    fn report(&self, _: &Path) -> Result<String, String> {
        Err("nothing".to_owned())
    }
}

fn watch(directory: &Path) -> Watch {
    let watched = Watched {
        name: "it".to_owned(),
        directory: directory.to_owned(),
        takes_orders: false,
    };
    Watch::start(watched, Arc::new(Nothing)).unwrap()
}

fn until(watch: &Watch, is_it: impl Fn(&Picture) -> bool) -> Arc<Picture> {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let picture = watch.picture();
        if is_it(&picture) {
            return picture;
        }
        assert!(Instant::now() < end, "never so: {picture:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What must be the same however it was read.
fn facts(picture: &Picture) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        picture.states,
        picture.host_counts,
        picture.answers,
        picture.classes,
        picture.event_counts,
        picture.events,
        picture.course,
        picture.coverage,
    )
}

#[test]
fn who_follows_sees_what_who_opens_now_would_see() {
    let stand = Stand::open(None);
    let early = watch(&stand.directory());
    assert_eq!(early.picture().state, State::Running);
    let before = early.picture().pages;
    for number in 0..40 {
        stand.comes(&format!("http://c{}.example/{number}", number % 7), "More");
    }
    let followed = until(&early, |picture| picture.pages == before + 40);
    let opened = watch(&stand.directory()).picture();
    assert_eq!(facts(&followed), facts(&opened));
    assert!(followed.host_counts.failing == 1 && followed.host_counts.held == 1);
    assert_eq!(followed.hosts[0].host, "silent.example");
    assert!(
        followed.hosts[0]
            .why
            .starts_with("4 times in a row: <script>")
    );
}

#[test]
fn a_directory_that_is_made_anew_is_read_anew() {
    let stand = Stand::open(None);
    let directory = stand.directory();
    let early = watch(&directory);
    assert!(early.picture().pages > 10);
    std::fs::remove_dir_all(directory.join("store")).unwrap();
    let gone = until(&early, |picture| !picture.warnings.is_empty());
    assert!(
        gone.warnings[0].contains("cannot be read now"),
        "{:?}",
        gone.warnings
    );
    let mut store = turnstone_pagestore::Store::create(&directory, "another").unwrap();
    store.host(turnstone_frontier::Tick(1), "new.example");
    store.write().unwrap();
    until(&early, |picture| {
        picture.host_counts.known == 1 && picture.pages == 0
    });
}
