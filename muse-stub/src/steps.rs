//! The steps of a script that say something, wait, use tools or fail.

use crate::clock::{self, Deadline};
use crate::fail::{self, Shows};
use crate::play::{Flow, Run};
use crate::script::{How, Step};
use crate::text::{clip, cut};
use crate::wire::{Retry, TaskEnd};
use crate::{bench, damage, files, probe, shape};
use std::time::Duration;

/// Times that the provider is tried before it is given up.
const ATTEMPTS: u64 = 10;

impl Run<'_> {
    /// Makes the run fail in a known way, or for another reason. What has been said stays said.
    pub(crate) fn fail(&mut self, kind: &str) {
        let way = fail::find(kind);
        self.ending.state = Some("failed");
        self.ending.reason = Some(way.map_or(kind, |way| way.text).to_owned());
        if let Some(Shows::AfterRetries(http)) = way.map(|way| way.shows) {
            self.retries(ATTEMPTS - 1, http, 0);
        }
    }

    fn retries(&mut self, count: u64, http: u64, gap: u64) {
        for attempt in 1..=count {
            let wait_millis = 1000 << attempt.min(6).saturating_sub(1);
            self.wire.retry(0, Retry { attempt, of: count.max(ATTEMPTS), http, wait_millis });
            self.pause(gap);
        }
    }

    /// A tool's task: begins, prints, ends, and its result.
    pub(crate) fn tool(&mut self, tool: &str, text: &str, end: Option<TaskEnd<'_>>) {
        let (number, call) = (self.tasks, format!("call_{:04x}", self.tasks));
        self.tasks += 1;
        self.wire.task_begins(number, &format!("tool.{tool}"), &format!("tool:{call}"));
        let Some(end) = end else {
            self.open.push(number);
            return;
        };
        let text = self.call.max_tool_bytes.filter(|max| *max > 0).map_or(text, |max| clip(text, max));
        let outcome = match end {
            TaskEnd::Completed => Some("success"),
            TaskEnd::Rejected(_) => None,
            _ => Some("failure"),
        };
        if outcome.is_some() {
            self.wire.task_output(number, text);
        }
        self.wire.tool_result(&call, tool, text, outcome);
        self.wire.task_ends(number, end);
    }

    /// Does what one word says.
    pub(crate) fn perform(&mut self, step: &Step, how: &How) -> Flow {
        let value = step.value.as_str();
        match step.name.as_str() {
            "answer" => self.say_in(how.pieces, how.gap, value),
            "stream" => self.stream(step.number(), how),
            "history" => self.history(how),
            "prompt" => self.say_in(how.pieces, how.gap, &self.prompt.whole),
            "contract" => self.say_in(how.pieces, how.gap, &contract(value, how)),
            "leak" => self.leak(value, how),
            "final" => self.ending.text = Some(step.value.clone()),
            "no-usage" => self.usage = false,
            "sleep" => self.pause(step.number().max(1)),
            "hang" => return self.hang(how),
            "linger" => self.ending.linger = step.number(),
            "flood" => return self.flood(value, how),
            "burn" => burn(step.number()),
            "memory" => self.memory(step.number()),
            "tool" => self.tool(value, how.text.as_deref().unwrap_or("3 lines"), Some(TaskEnd::Completed)),
            "tool-failed" => {
                self.tool(value, "exit status 1", Some(TaskEnd::Failed("process exited with status exit status: 1")))
            }
            "tool-refused" => {
                self.tool(value, "invalid arguments: expected integer", Some(TaskEnd::Rejected("invalid arguments")))
            }
            "tool-open" => self.tool(value, "", None),
            "environment" => self.tool("bash", fail::ENVIRONMENT, Some(TaskEnd::Failed(fail::ENVIRONMENT))),
            "retries" => self.retries(step.number(), how.http, how.gap),
            "stderr" => self.wire.out().note(&format!("{value}\n")),
            "stderr-bytes" => self.wire.out().note(&"e".repeat(usize::try_from(step.number()).unwrap_or_default())),
            "fail" => self.fail(value),
            "cancelled" => self.ending.state = Some("cancelled"),
            "no-terminal" => self.ending.silent = true,
            "unknown-terminal" => self.ending.state = Some("paused"),
            "terminal-twice" => self.ending.twice = true,
            "after-terminal" => self.ending.after = true,
            "no-newline" => self.ending.no_newline = true,
            "exit" => self.ending.exit = u8::try_from(step.number()).ok(),
            // Done before the first record.
            "quiet" | "ignore-term" => {}
            "crash" | "stop" | "shape" => {
                self.wire.out().flush();
                return shape::perform(self, step, how);
            }
            "out" | "fill" | "litter" => files::perform(self, step, how),
            _ if damage::knows(&step.name) => return damage::perform(self, step, how),
            _ => probe::perform(self, step),
        }
        Flow::On
    }

    fn stream(&mut self, count: u64, how: &How) {
        for number in 0..count {
            if number > 0 {
                self.pause(how.gap);
            }
            let text = bench::payload(how.ts, how.bytes);
            self.say(&text);
            if how.ts {
                self.wire.out().flush();
            }
        }
    }

    fn history(&mut self, how: &How) {
        let turns = self.prompt.turns.iter().map(|turn| format!("{}: {}\n", turn.role, turn.text));
        let text: String = turns.chain([format!("now: {}", self.prompt.message)]).collect();
        self.say_in(how.pieces, how.gap, &text);
    }

    fn leak(&mut self, secret: &str, how: &How) {
        let secret = if secret == "key" { self.prompt.key.as_deref().unwrap_or_default() } else { secret };
        match how.place.as_str() {
            "tool" => self.tool("bash", secret, Some(TaskEnd::Completed)),
            "stderr" => cut(secret, how.pieces).for_each(|piece| self.wire.out().note(piece)),
            "final" => self.ending.text = Some(secret.to_owned()),
            "reason" => self.fail(secret),
            _ => self.say_in(how.pieces, how.gap, secret),
        }
    }

    fn hang(&mut self, how: &How) -> Flow {
        self.wire.out().flush();
        Deadline::after(how.life.unwrap_or(shape::LONGEST_HANG)).wait();
        Flow::Exit(1)
    }

    fn flood(&mut self, what: &str, how: &How) -> Flow {
        let end = Deadline::after(how.life.unwrap_or(clock::LONGEST_LIFE));
        let (line, junk) = ("x".repeat(4096), "this is no record\n".repeat(64));
        while !end.passed() {
            match what {
                "line" => self.wire.out().text(&line),
                "junk" => self.wire.out().text(&junk),
                "stderr" => self.wire.out().note(&junk),
                "tools" => self.tool("search", &line, Some(TaskEnd::Completed)),
                _ => self.say(bench::filler(how.bytes).as_ref()),
            }
            self.pause(how.gap);
        }
        Flow::Exit(1)
    }

    fn memory(&mut self, mebibytes: u64) {
        let mut held: Vec<Vec<u8>> = Vec::new();
        for _ in 0..mebibytes {
            let mut block = Vec::new();
            if block.try_reserve_exact(1 << 20).is_err() {
                break;
            }
            block.resize(1 << 20, 1);
            held.push(block);
        }
        self.say(&format!("got {} MiB\n", held.len()));
    }
}

fn burn(millis: u64) {
    let end = Deadline::after(Duration::from_millis(millis).min(clock::LONGEST_LIFE));
    while !end.passed() {
        std::hint::spin_loop();
    }
}

fn contract(state: &str, how: &How) -> String {
    let text = how.text.as_deref().unwrap_or("from the stand-in");
    let (state, reply) = if state == "message" { ("completed", "message") } else { (state, "task") };
    serde_json::json!({"a2a": 1, "state": state, "parts": [{"text": text}], "reply": reply}).to_string()
}
