//! Landlock domains.
//!
//! Promises: each domain is applied whole or not at all (`HardRequirement`), and handles everything that this kernel
//! can handle, so that what no rule names is denied; what a kernel is too old for is said before, by [`abi`].
//! Refuses to know which paths and ports: the profiles beside it say so.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// The first ABI that bounds TCP.
pub const TCP_SINCE: u8 = 4;
/// The first ABI that bounds signals and abstract sockets.
pub const SCOPE_SINCE: u8 = 6;
/// The first ABI that bounds all writing, truncation included.
pub const FILES_SINCE: u8 = 3;
/// The first ABI that bounds UDP.
const UDP_SINCE: u8 = 10;
/// The newest ABI that this code was written for.
const NEWEST: u8 = 10;

/// Landlock's ABI, 0 where there is none.
#[must_use]
pub fn abi() -> u8 {
    const VERSION: libc::c_ulong = 1;
    let null = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call reads no memory and returns a number.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, null, 0usize, VERSION) };
    u8::try_from(abi).unwrap_or(0)
}

/// What may be done with a file, or with everything below a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read files and list folders.
    Read,
    /// Read files whose names are known.
    Open,
    /// Execute and read files whose names are known.
    Run,
    /// Take names of files away.
    Remove,
    /// The same, and execute.
    Execute,
    /// Read and write what is there, make nothing: devices, one log file.
    Use,
    /// Read, write, make and remove files, folders and symbolic links; never execute, never make anything else.
    Write,
    /// List folders; read no file.
    List,
    /// Connect to Unix sockets, which older kernels than ABI 9 do not bound.
    Connect,
}

impl Access {
    fn rights(self, abi: ABI) -> BitFlags<AccessFs> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let wanted = match self {
            Self::List => AccessFs::ReadDir.into(),
            Self::Connect => AccessFs::ResolveUnix.into(),
            Self::Read => read,
            Self::Open => AccessFs::ReadFile.into(),
            Self::Run => AccessFs::ReadFile | AccessFs::Execute,
            Self::Remove => AccessFs::RemoveFile.into(),
            Self::Execute => read | AccessFs::Execute,
            Self::Use => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate,
            Self::Write => {
                let made = AccessFs::MakeReg | AccessFs::MakeDir | AccessFs::MakeSym | AccessFs::Refer;
                let removed = AccessFs::RemoveFile | AccessFs::RemoveDir;
                read | AccessFs::WriteFile | AccessFs::Truncate | made | removed
            }
        };
        wanted & AccessFs::from_all(abi)
    }
}

/// A line of a profile: a path, what may be done with it, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathRule {
    /// Absolute. Where it does not exist, the rule is void.
    pub path: &'static str,
    /// What may be done.
    pub access: Access,
    /// Why.
    pub why: &'static str,
}

/// UDP, which Landlock bounds only since ABI 10.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Udp {
    /// None.
    #[default]
    Closed,
    /// To the ports that TCP may connect to; older kernels cannot bound it at all.
    Open,
}

/// A domain with its paths opened, to be entered as often as wanted: each time anew, inside the one before.
#[derive(Debug)]
pub struct Domain {
    abi: ABI,
    number: u8,
    paths: Vec<(PathFd, BitFlags<AccessFs>)>,
    connect: Vec<u16>,
    udp: Udp,
    lists_root: bool,
}

impl Domain {
    /// Nothing is allowed in it.
    ///
    /// # Errors
    /// `Unsupported`: this kernel has no Landlock.
    pub fn closed() -> io::Result<Self> {
        let number = abi().min(NEWEST);
        if number == 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let abi = ABI::from(i32::from(number));
        Ok(Self { abi, number, paths: Vec::new(), connect: Vec::new(), udp: Udp::Closed, lists_root: false })
    }

    /// Allows something with a path. A path that does not exist, or that cannot be reached, is left out.
    #[must_use]
    pub fn path(mut self, path: impl AsRef<Path>, access: Access) -> Self {
        if let Some(opened) = self.open(path.as_ref(), access) {
            self.lists_root |= path.as_ref() == Path::new("/");
            self.paths.push(opened);
        }
        self
    }

    /// Whether the root folder may be listed in it.
    pub(crate) fn lists_root(&self) -> bool {
        self.lists_root
    }

    /// Allows all of these.
    #[must_use]
    pub fn paths(self, rules: &[PathRule]) -> Self {
        rules.iter().fold(self, |domain, rule| domain.path(rule.path, rule.access))
    }

