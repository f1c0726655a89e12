//! Confinement as data, and the little code that applies it.
//!
//! Promises: this is the only crate with unsafe code, each use with the fact that makes it sound; what is applied here
//! is applied by the kernel or reported as missing. Refuses to know Tasks, jobs, settings and the protocol.

#[cfg(target_os = "linux")]
pub mod attack;
#[cfg(target_os = "linux")]
pub mod capabilities;
pub mod descriptors;
pub mod fork;
#[cfg(target_os = "linux")]
pub mod landlock;
pub mod listener;
pub mod memory;
#[cfg(target_os = "linux")]
pub mod muse;
#[cfg(target_os = "linux")]
pub mod namespaces;
pub mod peer;
#[cfg(target_os = "linux")]
pub mod pidfd;
pub mod seatbelt;
#[cfg(target_os = "linux")]
pub mod seccomp;
pub mod signals;
pub mod supervisor;
pub mod tree;
mod usage;
mod walls;
pub mod worker;

pub use listener::{Inherited, ListenerError, inherited_listeners};
pub use memory::{set_not_dumpable, trim_heap};
pub use peer::{Peer, peer_of};
pub use usage::{open_descriptors, resident_kib};
pub use walls::Walls;
