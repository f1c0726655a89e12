//! Where things lie for one user: the configuration folder, the state folder, the run folder. A socket's path must fit
//! into 103 bytes (the shorter limit, of macOS), so the run folder is kept short.

use std::env;
use std::path::PathBuf;

/// One user's folders.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    /// `supervisor.toml`, `worker.toml`, `callers.toml`, `agents.toml`.
    pub(crate) config: PathBuf,
    /// Audit and its key.
    pub(crate) state: PathBuf,
    /// Sockets.
    pub(crate) run: PathBuf,
}

/// Neither `MUSEGATE_HOME` nor `HOME` is set to an absolute path.
#[derive(Debug, thiserror::Error)]
#[error("neither MUSEGATE_HOME nor HOME names an absolute folder; set one, or give --config-dir")]
pub(crate) struct Homeless;

impl Folders {
    /// All of them below one folder.
    #[must_use]
    pub(crate) fn below(folder: impl Into<PathBuf>) -> Self {
        let config = folder.into();
        Self { state: config.join("state"), run: config.join("run"), config }
    }

    /// From `--config-dir`, else `MUSEGATE_HOME`, else the custom of the system: XDG folders, or
    /// `~/Library/Application Support/musegate`.
    ///
    /// # Errors
    /// [`Homeless`].
    pub(crate) fn find(given: Option<PathBuf>) -> Result<Self, Homeless> {
        if let Some(folder) = given.or_else(|| absolute("MUSEGATE_HOME")) {
            return Ok(Self::below(std::path::absolute(&folder).unwrap_or(folder)));
        }
        let home = absolute("HOME").ok_or(Homeless)?;
        if cfg!(target_os = "macos") {
            return Ok(Self::below(home.join("Library/Application Support/musegate")));
        }
        let xdg = |name: &str, otherwise: &str| absolute(name).unwrap_or_else(|| home.join(otherwise)).join("musegate");
        let state = xdg("XDG_STATE_HOME", ".local/state");
        let run = absolute("XDG_RUNTIME_DIR").map_or_else(|| state.join("run"), |folder| folder.join("musegate"));
        Ok(Self { config: xdg("XDG_CONFIG_HOME", ".config"), state, run })
    }
}

fn absolute(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