    /// Allows to connect to these TCP ports.
    #[must_use]
    pub fn connect(mut self, ports: &[u16], udp: Udp) -> Self {
        self.connect.extend_from_slice(ports);
        self.udp = udp;
        self
    }

    /// Enters it.
    ///
    /// # Errors
    /// As landlock_create_ruleset(2), landlock_add_rule(2), landlock_restrict_self(2).
    pub fn enter(&self) -> io::Result<()> {
        self.rules()?.enter(self, &[])
    }

    /// Makes its rules ahead of time, to be entered once: most of the work of entering.
    ///
    /// # Errors
    /// As landlock_create_ruleset(2), landlock_add_rule(2).
    pub fn rules(&self) -> io::Result<Rules> {
        let mut ruleset = self.ruleset().map_err(fault)?;
        for (path, rights) in &self.paths {
            ruleset = ruleset.add_rule(PathBeneath::new(path, *rights)).map_err(fault)?;
        }
        for port in self.connect.iter().filter(|_| self.number >= TCP_SINCE) {
            let mut access: BitFlags<AccessNet> = AccessNet::ConnectTcp.into();
            if self.udp == Udp::Open && self.number >= UDP_SINCE {
                access |= AccessNet::ConnectSendUdp;
            }
            ruleset = ruleset.add_rule(NetPort::new(*port, access)).map_err(fault)?;
        }
        Ok(Rules(ruleset))
    }

    fn ruleset(&self) -> Result<RulesetCreated, RulesetError> {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(self.abi))?;
        if self.number >= TCP_SINCE {
            ruleset = ruleset.handle_access(AccessNet::from_all(self.abi))?;
        }
        if self.number >= SCOPE_SINCE {
            ruleset = ruleset.scope(Scope::from_all(self.abi))?;
        }
        // The jail has set it before, and it is inherited.
        Ok(ruleset.create()?.no_new_privs(false))
    }

    /// Rights that only folders have are an error on a file.
    fn open(&self, path: &Path, access: Access) -> Option<(PathFd, BitFlags<AccessFs>)> {
        let opened = PathFd::new(path).ok()?;
        let is_folder = nix::sys::stat::fstat(opened.as_fd()).ok()?.st_mode & libc::S_IFMT == libc::S_IFDIR;
        let bound = if is_folder { BitFlags::all() } else { AccessFs::from_file(self.abi) };
        let rights = access.rights(self.abi) & bound;
        (!rights.is_empty()).then_some((opened, rights))
    }
}

/// The rules of a [`Domain`], made and not yet entered.
#[derive(Debug)]
pub struct Rules(RulesetCreated);

impl Rules {
    /// Enters the domain, with further paths. These stay in the rules, so they are for one process.
    ///
    /// # Errors
    /// As landlock_add_rule(2), landlock_restrict_self(2).
    pub fn enter(&self, domain: &Domain, also: &[(&Path, Access)]) -> io::Result<()> {
        // Another descriptor of the same rules: this one may belong to a process that lent its memory.
        let mut ruleset = self.0.try_clone()?;
        for (path, access) in also {
            if let Some((path, rights)) = domain.open(path, *access) {
                ruleset = ruleset.add_rule(PathBeneath::new(path, rights)).map_err(fault)?;
            }
        }
        ruleset.restrict_self().map_err(fault)?;
        Ok(())
    }
}

/// A domain whose processes can signal only one another and the domains inside, not yet entered.
#[derive(Debug)]
pub struct SignalScope(RulesetCreated);

impl SignalScope {
    /// Makes one.
    ///
    /// # Errors
    /// Where the kernel has no Landlock, or one older than ABI 6.
    pub fn new() -> io::Result<Self> {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(Scope::Signal);
        let created = ruleset.and_then(Ruleset::create).map_err(fault)?;
        Ok(Self(created.no_new_privs(false)))
    }

    /// Enters it. Each call makes a new domain, inside the one that this process is in.
    ///
    /// # Errors
    /// As landlock_restrict_self(2).
    pub fn enter(&self) -> io::Result<()> {
        self.0.try_clone()?.restrict_self().map_err(fault)?;
        Ok(())
    }
}

/// The errno inside a crate's error, so that it can be told to others.
fn fault(error: RulesetError) -> io::Error {
    let errno = *landlock::Errno::from(error);
    io::Error::from_raw_os_error(errno)
}
