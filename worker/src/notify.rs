//! Telling the service manager that we are ready, alive, or stopping: one datagram each, as systemd's sd_notify(3)
//! describes. Without `NOTIFY_SOCKET` all of it does nothing.

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, UnixAddr, sendto, socket};
use std::env;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;
use tokio::time::sleep;

/// The service manager, if there is one that wants to know.
#[derive(Debug, Default)]
pub(crate) struct Manager {
    to: Option<(OwnedFd, UnixAddr)>,
    /// Half of what it allows between two signs of life.
    beat: Option<Duration>,
}

impl Manager {
    /// From the environment that it gave us.
    pub(crate) fn from_environment() -> Self {
        let to = env::var_os("NOTIFY_SOCKET").and_then(|path| address(path.as_bytes())).and_then(|address| {
            let made = socket(AddressFamily::Unix, SockType::Datagram, SockFlag::empty(), None);
            made.ok().map(|socket| (socket, address))
        });
        let beat = env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse::<u64>().ok());
        let beat = beat.filter(|us| *us > 1000).map(|us| Duration::from_micros(us / 2));
        Self { beat: beat.filter(|_| to.is_some()), to }
    }

    /// Jobs can be had from now on.
    pub(crate) fn ready(&self) {
        self.say("READY=1");
    }

    /// No more jobs.
    pub(crate) fn stopping(&self) {
        self.say("STOPPING=1");
    }

    /// Gives a sign of life, then waits until the next is due. To be called again and again; cancel safe.
    pub(crate) async fn beat(&self) {
        match self.beat {
            Some(span) => {
                self.say("WATCHDOG=1");
                sleep(span).await;
            }
            None => std::future::pending().await,
        }
    }

    /// Waits for something, giving signs of life meanwhile.
    pub(crate) async fn beating<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = self.beat() => {}
            }
        }
    }

    fn say(&self, what: &str) {
        if let Some((socket, address)) = &self.to {
            let _ = sendto(socket.as_raw_fd(), what.as_bytes(), address, MsgFlags::MSG_DONTWAIT);
        }
    }
}

fn address(path: &[u8]) -> Option<UnixAddr> {
    match path.split_first() {
        #[cfg(target_os = "linux")]
        Some((b'@', name)) => UnixAddr::new_abstract(name).ok(),
        Some((b'/', _)) => UnixAddr::new(Path::new(std::ffi::OsStr::from_bytes(path))).ok(),
        _ => None,
    }
}
