//! `turnstone policies`

use clap::Args;
use serde_json::json;
use turnstone_policy::{PolicyInfo, Question, catalog};

use crate::exit::Exit;
use crate::output::Output;

/// List every policy with its parameters, defaults, paper and cost.
///
/// A policy is written `name` or `name:key=value,key=value`, such as `windowed-rankmass:window=0.2`.
#[derive(Debug, Args)]
pub(crate) struct Policies {
    /// Only those that answer this question
    #[arg(value_parser = ["coverage", "importance", "liveness", "discovery", "changes", "keep"])]
    question: Option<String>,
}

impl Policies {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let wanted = |info: &&PolicyInfo| {
            let named = |question: &Question| {
                self.question
                    .as_ref()
                    .is_none_or(|name| name == question.name())
            };
            info.questions.iter().any(named)
        };
        let policies: Vec<&PolicyInfo> = catalog::policies().filter(wanted).collect();
        let json: Vec<_> = policies.iter().map(|info| as_json(info)).collect();
        output.result(&json, || {
            policies
                .iter()
                .map(|info| as_text(info))
                .collect::<Vec<_>>()
                .join("\n")
        })?;
        Ok(Exit::Done)
    }
}

fn as_json(info: &PolicyInfo) -> serde_json::Value {
    let parameters = info.parameters.iter();
    json!({
        "name": info.name,
        "questions": info.questions.iter().map(|question| question.name()).collect::<Vec<_>>(),
        "summary": info.summary,
        "paper": info.paper,
        "cost": info.cost,
        "parameters": parameters
            .map(|p| json!({"name": p.name, "default": p.default, "meaning": p.meaning}))
            .collect::<Vec<_>>(),
    })
}

fn as_text(info: &PolicyInfo) -> String {
    let questions: Vec<&str> = info
        .questions
        .iter()
        .map(|question| question.name())
        .collect();
    let mut text = format!(
        "{}  ({})\n    {}\n    paper: {}\n    cost: {}\n",
        info.name,
        questions.join(", "),
        info.summary,
        info.paper,
        info.cost
    );
    for parameter in info.parameters {
        text.push_str(&format!(
            "    {}={}  {}\n",
            parameter.name, parameter.default, parameter.meaning
        ));
    }
    text
}
