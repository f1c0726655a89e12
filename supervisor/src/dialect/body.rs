//! The parameters of an HTTP+JSON request, as members to take: those of its body, and those of its query. Both are read
//! by the same strict reader, so that one set of bounds and texts holds for both.

use super::fields::Fields;
use super::json::{self, Out};
use crate::http::router::unescaped;
use crate::refusal::Refusal;
use bytes::BytesMut;

/// Most parameters in a query.
const MAX_PARAMETERS: usize = 32;
/// What may be `true` or `false` in a query; everything else there is text.
const FLAGS: [&str; 2] = ["includeArtifacts", "include_artifacts"];

/// Takes from the body; an empty one has no members.
pub(super) fn of_body<T>(body: &[u8], take: impl FnOnce(&Fields<'_>) -> Result<T, Refusal>) -> Result<T, Refusal> {
    let empty = body.iter().all(u8::is_ascii_whitespace);
    let document = json::parse(if empty { b"{}" } else { body }).map_err(flawed)?;
    take(&Fields::of(document.root(), "")?)
}

/// Takes from the query. A name that is given twice is refused, as it is in a body; one without a value says nothing.
pub(super) fn of_query<T>(
    query: Option<&str>,
    take: impl FnOnce(&Fields<'_>) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let mut text = BytesMut::new();
    let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let pairs: Vec<&str> = pairs.take(MAX_PARAMETERS + 1).collect();
    if pairs.len() > MAX_PARAMETERS {
        return Err(Refusal::BadRequest(format!("the query has more than {MAX_PARAMETERS} parameters")));
    }
    let mut illegible = false;
    Out(&mut text).object(|out| {
        for pair in pairs {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (unescaped(name, true), unescaped(value, true)) else {
                illegible = true;
                return;
            };
            if value.is_empty() {
                continue;
            }
            out.key(&name);
            if FLAGS.contains(&&*name) && matches!(&*value, "true" | "false") {
                out.raw(value.as_bytes());
            } else {
                out.string(&value);
            }
        }
    });
    if illegible {
        return Err(Refusal::BadRequest("the query is not percent-encoded UTF-8".into()));
    }
    let document = json::parse(&text).map_err(|flaw| Refusal::BadRequest(format!("the query {flaw}")))?;
    take(&Fields::of(document.root(), "")?)
}

/// What the reader found wrong with a body.
pub(super) fn flawed(flaw: json::Flaw) -> Refusal {
    let what = format!("the body {flaw}");
    if flaw.is_excess() { Refusal::InvalidRequest(what) } else { Refusal::Parse(what) }
}
