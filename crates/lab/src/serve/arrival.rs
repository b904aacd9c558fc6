//! When bytes arrived, by the kernel's clock rather than by when we got round to reading them.
//!
//! On a busy machine a server reads a request some milliseconds after it came. If that happens to the
//! earlier of two requests, they look closer together than they were, and a polite client would be
//! accused. Linux stamps what it receives; reading the stamp with the bytes makes the judge exact. Where
//! there is no stamp, the time of reading has to do.

use std::io;

use tokio::net::TcpStream;

/// A longer lag is a wall clock that jumped, not a server that slept.
const LAG_US_MAX: u64 = 60_000_000;

/// How often we look whether stamps come, and how far apart.
#[cfg(target_os = "linux")]
const STAMP_TRIES: u32 = 100;
#[cfg(target_os = "linux")]
const STAMP_TRY_MS: u64 = 5;

#[cfg(target_os = "linux")]
mod stamped {
    use std::io::{self, IoSliceMut, Write as _};
    use std::os::fd::AsRawFd as _;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
    use tokio::io::Interest;
    use tokio::net::TcpStream;

    pub(super) fn ask(listener: &std::net::TcpListener) {
        // Without it the time of reading has to do.
        let _ = setsockopt(listener, sockopt::ReceiveTimestampns, &true);
    }

    /// Whether what arrives now is stamped: the kernel begins some time after it was first asked.
    pub(super) fn works() -> io::Result<bool> {
        let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
        ask(&listener);
        let mut client = std::net::TcpStream::connect(listener.local_addr()?)?;
        let (server, _) = listener.accept()?;
        client.write_all(b"?")?;
        let mut byte = [0];
        let mut space = nix::cmsg_space!(nix::sys::time::TimeSpec);
        let mut pieces = [IoSliceMut::new(&mut byte)];
        let flags = MsgFlags::empty();
        let got = recvmsg::<()>(server.as_raw_fd(), &mut pieces, Some(&mut space), flags)?;
        Ok(got.cmsgs()?.next().is_some())
    }

    /// Reads, and tells how long ago what was read had arrived.
    pub(super) async fn receive(stream: &TcpStream, into: &mut [u8]) -> io::Result<(usize, u64)> {
        let fd = stream.as_raw_fd();
        stream
            .async_io(Interest::READABLE, || {
                let mut space = nix::cmsg_space!(nix::sys::time::TimeSpec);
                let mut pieces = [IoSliceMut::new(into)];
                let flags = MsgFlags::MSG_DONTWAIT;
                let got = recvmsg::<()>(fd, &mut pieces, Some(&mut space), flags)?;
                let stamp = got.cmsgs()?.find_map(|message| match message {
                    ControlMessageOwned::ScmTimestampns(stamp) => Some(Duration::from(stamp)),
                    _ => None,
                });
                let now = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default();
                let lag = stamp
                    .and_then(|stamp| now.checked_sub(stamp))
                    .unwrap_or_default();
                Ok((got.bytes, lag.as_micros() as u64))
            })
            .await
    }
}

/// Reads from a connection, with the time of arrival where it matters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receiver {
    stamped: bool,
}

/// Waits until stamps come, but not for ever: there are systems without.
pub(super) fn wait_for_stamps() {
    #[cfg(target_os = "linux")]
    for _ in 0..STAMP_TRIES {
        if stamped::works().unwrap_or(false) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(STAMP_TRY_MS));
    }
}

/// Has everything stamped that arrives at the connections of a listener. Asked of the listener,
/// because a request may be there before we get to know of its connection.
pub(super) fn stamp(listener: &std::net::TcpListener) {
    #[cfg(target_os = "linux")]
    stamped::ask(listener);
    #[cfg(not(target_os = "linux"))]
    let _ = listener;
}

impl Receiver {
    /// `stamped` says that the listener was asked to [`stamp`].
    pub(super) fn new(stamped: bool) -> Self {
        Self { stamped }
    }

    /// Reads some bytes: how many, and how many microseconds ago they arrived. None at the end.
    pub(super) async fn read(
        self,
        stream: &mut TcpStream,
        into: &mut [u8],
    ) -> io::Result<(usize, u64)> {
        #[cfg(target_os = "linux")]
        if self.stamped {
            let (bytes, lag_us) = stamped::receive(stream, into).await?;
            let believable = lag_us <= LAG_US_MAX;
            return Ok((bytes, if believable { lag_us } else { 0 }));
        }
        let bytes = tokio::io::AsyncReadExt::read(stream, into).await?;
        Ok((bytes, 0))
    }
}
