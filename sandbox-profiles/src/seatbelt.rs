//! Seatbelt, the sandbox of macOS: its profiles as text, and what must be appended for one machine or one job.
//!
//! Promises: a path reaches a profile only as a parameter, never as text, so that no name can end a rule and begin
//! another; what the system cannot apply is an error. Refuses to promise more than was tried: these profiles are modelled
//! and checked elsewhere, applied only on a Mac, and tried there at every start.

use std::ffi::CString;
use std::fmt::Write;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The profile of a job.
pub const MUSE: &str = include_str!("../muse.sb");
/// The profile of the supervisor.
pub const SUPERVISOR: &str = include_str!("../supervisor.sb");

/// A profile with its parameters, ready to be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    text: String,
    parameters: Vec<(String, PathBuf)>,
}

/// What differs from machine to machine, for a job.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Files and folders to read.
    pub read: Vec<PathBuf>,
    /// Files and folders to execute.
    pub exec: Vec<PathBuf>,
    /// TCP ports to connect to, on any host. Empty: no network.
    pub connect: Vec<u16>,
    /// Whether names of hosts may be asked for.
    pub names: bool,
}

impl Profile {
    /// For a job with this scratch folder and this program, both without links, since Seatbelt sees real paths.
    #[must_use]
    pub fn muse(options: &Options, scratch: &Path, program: &Path) -> Self {
        let mut profile = Self { text: MUSE.to_owned(), parameters: Vec::new() };
        profile.parameter("JOB_DIR", scratch);
        profile.parameter("MUSE", program);
        // Muse opens each folder above its own; listing one is not reading what is in it.
        for (number, folder) in scratch.ancestors().skip(1).enumerate() {
            profile.rule("allow file-read-data file-read-metadata (literal", &format!("ABOVE_{number}"), folder);
        }
        for (number, path) in options.read.iter().enumerate() {
            profile.rule("allow file-read* (subpath", &format!("READ_{number}"), path);
        }
        for (number, path) in options.exec.iter().enumerate() {
            profile.rule("allow file-read* process-exec (subpath", &format!("EXEC_{number}"), path);
        }
        for port in &options.connect {
            profile.line(format_args!("(allow network-outbound (remote tcp \"*:{port}\"))"));
        }
        if options.names {
            profile.line(format_args!("(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))"));
            profile.line(format_args!("(allow mach-lookup (global-name \"com.apple.dnssd.service\"))"));
        }
        profile
    }

    /// For the supervisor, which connects to these sockets and nobody else.
    #[must_use]
    pub fn supervisor(connect: &[PathBuf], write: &[PathBuf], read: &[PathBuf]) -> Self {
        let mut profile = Self { text: SUPERVISOR.to_owned(), parameters: Vec::new() };
        for (number, path) in connect.iter().enumerate() {
            profile.rule("allow network-outbound (literal", &format!("CONNECT_{number}"), path);
        }
        for (number, path) in write.iter().enumerate() {
            profile.rule("allow file-read* file-write* (subpath", &format!("WRITE_{number}"), path);
        }
        for (number, path) in read.iter().enumerate() {
            profile.rule("allow file-read* (subpath", &format!("READ_{number}"), path);
        }
        profile
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parameters, by name.
    #[must_use]
    pub fn parameters(&self) -> &[(String, PathBuf)] {
        &self.parameters
    }

    /// Confines this process and all that it starts. Cannot be done twice, and not undone.
    ///
    /// # Errors
    /// What the system says of the profile; `Unsupported`: this is no Mac, or one that lacks the call.
    pub fn apply(&self) -> io::Result<()> {
        let mut words = Vec::with_capacity(self.parameters.len() * 2);
        for (name, value) in &self.parameters {
            words.push(CString::new(name.as_str())?);
            words.push(CString::new(value.as_os_str().as_bytes())?);
        }
        system::apply(&CString::new(self.text.as_str())?, &words)
    }

    fn parameter(&mut self, name: &str, path: &Path) {
        self.parameters.push((name.to_owned(), path.to_owned()));
    }

    /// `(rule (param "NAME")))`, where `rule` ends inside a filter.
    fn rule(&mut self, rule: &str, name: &str, path: &Path) {
        self.parameter(name, path);
        self.line(format_args!("({rule} (param \"{name}\")))"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{line}");
    }
}

/// A path without links, or as it is where it does not exist.
#[must_use]
pub fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.into())
}

#[cfg(target_os = "macos")]
mod system {
    use std::ffi::{CStr, CString, c_char, c_int};
    use std::io;

    /// Of libSystem, in no public header: the call that sandbox-exec is made of. Parameters are names and values in
    /// turns, ended by a null.
    type InitWithParameters = unsafe extern "C" fn(*const c_char, u64, *const *const c_char, *mut *mut c_char) -> c_int;

    pub(super) fn apply(text: &CStr, words: &[CString]) -> io::Result<()> {
        // SAFETY: the name is a C string; the handle is the one that means every loaded library.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"sandbox_init_with_parameters".as_ptr()) };
        if found.is_null() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // SAFETY: a function of this name has this signature wherever it exists.
        let init = unsafe { std::mem::transmute::<*mut libc::c_void, InitWithParameters>(found) };
        let mut pointers: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
        pointers.push(std::ptr::null());
        let mut error: *mut c_char = std::ptr::null_mut();
        // SAFETY: text and words are C strings that live until the call returns, the list ends with a null, and the
        // error is a place for the answer.
        let done = unsafe { init(text.as_ptr(), 0, pointers.as_ptr(), &raw mut error) };
        if done == 0 {
            return Ok(());
        }
        if error.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: on failure the system leaves a C string there. It is never freed: the process is about to end.
        let message = unsafe { CStr::from_ptr(error) };
        Err(io::Error::other(message.to_string_lossy().into_owned()))
    }
}

#[cfg(not(target_os = "macos"))]
mod system {
    use std::ffi::{CStr, CString};
    use std::io;

    pub(super) fn apply(_: &CStr, _: &[CString]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
