//! What the benchmarks ask for: `@fm KEY=VALUE …`, anywhere in the message, or in the environment variable `FAKEMUSE`.
//!
//! The head of the run is kept short, nothing goes to standard error unasked, and output is gathered unless time
//! matters, so that what is measured is the reader.

use crate::clock::{Deadline, LONGEST_LIFE, monotonic, nap};
use crate::flags::Call;
use crate::output::Output;
use crate::play::MAX_REPEATED;
use crate::prompt::Prompt;
use crate::shape;
use crate::wire::{Usage, Wire};
use std::borrow::Cow;
use std::fmt::Write;

const MARK: &str = "@fm ";
const WORDS: &str = "the quick brown fox jumps over the lazy dog ";

/// The options, each a number; 0 where not given.
#[derive(Debug, Default)]
pub(crate) struct Options {
    sleep: u64,
    events: Option<u64>,
    bytes: Option<usize>,
    gap: u64,
    ts: bool,
    echo: bool,
    hang: bool,
    noterm: bool,
    grandchild: bool,
    escape: bool,
    partial: bool,
    noturn: bool,
    stderr: usize,
    exit: u8,
}

impl Options {
    pub(crate) fn find(prompt: &Prompt) -> Option<Self> {
        let message = prompt.message.split_once(MARK).map(|(_, rest)| rest);
        let environment = std::env::var("FAKEMUSE").ok();
        let mut options = Self::default();
        environment.iter().for_each(|text| options.read(text));
        let rest = message.map(|rest| rest.split(['\n', '"', '\\']).next().unwrap_or_default());
        rest.iter().for_each(|text| options.read(text));
        (message.is_some() || environment.is_some()).then_some(options)
    }

    fn read(&mut self, text: &str) {
        for (name, value) in text.split_whitespace().filter_map(|word| word.split_once('=')) {
            let number = value.parse::<u64>().unwrap_or_default();
            let size = usize::try_from(number).unwrap_or_default();
            match name {
                "sleep" => self.sleep = number,
                "events" => self.events = Some(number),
                "bytes" => self.bytes = Some(size),
                "gap" => self.gap = number,
                "ts" => self.ts = number != 0,
                "echo" => self.echo = number != 0,
                "hang" => self.hang = number != 0,
                "noterm" => self.noterm = number != 0,
                "grandchild" => self.grandchild = number != 0,
                "escape" => self.escape = number != 0,
                "partial" => self.partial = number != 0,
                "noturn" => self.noturn = number != 0,
                "stderr" => self.stderr = size,
                "exit" => self.exit = u8::try_from(number).unwrap_or(1),
                _ => {}
            }
        }
    }

    pub(crate) fn ignores_signals(&self) -> bool {
        self.noterm
    }
}

/// Text of so many bytes.
pub(crate) fn filler(bytes: usize) -> Cow<'static, str> {
    match WORDS.get(..bytes) {
        Some(text) => Cow::Borrowed(text),
        None => {
            let mut text = WORDS.repeat(bytes / WORDS.len() + 1);
            text.truncate(bytes);
            Cow::Owned(text)
        }
    }
}

/// A delta's text: the time if asked for, filled up to so many bytes.
pub(crate) fn payload(ts: bool, bytes: usize) -> Cow<'static, str> {
    if !ts {
        return filler(bytes);
    }
    let mut text = format!("t={} ", monotonic());
    text.push_str(&filler(bytes.saturating_sub(text.len())));
    Cow::Owned(text)
}

/// Plays the options. Returns the exit code.
pub(crate) fn run(options: &Options, prompt: &Prompt, call: &Call, output: &mut Output) -> u8 {
    if options.grandchild || options.escape {
        let role = if options.escape { "daemon" } else { "sleeper" };
        let _ = shape::start(role, Deadline::after(LONGEST_LIFE), "fm", true);
    }
    output.note(&"e".repeat(options.stderr));
    let paced = options.ts || options.gap > 0 || options.sleep > 0 || options.hang;
    let mut wire = Wire::new(output, call.json, None);
    wire.begin();
    if paced {
        wire.out().flush();
    }
    nap(options.sleep);
    let said = deltas(options, prompt, &mut wire, paced);
    if options.hang {
        wire.out().flush();
        Deadline::after(shape::LONGEST_HANG).wait();
        return 1;
    }
    if options.partial {
        wire.out().text("{\"schema_version\":1,\"id\":\"018f00");
        return options.exit;
    }
    if !options.noturn {
        let events = options.events.unwrap_or(1);
        let bytes = events * options.bytes.unwrap_or(32) as u64;
        wire.usage(None, Usage { calls: 1, input: prompt.whole.len() as u64 / 4, output: bytes / 4 });
        wire.terminal("completed", None, &said);
    }
    options.exit
}

/// Writes the deltas; gives back what they said, unless that is long.
fn deltas(options: &Options, prompt: &Prompt, wire: &mut Wire<'_>, paced: bool) -> String {
    let bytes = options.bytes.unwrap_or(32);
    let events = options.events.unwrap_or(1);
    let mut said = String::new();
    let repeated = bytes.saturating_mul(usize::try_from(events).unwrap_or(usize::MAX)) <= MAX_REPEATED;
    for number in 0..events {
        if number > 0 {
            nap(options.gap);
        }
        let mut text = payload(options.ts, bytes);
        if options.echo && number == 0 {
            let mut first = checksum(prompt.message.as_bytes());
            first.push_str(&text);
            text = Cow::Owned(first);
        }
        wire.delta(&text);
        if paced {
            wire.out().flush();
        }
        if repeated {
            said.push_str(&text);
        }
    }
    said
}

/// Length and FNV-1a of what arrived.
fn checksum(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(2_166_136_261_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619));
    let mut text = String::new();
    let _ = write!(text, "len={} fnv={hash:08x} ", bytes.len());
    text
}
