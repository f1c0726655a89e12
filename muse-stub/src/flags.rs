//! The flags of `exec`: which there are, since which build, and what is refused.
//!
//! Promises: an unknown flag or a bad value is exit 2 before anything else happens, as with the real program, and the
//! help of an older build lists only what that build knew.

use std::fmt::{self, Write};
use std::path::PathBuf;

/// Environment variable that makes the stand-in act as another build, for instance `1.3.0`. The same is said by the
/// name of the executable: `muse-stub-1.3.0`.
const ACT_AS: &str = "MUSE_STUB_BUILD";

/// A version of Muse Code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Build(pub(crate) [u16; 3]);

impl Build {
    /// The build that name or environment ask for.
    pub(crate) fn acted(name: &str) -> Option<Self> {
        let by_name = name.rsplit_once("muse-stub-").and_then(|(_, version)| Self::read(version));
        by_name.or_else(|| Self::read(&std::env::var(ACT_AS).ok()?))
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('.').map(|part| part.parse().ok());
        let build = Self([parts.next()??, parts.next()??, parts.next()??]);
        parts.next().is_none().then_some(build)
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([major, minor, patch]) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// Name, placeholder of its value (empty: none), first build, and whether only Meta's provider takes it.
type Flag = (&'static str, &'static str, [u16; 3], bool);

const FLAGS: &[Flag] = &[
    ("--json", "", [0, 1, 0], false),
    ("--prompt-file", "PATH", [0, 1, 0], false),
    ("--session-id", "UUID", [0, 1, 0], false),
    ("--allow-workspace-switch", "", [0, 1, 0], false),
    ("--no-session-log", "", [0, 1, 0], false),
    ("--workspace", "PATH", [0, 1, 0], false),
    ("--worktree", "[=MODE]", [0, 1, 0], false),
    ("--worktree-base", "REF", [0, 1, 0], false),
    ("--worktree-existing", "PATH", [0, 1, 0], false),
    ("--subagent-worktree-isolation", "", [0, 1, 0], false),
    ("--provider", "NAME", [0, 1, 0], false),
    ("--base-url", "URL", [0, 1, 0], false),
    ("--model", "ID", [0, 1, 0], true),
    ("--contributor-mode", "on|off", [1, 4, 6], true),
    ("--reasoning-effort", "LEVEL", [0, 1, 0], true),
    ("--effort", "LEVEL", [1, 4, 4], true),
    ("--parallel-tool-calls", "", [0, 1, 0], true),
    ("--no-parallel-tool-calls", "", [0, 1, 0], true),
    ("--preset", "NAME", [0, 1, 0], false),
    ("--image", "PATH", [0, 1, 0], true),
    ("--output-schema", "FILE", [1, 3, 0], true),
    ("--max-model-steps", "N", [0, 1, 0], false),
    ("--max-tool-output-bytes", "N", [0, 1, 0], false),
    ("--context-compaction-strategy", "ID", [0, 1, 0], false),
    ("--context-compaction-soft-threshold", "FRACTION", [0, 1, 0], false),
    ("--context-compaction-hard-threshold", "FRACTION", [0, 1, 0], false),
    ("--config", "KEY=VALUE", [1, 4, 4], false),
    ("--api-key-stdin", "", [0, 1, 0], true),
    ("--user-input-auto-resolve", "", [0, 1, 0], false),
    ("--disable-request-user-input", "", [1, 4, 9], false),
    ("--disable-web-tools", "", [0, 1, 0], false),
    ("--disable-write", "", [0, 1, 0], false),
    ("--disable-shell", "", [0, 1, 0], false),
    ("--enable-shell-tool", "", [0, 1, 0], false),
    ("--disable-reminders", "", [1, 4, 3], false),
    ("--no-foreign-personal-context", "", [0, 1, 0], false),
    ("--trust-workspace", "", [0, 1, 0], false),
    ("--approval-mode", "MODE", [1, 0, 0], false),
    ("--approval-judge", "on|off", [1, 0, 0], false),
    ("--permission-profile", "ID", [1, 0, 1], false),
    ("--disable-approval", "", [0, 1, 0], false),
    ("--disable-sandbox", "", [0, 1, 0], false),
    ("--sandbox-network", "MODE", [0, 1, 0], false),
    ("--yolo", "", [0, 1, 0], false),
];

/// Flags that are taken and not listed.
const HIDDEN: &[Flag] = &[("--agents", "JSON", [0, 1, 0], false)];

/// Values that a flag takes, where they are few.
const CHOICES: &[(&str, &[&str])] = &[
    ("--worktree", &["off", "create", "existing"]),
    ("--provider", &["echo", "meta"]),
    ("--contributor-mode", &["on", "off"]),
    ("--reasoning-effort", &["minimal", "low", "medium", "high", "xhigh", "max", "ultra"]),
    ("--effort", &["minimal", "low", "medium", "high", "xhigh", "max", "ultra"]),
    ("--approval-mode", &["untrusted", "on-request", "never"]),
    ("--approval-judge", &["on", "off"]),
    ("--sandbox-network", &["restricted", "enabled", "proxy-only"]),
];

/// A legal call of `exec`.
#[derive(Debug, Default)]
pub(crate) struct Call {
    pub(crate) json: bool,
    pub(crate) echo: bool,
    pub(crate) key_from_stdin: bool,
    pub(crate) no_session_log: bool,
    pub(crate) prompt: Option<String>,
    pub(crate) prompt_file: Option<PathBuf>,
    pub(crate) schema: Option<PathBuf>,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) session: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) max_steps: Option<u64>,
    pub(crate) max_tool_bytes: Option<usize>,
}

