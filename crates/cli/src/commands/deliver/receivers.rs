//! Who wants events, as `[[deliver]]` of turnstone.toml and `--deliver` say.
//!
//! Secrets are named, not written: an environment variable or a file has them, so that a configuration can be
//! shown and kept under version control.

use std::path::{Path, PathBuf};

use clap::Args;
use turnstone_deliver::{Mail, Receiver, Secret, To, When};
use turnstone_events::Filter;
use turnstone_fetch::AllowPrivate;

use crate::commands::crawl::config::{Config, DeliverConfig};
use crate::commands::events::kind;
use crate::exit::Usage;
use crate::units::span_ms;

/// The longest name of a receiver.
const NAME_BYTES_MAX: usize = 64;
/// Where a command line's secrets are.
const SECRET_ENV: &str = "TURNSTONE_WEBHOOK_SECRET";
const SERVER_ENV: &str = "TURNSTONE_SMTP";
const FROM_ENV: &str = "TURNSTONE_MAIL_FROM";

/// Who wants events.
#[derive(Debug, Default, Args)]
pub(crate) struct DeliverOptions {
    /// Also bring events there: webhook=URL, exec=COMMAND, atom=FILE, ndjson=FILE or mail=ADDRESS; may be given
    /// several times. Webhooks are signed if TURNSTONE_WEBHOOK_SECRET is set; e-mail goes by the server
    /// TURNSTONE_SMTP (smtps://user:password@host), from TURNSTONE_MAIL_FROM
    /// [default: those of [[deliver]] in turnstone.toml]
    #[arg(long, value_name = "WAY=TARGET")]
    deliver: Vec<String>,
    /// The kinds of events for --deliver, as new,changed [default: all]
    #[arg(
        long,
        value_name = "KIND,…",
        value_delimiter = ',',
        requires = "deliver"
    )]
    deliver_kind: Vec<String>,
    /// How often, for --deliver: at-once, hourly or daily [default: at-once]
    #[arg(long, value_name = "WHEN", requires = "deliver")]
    deliver_every: Option<String>,
}

impl DeliverOptions {
    /// Whether anybody was named.
    pub(crate) fn is_given(&self) -> bool {
        !self.deliver.is_empty()
    }

    /// Everybody who wants events of a directory.
    pub(crate) fn receivers(
        &self,
        config: &Config,
        directory: &Path,
    ) -> anyhow::Result<Vec<Receiver>> {
        let private = config.allow_private.as_deref();
        let mut all: Vec<Receiver> = Vec::new();
        for asked in &config.deliver {
            all.push(configured(asked, private, directory)?);
        }
        for target in &self.deliver {
            all.push(self.named(target, private)?);
        }
        for (index, receiver) in all.iter().enumerate() {
            let twice = all[..index].iter().any(|other| other.name == receiver.name);
            if twice {
                let what = format!("two receivers are called '{}'", receiver.name);
                return Err(Usage::of("[[deliver]]", what).into());
            }
        }
        Ok(all)
    }

    /// A receiver of the command line.
    fn named(&self, target: &str, private: Option<&str>) -> anyhow::Result<Receiver> {
        let wrong = || {
            let what = format!(
                "'{target}': give a way and a target, as webhook=https://example.org/hook, exec=…, atom=…, ndjson=… or mail=…"
            );
            Usage::of("--deliver", what)
        };
        let (way, target) = target.split_once('=').ok_or_else(wrong)?;
        let set = |name: &str| std::env::var_os(name).is_some().then(|| name.to_owned());
        let mut asked = DeliverConfig {
            kinds: self.deliver_kind.clone(),
            every: self.deliver_every.clone(),
            secret_env: set(SECRET_ENV),
            ..DeliverConfig::default()
        };
        let target = target.to_owned();
        match way {
            "webhook" => asked.webhook = Some(target),
            "exec" => asked.exec = Some(target),
            "atom" => asked.atom = Some(target),
            "ndjson" => asked.ndjson = Some(target),
            "mail" => {
                asked.mail = vec![target];
                asked.server_env = Some(SERVER_ENV.to_owned());
                asked.mail_from = std::env::var(FROM_ENV).ok();
            }
            _ => return Err(wrong().into()),
        }
        let mut receiver = read(&asked, private, Path::new(""), "--deliver")?;
        receiver.name = receiver.to.made_up_name();
        Ok(receiver)
    }
}

/// A receiver of the file.
fn configured(
    asked: &DeliverConfig,
    private: Option<&str>,
    directory: &Path,
) -> anyhow::Result<Receiver> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name = &asked.name;
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_plain) {
        let what = format!("name = \"{name}\": give a name of letters, digits, - and _");
        return Err(Usage::of("[[deliver]]", what).into());
    }
    read(asked, private, directory, &format!("[[deliver]] {name}"))
}

