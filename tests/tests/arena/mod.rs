//! Where trials run: programs that any uid may read, one folder each, a pid namespace and a time for each.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test ends at what it does not expect")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

const NOBODY: &str = "65534";

/// The programs where any uid may read them.
pub(crate) struct Arena {
    folder: tempfile::TempDir,
}

/// Who runs the worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Who {
    /// Whoever runs the tests.
    Me,
    /// Uid 65534. Only root can become it.
    Nobody,
}

impl Arena {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let programs = [("trial", env!("CARGO_BIN_EXE_trial")), ("trial-jail", env!("CARGO_BIN_EXE_trial-jail"))];
        for (name, program) in programs {
            std::fs::copy(program, folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn scratch(&self) -> tempfile::TempDir {
        let scratch = tempfile::tempdir_in(self.folder.path()).unwrap();
        std::fs::set_permissions(scratch.path(), PermissionsExt::from_mode(0o777)).unwrap();
        scratch
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What a trial says, and by which signal it ended if by one; any other bad end fails the test.
    pub(crate) fn run(&self, who: Who, words: &[&Path]) -> String {
        let (mut said, status) = self.output(who, words);
        // A shell in between tells a signal as 128 and its number.
        if let Some(code) = status.code().filter(|code| *code > 128) {
            said.push_str(&format!("ended by signal {}\n", code - 128));
        } else {
            assert!(status.success(), "{words:?} {who:?}: {said}");
        }
        said
    }

    /// Bounded in time and in its own pid namespace.
    fn output(&self, who: Who, words: &[&Path]) -> (String, ExitStatus) {
        let mut command = Command::new("timeout");
        command.args(["-k", "1", "60", "unshare"]);
        if !nix::unistd::geteuid().is_root() {
            command.args(["--user", "--map-current-user"]);
        }
        command.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
        if who == Who::Nobody {
            command.args(["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
        }
        command.args(["sh", "-c", "\"$@\"; exit $?", "sh"]);
        let output = command.arg(self.program("trial")).args(words).output().unwrap();
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        (said, output.status)
    }
}

/// The uids that a test can take on; the other is skipped, and said.
pub(crate) fn everybody() -> &'static [Who] {
    if nix::unistd::geteuid().is_root() {
        return &[Who::Me, Who::Nobody];
    }
    eprintln!("skipped: uid {NOBODY}, which only root can take on");
    &[Who::Me]
}
