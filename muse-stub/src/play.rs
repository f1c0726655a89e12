//! A run, from its first record to its exit code.
//!
//! Promises: whatever the script does not change is as the real program does it: deltas add up to the terminal text,
//! a usage record stands before the terminal one, SIGTERM and SIGINT end the run with 143 and 130 and no terminal
//! record.

use crate::clock::nap;
use crate::fail::{self, Shows, Way};
use crate::flags::Call;
use crate::output::Output;
use crate::prompt::Prompt;
use crate::script::{self, Line, Step};
use crate::text::{clip, cut};
use crate::wire::{TaskEnd, Usage, Wire};
use crate::{bench, schema, start};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const MODEL: &str = "muse-spark-1.3";
/// Model ids with this beginning do not exist.
const NO_MODEL: &str = "no-such-";
/// Keys with this beginning are refused.
const BAD_KEY: &str = "rejected";
/// Answers longer than this are not repeated in the terminal record, bytes.
pub(crate) const MAX_REPEATED: usize = 1024 * 1024;

/// A run under way.
pub(crate) struct Run<'a> {
    pub(crate) wire: Wire<'a>,
    pub(crate) prompt: &'a Prompt,
    pub(crate) call: &'a Call,
    pub(crate) ending: Ending,
    pub(crate) report: serde_json::Map<String, serde_json::Value>,
    pub(crate) tasks: u64,
    said: String,
    said_bytes: usize,
    pub(crate) open: Vec<u64>,
    pub(crate) usage: bool,
}

/// How a run is to end.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    pub(crate) state: Option<&'static str>,
    pub(crate) reason: Option<String>,
    pub(crate) silent: bool,
    pub(crate) text: Option<String>,
    pub(crate) exit: Option<u8>,
    pub(crate) twice: bool,
    pub(crate) after: bool,
    pub(crate) no_newline: bool,
    pub(crate) linger: u64,
}

/// Whether the script goes on.
pub(crate) enum Flow {
    On,
    /// Exit at once, with no further record.
    Exit(u8),
}

/// Plays what the prompt asks for. Returns the exit code.
pub(crate) fn run(call: &Call, prompt: &Prompt, output: &mut Output) -> u8 {
    let lines = match lines(call, prompt) {
        Ok(lines) => lines,
        Err(reason) => {
            output.note(&format!("muse-stub: {reason}\n"));
            let mut wire = Wire::new(output, call.json, None);
            wire.begin();
            wire.terminal("failed", Some(&format!("muse-stub: {reason}")), "");
            return 1;
        }
    };
    let steps = || lines.iter().flat_map(|line| &line.steps);
    let fm = bench::Options::find(prompt).filter(|_| lines.is_empty() && !call.echo);
    let ignores = fm.as_ref().is_some_and(bench::Options::ignores_signals);
    watch_signals(ignores || steps().any(|step| step.name == "ignore-term"));
    if let Some(fm) = fm {
        return bench::run(&fm, prompt, call, output);
    }
    if let Some(reason) = start::refusal(call) {
        notes(call, output);
        output.note(&format!("{reason}\n"));
        return 1;
    }
    if let Some(way) = refused(prompt, steps()) {
        let Shows::Before(code) = way.shows else { return 1 };
        notes(call, output);
        output.note(&format!("{}\n", way.text));
        return code;
    }
    if let Some(step) = steps().find(|step| step.name == "quiet") {
        nap(step.number());
    }
    notes(call, output);
    let mut run = Run {
        wire: Wire::new(output, call.json, call.session.as_deref()),
        prompt,
        call,
        ending: Ending::default(),
        report: serde_json::Map::new(),
        tasks: 1,
        said: String::new(),
        said_bytes: 0,
        open: Vec::new(),
        usage: true,
    };
    run.begin();
    for line in &lines {
        for step in &line.steps {
            if let Flow::Exit(code) = run.perform(step, &line.how) {
                return code;
            }
        }
    }
    run.end(lines.is_empty())
}

/// The script: of the message, else of the environment, else none.
fn lines(call: &Call, prompt: &Prompt) -> Result<Vec<Line>, String> {
    if call.echo {
        return Ok(Vec::new());
    }
    let lines = script::read(&prompt.message)?;
    match std::env::var("MUSE_STUB") {
        Ok(text) if lines.is_empty() => script::read(&format!("@stub {}", text.replace('\n', "\n@stub "))),
        _ => Ok(lines),
    }
}

/// The first reason not to begin at all.
fn refused<'s>(prompt: &Prompt, mut steps: impl Iterator<Item = &'s Step>) -> Option<&'static Way> {
    match prompt.key.as_deref() {
        Some("") => return fail::find("no-credential"),
        Some(key) if key.starts_with(BAD_KEY) => return fail::find("bad-credential"),
        _ => {}
    }
    let way = fail::find(&steps.find(|step| step.name == "fail")?.value)?;
    matches!(way.shows, Shows::Before(_)).then_some(way)
}

/// The lines that the real program always writes to standard error.
fn notes(call: &Call, output: &mut Output) {
    let workspace = call.workspace.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let mut text = format!("muse: workspace root: {}\nmuse: workspace trust: untrusted\n", workspace.display());
    if call.no_session_log {
        text.push_str("muse: local session messaging is off: this run keeps no session log\n");
    }
    output.note(&text);
}