/// Files are looked for from `base` on.
fn read(
    asked: &DeliverConfig,
    private: Option<&str>,
    base: &Path,
    whose: &str,
) -> anyhow::Result<Receiver> {
    let wrong = |what: String| Usage::of(whose, what);
    let mut ways = Vec::new();
    if let Some(url) = hook_url(asked, whose)? {
        if !(url.starts_with("https://") || url.starts_with("http://")) {
            return Err(wrong("webhook: give a URL of http or https".to_owned()).into());
        }
        let private = asked.allow_private.as_deref().or(private);
        ways.push(To::Webhook {
            url: Secret::new(url),
            secret: secret(&asked.secret_env, &asked.secret_file, base, whose)?,
            private: match private {
                None => AllowPrivate::None,
                Some(text) => text
                    .parse()
                    .map_err(|error| wrong(format!("allow-private: {error}")))?,
            },
        });
    }
    let command = asked.exec.clone();
    ways.extend(command.map(|command| To::Exec { command }));
    let file = |file: &String| -> PathBuf { base.join(file) };
    ways.extend(
        asked
            .atom
            .as_ref()
            .map(|path| To::Atom { file: file(path) }),
    );
    ways.extend(
        asked
            .ndjson
            .as_ref()
            .map(|path| To::Ndjson { file: file(path) }),
    );
    if !asked.mail.is_empty() {
        let server = secret(&asked.server_env, &asked.server_file, base, whose)?;
        let from = asked.mail_from.clone();
        let (Some(server), Some(from)) = (server, from) else {
            let what = "mail: it takes a server (server-env or server-file; TURNSTONE_SMTP for --deliver) \
                        and a sender (mail-from; TURNSTONE_MAIL_FROM)";
            return Err(wrong(what.to_owned()).into());
        };
        let to = asked.mail.clone();
        ways.push(To::Mail(Mail { server, from, to }));
    }
    let to = match <[To; 1]>::try_from(ways) {
        Ok([to]) => to,
        Err(_) => {
            let what = "give one of webhook, exec, atom, ndjson and mail";
            return Err(wrong(what.to_owned()).into());
        }
    };
    let from_start = asked.from_start == Some(true);
    let kinds = asked.kinds.iter().map(|name| kind(whose, name));
    Ok(Receiver {
        name: asked.name.clone(),
        to,
        filter: Filter {
            kinds: kinds.collect::<Result<_, _>>()?,
            hosts: asked.hosts.iter().map(|host| host.to_lowercase()).collect(),
            since: None,
        },
        when: every(asked.every.as_deref(), whose)?,
        from_start,
        catch_up_ms: match &asked.catch_up {
            Some(text) => span_ms(text).map_err(|error| wrong(format!("catch-up: {error}")))?,
            None if from_start => u64::MAX,
            None => Receiver::CATCH_UP_MS,
        },
    })
}

fn every(text: Option<&str>, whose: &str) -> Result<When, Usage> {
    let Some(text) = text else {
        return Ok(When::default());
    };
    let found = When::ALL.into_iter().find(|(name, _)| *name == text);
    let wrong = || {
        Usage::of(
            whose,
            format!("every: '{text}': there are at-once, hourly and daily"),
        )
    };
    found.map(|(_, when)| when).ok_or_else(wrong)
}

fn hook_url(asked: &DeliverConfig, whose: &str) -> Result<Option<String>, Usage> {
    match (&asked.webhook, &asked.webhook_env) {
        (Some(_), Some(_)) => Err(Usage::of(whose, "give webhook or webhook-env, not both")),
        (Some(url), None) => Ok(Some(url.clone())),
        (None, Some(name)) => variable(name, whose).map(Some),
        (None, None) => Ok(None),
    }
}

/// What a variable or a file has; nothing if neither is named.
fn secret(
    env: &Option<String>,
    file: &Option<String>,
    base: &Path,
    whose: &str,
) -> Result<Option<Secret>, Usage> {
    let text = match (env, file) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(Usage::of(
                whose,
                "name a variable or a file for a secret, not both",
            ));
        }
        (Some(name), None) => variable(name, whose)?,
        (None, Some(file)) => {
            let path = base.join(file);
            let read = std::fs::read_to_string(&path);
            read.map_err(|error| Usage::of(whose, format!("{}: {error}", path.display())))?
        }
    };
    match text.trim() {
        "" => Err(Usage::of(whose, "its secret is empty")),
        text => Ok(Some(Secret::new(text))),
    }
}

fn variable(name: &str, whose: &str) -> Result<String, Usage> {
    std::env::var(name)
        .map_err(|_| Usage::of(whose, format!("the environment variable {name} is not set")))
}
