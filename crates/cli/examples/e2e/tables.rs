//! What was predicted and what came, in tables. A number alone was predicted exactly; `a → b` means
//! that a was predicted and b came.

use turnstone::table::Table;
use turnstone_lab::number::{percent, whole};

use super::Run;
use super::rehearsal::Command;
use super::rehearsal::stage::Row;

fn pair([predicted, live]: [u64; 2]) -> String {
    if predicted == live {
        whole(live)
    } else {
        format!("{} → {}", whole(predicted), whole(live))
    }
}

fn verb(command: Command) -> &'static str {
    match command {
        Command::Revive(None) => "revive",
        Command::Revive(Some(_)) => "revive, so many requests",
        Command::Discover(_) => "discover",
        Command::Refresh(_) => "refresh",
    }
}

fn budget(command: Command) -> String {
    match command {
        Command::Revive(None) => String::new(),
        Command::Revive(Some(budget)) | Command::Discover(budget) | Command::Refresh(budget) => {
            whole(budget)
        }
    }
}

/// One line a site: pages stored, then what each command found.
pub(crate) fn by_site(runs: &[Run]) -> String {
    let Some(first) = runs.first() else {
        return String::new();
    };
    let mut titles = vec!["site".to_owned(), "#stored".to_owned()];
    for row in &first.rows {
        titles.push(match row.command {
            Command::Revive(None) => "#alive".to_owned(),
            Command::Revive(Some(_)) => "#alive, few requests".to_owned(),
            Command::Discover(budget) => format!("#new by {budget}"),
            Command::Refresh(_) => "#changed of".to_owned(),
        });
    }
    titles.extend([
        "#probes".to_owned(),
        "#wrong".to_owned(),
        "order".to_owned(),
    ]);
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut table = Table::new(&titles);
    for run in runs {
        let mut cells = vec![run.name.clone(), pair(run.stored)];
        for row in &run.rows {
            cells.push(match row.command {
                Command::Revive(None) | Command::Discover(_) => pair(row.found),
                Command::Revive(Some(_)) | Command::Refresh(_) => {
                    format!("{} of {}", pair(row.found), pair(row.asked))
                }
            });
        }
        let probes: u64 = run.rows[0].live.probes;
        let wrong: u64 = run.rows.iter().map(|row| row.wrong).sum();
        let same = run.rows.iter().filter(|row| row.same_order).count();
        cells.extend([
            whole(probes),
            whole(wrong),
            format!("{same} of {} as predicted", run.rows.len()),
        ]);
        table.row(cells);
    }
    table.text()
}

/// All sites' figures added up, one line a command.
pub(crate) fn sums(runs: &[Run]) -> String {
    let Some(first) = runs.first() else {
        return String::new();
    };
    let mut table = Table::new(&COLUMNS);
    for at in 0..first.rows.len() {
        let rows: Vec<&Row> = runs.iter().map(|run| &run.rows[at]).collect();
        let name = format!("{} sites, each alone", runs.len());
        line(&mut table, &name, &rows);
    }
    table.text()
}

/// One line a run and command.
pub(crate) fn together(runs: &[Run]) -> String {
    let mut table = Table::new(&COLUMNS);
    for run in runs {
        for row in &run.rows {
            let name = format!("all in one, {}", run.name);
            line(&mut table, &name, &[row]);
        }
    }
    table.text()
}

const COLUMNS: [&str; 13] = [
    "sites",
    "command",
    "#budget",
    "#asked",
    "#found",
    "#requests",
    "#a page found",
    "#probes",
    "#robots.txt",
    "#wrong",
    "#off at worst",
    "#back",
    "other seeds",
];

fn line(table: &mut Table, name: &str, rows: &[&Row]) {
    let sum = |of: &dyn Fn(&Row) -> u64| rows.iter().map(|row| of(row)).sum::<u64>();
    let both = |of: &dyn Fn(&Row) -> [u64; 2]| {
        [0, 1].map(|at| rows.iter().map(|row| of(row)[at]).sum::<u64>())
    };
    let (asked, found) = (both(&|row| row.asked), both(&|row| row.found));
    let requests = sum(&|row| row.live.requests);
    let predicted_cost = match rows[0].command {
        Command::Revive(_) | Command::Refresh(_) => asked[0],
        Command::Discover(_) => asked[0] + found[0],
    };
    let cost = |requests: u64, found: u64| format!("{:.3}", requests as f64 / found.max(1) as f64);
    let costs = [cost(predicted_cost, found[0]), cost(requests, found[1])];
    let command = rows[0].command;
    let budgets = match (command, rows.len()) {
        (Command::Discover(_), _) | (_, 1) => budget(command),
        _ => String::new(),
    };
    let worst = rows.iter().map(|row| row.off()).fold(0.0, f64::max);
    table.row([
        name.to_owned(),
        verb(command).to_owned(),
        budgets,
        pair(asked),
        pair(found),
        whole(requests),
        if costs[0] == costs[1] {
            costs[0].clone()
        } else {
            costs.join(" → ")
        },
        whole(sum(&|row| row.live.probes)),
        whole(sum(&|row| row.live.robots)),
        whole(sum(&|row| row.wrong)),
        percent(worst),
        whole(sum(&|row| row.returned)),
        match rows {
            [row] => spread(&row.by_seed),
            _ => String::new(),
        },
    ]);
}

/// The least, the middle and the most of some numbers in order, and their mean.
fn spread(found: &[u64]) -> String {
    let (Some(least), Some(most)) = (found.first(), found.last()) else {
        return String::new();
    };
    let middle = found[found.len() / 2];
    let mean = found.iter().sum::<u64>() as f64 / found.len() as f64;
    format!("{least} to {most}, half up to {middle}, mean {mean:.1}")
}
