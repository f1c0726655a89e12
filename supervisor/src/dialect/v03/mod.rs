//! A2A 0.3 and 0.2. Its two bindings have different shapes: JSON-RPC has `kind` on everything, HTTP+JSON is the JSON of
//! its protocol buffers.

pub(super) mod read;
pub(super) mod rest_read;
pub(super) mod rest_write;
pub(super) mod write;

/// Set in a part's metadata when its `data`, which 0.3 wants to be an object, holds another value under `value`. Public
/// clients of both editions know it.
const WRAPPED: &str = "data_part_compat";
