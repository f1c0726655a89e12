//! Every place where musegate reads what somebody else wrote, as a function from bytes that must not panic and must keep
//! what its room promises. A new target is a function and a line in [`TARGETS`]; `run.sh` and the test of the corpora
//! find it there.

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
    target("frames", 4096, boundary::frames),
    target("to-worker", 8192, boundary::to_worker),
    target("from-worker", 8192, boundary::from_worker),
    target("preamble", 64, boundary::preamble),
    target("session", 2048, boundary::session),
    target("settings", 2048, text::settings),
];

/// The target of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
