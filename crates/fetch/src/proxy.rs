//! Asking through a proxy without handing it the guard.
//!
//! A proxy usually gets names, looks them up itself, and connects wherever they lead: nobody here could say
//! whether that is a private address. So we do the look-up, judge the addresses as always, and give the proxy
//! an *address*: `CONNECT 192.0.2.1:443`, or a SOCKS 5 request of an address. The tunnel ends where the guard
//! allowed, for http as for https, and TLS runs inside it and checks the name. What that costs: a proxy that
//! permits tunnels to port 443 alone cannot be used for http, and one that filters by name sees none.
//!
//! The proxy itself is not guarded: the operator names it, no page can. Without a contact only this machine
//! is asked, through a proxy as without one.
//!
//! Limits: a proxy's answer has at most [`ANSWER_BYTES_MAX`] bytes, and comes within the time for connecting.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use data_encoding::BASE64;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::{Host, Url};

/// The longest head of an answer to CONNECT.
const ANSWER_BYTES_MAX: usize = 8 << 10;

/// A proxy to go through.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    kind: Kind,
    host: Host<String>,
    port: u16,
    login: Option<Login>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Http,
    Socks5,
}

#[derive(Clone, PartialEq, Eq)]
struct Login {
    user: String,
    password: String,
}

/// Why a proxy cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// Not a proxy that we can speak to.
    #[error("give http://HOST:PORT or socks5://HOST:PORT, without user, password and path")]
    Form,
    /// A user name or password that cannot be sent.
    #[error(
        "the user name and password of a proxy have 1 to 255 bytes each, and a user name no colon"
    )]
    Login,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} proxy {}:{}", self.kind, self.host, self.port)
    }
}

impl FromStr for Proxy {
    type Err = ProxyError;

    fn from_str(text: &str) -> Result<Self, ProxyError> {
        let url = Url::parse(text).map_err(|_| ProxyError::Form)?;
        let (kind, port) = match url.scheme() {
            "http" => (Kind::Http, url.port_or_known_default()),
            "socks5" | "socks5h" => (Kind::Socks5, url.port().or(Some(1080))),
            _ => return Err(ProxyError::Form),
        };
        let bare = url.username().is_empty()
            && url.password().is_none()
            && matches!(url.path(), "" | "/")
            && url.query().is_none()
            && url.fragment().is_none();
        // Hosts of schemes that are not of the web are not read by `url`.
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.and_then(|host| Host::parse(host).ok());
        match (host, port) {
            (Some(host), Some(port)) if bare => Ok(Self {
                kind,
                host,
                port,
                login: None,
            }),
            _ => Err(ProxyError::Form),
        }
    }
}

impl Proxy {
    /// The same proxy, told who asks.
    pub fn with_login(mut self, user: &str, password: &str) -> Result<Self, ProxyError> {
        let fits = |text: &str| (1..=255).contains(&text.len());
        if !fits(user) || !fits(password) || user.contains(':') {
            return Err(ProxyError::Login);
        }
        self.login = Some(Login {
            user: user.to_owned(),
            password: password.to_owned(),
        });
        Ok(self)
    }

    /// Where it is, to be looked up.
    pub(crate) fn host(&self) -> (&Host<String>, u16) {
        (&self.host, self.port)
    }

    /// Has the proxy, at the other end of `stream`, open a tunnel to `target`.
    pub(crate) async fn tunnel(
        &self,
        stream: &mut TcpStream,
        target: SocketAddr,
    ) -> io::Result<()> {
        match self.kind {
            Kind::Http => self.connect(stream, target).await,
            Kind::Socks5 => self.socks(stream, target).await,
        }
    }

