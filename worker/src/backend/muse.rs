//! Muse as it is installed: found, judged, asked for its version and flags, and made ready for a job.
//!
//! Promises: what runs is what was judged; a Muse that was replaced is judged and asked again before the next job; the
//! environment of a job is built from nothing and names only its own folder; the credential goes through a pipe.
//! Refuses to know what was asked: a job is a prompt file to it.

use super::check::{self, Binary, Unfit};
use super::flags::{self, Known, Lacking, Places};
use super::probe::{self, ProbeError};
use crate::config::{Muse as Settings, Provider};
use crate::process::{Jail, Launch, ProcessLimits, Stdin};
use crate::scratch::{Base, Folder, Scratch, ScratchError};
use musegate_settings::private::{self, Refused, Rule};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use zeroize::Zeroizing;

/// Longest credential, bytes.
const MAX_KEY: u64 = 4096;
/// With this begins what the right program says of itself.
const VERSION: &str = "Muse Code ";
/// Switches off what the flags do not reach: nothing of the user's own set-up is read and nothing is phoned home.
const SEALED: &[u8] = br#"{"schema_version":1,"telemetry":{"enabled":false},"context":{"foreign_personal_skills":false,"foreign_personal_rules":false}}"#;
/// The same for every job.
const FIXED: [(&str, &str); 8] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("LANG", "C.UTF-8"),
    ("NO_COLOR", "1"),
    ("MUSE_NO_AUTO_UPDATE", "1"),
    ("TBH_CREDENTIAL_BACKEND", "file"),
    ("TBH_DISABLE_TELEMETRY", "1"),
    ("TBH_DISABLE_FEATURE_CONFIG", "1"),
    ("TZ", "UTC"),
];

/// Why there is no Muse to run.
#[derive(Debug, thiserror::Error)]
pub enum MuseError {
    /// Its file must not be run.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// Its credential cannot be read.
    #[error("the API key: {0}")]
    Key(#[from] Refused),
    /// The file of its credential has no credential in it.
    #[error("the API key: {}: is empty or has more than one line", .0.display())]
    NoKey(PathBuf),
    /// It does not answer.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// It is something else.
    #[error("{}: is not Muse Code: its --version says {said:?}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// The beginning of what it said.
        said: String,
    },
    /// It is too old.
    #[error(transparent)]
    Lacking(#[from] Lacking),
}

/// A Muse that can be run.
#[derive(Debug)]
pub struct Muse {
    settings: Settings,
    key: Option<Arc<Zeroizing<String>>>,
    binary: Binary,
    known: Known,
    version: String,
}

/// The credential, where the settings name a file of it and the provider needs one.
///
/// # Errors
/// [`MuseError::Key`], [`MuseError::NoKey`].
pub fn read_key(settings: &Settings) -> Result<Option<Arc<Zeroizing<String>>>, MuseError> {
    let Some(path) = settings.api_key_file.as_deref().filter(|_| settings.provider == Provider::Meta) else {
        return Ok(None);
    };
    let text = private::read(path, Rule::Secret, MAX_KEY)?;
    let key = text.trim();
    if key.is_empty() || key.contains(['\n', '\r', '\0']) {
        return Err(MuseError::NoKey(path.to_owned()));
    }
    Ok(Some(Arc::new(Zeroizing::new(key.to_owned()))))
}

impl Muse {
    /// Asks a file that was judged what it is. Starts it twice, confined like a job.
    ///
    /// # Errors
    /// [`MuseError`].
    pub async fn find(
        settings: &Settings,
        binary: Binary,
        key: Option<Arc<Zeroizing<String>>>,
        jail: &Jail,
        base: &Base,
    ) -> Result<Self, MuseError> {
        let version = probe::ask(jail, base, &binary, &["--version"]).await?;
        let said: String = version.lines().next().unwrap_or_default().chars().take(128).collect();
        let Some(version) = said.strip_prefix(VERSION) else {
            return Err(MuseError::Other { path: settings.path.clone(), said });
        };
        let known = Known::read(&probe::ask(jail, base, &binary, &["exec", "--help"]).await?);
        known.suffice(settings, key.is_some())?;
        Ok(Self { settings: settings.clone(), key, binary, known, version: version.trim().to_owned() })
    }