fn watch_signals(ignore: bool) {
    use nix::libc::{SIGHUP, SIGINT, SIGTERM};
    let always = Arc::new(AtomicBool::new(true));
    if ignore {
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            let _ = signal_hook::flag::register(signal, Arc::clone(&always));
        }
    } else {
        let _ = signal_hook::flag::register_conditional_shutdown(SIGTERM, 143, Arc::clone(&always));
        let _ = signal_hook::flag::register_conditional_shutdown(SIGINT, 130, always);
    }
}

impl Run<'_> {
    fn begin(&mut self) {
        let model = (!self.call.echo).then(|| self.call.model.as_deref().unwrap_or(MODEL));
        self.wire.begin();
        self.wire.head(model, &self.prompt.whole);
        let name = if self.call.echo { "model.echo.response" } else { "model.meta.response" };
        self.wire.task_begins(0, name, "model:run:0");
        if self.call.model.as_deref().is_some_and(|id| id.starts_with(NO_MODEL)) {
            self.fail("model");
        }
        if let Some(schema) = &self.prompt.schema
            && !schema::all_required(schema)
        {
            self.fail("schema");
        }
    }

    /// Says something as one delta.
    pub(crate) fn say(&mut self, text: &str) {
        self.wire.delta(text);
        self.said_bytes += text.len();
        if self.said_bytes <= MAX_REPEATED {
            self.said.push_str(text);
        }
    }

    /// Says something in several deltas, cut at characters.
    pub(crate) fn say_in(&mut self, pieces: usize, gap: u64, text: &str) {
        for (at, piece) in cut(text, pieces).enumerate() {
            if at > 0 {
                self.pause(gap);
            }
            self.say(piece);
        }
    }

    pub(crate) fn pause(&mut self, millis: u64) {
        if millis > 0 {
            self.wire.out().flush();
            nap(millis);
        }
    }

    /// The answer of a run whose script says nothing, or that has none.
    fn fallback(&mut self, unscripted: bool) {
        if !self.report.is_empty() {
            let report = serde_json::Value::Object(std::mem::take(&mut self.report)).to_string();
            self.say_in(3, 0, &report);
        } else if self.call.echo {
            let text = format!("echo: {}", self.prompt.whole);
            self.say(&text);
        } else if let Some(schema) = &self.prompt.schema {
            let text = schema::instance(schema).to_string();
            self.say_in(3, 0, &text);
        } else if unscripted {
            let text = friendly(self.prompt);
            self.say_in(4, 0, &text);
        }
    }

    /// Ends the run here, with whatever it has said.
    pub(crate) fn end_now(&mut self) -> u8 {
        self.end(false)
    }

    fn end(&mut self, unscripted: bool) -> u8 {
        let failed = self.ending.state == Some("failed");
        if self.said_bytes == 0 && !failed {
            self.fallback(unscripted);
        }
        if let Some(max) = self.call.max_steps.filter(|max| self.tasks > *max && !failed) {
            self.ending.state = Some("failed");
            self.ending.reason = Some(format!("model did not reach a terminal state within {max} step(s)"));
        }
        for number in std::mem::take(&mut self.open) {
            self.wire.task_ends(number, TaskEnd::Cancelled("main run completed"));
        }
        let state = self.ending.state.unwrap_or("completed");
        let reason = self.ending.reason.take();
        self.wire.task_ends(0, reason.as_deref().map_or(TaskEnd::Completed, TaskEnd::Failed));
        if self.usage {
            let usage = Usage {
                calls: self.tasks,
                input: self.prompt.whole.len() as u64 / 4,
                output: self.said_bytes as u64 / 4,
            };
            self.wire.usage((!self.call.echo).then_some(MODEL), usage);
        }
        if !self.ending.silent {
            self.terminal(state, reason.as_deref());
        }
        self.wire.out().flush();
        nap(self.ending.linger);
        self.ending.exit.unwrap_or(u8::from(matches!(state, "failed" | "cancelled")))
    }

    fn terminal(&mut self, state: &str, reason: Option<&str>) {
        let said = if self.said_bytes > MAX_REPEATED { String::new() } else { std::mem::take(&mut self.said) };
        let text = self.ending.text.take().unwrap_or_else(|| if state == "completed" { said } else { String::new() });
        self.wire.terminal(state, reason, &text);
        if self.ending.twice {
            self.wire.terminal(state, reason, &text);
        }
        if self.ending.after {
            self.wire.delta("after the end");
            self.wire.unknown("run.epilogue");
        }
        if self.ending.no_newline {
            self.wire.out().buffer().pop();
        }
    }
}

fn friendly(prompt: &Prompt) -> String {
    let mut words: String = prompt.message.split_whitespace().take(8).collect::<Vec<_>>().join(" ");
    if words.len() > 80 {
        words = clip(&words, 80).to_owned();
    }
    let turns = match prompt.turns.len() {
        0 => String::new(),
        1 => " I was told of one earlier entry of our conversation.".into(),
        count => format!(" I was told of {count} earlier entries of our conversation."),
    };
    format!(
        "I am muse-stub, a stand-in for Muse Code: no model, no network, always this answer. \
         Your message begins with \u{201c}{words}\u{201d}.{turns}"
    )
}