    async fn connect(&self, stream: &mut TcpStream, target: SocketAddr) -> io::Result<()> {
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
        if let Some(Login { user, password }) = &self.login {
            let pair = BASE64.encode(format!("{user}:{password}").as_bytes());
            request += &format!("Proxy-Authorization: Basic {pair}\r\n");
        }
        request += "\r\n";
        stream.write_all(request.as_bytes()).await?;
        // Byte by byte: what follows the head belongs to the peer behind the proxy.
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() == ANSWER_BYTES_MAX {
                return Err(refused("its answer is too long".to_owned()));
            }
            head.push(stream.read_u8().await?);
        }
        let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let mut words = line.split(' ');
        let is_http = words.next().is_some_and(|word| word.starts_with("HTTP/1."));
        match words.next() {
            Some(status) if is_http && status.len() == 3 && status.starts_with('2') => Ok(()),
            _ => {
                let shown: String = line.chars().filter(|c| !c.is_control()).take(80).collect();
                Err(refused(format!("it says {shown:?}")))
            }
        }
    }

    /// RFC 1928, and RFC 1929 for the login.
    async fn socks(&self, stream: &mut TcpStream, target: SocketAddr) -> io::Result<()> {
        const NO_LOGIN: u8 = 0;
        const LOGIN: u8 = 2;
        let method = if self.login.is_some() {
            LOGIN
        } else {
            NO_LOGIN
        };
        stream.write_all(&[5, 1, method]).await?;
        let mut chosen = [0; 2];
        stream.read_exact(&mut chosen).await?;
        if chosen != [5, method] {
            return Err(refused(
                "it wants another login, or speaks no SOCKS 5".to_owned(),
            ));
        }
        if let Some(Login { user, password }) = &self.login {
            let mut login = vec![1, length(user)];
            login.extend_from_slice(user.as_bytes());
            login.push(length(password));
            login.extend_from_slice(password.as_bytes());
            stream.write_all(&login).await?;
            let mut said = [0; 2];
            stream.read_exact(&mut said).await?;
            if said[1] != 0 {
                return Err(refused("it refuses the login".to_owned()));
            }
        }
        let mut request = vec![5, 1, 0];
        match target.ip() {
            IpAddr::V4(address) => {
                request.push(1);
                request.extend_from_slice(&address.octets());
            }
            IpAddr::V6(address) => {
                request.push(4);
                request.extend_from_slice(&address.octets());
            }
        }
        request.extend_from_slice(&target.port().to_be_bytes());
        stream.write_all(&request).await?;
        let mut said = [0; 4];
        stream.read_exact(&mut said).await?;
        if said[1] != 0 {
            return Err(refused(format!("it answers by error {}", said[1])));
        }
        // The address that it bound, which nobody needs, and a port.
        let bound = match said[3] {
            1 => 4,
            4 => 16,
            3 => usize::from(stream.read_u8().await?),
            _ => return Err(refused("its answer cannot be read".to_owned())),
        };
        let mut rest = [0; 255 + 2];
        stream.read_exact(&mut rest[..bound + 2]).await?;
        Ok(())
    }
}

fn length(text: &str) -> u8 {
    u8::try_from(text.len()).expect("a login has at most 255 bytes")
}

fn refused(what: String) -> io::Error {
    io::Error::other(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_proxies() {
        let check = |text: &str, expect: &str| {
            let said = match text.parse::<Proxy>() {
                Ok(proxy) => format!("{proxy:?}"),
                Err(error) => error.to_string(),
            };
            assert!(said.starts_with(expect), "{text}: {said}");
        };
        check(
            "http://proxy.example.org:3128",
            "Http proxy proxy.example.org:3128",
        );
        check("http://10.0.0.1/", "Http proxy 10.0.0.1:80");
        check("socks5://[::1]:9050", "Socks5 proxy [::1]:9050");
        check("socks5://tor", "Socks5 proxy tor:1080");
        for bad in [
            "proxy:3128",
            "https://proxy:3128",
            "http://me:pw@proxy:3128",
            "http://proxy/path",
            "socks4://proxy",
            "socks5://",
        ] {
            check(bad, "give http://HOST:PORT");
        }
    }

    #[test]
    fn a_login_is_never_shown() {
        let proxy: Proxy = "http://proxy:1".parse().unwrap();
        let proxy = proxy.with_login("me", "s3cret").unwrap();
        assert!(!format!("{proxy:?}").contains("s3cret"));
        assert!(proxy.clone().with_login("a:b", "x").is_err());
        assert!(proxy.with_login("a", &"x".repeat(256)).is_err());
    }
}
