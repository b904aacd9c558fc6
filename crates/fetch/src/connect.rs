//! From a URL to a connection: look up, guard, connect, secure.
//!
//! This is the only place where sockets are opened. The addresses are looked up once, those the
//! guard or the identity refuses are dropped, and the socket is opened to one of what is left:
//! the address judged is the address connected. The peer is judged once more after connecting.
//!
//! Where a [`Proxy`] stands between, it is connected instead, and given the address that was judged.
//!
//! Addresses are tried one after the other within one `connect_time`; while others remain, one
//! address gets at most half of what is left, so that a dead one does not eat it all.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use crate::dns::Lookup;
use crate::error::{ErrorClass, Fault};
use crate::guard::Guard;
use crate::identity::Identity;
use crate::limits::Limits;
use crate::message::{Timings, TlsInfo};
use crate::proxy::Proxy;
use crate::tls::{self, Verification};
use crate::wire::Stream;

/// Opens connections.
pub(crate) struct Connector {
    pub(crate) guard: Guard,
    pub(crate) identity: Identity,
    pub(crate) lookup: Lookup,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) verification: Verification,
    pub(crate) proxy: Option<Proxy>,
}

/// A connection just opened.
pub(crate) struct Connected {
    pub(crate) stream: Stream,
    pub(crate) remote: SocketAddr,
    pub(crate) tls: Option<TlsInfo>,
    /// Whether the peer chose HTTP/2.
    pub(crate) http2: bool,
}

impl Connector {
    /// Opens a connection for `url`, and notes how long each step took.
    pub(crate) async fn connect(
        &self,
        url: &Url,
        limits: &Limits,
        timings: &mut Timings,
    ) -> Result<Connected, Fault> {
        let candidates = self.candidates(url, timings).await?;
        let started = Instant::now();
        let (tcp, remote) = match &self.proxy {
            None => self.open(&candidates, limits).await?,
            Some(proxy) => self.open_through(proxy, &candidates, limits).await?,
        };
        timings.connect = Some(started.elapsed());
        if url.scheme() != "https" {
            return Ok(Connected {
                stream: Box::new(tcp),
                remote,
                tls: None,
                http2: false,
            });
        }
        let started = Instant::now();
        let connected = self.secure(url, tcp, remote, limits).await?;
        timings.tls = Some(started.elapsed());
        Ok(connected)
    }

    /// The socket addresses that may be connected for `url`; never empty.
    pub(crate) async fn candidates(
        &self,
        url: &Url,
        timings: &mut Timings,
    ) -> Result<Vec<SocketAddr>, Fault> {
        let port = url.port_or_known_default().unwrap_or(0);
        let refused = |detail: String| Fault::new(ErrorClass::GuardRefused, detail);
        self.guard
            .judge_port(port)
            .map_err(|refusal| refused(refusal.to_string()))?;
        let addresses: Vec<IpAddr> = match url.host() {
            Some(Host::Ipv4(address)) => vec![address.into()],
            Some(Host::Ipv6(address)) => vec![address.into()],
            Some(Host::Domain(name)) => {
                let started = Instant::now();
                let found = self.lookup.addresses(name).await?;
                timings.dns = Some(started.elapsed());
                found
            }
            None => return Err(Fault::new(ErrorClass::UrlRefused, "the URL has no host")),
        };
        let judged = addresses
            .into_iter()
            .map(|address| self.judge(SocketAddr::new(address, port)));
        let (allowed, refused): (Vec<_>, Vec<_>) = judged.partition(Result::is_ok);
        let allowed: Vec<SocketAddr> = allowed.into_iter().flatten().collect();
        match refused.into_iter().find_map(Result::err) {
            Some(refusal) if allowed.is_empty() => Err(refusal),
            _ => Ok(allowed),
        }
    }

    fn judge(&self, address: SocketAddr) -> Result<SocketAddr, Fault> {
        let guarded = self.guard.judge(address);
        guarded.map_err(|refusal| Fault::new(ErrorClass::GuardRefused, refusal.to_string()))?;
        let known = self.identity.may_ask(address.ip());
        known.map_err(|missing| Fault::new(ErrorClass::ContactMissing, missing.to_string()))?;
        Ok(address)
    }

    async fn open(
        &self,
        candidates: &[SocketAddr],
        limits: &Limits,
    ) -> Result<(TcpStream, SocketAddr), Fault> {
        let end = Instant::now() + limits.connect_time;
        let tries = candidates.len().min(limits.connect_tries_max.max(1));
        let mut first_fault = None;
        for (index, &address) in candidates[..tries].iter().enumerate() {
            let left = end.saturating_duration_since(Instant::now());
            let share = if index + 1 < tries { left / 2 } else { left };
            let fault = match timeout(share, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return self.accept(stream),
                Ok(Err(error)) => connect_fault(address, &error),
                Err(_) => {
                    let detail = format!("no connection to {address} in time");
                    Fault::new(ErrorClass::ConnectTimeout, detail)
                }
            };
            first_fault.get_or_insert(fault);
        }
        Err(first_fault.expect("at least one address was tried"))
    }

