//! A2A 1.0 and 1.0.1: the shapes that both of its bindings share. Spec §4 and §5.

pub(super) mod read;
pub(super) mod rest;
pub(super) mod write;
