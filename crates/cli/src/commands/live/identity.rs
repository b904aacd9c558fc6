//! Who we are to those we ask: our name, what some of them are told alone, signatures, a proxy.
//!
//! Secrets stand in files of their own, which nobody else may read, and never in `turnstone.toml`, for that file
//! lies in the crawl directory, and crawl directories are copied, shown and given away. The configuration has
//! the paths. What a file says is checked before anything is asked; a text about what is wrong in it names
//! the line and never what stands there.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use turnstone_fetch::{Credentials, Identity, Proxy, Secret, Signer, common_header};

use super::absolute;
use crate::commands::crawl::config::Config;
use crate::exit::Usage;

/// The largest file of secrets.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Who we are to those we ask.
#[derive(Debug, Args)]
pub(crate) struct IdentityOptions {
    /// Our name for sites and their robots.txt files, as NAME or NAME/VERSION [default: turnstone]
    #[arg(long, value_name = "NAME")]
    user_agent: Option<String>,
    /// A header that every host is sent, as 'Name: value'; may be given several times. No secrets: those
    /// go into the file of --credentials
    #[arg(long = "header", value_name = "HEADER")]
    headers: Vec<String>,
    /// Passwords, tokens, cookies and headers for single hosts, from a file that only you may read
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,
    /// Ask through this proxy, http://HOST:PORT or socks5://HOST:PORT. It is told addresses, not names, so
    /// that private networks stay guarded
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
    /// Sign every request with this key (Web Bot Auth); `turnstone key new` makes one
    #[arg(long, value_name = "FILE")]
    signature_key: Option<PathBuf>,
    /// The site that publishes the public half of this key, as https://example.org
    #[arg(long, value_name = "URL")]
    signature_agent: Option<String>,
}

/// The same in `turnstone.toml`: `[identity]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct IdentityConfig {
    /// Our name, and perhaps a version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_agent: Option<String>,
    /// Headers for everybody, each as `Name: value`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) headers: Vec<String>,
    /// The file of secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) credentials: Option<String>,
    /// The proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proxy: Option<String>,
    /// The file of the key that signs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signature_key: Option<String>,
    /// Who publishes its public half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signature_agent: Option<String>,
}

impl IdentityOptions {
    /// What was asked before, overruled.
    pub(crate) fn over(&self, config: &mut IdentityConfig) {
        fn over(value: &mut Option<String>, flag: Option<String>) {
            if flag.is_some() {
                *value = flag;
            }
        }
        let path = |path: &Option<PathBuf>| path.as_deref().map(absolute);
        over(&mut config.user_agent, self.user_agent.clone());
        over(&mut config.credentials, path(&self.credentials));
        over(&mut config.proxy, self.proxy.clone());
        over(&mut config.signature_key, path(&self.signature_key));
        over(&mut config.signature_agent, self.signature_agent.clone());
        if !self.headers.is_empty() {
            config.headers.clone_from(&self.headers);
        }
    }
}

/// Who asks: with a contact, and under our name or another.
pub(super) fn identity(config: &Config) -> Result<Identity, Usage> {
    let identity = match &config.contact {
        None => Identity::loopback_only(),
        Some(contact) => {
            Identity::with_contact(contact).map_err(|error| Usage::of("--contact", error))?
        }
    };
    match &config.identity.user_agent {
        None => Ok(identity),
        Some(product) => identity
            .named(product)
            .map_err(|error| Usage::of("--user-agent", error)),
    }
}

/// Gives the client what it needs to be known.
pub(super) fn introduce(
    config: &IdentityConfig,
    client: &mut turnstone_fetch::Config,
) -> anyhow::Result<()> {
    for header in &config.headers {
        let (name, value) = common_header(header).map_err(|error| Usage::of("--header", error))?;
        client.headers.append(name, value);
    }
    let mut secrets = Secrets::default();
    if let Some(file) = &config.credentials {
        secrets = Secrets::read(Path::new(file))?;
    }
    client.credentials = secrets.credentials;
    if let Some(url) = &config.proxy {
        let mut proxy: Proxy = url.parse().map_err(|error| Usage::of("--proxy", error))?;
        if let Some((user, password)) = secrets.proxy {
            proxy = proxy
                .with_login(&user, &password)
                .map_err(|error| Usage::of("--credentials", error))?;
        }
        client.proxy = Some(proxy);
    }
    client.signer = match (&config.signature_key, &config.signature_agent) {
        (None, None) => None,
        (Some(file), Some(agent)) => {
            let key = read_secret("--signature-key", Path::new(file))?;
            let signer = Signer::new(&key, agent);
            Some(signer.map_err(|error| Usage(format!("--signature-key {file}: {error}")))?)
        }
        _ => {
            let what = "a site can check a signature only if it knows where the public half of the key \
                        stands: give --signature-key and --signature-agent together";
            return Err(Usage(what.to_owned()).into());
        }
    };
    Ok(())
}

/// What a file of secrets holds.
#[derive(Default)]
struct Secrets {
    credentials: Credentials,
    proxy: Option<(String, String)>,
}

impl Secrets {
    fn read(file: &Path) -> anyhow::Result<Self> {
        let text = read_secret("--credentials", file)?;
        Self::parse(&text)
            .map_err(|what| Usage(format!("--credentials {}: {what}", file.display())).into())
    }

