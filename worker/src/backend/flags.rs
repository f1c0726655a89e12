//! The command line of a job: what is said to every Muse, and what only to one that knows it.
//!
//! Promises: no text of a caller is among the arguments; a flag that the installed Muse's `exec --help` does not name is
//! left out, unless a job would be less safe or not work without it, then there is no job at all. Wire facts: flags of
//! Muse Code 0.1.0 to 1.4.14.

use crate::config::{Muse, Provider};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

/// A Muse that lacks a flag we cannot do without.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this Muse has no {0}, without which it cannot be run safely; install a newer one")]
pub struct Lacking(&'static str);

/// The flags that a Muse knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known(BTreeSet<String>);

impl Known {
    /// From the text of `exec --help`.
    #[must_use]
    pub fn read(help: &str) -> Self {
        let words = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        Self(words.filter(|word| word.len() > 2 && word.starts_with("--")).map(str::to_owned).collect())
    }

    fn has(&self, flag: &str) -> bool {
        let name = flag.split_once('=').map_or(flag, |(name, _)| name);
        self.0.contains(name)
    }

    /// Whether a job can be run with it.
    ///
    /// # Errors
    /// [`Lacking`]: the first flag that is missing.
    pub fn suffice(&self, muse: &Muse, with_key: bool) -> Result<(), Lacking> {
        let tools = muse.tools;
        let needed = [
            ("--json", true),
            ("--prompt-file", true),
            ("--disable-approval", true),
            ("--disable-shell", !tools.shell),
            ("--disable-write", !tools.write),
            ("--provider", muse.provider == Provider::Echo),
            ("--api-key-stdin", with_key),
            ("--model", muse.model.is_some()),
        ];
        let lacking = needed.into_iter().find(|(flag, needed)| *needed && !self.has(flag));
        lacking.map_or(Ok(()), |(flag, _)| Err(Lacking(flag)))
    }
}

/// Where a job's files are.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The prompt file.
    pub prompt: &'a Path,
    /// The working folder.
    pub workspace: &'a Path,
    /// The JSON Schema of the answer.
    pub schema: Option<&'a Path>,
}

/// All arguments after the program's name.
#[must_use]
pub fn write(known: &Known, muse: &Muse, with_key: bool, places: Places<'_>) -> Vec<OsString> {
    let mut flags = Flags { known, args: vec!["exec".into()] };
    flags.plain("--json");
    flags.pair("--prompt-file", places.prompt);
    flags.pair("--workspace", places.workspace);
    flags.plain("--worktree=off");
    flags.plain("--disable-approval");
    if !muse.tools.write {
        flags.plain("--disable-write");
    }
    if muse.tools.shell {
        // Muse's own sandbox cannot be built inside ours, and without it every command would fail.
        flags.plain("--disable-sandbox");
    } else {
        flags.plain("--disable-shell");
    }
    if !muse.tools.web {
        flags.plain("--disable-web-tools");
    }
    if known.has("--disable-request-user-input") {
        flags.plain("--disable-request-user-input");
    } else {
        flags.plain("--user-input-auto-resolve");
    }
    flags.plain("--no-foreign-personal-context");
    flags.plain("--disable-reminders");
    flags.plain("--no-session-log");
    flags.pair("--max-model-steps", muse.max_steps.to_string());
    flags.pair("--max-tool-output-bytes", muse.max_tool_output.to_string());
    match muse.provider {
        Provider::Echo => flags.pair("--provider", "echo"),
        Provider::Meta => flags.meta(muse, with_key, places.schema),
    }
    flags.args
}

struct Flags<'a> {
    known: &'a Known,
    args: Vec<OsString>,
}

