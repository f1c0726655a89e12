//! From the flags to serving, in the order in which things happen.

use crate::admission;
use crate::bind::{self, BindError};
use crate::card::{Abilities, Signer};
use crate::config::{Config, MAX_FILE};
use crate::flags::{self, Order};
use crate::http::listen;
use crate::http::serve::Serve;
use crate::notify::Notify;
use crate::operator::Operator;
use crate::rooms::{OpenError, Rooms};
use crate::walls::{self, WallsError};
use musegate_settings::private::{self, Rule};
use musegate_settings::{Problem, Problems};
use nix::sys::stat::{Mode, umask};
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// `EX_USAGE` of sysexits(3): flags that are not understood.
const USAGE: u8 = 64;
/// `EX_UNAVAILABLE`: an address cannot be listened on, or the machine lacks a layer of confinement.
const UNAVAILABLE: u8 = 69;
/// `EX_OSERR`: the system gives no runtime, no signals.
const SYSTEM: u8 = 71;
/// `EX_IOERR`: the audit trail cannot be used.
const IO: u8 = 74;
/// `EX_NOPERM`: started as uid 0 without being told to.
const PERMISSION: u8 = 77;
/// `EX_CONFIG`: wrong settings, all problems printed.
const CONFIG: u8 = 78;

/// How often counts that wait in memory are written to the audit trail.
const FLUSH: Duration = Duration::from_secs(30);

/// Why the supervisor ended without being asked to.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Settings or callers are wrong.
    #[error(transparent)]
    Problems(#[from] Problems),
    /// Callers or audit cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Listening sockets.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// It would run as uid 0.
    #[error("will not run as uid 0: use another user, or set allow_root = true")]
    Root,
    /// Its own confinement.
    #[error(transparent)]
    Walls(#[from] WallsError),
    /// The system says no.
    #[error("cannot start: {0}")]
    System(#[from] io::Error),
}

impl StartError {
    const fn exit(&self) -> u8 {
        match self {
            Self::Problems(_) | Self::Open(OpenError::Callers(_)) => CONFIG,
            Self::Open(OpenError::Audit(_) | OpenError::Push(_)) => IO,
            Self::Bind(_) | Self::Walls(WallsError::Weak(_)) => UNAVAILABLE,
            Self::Root => PERMISSION,
            Self::System(_) | Self::Walls(WallsError::Io(_)) => SYSTEM,
        }
    }
}

/// The whole program. `arguments`: those after its name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let done = match flags::parse(arguments) {
        Ok(Order::Help) => say(flags::HELP.trim_end()),
        Ok(Order::Version) => say(concat!("musegate-supervisor ", env!("CARGO_PKG_VERSION"))),
        Ok(Order::Check(config)) => check(&config),
        Ok(Order::Serve { config, until_stdin_closes }) => serve(&config, until_stdin_closes),
        Err(wrong) => {
            complain(&wrong);
            return USAGE.into();
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            error.exit().into()
        }
    }
}

fn check(file: &Path) -> Result<(), StartError> {
    let config = read(file)?;
    admission::Callers::load(&config.callers.file)?;
    Signer::open(&config.agent)?;
    say(&format!("{}: no problems", file.display()))
}

fn serve(file: &Path, until_stdin_closes: bool) -> Result<(), StartError> {
    let config = read(file)?;
    not_as_root(&config)?;
    musegate_logs::start(&config.log);
    umask(Mode::from_bits_truncate(0o077));
    let notify = Notify::from_env();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _hangup = {
        let _inside = runtime.enter();
        signal(SignalKind::hangup())? // before anybody can see that we listen: a reload must not end us
    };
    let listeners = bind::take(&config)?;
    descriptors(&config);
    let open = Open::new(config, listeners)?;
    let done = runtime.block_on(run(open, &notify, stop(until_stdin_closes)));
    runtime.shutdown_timeout(Duration::from_secs(1));
    done
}

/// Everything opened that is ever to be opened, and locked in.
struct Open {
    rooms: Rooms,
    listeners: Vec<TcpListener>,
    bound: Vec<SocketAddr>,
    operator: Option<Operator>,
}

impl Open {
    fn new(config: Config, listeners: Vec<TcpListener>) -> Result<Self, StartError> {
        let bound = bind::check(&config, &listeners)?;
        let mut rooms = Rooms::open(config, &bound, Abilities::built())?;
        let operator = Operator::bind(&rooms.config.operator);
        rooms.walls = walls::stand_behind(&rooms.config)?;
        walls::say(&rooms.walls);
        if let Err(error) = &operator {
            let socket = rooms.config.operator.display();
            tracing::warn!(%error, %socket, "no socket for `musegate status`; set status.socket to a place that can be written");
        }
        Ok(Self { rooms, listeners, bound, operator: operator.ok() })
    }
}

