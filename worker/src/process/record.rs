//! What passes between worker, jail and job-init: the setup once, launches, statuses. Written by hand, in the byte order
//! of the machine, since all ends are one build on one machine; every length is checked all the same.

use super::{Confinement, KillModes, Launch, LaunchError, ProcessLimits};
use musegate_protocol::message::{Layers, Report};
use nix::sys::socket::MsgFlags;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A reader that is gone is an error of the call. macOS has no such flag; there the signal is ignored, as every Rust
/// program does from its start.
#[cfg(target_os = "linux")]
pub(super) const QUIET: MsgFlags = MsgFlags::MSG_NOSIGNAL;
#[cfg(not(target_os = "linux"))]
pub(super) const QUIET: MsgFlags = MsgFlags::empty();

/// Descriptors of a launch: stdin, stdout, stderr, line, lock.
pub(super) const DESCRIPTORS: usize = 5;
/// Bytes of a report.
pub(super) const REPORT: usize = 17;
/// Bytes of a status.
pub(super) const STATUS: usize = 8;
/// Longest setup or launch, bytes.
pub(super) const MAX_FRAME: usize = 256 * 1024;

/// Command on a line: SIGTERM for the program's own group.
pub(super) const TERM: u8 = b'T';
/// Command on a line: SIGKILL for the whole tree. So is the end of the line.
pub(super) const KILL: u8 = b'K';

/// A step of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    Record = 0,
    Fork = 1,
    Namespaces = 2,
    Scope = 3,
    Signals = 4,
    Descriptors = 5,
    Limits = 6,
    Capabilities = 7,
    Folder = 8,
    Landlock = 9,
    Seccomp = 10,
    Seatbelt = 11,
    Exec = 12,
}

impl Stage {
    pub(super) const ALL: [Self; 13] = [
        Self::Record,
        Self::Fork,
        Self::Namespaces,
        Self::Scope,
        Self::Signals,
        Self::Descriptors,
        Self::Limits,
        Self::Capabilities,
        Self::Folder,
        Self::Landlock,
        Self::Seccomp,
        Self::Seatbelt,
        Self::Exec,
    ];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Record => "reading the launch",
            Self::Fork => "fork",
            Self::Namespaces => "entering namespaces",
            Self::Scope => "bounding signals",
            Self::Signals => "arranging signals",
            Self::Descriptors => "arranging descriptors",
            Self::Limits => "setting resource limits",
            Self::Capabilities => "dropping capabilities",
            Self::Folder => "entering the working folder",
            Self::Landlock => "confining files and ports",
            Self::Seccomp => "filtering system calls",
            Self::Seatbelt => "applying the sandbox profile",
            Self::Exec => "exec",
        }
    }

    pub(super) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| *stage as u8 == number)
    }
}

/// What a job-init says, or the jail in its place. `Started` comes with descriptors of job-init and program, on Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Started { pid: i32 },
    Failed { stage: Stage, errno: i32 },
    Exited { code: i32 },
    Signaled { signal: i32 },
    Reaped(Gone),
}

/// How the last of a tree went, as job-init knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Gone {
    /// Nothing had to be killed.
    Itself = 0,
    /// The program ended, and what it left behind was killed.
    Leftovers = 1,
    /// All of it was killed.
    Killed = 2,
}

impl Status {
    pub(super) fn encode(self) -> [u8; STATUS] {
        let (kind, detail, value) = match self {
            Self::Started { pid } => (1, 0, pid),
            Self::Failed { stage, errno } => (2, stage as u8, errno),
            Self::Exited { code } => (3, 0, code),
            Self::Signaled { signal } => (4, 0, signal),
            Self::Reaped(gone) => (5, gone as u8, 0),
        };
        let [a, b, c, d] = value.to_ne_bytes();
        [kind, detail, 0, 0, a, b, c, d]
    }

    pub(super) fn decode(bytes: [u8; STATUS]) -> Option<Self> {
        let [kind, detail, _, _, a, b, c, d] = bytes;
        let value = i32::from_ne_bytes([a, b, c, d]);
        let gone = [Gone::Itself, Gone::Leftovers, Gone::Killed].into_iter().find(|gone| *gone as u8 == detail);
        Some(match kind {
            1 => Self::Started { pid: value },
            2 => Self::Failed { stage: Stage::from_number(detail)?, errno: value },
            3 => Self::Exited { code: value },
            4 => Self::Signaled { signal: value },
            5 => Self::Reaped(gone?),
            _ => return None,
        })
    }
}

/// What the jail is told once, at its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) kill: KillModes,
    pub(super) read: Vec<PathBuf>,
    pub(super) exec: Vec<PathBuf>,
    pub(super) ports: Vec<u16>,
    pub(super) udp: bool,
    pub(super) memfd: bool,
    pub(super) list_folders: bool,
}

