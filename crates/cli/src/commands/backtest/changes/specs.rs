//! Which policies are compared: a list, all of them, or those of the paper's figures.

use turnstone_policy::{Question, Spec, catalog, changes};

use crate::caller;
use crate::exit::Usage;

/// What is compared when nothing is said: the paper's figure 6, today's practice, and ours.
pub(super) const USUAL: &str = "rns,round-robin,gsb,link-neighbours,directory-neighbours,\
                                cluster-neighbours,uniform,interval,crawl-value,azar,cohorts";

/// How far the paper's figure 5 reaches.
const REACHES: [i32; 15] = [-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8];

/// The specs that a list, `all` or `figures` stands for.
pub(super) fn parse(list: &str) -> anyhow::Result<Vec<Spec>> {
    let list = match list {
        "all" => all(),
        "figures" => figures(),
        list => list.to_owned(),
    };
    let specs = caller::specs(&list)?;
    for spec in &specs {
        changes::check(spec)?;
    }
    if specs.is_empty() {
        return Err(Usage::of("--policies", "name at least one policy").into());
    }
    Ok(specs)
}

/// Every policy, and the sampling ones with every trigger.
fn all() -> String {
    let fitting = catalog::policies().filter(|info| info.answers(Question::Changes));
    let mut names: Vec<String> = fitting.map(|info| info.name.to_owned()).collect();
    names.extend(triggers());
    names.push("interval:step=0.5".to_owned());
    names.push("crawl-value:weight=pagerank".to_owned());
    names.join(",")
}

fn triggers() -> Vec<String> {
    [
        "trigger=always",
        "trigger=pagerank",
        "trigger=history",
        "trigger=history,cycles=observed",
        "trigger=weighted-history",
        "trigger=weighted-history,cycles=observed",
    ]
    .map(|trigger| format!("directory-neighbours:d=1,{trigger}"))
    .to_vec()
}

/// Every distance of figures 5 and 7, the policies of 6, the triggers of 8 and 9, and ours.
fn figures() -> String {
    let mut specs: Vec<String> = ["rns", "round-robin", "gsb"].map(str::to_owned).to_vec();
    for reach in REACHES {
        specs.push(format!("directory-neighbours:d={reach}"));
        specs.push(format!("link-neighbours:d={reach}"));
        if reach >= 0 {
            specs.push(format!("cluster-neighbours:d={reach}"));
        }
    }
    specs.extend(triggers());
    specs.push("cohorts".to_owned());
    specs.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_built() {
        let counts = [USUAL, "all", "figures"].map(|list| parse(list).unwrap().len());
        assert_eq!(counts, [11, 19, 49]);
        assert!(parse("").is_err() && parse("cohort").is_err());
    }
}
