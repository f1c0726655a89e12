//! Where trials run: programs that any uid may read, one folder each, a pid namespace and a time for each.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test ends at what it does not expect")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

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

    /// Bounded in time and in its own pid namespace.
    pub(crate) fn enclosed(&self, who: Who, words: &[&Path]) -> String {
        let mut command = Command::new("timeout");
        command.args(["-k", "1", "60", "unshare"]);
        if !nix::unistd::geteuid().is_root() {
            command.args(["--user", "--map-current-user"]);
        }
        command.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
        if who == Who::Nobody {
            command.args(["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
        }
        let output = command.arg(self.program("trial")).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert!(output.status.success(), "{words:?} {who:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
        said
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