impl Flags<'_> {
    fn plain(&mut self, flag: &str) {
        if self.known.has(flag) {
            self.args.push(flag.into());
        }
    }

    fn pair(&mut self, flag: &str, value: impl Into<OsString>) {
        if self.known.has(flag) {
            self.args.extend([flag.into(), value.into()]);
        }
    }

    /// What the provider `echo` does not take.
    fn meta(&mut self, muse: &Muse, with_key: bool, schema: Option<&Path>) {
        if let Some(model) = &muse.model {
            self.pair("--model", model);
        }
        self.pair("--contributor-mode", if muse.contributor_mode { "on" } else { "off" });
        if let Some(schema) = schema {
            self.pair("--output-schema", schema);
        }
        if with_key {
            self.plain("--api-key-stdin");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const HELP: &str = "
        Usage: muse exec [OPTIONS] [PROMPT]
          --json                     JSON lines
          --prompt-file <PATH>       --workspace <PATH>
          -w, --worktree[=off|create|existing]
          --provider <echo|meta>     --model <ID>  --contributor-mode <on|off>
          --disable-approval, --disable-write, --disable-shell, --disable-web-tools, --disable-sandbox
          --disable-request-user-input  --user-input-auto-resolve --no-foreign-personal-context
          --disable-reminders --no-session-log --max-model-steps <N> --max-tool-output-bytes <N>
          --output-schema <FILE> --api-key-stdin (reads one line)";

    fn muse(text: &str) -> Muse {
        Config::parse(Path::new("t"), &format!("[muse]\n{text}")).unwrap().muse
    }

    fn args(known: &Known, muse: &Muse, with_key: bool, schema: Option<&Path>) -> String {
        let places = Places { prompt: Path::new("/j/prompt"), workspace: Path::new("/j/ws"), schema };
        let args = write(known, muse, with_key, places);
        args.iter().map(|arg| arg.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_new_muse_is_told_everything() {
        let known = Known::read(HELP);
        let schema = Some(Path::new("/j/schema"));
        let expected = "exec --json --prompt-file /j/prompt --workspace /j/ws --worktree=off --disable-approval \
            --disable-write --disable-shell --disable-web-tools --disable-request-user-input \
            --no-foreign-personal-context --disable-reminders --no-session-log --max-model-steps 50 \
            --max-tool-output-bytes 65536 --model muse-spark-1.3 --contributor-mode off \
            --output-schema /j/schema --api-key-stdin";
        assert_eq!(args(&known, &muse("model = \"muse-spark-1.3\""), true, schema), expected);
    }

    #[test]
    fn the_echo_provider_gets_nothing_that_it_refuses() {
        let muse = muse("provider = \"echo\"\nmodel = \"m\"");
        let args = args(&Known::read(HELP), &muse, true, Some(Path::new("/j/schema")));
        assert!(args.ends_with("--provider echo"), "{args}");
        for flag in ["--model", "--contributor", "--output-schema", "--api-key"] {
            assert!(!args.contains(flag), "{flag}");
        }
    }

    #[test]
    fn an_older_muse_is_not_told_what_it_does_not_know() {
        let old = HELP
            .replace("--disable-request-user-input", "")
            .replace("--disable-reminders", "")
            .replace("--contributor-mode", "");
        let args = args(&Known::read(&old), &muse(""), false, None);
        assert!(args.contains("--user-input-auto-resolve") && !args.contains("--disable-request-user-input"));
        assert!(
            !args.contains("--disable-reminders")
                && !args.contains("--contributor-mode")
                && !args.contains("--api-key")
        );
    }

    #[test]
    fn tools_are_withheld_unless_the_settings_give_them() {
        let given = args(&Known::read(HELP), &muse("shell = true\nwrite = true\nweb_tools = true"), false, None);
        assert!(
            !given.contains("--disable-shell")
                && !given.contains("--disable-write")
                && !given.contains("--disable-web")
        );
        assert!(given.contains("--disable-sandbox"));
        assert!(!args(&Known::read(HELP), &muse(""), false, None).contains("--disable-sandbox"));
    }

    #[test]
    fn a_muse_without_a_flag_of_safety_is_not_run() {
        for flag in
            ["--json", "--prompt-file", "--disable-approval", "--disable-shell", "--disable-write", "--api-key-stdin"]
        {
            let known = Known::read(&HELP.replace(flag, "--other"));
            assert_eq!(known.suffice(&muse(""), true), Err(Lacking(flag)));
        }
        assert_eq!(Known::read(HELP).suffice(&muse("model = \"m\""), true), Ok(()));
        let tools = muse("shell = true\nwrite = true");
        let known = Known::read(&HELP.replace("--disable-shell", "").replace("--disable-write", ""));
        assert_eq!(known.suffice(&tools, false), Ok(()));
        assert_eq!(Known::read("").suffice(&tools, false), Err(Lacking("--json")));
    }
}