    /// Whether the file is still the one that was asked.
    ///
    /// # Errors
    /// [`Unfit`]: it must not be run any more.
    pub fn is_current(&self) -> Result<bool, Unfit> {
        Ok(check::judge(&self.settings.path)? == self.binary)
    }

    /// What runs: `muse`, `echo` or `stub`.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self.settings.provider {
            _ if self.version.contains("stand-in") => "stub",
            Provider::Echo => "echo",
            Provider::Meta => "muse",
        }
    }

    /// Its version, as it says.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Lays out a job's folder and says how to start Muse in it.
    ///
    /// # Errors
    /// [`ScratchError`].
    pub fn prepare(&self, scratch: &mut Scratch, job: &Material<'_>) -> Result<Launch, ScratchError> {
        let prompt = scratch.write_prompt(job.prompt.as_bytes())?;
        let workspace = scratch.folder(Folder::Ws)?;
        let schema = match job.schema {
            Some(schema) => Some(scratch.write_file("schema.json", schema.as_bytes())?),
            None => None,
        };
        let with_key = self.key.is_some();
        let places = Places { prompt: &prompt, workspace: &workspace, schema: schema.as_deref() };
        let mut argv = vec![self.binary.name.clone()];
        argv.extend(flags::write(&self.known, &self.settings, with_key, places));
        let stdin = match &self.key {
            Some(key) => Stdin::Bytes(Zeroizing::new(format!("{}\n", key.as_str()).into_bytes())),
            None => Stdin::Null,
        };
        launch(&self.binary, argv, &workspace, scratch, stdin, limits(job.wall))
    }
}

/// What a job is made of, as far as Muse is concerned.
#[derive(Debug)]
pub struct Material<'a> {
    /// The content of the prompt file.
    pub prompt: &'a str,
    /// The JSON Schema of the answer.
    pub schema: Option<&'a str>,
    /// How long it may take, awake.
    pub wall: Duration,
}

/// Bounds that the kernel holds, far beyond what a job needs; the worker's own are far narrower.
pub(super) fn limits(wall: Duration) -> ProcessLimits {
    let cpu_seconds = wall.as_secs().saturating_mul(2).max(10);
    ProcessLimits { cpu_seconds, file_bytes: 256 << 20, open_files: 1024, processes: None }
}

/// A start of Muse in a scratch folder, with the sealed environment.
pub(super) fn launch(
    binary: &Binary,
    argv: Vec<OsString>,
    cwd: &Path,
    scratch: &mut Scratch,
    stdin: Stdin,
    limits: ProcessLimits,
) -> Result<Launch, ScratchError> {
    let env = environment(scratch)?;
    Ok(Launch {
        program: binary.program.clone(),
        argv,
        env,
        cwd: cwd.to_owned(),
        scratch: scratch.path().to_owned(),
        lock: scratch.lock()?,
        stdin,
        limits,
    })
}

/// From nothing. Every path is inside the scratch folder.
fn environment(scratch: &mut Scratch) -> Result<Vec<(OsString, OsString)>, ScratchError> {
    scratch.write_file("home/.config/muse/settings.json", SEALED)?;
    let home = scratch.path().join("home");
    let run = scratch.folder(Folder::Run)?;
    let mut env: Vec<(OsString, OsString)> = FIXED.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let places = [
        ("HOME", home.clone()),
        ("XDG_CONFIG_HOME", home.join(".config")),
        ("XDG_DATA_HOME", home.join(".local/share")),
        ("XDG_STATE_HOME", home.join(".local/state")),
        ("XDG_CACHE_HOME", home.join(".cache")),
        ("XDG_RUNTIME_DIR", run.clone()),
        ("TMPDIR", run),
    ];
    env.extend(places.map(|(name, path)| (name.into(), path.into_os_string())));
    Ok(env)
}
