//! A program's walls, tried from inside: a child is confined like any program and, in place of the exec, attempts what
//! each layer must refuse. A layer holds when the attempt fails with that layer's own errno.

use super::super::ProcessLimits;
use super::super::record::Record;
use super::probe::Means;
use super::{Ends, child, init};
use musegate_protocol::message::{Layer, Layers};
use musegate_sandbox_profiles::fork::{Failed, SingleThreaded, fork, fork_for_exec};
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use std::os::unix::net::UnixStream;

/// What is tried, in the order of the bits of the answer.
#[cfg(target_os = "linux")]
pub(super) const LAYERS: [Layer; 7] = [
    Layer::NoNewPrivileges,
    Layer::NoCapabilities,
    Layer::LandlockFiles,
    Layer::LandlockTcp,
    Layer::LandlockScope,
    Layer::Seccomp,
    Layer::NotDumpable,
];
#[cfg(not(target_os = "linux"))]
pub(super) const LAYERS: [Layer; 1] = [Layer::Seatbelt];
/// Beside the bits of the layers: the child came as far as to try.
const TRIED: u8 = 0x80;
/// The bit of the last layer, which is about job-init.
const LAST: u8 = 6;

/// Which of them hold.
pub(super) fn held(alone: &SingleThreaded, means: &Means) -> Layers {
    let Ok((ends, record)) = rehearsal() else { return Layers::default() };
    let init = |alone: &SingleThreaded| {
        let Ok(prepared) = init::prepare(means) else { return 0 };
        let closed = is_closed();
        let attempt = || match child::confine(&prepared, &record, &ends) {
            Ok(()) => Failed { step: TRIED | attempts(), errno: 0 },
            Err(_) => Failed { step: 0, errno: 0 },
        };
        match fork_for_exec(alone, attempt) {
            Ok(Err(Failed { step, .. })) if step & TRIED != 0 => step & !TRIED | u8::from(closed) << LAST,
            _ => 0,
        }
    };
    let Ok(child) = fork(alone, means.namespaces, init) else { return Layers::default() };
    let bits = match nix::sys::wait::waitpid(child, None) {
        Ok(nix::sys::wait::WaitStatus::Exited(_, bits)) => bits,
        _ => 0,
    };
    let holds = |(bit, _): &(usize, Layer)| bits >> bit & 1 == 1;
    LAYERS.into_iter().enumerate().filter(holds).fold(Layers::default(), |set, (_, layer)| set.with(layer))
}

fn rehearsal() -> nix::Result<(Ends, Record)> {
    let null = || open("/dev/null", OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::empty());
    let line = UnixStream::from(null()?);
    let ends = Ends { stdin: null()?, stdout: null()?, stderr: null()?, line, lock: null()? };
    let limits = ProcessLimits { cpu_seconds: 5, file_bytes: 0, open_files: 256, processes: None };
    let (program, scratch) = (c"/dev/null".into(), c"/dev/null".into());
    Ok((ends, Record { program, argv: Vec::new(), env: Vec::new(), cwd: c"/".into(), scratch, limits }))
}

/// Whether others of the same uid cannot look into this process.
#[cfg(target_os = "linux")]
fn is_closed() -> bool {
    nix::sys::prctl::get_dumpable() == Ok(false)
}

/// Nobody says.
#[cfg(not(target_os = "linux"))]
fn is_closed() -> bool {
    false
}

/// One bit for each layer but the last.
#[cfg(target_os = "linux")]
fn attempts() -> u8 {
    use musegate_sandbox_profiles::attack;
    use nix::errno::Errno;
    /// Readable for everybody, and of no use to a job.
    const FORBIDDEN_FILE: &str = "/proc/sys/kernel/hostname";
    let held = [
        nix::sys::prctl::get_no_new_privs() == Ok(true),
        musegate_sandbox_profiles::capabilities::are_empty().unwrap_or(false),
        open(FORBIDDEN_FILE, OFlag::O_RDONLY, Mode::empty()).err() == Some(Errno::EACCES),
        attack::bind_tcp() == Err(Errno::EACCES),
        nix::sys::signal::kill(nix::unistd::getppid(), None) == Err(Errno::EPERM),
        attack::unix_socket().err() == Some(Errno::EPERM),
    ];
    held.iter().rev().fold(0, |bits, held| bits << 1 | u8::from(*held))
}

/// One bit: files, processes and sockets, all by the one profile.
#[cfg(not(target_os = "linux"))]
fn attempts() -> u8 {
    use nix::errno::Errno;
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
    use std::os::fd::AsRawFd;
    let folder = open("/Users", OFlag::O_RDONLY | OFlag::O_DIRECTORY, Mode::empty()).err() == Some(Errno::EPERM);
    let signal = nix::sys::signal::kill(nix::unistd::getppid(), None) == Err(Errno::EPERM);
    let log = socket(AddressFamily::Unix, SockType::Datagram, SockFlag::empty(), None)
        .and_then(|socket| connect(socket.as_raw_fd(), &UnixAddr::new("/private/var/run/syslog")?));
    let socket = log == Err(Errno::EPERM);
    let own = open("/dev/null", OFlag::O_RDONLY, Mode::empty()).is_ok();
    u8::from(folder && signal && socket && own)
}