/// Serves until `shutdown` is ready, then lets running requests finish. Reads the file of callers again on SIGHUP.
async fn run(open: Open, notify: &Notify, shutdown: impl Future<Output = ()>) -> Result<(), StartError> {
    let Open { rooms, listeners, bound, operator } = open;
    let listeners = listeners.into_iter().map(tokio::net::TcpListener::from_std).collect::<Result<Vec<_>, _>>()?;
    let (serve, background) = Serve::new(rooms.clone());
    let mut hangup = signal(SignalKind::hangup())?;
    announce(&rooms.config, &bound);
    notify.ready();
    let tasks = serve.tasks().clone();
    let status = serve.clone();
    let stopping = async {
        shutdown.await;
        notify.stopping();
        tracing::info!("stopping");
        tasks.cancel_all();
    };
    let handler = move |request, peer| serve.answer(request, peer);
    let serving = listen::run(listeners, &rooms.config.listen, stopping, handler);
    tokio::select! {
        () = serving => {}
        () = background.run() => {}
        () = admission::watch(&rooms.admission, async || asked(&mut hangup).await) => {}
        () = flush(&rooms) => {}
        () = tell(operator, &status, &rooms, &bound) => {}
        () = notify.keep_watchdog() => {}
    }
    note_pushes(&rooms);
    rooms.audit.end();
    Ok(())
}

/// Never returns.
async fn tell(operator: Option<Operator>, serve: &Serve, rooms: &Rooms, bound: &[SocketAddr]) {
    match operator {
        Some(operator) => {
            if let Err(error) = operator.tell(serve, rooms, bound).await {
                tracing::warn!(%error, "`musegate status` is told nothing");
            }
            std::future::pending().await
        }
        None => std::future::pending().await,
    }
}

fn read(file: &Path) -> Result<Config, Problems> {
    match private::read(file, Rule::Settings, MAX_FILE) {
        Ok(text) => Config::parse(file, &text),
        Err(refused) => {
            let what = refused.to_string();
            let bare = what.strip_prefix(&format!("{}: ", file.display())).unwrap_or(&what).to_owned();
            Err(Problems(vec![Problem { file: file.to_owned(), line: 0, key: String::new(), what: bare }]))
        }
    }
}

fn not_as_root(config: &Config) -> Result<(), StartError> {
    let root = nix::unistd::Uid::effective().is_root();
    if root && !config.allow_root { Err(StartError::Root) } else { Ok(()) }
}

fn descriptors(config: &Config) {
    if let Some(limit) = bind::raise_descriptors(config.listen.max_connections) {
        let wanted = config.listen.max_connections;
        tracing::warn!(
            limit,
            wanted,
            "fewer descriptors than listen.max_connections needs; raise the limit of the service"
        );
    }
}

/// Ready when SIGTERM or SIGINT comes, or when whoever started us is gone.
async fn stop(until_stdin_closes: bool) {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    let (Ok(mut terminate), Ok(mut interrupt)) = signals else { return };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = stdin_closed(), if until_stdin_closes => {}
    }
}

async fn stdin_closed() {
    let pipe = io::stdin().as_fd().try_clone_to_owned().and_then(pipe::Receiver::from_owned_fd);
    let Ok(mut pipe) = pipe else { return };
    let mut bytes = [0; 64];
    while pipe.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
}

/// One SIGHUP; never without signals.
async fn asked(hangup: &mut Signal) {
    if hangup.recv().await.is_none() {
        std::future::pending::<()>().await;
    }
}

fn note_pushes(rooms: &Rooms) {
    if let Some(pushes) = &rooms.pushes {
        rooms.audit.pushes(&pushes.take_counts());
    }
}

async fn flush(rooms: &Rooms) {
    loop {
        tokio::time::sleep(FLUSH).await;
        note_pushes(rooms);
        rooms.audit.flush();
    }
}

/// Loud about what is open.
fn announce(config: &Config, bound: &[SocketAddr]) {
    for address in bound {
        tracing::info!(%address, "listening");
        if !address.ip().to_canonical().is_loopback() {
            tracing::warn!(
                %address,
                "REACHABLE FROM OTHER MACHINES, WITHOUT TLS: tokens and texts cross the network in the clear unless a \
                 terminator stands in front"
            );
        }
    }
    if config.allow_root && nix::unistd::Uid::effective().is_root() {
        tracing::warn!("running as uid 0, which allow_root permits and nothing here needs");
    }
}

fn say(text: &str) -> Result<(), StartError> {
    Ok(writeln!(io::stdout(), "{text}")?)
}

fn complain(what: &impl Display) {
    for line in what.to_string().lines() {
        let _ = writeln!(io::stderr(), "musegate-supervisor: {line}");
    }
}
