//! The ways in which a run is known to fail, with the texts of the real program as far as they are public.

/// Where a failure shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shows {
    /// On standard error only, before any record, with this exit code.
    Before(u8),
    /// As the reason of a failed terminal record, exit 1.
    AsReason,
    /// As the same, after the provider was tried again and again.
    AfterRetries(u64),
}

/// One way to fail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) shows: Shows,
    pub(crate) text: &'static str,
}

const fn way(name: &'static str, about: &'static str, shows: Shows, text: &'static str) -> Way {
    Way { name, about, shows, text }
}

/// All of them.
pub(crate) const WAYS: &[Way] = &[
    way(
        "no-credential",
        "nobody is logged in; no records, exit 1",
        Shows::Before(1),
        "missing meta credentials: run `muse login`, or set META_API_KEY",
    ),
    way(
        "bad-credential",
        "the key is refused; no records, exit 1",
        Shows::Before(1),
        "failed to fetch model catalog: authentication failed: your API key from META_API_KEY was rejected (HTTP 401)",
    ),
    way(
        "workspace",
        "a session of another workspace; no records, exit 1",
        Shows::Before(1),
        "session belongs to workspace /srv/one, not to /srv/two; pass --allow-workspace-switch",
    ),
    way(
        "settings",
        "settings.json is broken; no records, exit 1",
        Shows::Before(1),
        "failed to load settings.json: missing field `schema_version`",
    ),
    way(
        "mcp",
        "a required MCP server is dead; no records, exit 1",
        Shows::Before(1),
        "required MCP server `files` failed to start",
    ),
    way(
        "usage",
        "a flag is refused; no records, exit 2",
        Shows::Before(2),
        "unexpected argument '--no-such-flag' found",
    ),
    way(
        "billing",
        "no credit is left, after retries",
        Shows::AfterRetries(402),
        "model failed: API error 402 Payment Required: insufficient credit (billing_error)",
    ),
    way(
        "rate-limit",
        "the provider's limit, after retries",
        Shows::AfterRetries(429),
        "model failed: API error 429 Too Many Requests: rate limit reached (rate_limit_error) (after 10 provider attempts)",
    ),
    way(
        "overloaded",
        "the provider is down, after retries",
        Shows::AfterRetries(503),
        "model failed: API error 503 Service Unavailable: overloaded (server_error) (after 10 provider attempts)",
    ),
    way(
        "transport",
        "the provider cannot be reached, after retries",
        Shows::AfterRetries(0),
        "model failed: transport error: connection reset by peer (after 10 provider attempts)",
    ),
    way(
        "revoked",
        "the key is refused in mid-run",
        Shows::AsReason,
        "model failed: API error 401 Unauthorized: authentication failed (authentication_error)",
    ),
    way(
        "model",
        "the model does not exist",
        Shows::AsReason,
        "model failed: API error 404 Not Found: model `muse-none` does not exist or you lack access to it",
    ),
    way("steps", "the step limit", Shows::AsReason, "model did not reach a terminal state within 2 step(s)"),
    way(
        "context",
        "the conversation is too long",
        Shows::AsReason,
        "context compaction replacement still exceeds the hard threshold",
    ),
    way(
        "schema",
        "the provider refuses the output schema",
        Shows::AsReason,
        "model failed: API error 400 Bad Request: Invalid schema: 'required' is required to be supplied and to list every property",
    ),
];

/// What the shell tool says when the inner sandbox cannot start; the run itself completes.
pub(crate) const ENVIRONMENT: &str = "environment failure: sandbox enforcement unavailable: embedded Linux sandbox helper check failed: \
     exit status 125: bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted";

pub(crate) fn find(name: &str) -> Option<&'static Way> {
    WAYS.iter().find(|way| way.name == name)
}