    /// Opens a tunnel to one of the addresses.
    async fn open_through(
        &self,
        proxy: &Proxy,
        candidates: &[SocketAddr],
        limits: &Limits,
    ) -> Result<(TcpStream, SocketAddr), Fault> {
        let (host, port) = proxy.host();
        let addresses = match host {
            Host::Ipv4(address) => vec![IpAddr::from(*address)],
            Host::Ipv6(address) => vec![IpAddr::from(*address)],
            Host::Domain(name) => {
                let found = self.lookup.addresses(name).await;
                found.map_err(|fault| through(proxy, &fault.detail))?
            }
        };
        let Some(at) = addresses.first() else {
            return Err(through(proxy, "it has no address"));
        };
        let at = SocketAddr::new(*at, port);
        let end = Instant::now() + limits.connect_time;
        let mut first_fault = None;
        for &target in &candidates[..candidates.len().min(limits.connect_tries_max.max(1))] {
            let tunnel = async {
                let mut stream = TcpStream::connect(at).await?;
                stream.set_nodelay(true)?;
                proxy.tunnel(&mut stream, target).await?;
                Ok::<_, std::io::Error>(stream)
            };
            let fault = match timeout_at(end, tunnel).await {
                Ok(Ok(stream)) => return Ok((stream, target)),
                Ok(Err(error)) if is_out_of_files(&error) => connect_fault(at, &error),
                Ok(Err(error)) => through(proxy, &error.to_string()),
                Err(_) => {
                    let detail = format!("no tunnel to {target} through {proxy:?} in time");
                    Fault::new(ErrorClass::ConnectTimeout, detail)
                }
            };
            first_fault.get_or_insert(fault);
        }
        Err(first_fault.expect("at least one address was tried"))
    }

    /// Judges the peer as the socket names it.
    fn accept(&self, stream: TcpStream) -> Result<(TcpStream, SocketAddr), Fault> {
        let failed =
            |error: std::io::Error| Fault::new(ErrorClass::ConnectFailed, error.to_string());
        let remote = self.judge(stream.peer_addr().map_err(failed)?)?;
        // Requests are small and written at once; waiting to fill a packet only delays them.
        stream.set_nodelay(true).map_err(failed)?;
        Ok((stream, remote))
    }

    async fn secure(
        &self,
        url: &Url,
        tcp: TcpStream,
        remote: SocketAddr,
        limits: &Limits,
    ) -> Result<Connected, Fault> {
        let name = server_name(url)?;
        let handshake = TlsConnector::from(self.tls.clone()).connect(name, tcp);
        let stream = match timeout_at(Instant::now() + limits.tls_time, handshake).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                let detail = format!("TLS handshake with {remote} failed: {error}");
                return Err(Fault::new(tls::classify(&error), detail));
            }
            Err(_) => {
                let detail = format!(
                    "no TLS handshake with {remote} within {:?}",
                    limits.tls_time
                );
                return Err(Fault::new(ErrorClass::TlsTimeout, detail));
            }
        };
        let session = stream.get_ref().1;
        let version = session.protocol_version().expect("the handshake is done");
        let cipher = session
            .negotiated_cipher_suite()
            .expect("the handshake is done");
        let info = TlsInfo {
            version: format!("{version:?}"),
            cipher: format!("{:?}", cipher.suite()),
            verification: self.verification,
        };
        let http2 = session.alpn_protocol() == Some(b"h2");
        Ok(Connected {
            stream: Box::new(stream),
            remote,
            tls: Some(info),
            http2,
        })
    }
}

fn through(proxy: &Proxy, what: &str) -> Fault {
    Fault::new(ErrorClass::ConnectFailed, format!("{proxy:?}: {what}"))
}

fn connect_fault(address: SocketAddr, error: &std::io::Error) -> Fault {
    use std::io::ErrorKind;
    let class = match error.kind() {
        _ if is_out_of_files(error) => ErrorClass::OutOfFiles,
        ErrorKind::ConnectionRefused => ErrorClass::ConnectRefused,
        ErrorKind::TimedOut => ErrorClass::ConnectTimeout,
        _ => ErrorClass::ConnectFailed,
    };
    Fault::new(class, format!("connection to {address}: {error}"))
}

/// EMFILE (this process) and ENFILE (this machine), which have no kind of their own.
fn is_out_of_files(error: &std::io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    cfg!(unix) && matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}

fn server_name(url: &Url) -> Result<ServerName<'static>, Fault> {
    match url.host() {
        Some(Host::Ipv4(address)) => Ok(ServerName::from(IpAddr::from(address))),
        Some(Host::Ipv6(address)) => Ok(ServerName::from(IpAddr::from(address))),
        Some(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name).to_owned();
            let detail = format!("{name} is not a name that a certificate could be for");
            ServerName::try_from(name).map_err(|_| Fault::new(ErrorClass::UrlRefused, detail))
        }
        None => Err(Fault::new(ErrorClass::UrlRefused, "the URL has no host")),
    }
}
