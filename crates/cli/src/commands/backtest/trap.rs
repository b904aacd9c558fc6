//! `turnstone backtest trap`

use crate::figure::{Axis, Figure, Series};
use crate::table::Table;
use clap::Args;
use turnstone_lab::backtest::trap::{Options, Outcome, Point, Shape};
use turnstone_lab::number::{percent, whole};

use super::shown::{Pictures, Shown};
use super::{ask, specs};
use crate::exit::Exit;
use crate::output::Output;

/// How much of a crawl does an endless calendar behind one link eat?
///
/// Each policy starts at the front page of a made-up site and learns of other pages by links only.
#[derive(Debug, Args)]
pub(crate) struct Trap {
    /// Policies for coverage or importance to compare
    #[arg(long, default_value = "breadth-first,rankmass,opic")]
    policies: String,
    /// Fetches per policy [default: as many as the site has pages without the calendar]
    #[arg(long)]
    fetches: Option<u64>,
    /// Sections of the site
    #[arg(long, default_value_t = 20)]
    sections: u32,
    /// List pages of a section, each linking to the next
    #[arg(long, default_value_t = 50)]
    lists: u32,
    /// Articles of a list page
    #[arg(long, default_value_t = 10)]
    articles: u32,
    /// Decides what is random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    pictures: Pictures,
}

impl Trap {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let specs = specs::<Options>(&self.policies)?;
        let options = Options {
            shape: Shape {
                sections: self.sections,
                lists: self.lists,
                articles: self.articles,
            },
            fetches: self.fetches,
            seed: self.seed,
        };
        let report = ask(&options, &[], &specs)?;
        let drawn = |title: &str, of: fn(&Point) -> f64| figure(&report.results, title, of);
        let shown = Shown {
            title: "Traps: what an endless calendar eats",
            question: "How much of a crawl goes into a calendar without end?".to_owned(),
            setting: format!(
                "A site of {} pages with an endless calendar behind one link of its front page.",
                whole(report.pages)
            ),
            table: table(&report.results),
            more: String::new(),
            figures: &|| {
                vec![
                    drawn("Fetches spent in the calendar", |point| point.trap_share),
                    drawn("The site proper, fetched", |point| point.site_share),
                ]
            },
        };
        self.pictures.show(&report, shown, output)?;
        Ok(Exit::Done)
    }
}

fn table(outcomes: &[Outcome]) -> Table {
    let last = |of: &Outcome| *of.points.last().expect("something was fetched");
    Table::of(outcomes)
        .column("policy", |it| it.policy.clone())
        .column("#fetches", |it| whole(last(it).fetches))
        .column("#again", |it| whole(it.refetches))
        .column("#in the calendar", |it| percent(last(it).trap_share))
        .column("#of the site", |it| percent(last(it).site_share))
        .table()
}

fn figure(outcomes: &[Outcome], title: &str, of: fn(&Point) -> f64) -> Figure {
    let series = outcomes.iter().map(|outcome| {
        let points = outcome.points.iter();
        let points = points.map(|point| (point.fetches as f64, of(point)));
        Series::line(outcome.policy.clone(), points.collect())
    });
    Figure {
        title: title.to_owned(),
        caption: String::new(),
        x: Axis::log("fetches"),
        y: Axis::share("share"),
        series: series.collect(),
    }
}
