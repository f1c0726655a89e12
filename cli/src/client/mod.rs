//! An A2A client for any agent, whatever year its software is from: reads the card, picks the dialect, sends, polls.

pub mod agents;
pub mod http;
pub mod rpc;
pub mod task;
