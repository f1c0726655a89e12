//! The records as far as they are parsed: everything but the joints is optional, and what is not named is skipped.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow)]
    pub(super) payload_type: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) payload: &'a RawValue,
}

#[derive(Deserialize)]
pub(super) struct Said<'a> {
    #[serde(borrow)]
    pub(super) text: &'a RawValue,
}

#[derive(Deserialize)]
pub(super) struct Configured<'a> {
    #[serde(borrow)]
    pub(super) model_id: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct Lifecycle<'a> {
    #[serde(borrow)]
    pub(super) event: Step<'a>,
}

#[derive(Deserialize)]
pub(super) struct Step<'a> {
    #[serde(borrow)]
    pub(super) task_id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) task_kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) idempotency_key: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) details: Option<Details<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Details<'a> {
    #[serde(borrow, default)]
    pub(super) facets: Vec<Facet<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Facet<'a> {
    #[serde(borrow, default)]
    pub(super) kind: Cow<'a, str>,
    #[serde(default)]
    pub(super) attempt: Option<u64>,
    #[serde(default)]
    pub(super) max_attempts: Option<u64>,
    #[serde(borrow, default)]
    pub(super) error_kind: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) http_status: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Tool<'a> {
    #[serde(borrow)]
    pub(super) call_id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) correlation_facts: Option<Facts<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Facts<'a> {
    #[serde(borrow, default)]
    pub(super) tool_name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) outcome: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(super) struct Used {
    #[serde(default)]
    pub(super) calls: u64,
    #[serde(default)]
    pub(super) models: Vec<UsedModel>,
}

#[derive(Deserialize)]
pub(super) struct UsedModel {
    #[serde(default)]
    pub(super) input_tokens: u64,
    #[serde(default)]
    pub(super) cached_tokens: u64,
    #[serde(default)]
    pub(super) output_tokens: u64,
    #[serde(default)]
    pub(super) reasoning_tokens: u64,
}

#[derive(Deserialize)]
pub(super) struct Ended<'a> {
    #[serde(borrow, default)]
    pub(super) terminal: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) reason: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) text: Option<&'a RawValue>,
}