    fn parse(text: &str) -> Result<Self, String> {
        // What the parser says of a mistake may repeat the line.
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let before = error
                .span()
                .map_or("", |span| &text[..span.start.min(text.len())]);
            format!("line {} is not TOML", before.matches('\n').count() + 1)
        })?;
        let mut secrets = Self::default();
        for (origin, value) in table {
            let Value::Table(told) = value else {
                return Err(
                    "everything stands below an origin, as in [\"https://example.org\"]".to_owned(),
                );
            };
            if origin == "proxy" {
                secrets.proxy = Some(login(&told, &origin)?);
                known(&told, &origin, &["user", "password"])?;
            } else {
                secrets.take(&origin, &told)?;
            }
        }
        Ok(secrets)
    }

    fn take(&mut self, origin: &str, told: &Table) -> Result<(), String> {
        known(
            told,
            origin,
            &["user", "password", "bearer", "cookie", "headers"],
        )?;
        let mut add = |secret: Secret<'_>| {
            let added = self.credentials.add(origin, secret);
            added.map_err(|error| format!("[{origin:?}]: {error}"))
        };
        let basic = told.contains_key("user") || told.contains_key("password");
        if basic && told.contains_key("bearer") {
            return Err(format!(
                "[{origin:?}]: give a password or a bearer token, not both"
            ));
        }
        if basic {
            let (user, password) = login(told, origin)?;
            add(Secret::Basic {
                user: &user,
                password: &password,
            })?;
        }
        if let Some(token) = text_of(told, "bearer", origin)? {
            add(Secret::Bearer(token))?;
        }
        if let Some(cookie) = text_of(told, "cookie", origin)? {
            add(Secret::Cookie(cookie))?;
        }
        match told.get("headers") {
            None => {}
            Some(Value::Table(headers)) => {
                for name in headers.keys() {
                    let value = text_of(headers, name, origin)?.unwrap_or_default();
                    add(Secret::Header { name, value })?;
                }
            }
            Some(_) => {
                return Err(format!(
                    "[{origin:?}]: headers = {{ \"Name\" = \"value\" }}"
                ));
            }
        }
        Ok(())
    }
}

fn login(told: &Table, origin: &str) -> Result<(String, String), String> {
    let user = text_of(told, "user", origin)?;
    let password = text_of(told, "password", origin)?;
    match (user, password) {
        (Some(user), Some(password)) => Ok((user.to_owned(), password.to_owned())),
        _ => Err(format!("[{origin:?}]: user and password go together")),
    }
}

fn text_of<'a>(told: &'a Table, key: &str, origin: &str) -> Result<Option<&'a str>, String> {
    match told.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("[{origin:?}]: {key} must be a text in quotes")),
    }
}

fn known(told: &Table, origin: &str, keys: &[&str]) -> Result<(), String> {
    match told.keys().find(|key| !keys.contains(&key.as_str())) {
        None => Ok(()),
        Some(_) => Err(format!(
            "[{origin:?}] has a key that is none of {}",
            keys.join(", ")
        )),
    }
}

/// Reads a file that nobody but its owner may read.
pub(crate) fn read_secret(option: &str, file: &Path) -> anyhow::Result<String> {
    use std::os::unix::fs::PermissionsExt as _;
    let shown = file.display();
    let wrong = |what: &str| Usage(format!("{option} {shown}: {what}"));
    let facts = std::fs::metadata(file).map_err(|error| wrong(&error.to_string()))?;
    if facts.permissions().mode() & 0o077 != 0 {
        let what = format!("others may read this file of secrets; run `chmod 600 {shown}`");
        return Err(wrong(&what).into());
    }
    if facts.len() > FILE_BYTES_MAX {
        return Err(wrong("a file of secrets has at most 1 MiB").into());
    }
    std::fs::read_to_string(file).with_context(|| format!("{option} {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_secrets() {
        let check = |text: &str, expect: &str| {
            let said = match Secrets::parse(text) {
                Ok(secrets) => format!(
                    "{:?}, proxy {}",
                    secrets.credentials,
                    secrets.proxy.is_some()
                ),
                Err(what) => what,
            };
            assert!(said.starts_with(expect), "{text}: {said}");
            assert!(!said.contains("s3cret"), "{text}: {said}");
        };
        check("", "Credentials for 0 origins, proxy false");
        let all = r#"
            ["https://a.example"]
            user = "me"
            password = "s3cret"
            ["http://b.example:8080"]
            bearer = "s3cret"
            cookie = "a=s3cret"
            headers = { "X-Api-Key" = "s3cret" }
            [proxy]
            user = "me"
            password = "s3cret"
        "#;
        check(all, "Credentials for 2 origins, proxy true");
        check("\n[\"https://a\"]\npassword = s3cret", "line 3 is not TOML");
        check("token = \"s3cret\"", "everything stands below an origin");
        check(
            "[\"https://a\"]\ns3cret = \"x\"",
            "[\"https://a\"] has a key that is none of user,",
        );
        check(
            "[\"https://a\"]\npassword = \"s3cret\"",
            "[\"https://a\"]: user and password go together",
        );
        check(
            "[\"https://a\"]\nbearer = 7",
            "[\"https://a\"]: bearer must be a text",
        );
        check(
            "[\"https://a\"]\nheaders = \"s3cret\"",
            "[\"https://a\"]: headers = {",
        );
        check(
            "[\"a.example\"]\nbearer = \"s3cret\"",
            "[\"a.example\"]: a.example: give scheme",
        );
        let both = "[\"https://a\"]\nuser = \"x\"\npassword = \"s3cret\"\nbearer = \"y\"";
        check(both, "[\"https://a\"]: give a password or a bearer token");
    }
}
