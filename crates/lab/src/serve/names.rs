//! Names of hosts, as they can stand in a URL.

use std::collections::HashSet;

/// Names for hosts that have none.
pub(super) fn numbered_names(hosts: u32) -> Vec<String> {
    (0..hosts).map(|host| format!("host-{host}.test")).collect()
}

/// The host of an origin.
pub(super) fn host_of(origin: &str) -> String {
    let rest = origin.split_once("://").map_or(origin, |(_, rest)| rest);
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    authority
        .rsplit('@')
        .next()
        .unwrap_or(authority)
        .to_ascii_lowercase()
}

/// Names as they can stand in a URL with our port: without one of their own, and all different.
pub(super) fn host_names(recorded: Vec<String>) -> Vec<String> {
    let mut taken = HashSet::with_capacity(recorded.len());
    let clean = |name: &String| -> String {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        (name.chars().map(|c| if fits(c) { c } else { '-' })).collect()
    };
    let mut unique = |(number, name): (usize, &String)| {
        let mut name = clean(name);
        if name.is_empty() || !taken.insert(name.clone()) {
            name = format!("{name}-{number}.test");
            taken.insert(name.clone());
        }
        name
    };
    recorded.iter().enumerate().map(&mut unique).collect()
}
