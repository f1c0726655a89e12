//! One run of the stand-in, and what it left.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub(crate) const STUB: &str = env!("CARGO_BIN_EXE_muse-stub");

/// One run of `exec --json` in a folder of its own.
pub(crate) struct Job {
    pub(crate) folder: tempfile::TempDir,
    args: Vec<String>,
    stdin: String,
}

impl Job {
    /// With this prompt file.
    pub(crate) fn of(prompt: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("ws")).unwrap();
        std::fs::create_dir(folder.path().join("out")).unwrap();
        std::fs::write(folder.path().join("prompt"), prompt).unwrap();
        Self { folder, args: vec!["exec".into(), "--json".into()], stdin: String::new() }
    }

    /// With a prompt as musegate writes it.
    pub(crate) fn framed(message: &str, turns: serde_json::Value) -> Self {
        let document = serde_json::json!({"caller": "alice", "contextId": "c", "taskId": "t", "messageId": "m",
            "turns": turns, "message": {"parts": [{"text": message}]}});
        Self::of(&format!("You answer another agent.\n{document}\n"))
    }

    pub(crate) fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(crate) fn stdin(mut self, text: &str) -> Self {
        self.stdin = text.into();
        self
    }

    pub(crate) fn ws(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(STUB);
        command.args(&self.args).arg("--prompt-file").arg(self.folder.path().join("prompt"));
        command.current_dir(self.ws()).env_clear().env("TMPDIR", self.folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self) -> Done {
        let mut child = self.command().spawn().unwrap();
        child.stdin.take().unwrap().write_all(self.stdin.as_bytes()).unwrap();
        Done(child.wait_with_output().unwrap())
    }
}

/// What a run left.
pub(crate) struct Done(pub(crate) Output);

impl Done {
    pub(crate) fn code(&self) -> Option<i32> {
        self.0.status.code()
    }

    pub(crate) fn stdout(&self) -> &[u8] {
        &self.0.stdout
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// Lines of stdout that are JSON objects.
    pub(crate) fn records(&self) -> Vec<serde_json::Value> {
        self.stdout().split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    pub(crate) fn texts(&self, payload_type: &str) -> Vec<String> {
        let of_type = |record: &&serde_json::Value| {
            record["payload_type"].as_str().is_some_and(|found| found.starts_with(payload_type))
        };
        let text = |record: &serde_json::Value| record["payload"]["text"].as_str().unwrap_or_default().to_owned();
        self.records().iter().filter(of_type).map(text).collect()
    }

    /// Deltas, joined.
    pub(crate) fn said(&self) -> String {
        self.texts("run.output.delta").concat()
    }

    /// Text of the terminal record.
    pub(crate) fn answer(&self) -> String {
        self.texts("run.terminal.").pop().expect("a terminal record")
    }

    pub(crate) fn reason(&self) -> String {
        let terminal = self.records().pop().expect("a record");
        terminal["payload"]["reason"].as_str().unwrap_or_default().to_owned()
    }
}
