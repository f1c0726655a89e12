//! Every place where musegate reads what somebody else wrote, as a function from bytes that must not panic and must keep
//! what its room promises. A new target is a function and a line in [`TARGETS`]; `run.sh` and the test of the corpora
//! find it there.

mod a2a;
mod agent;
mod boundary;
mod mirror;
mod pieces;
mod text;

/// One reader.
#[derive(Debug)]
pub struct Target {
    /// Its name on the command line, and of its folder below `corpus/`.
    pub name: &'static str,
    /// Longest input worth trying, bytes.
    pub max_len: usize,
    /// Panics when a promise is broken.
    pub run: fn(&[u8]),
}

const fn target(name: &'static str, max_len: usize, run: fn(&[u8])) -> Target {
    Target { name, max_len, run }
}

/// All of them.
pub const TARGETS: &[Target] = &[
    // The boundary between the processes.
    target("frames", 4096, boundary::frames),
    target("to-worker", 8192, boundary::to_worker),
    target("from-worker", 8192, boundary::from_worker),
    target("preamble", 64, boundary::preamble),
    target("session", 1024, boundary::session),
    // Files of the operator.
    target("settings", 2048, text::settings),
    target("supervisor-config", 4096, text::supervisor),
    target("worker-config", 4096, text::worker),
    target("callers", 2048, text::callers),
    target("patterns", 512, text::patterns),
    // Muse, and what goes to it and comes from it.
    target("jsonl", 4096, agent::jsonl),
    target("prompt", 2048, agent::prompt),
    target("answer", 4096, agent::answer),
    target("redact", 4096, text::redact),
    target("sanitize", 2048, text::sanitize),
    // The network.
    target("json-rpc", 4096, a2a::rpc),
    target("rest", 4096, a2a::rest),
    target("structured", 2048, a2a::structured),
    target("stream", 2048, a2a::stream),
    target("resume", 128, a2a::resume),
];

/// The target of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