/// Why a call is refused, and with which exit code.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) text: String,
    pub(crate) code: u8,
}

fn usage(text: String) -> Refusal {
    Refusal { text, code: 2 }
}

/// The help of `exec`.
pub(crate) fn help(build: Build) -> String {
    let mut text = String::from("Run one turn without a terminal\n\nUsage: muse exec [OPTIONS] [PROMPT]\n\nOptions:\n");
    for (name, value, since, meta) in FLAGS.iter().filter(|(_, _, since, _)| Build(*since) <= build) {
        let usage = if value.is_empty() || value.starts_with('[') {
            format!("{name}{value}")
        } else {
            format!("{name} <{value}>")
        };
        let note = if *meta { ", meta only" } else { "" };
        let _ = writeln!(text, "      {usage:<52} since {}{note}", Build(*since));
    }
    text.push_str("  -h, --help\n");
    text
}

/// Reads the arguments after `exec`.
pub(crate) fn parse(args: &[String], build: Build) -> Result<Call, Refusal> {
    let mut call = Call::default();
    let mut meta_only = None;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            call.prompt = args.next().cloned();
            break;
        }
        if !arg.starts_with('-') || arg == "-" {
            call.prompt = Some(arg.clone());
            break;
        }
        let (name, given) = split(arg);
        let flag = FLAGS.iter().chain(HIDDEN).find(|(known, _, since, _)| *known == name && Build(*since) <= build);
        let Some((name, placeholder, _, meta)) = flag else {
            return Err(usage(format!("unexpected argument '{name}' found")));
        };
        if *meta {
            meta_only = Some(*name);
        }
        let value = match (placeholder.is_empty(), given) {
            (true, Some(_)) => return Err(usage(format!("{name} takes no value"))),
            (true, None) => String::new(),
            (false, Some(value)) => value.to_owned(),
            (false, None) if placeholder.starts_with('[') => "create".to_owned(),
            (false, None) => args.next().cloned().ok_or_else(|| usage(format!("{name} needs a value")))?,
        };
        check_choice(name, &value)?;
        set(&mut call, name, value)?;
    }
    if args.next().is_some() {
        return Err(usage("more than one prompt".into()));
    }
    check(&call, meta_only, build)?;
    Ok(call)
}

fn split(arg: &str) -> (&str, Option<&str>) {
    let (name, value) = arg.split_once('=').map_or((arg, None), |(name, value)| (name, Some(value)));
    match name {
        "-c" => ("--config", value),
        "-w" => ("--worktree", value),
        other => (other, value),
    }
}

fn check_choice(name: &str, value: &str) -> Result<(), Refusal> {
    match CHOICES.iter().find(|(known, _)| *known == name) {
        Some((_, choices)) if !choices.contains(&value) => {
            Err(usage(format!("invalid value '{value}' for {name}; possible values: {}", choices.join(", "))))
        }
        _ => Ok(()),
    }
}

fn set(call: &mut Call, name: &str, value: String) -> Result<(), Refusal> {
    let number = |value: &str| value.parse().map_err(|_| usage(format!("invalid value '{value}' for {name}")));
    match name {
        "--json" => call.json = true,
        "--provider" => call.echo = value == "echo",
        "--api-key-stdin" => call.key_from_stdin = true,
        "--no-session-log" => call.no_session_log = true,
        "--prompt-file" => call.prompt_file = Some(value.into()),
        "--output-schema" => call.schema = Some(value.into()),
        "--workspace" => call.workspace = Some(value.into()),
        "--session-id" => call.session = Some(value),
        "--model" => call.model = Some(value),
        "--max-model-steps" => call.max_steps = Some(number(&value)?),
        "--max-tool-output-bytes" => match number(&value)? {
            small @ 1..=8 => return Err(usage(format!("invalid value '{small}' for {name}: 0, or 9 and more"))),
            bytes => call.max_tool_bytes = usize::try_from(bytes).ok(),
        },
        _ => {}
    }
    Ok(())
}

fn check(call: &Call, meta_only: Option<&str>, build: Build) -> Result<(), Refusal> {
    if let Some(name) = meta_only.filter(|_| call.echo) {
        return Err(usage(format!("{name} is only for --provider meta")));
    }
    if call.session.is_some() && call.no_session_log {
        return Err(usage("--session-id and --no-session-log exclude each other".into()));
    }
    match (&call.prompt, &call.prompt_file) {
        (None, None) => {
            Err(Refusal { text: "missing prompt".into(), code: if build < Build([1, 3, 0]) { 1 } else { 2 } })
        }
        (Some(_), Some(_)) => Err(usage("a prompt and --prompt-file exclude each other".into())),
        _ => Ok(()),
    }
}