impl Setup {
    pub(super) fn new(confinement: &Confinement) -> Self {
        let Confinement { read, exec, connect_ports, kill, udp, memfd, list_folders, .. } = confinement.clone();
        Self { kill, read, exec, ports: connect_ports, udp, memfd, list_folders }
    }

    /// With its length before it. A path with a NUL names nothing and is left out.
    pub(super) fn encode(&self) -> Vec<u8> {
        let texts = |paths: &[PathBuf]| paths.iter().filter_map(|path| text(path.as_os_str()).ok()).collect::<Vec<_>>();
        let mut out = Writer::new();
        let flags = [self.kill.pid_namespace, self.kill.landlock, self.udp, self.memfd, self.list_folders];
        out.number(flags.iter().rev().fold(0, |bits, flag| bits << 1 | u64::from(*flag)));
        out.texts(&texts(&self.read));
        out.texts(&texts(&self.exec));
        out.number(len(self.ports.len()).into());
        self.ports.iter().for_each(|port| out.number((*port).into()));
        out.finish()
    }

    /// Without the length.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let flags = from.number()?;
        let flag = |bit: u32| flags & 1 << bit != 0;
        let path = |text: CString| PathBuf::from(OsStr::from_bytes(text.as_bytes()));
        let read = from.texts()?.into_iter().map(path).collect();
        let exec = from.texts()?.into_iter().map(path).collect();
        let count = usize::try_from(from.number()?).ok()?.min(MAX_FRAME);
        let ports = (0..count).map(|_| u16::try_from(from.number()?).ok()).collect::<Option<_>>()?;
        let kill = KillModes { pid_namespace: flag(0), landlock: flag(1) };
        let (udp, memfd, list_folders) = (flag(2), flag(3), flag(4));
        from.0.is_empty().then_some(Self { kill, read, exec, ports, udp, memfd, list_folders })
    }
}

/// A launch as it crosses.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) program: CString,
    pub(super) argv: Vec<CString>,
    pub(super) env: Vec<CString>,
    pub(super) cwd: CString,
    pub(super) scratch: CString,
    pub(super) limits: ProcessLimits,
}

impl Record {
    pub(super) fn new(launch: &Launch) -> Result<Self, LaunchError> {
        let mut env = Vec::with_capacity(launch.env.len());
        for (name, value) in &launch.env {
            let mut both = name.clone();
            both.push("=");
            both.push(value);
            env.push(text(&both)?);
        }
        Ok(Self {
            program: text(launch.program.as_os_str())?,
            argv: launch.argv.iter().map(|argument| text(argument)).collect::<Result<_, _>>()?,
            env,
            cwd: text(launch.cwd.as_os_str())?,
            scratch: text(launch.scratch.as_os_str())?,
            limits: launch.limits,
        })
    }

    /// With its length before it.
    pub(super) fn encode(&self) -> Result<Vec<u8>, LaunchError> {
        let mut out = Writer::new();
        [&self.program, &self.cwd, &self.scratch].into_iter().for_each(|text| out.text(text));
        out.texts(&self.argv);
        out.texts(&self.env);
        let ProcessLimits { cpu_seconds, file_bytes, open_files, processes } = self.limits;
        let numbers = [cpu_seconds, file_bytes, open_files, processes.unwrap_or(u64::MAX)];
        numbers.into_iter().for_each(|number| out.number(number));
        let bytes = out.finish();
        if bytes.len() > MAX_FRAME {
            Err(LaunchError::Invalid("arguments and environment too long"))
        } else {
            Ok(bytes)
        }
    }

    /// Without the length.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let (program, cwd, scratch) = (from.text()?, from.text()?, from.text()?);
        let (argv, env) = (from.texts()?, from.texts()?);
        let limits = ProcessLimits {
            cpu_seconds: from.number()?,
            file_bytes: from.number()?,
            open_files: from.number()?,
            processes: from.number().map(|most| (most != u64::MAX).then_some(most))?,
        };
        from.0.is_empty().then_some(Self { program, argv, env, cwd, scratch, limits })
    }
}

pub(super) fn write_report(report: Report) -> [u8; REPORT] {
    let mut bytes = [report.landlock_abi; REPORT];
    let numbers = report.holds.0.to_ne_bytes().into_iter().chain(report.lacks.0.to_ne_bytes());
    bytes.iter_mut().zip(numbers).for_each(|(to, from)| *to = from);
    bytes
}

pub(super) fn read_report(bytes: &[u8; REPORT]) -> Report {
    let mut from = Reader(bytes);
    let (holds, lacks) = (from.number().unwrap_or(0), from.number().unwrap_or(0));
    Report { holds: Layers(holds), lacks: Layers(lacks), landlock_abi: from.0.first().copied().unwrap_or(0) }
}

fn text(text: &OsStr) -> Result<CString, LaunchError> {
    CString::new(text.as_bytes()).map_err(|_| LaunchError::Invalid("a NUL in an argument, a path or the environment"))
}

