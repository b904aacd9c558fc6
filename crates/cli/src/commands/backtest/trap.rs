//! `turnstone backtest trap`

use clap::Args;
use serde_json::json;
use turnstone_lab::backtest::trap::{self, Outcome, Point, Shape};
use turnstone_lab::figure::{Axis, Figure, Series};
use turnstone_lab::number::{percent, whole};
use turnstone_lab::table::Table;

use super::pictures::{Pictures, Shown};
use crate::caller;
use crate::exit::{Exit, Usage};
use crate::output::Output;
use crate::progress::Progress;

/// The most pages of the site, and the most fetches.
const MANY: u64 = 100_000_000;

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
        let shape = Shape {
            sections: self.sections,
            lists: self.lists,
            articles: self.articles,
        };
        let pages = shape.pages();
        let fetches = self.fetches.unwrap_or(pages);
        if self.sections == 0 || self.lists == 0 || self.articles == 0 || pages > MANY {
            let wanted = format!("the site must have 2 to {} pages", whole(MANY));
            return Err(Usage::of("--sections, --lists, --articles", wanted).into());
        }
        if fetches == 0 || fetches > MANY {
            let wanted = format!("must be from 1 to {}", whole(MANY));
            return Err(Usage::of("--fetches", wanted).into());
        }
        let progress = Progress::share();
        let mut outcomes = Vec::new();
        let specs = caller::specs(&self.policies)?;
        for (index, spec) in specs.iter().enumerate() {
            progress.at(&spec.to_string(), index as f64 / specs.len() as f64);
            outcomes.push(trap::run(spec, shape, fetches, self.seed)?);
        }
        drop(progress);
        self.show(pages, &outcomes, output)?;
        Ok(Exit::Done)
    }

    fn show(&self, pages: u64, outcomes: &[Outcome], output: &Output) -> anyhow::Result<()> {
        let json = json!({
            "question": "trap",
            "pages": pages,
            "seed": self.seed,
            "results": outcomes,
        });
        let mut table = Table::new(&[
            "policy",
            "#fetches",
            "#again",
            "#in the calendar",
            "#of the site",
        ]);
        for outcome in outcomes {
            if let Some(last) = outcome.points.last() {
                table.row([
                    outcome.policy.clone(),
                    whole(last.fetches),
                    whole(outcome.refetches),
                    percent(last.trap_share),
                    percent(last.site_share),
                ]);
            }
        }
        let setting = format!(
            "A site of {} pages with an endless calendar behind one link of its front page.",
            whole(pages)
        );
        output.result(&json, || format!("{setting}\n\n{}", table.text()))?;
        if self.pictures.wanted() {
            let shown = Shown {
                title: "Traps: what an endless calendar eats".to_owned(),
                question: "How much of a crawl goes into a calendar without end?".to_owned(),
                setting,
                figures: vec![
                    figure(outcomes, "Fetches spent in the calendar", |point| {
                        point.trap_share
                    }),
                    figure(outcomes, "The site proper, fetched", |point| {
                        point.site_share
                    }),
                ],
                table,
            };
            self.pictures.write(shown, output)?;
        }
        Ok(())
    }
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
