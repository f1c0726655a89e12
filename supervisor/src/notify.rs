//! Telling systemd that we are ready, stop, and still run (`sd_notify(3)`). Without `NOTIFY_SOCKET` nothing happens.

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// The service manager's ear.
#[derive(Debug, Default)]
pub struct Notify {
    socket: Option<UnixDatagram>,
    watchdog: Option<Duration>,
}

impl Notify {
    /// From the environment. To be called before confinement: it opens a socket.
    #[must_use]
    pub fn from_env() -> Self {
        let watchdog = std::env::var("WATCHDOG_USEC").ok().and_then(|us| us.parse().ok()).map(Duration::from_micros);
        let ours = std::env::var("WATCHDOG_PID").map_or(true, |pid| pid == std::process::id().to_string());
        let socket = std::env::var_os("NOTIFY_SOCKET").and_then(|name| connect(&name).ok());
        Self { socket, watchdog: watchdog.filter(|_| ours) }
    }

    /// Listening and able to answer.
    pub fn ready(&self) {
        self.say("READY=1");
    }

    /// Stopping.
    pub fn stopping(&self) {
        self.say("STOPPING=1");
    }

    /// Says that we still run, as often as asked for; never ends.
    pub async fn keep_watchdog(&self) {
        let Some(limit) = self.watchdog.filter(|limit| !limit.is_zero()) else { return std::future::pending().await };
        loop {
            self.say("WATCHDOG=1");
            tokio::time::sleep(limit / 3).await;
        }
    }

    fn say(&self, what: &str) {
        if let Some(socket) = &self.socket {
            let _ = socket.send(what.as_bytes());
        }
    }
}

fn connect(name: &OsString) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?; // a manager that does not listen holds nobody up
    #[cfg(target_os = "linux")]
    if let Some(hidden) = name.as_encoded_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt;
        socket.connect_addr(&std::os::unix::net::SocketAddr::from_abstract_name(hidden)?)?;
        return Ok(socket);
    }
    socket.connect(name)?;
    Ok(socket)
}