fn len(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// Room for the length comes first.
struct Writer(Vec<u8>);

impl Writer {
    fn new() -> Self {
        let mut bytes = Vec::with_capacity(2048);
        bytes.extend_from_slice(&[0; 4]);
        Self(bytes)
    }

    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_ne_bytes());
    }

    fn text(&mut self, text: &CString) {
        self.0.extend_from_slice(&len(text.as_bytes().len()).to_ne_bytes());
        self.0.extend_from_slice(text.as_bytes());
    }

    fn texts(&mut self, texts: &[CString]) {
        self.number(len(texts.len()).into());
        texts.iter().for_each(|text| self.text(text));
    }

    fn finish(mut self) -> Vec<u8> {
        let length = len(self.0.len().saturating_sub(4)).to_ne_bytes();
        self.0.iter_mut().zip(length).for_each(|(to, from)| *to = from);
        self.0
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (bytes, after) = self.0.split_first_chunk()?;
        self.0 = after;
        Some(u64::from_ne_bytes(*bytes))
    }

    fn text(&mut self) -> Option<CString> {
        let (bytes, after) = self.0.split_first_chunk()?;
        let (text, after) = after.split_at_checked(usize::try_from(u32::from_ne_bytes(*bytes)).ok()?)?;
        self.0 = after;
        CString::new(text).ok()
    }

    fn texts(&mut self) -> Option<Vec<CString>> {
        let count = usize::try_from(self.number()?).ok()?.min(MAX_FRAME);
        (0..count).map(|_| self.text()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use musegate_protocol::message::Layer;

    fn record() -> Record {
        Record {
            program: c"/bin/true".into(),
            argv: vec![c"true".into(), c"".into()],
            env: vec![c"A=b".into()],
            cwd: c"/".into(),
            scratch: c"/tmp/x".into(),
            limits: ProcessLimits { cpu_seconds: 1, file_bytes: 2, open_files: 3, processes: None },
        }
    }

    fn setup() -> Setup {
        Setup {
            kill: KillModes { pid_namespace: false, landlock: true },
            read: vec!["/etc".into()],
            exec: vec!["/usr".into(), "/lib".into()],
            ports: vec![443, 8080],
            udp: true,
            memfd: false,
            list_folders: true,
        }
    }

    #[test]
    fn a_launch_comes_back_as_it_went() {
        let bytes = record().encode().unwrap();
        assert_eq!(Record::decode(&bytes[4..]), Some(record()));
        assert_eq!(u32::from_ne_bytes(*bytes.first_chunk().unwrap()) as usize, bytes.len() - 4);
    }

    #[test]
    fn the_setup_comes_back_as_it_went() {
        let bytes = setup().encode();
        assert_eq!(Setup::decode(&bytes[4..]), Some(setup()));
    }

    #[test]
    fn whatever_is_cut_short_or_too_long_is_refused() {
        let (launch, setup) = (record().encode().unwrap(), setup().encode());
        for end in 4..launch.len() {
            assert_eq!(Record::decode(&launch[4..end]), None, "cut at {end}");
        }
        for end in 4..setup.len() {
            assert_eq!(Setup::decode(&setup[4..end]), None, "cut at {end}");
        }
        assert_eq!(Record::decode(&[&launch[4..], b"x"].concat()), None);
        assert_eq!(Setup::decode(&[&setup[4..], b"x"].concat()), None);
    }

    #[test]
    fn a_huge_count_allocates_nothing() {
        let bytes = [&record().encode().unwrap()[4..34], &u64::MAX.to_ne_bytes()].concat();
        assert_eq!(Record::decode(&bytes), None);
    }

    #[test]
    fn a_nul_is_refused_not_cut() {
        assert!(matches!(text(OsStr::new("a\0b")), Err(LaunchError::Invalid(_))));
    }

    #[test]
    fn every_status_comes_back_as_it_went() {
        let failed = Stage::ALL.map(|stage| Status::Failed { stage, errno: 13 });
        let gone = [Gone::Itself, Gone::Leftovers, Gone::Killed].map(Status::Reaped);
        let others = [Status::Started { pid: 7 }, Status::Exited { code: -1 }, Status::Signaled { signal: 34 }];
        for status in failed.into_iter().chain(gone).chain(others) {
            assert_eq!(Status::decode(status.encode()), Some(status));
        }
        assert_eq!(Status::decode([9; STATUS]), None);
        assert_eq!(Status::decode([5; STATUS]), None);
    }

    #[test]
    fn a_report_comes_back_as_it_went() {
        let holds = Layers::default().with(Layer::KillByLandlock);
        let report = Report { holds, lacks: Layers::default().with(Layer::Seccomp), landlock_abi: 7 };
        assert_eq!(read_report(&write_report(report)), report);
    }
}
