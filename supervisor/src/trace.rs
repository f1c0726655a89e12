//! What ties the logs of both processes, the audit and the answer of one request together: 16 bytes, the caller's own
//! where its `traceparent` is one, else made here. Spec: W3C Trace Context, Level 1 §3.2 and Level 2 §2.3.
//!
//! Promises: what is taken of a caller is 16 bytes and one bit; a header that is not exactly as specified counts as none;
//! `tracestate` is not looked at, since nothing of ours goes further with it. Refuses to know who asks.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Of a request.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// Of its answer.
pub const TRACERESPONSE: HeaderName = HeaderName::from_static("traceresponse");

/// The trace of one request. Shown as the 32 hex digits of its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    id: [u8; 16],
    /// Our part in it.
    span: [u8; 8],
    sampled: bool,
}

impl Trace {
    /// Goes on with the caller's, or begins one.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        let mut random = [0; 24];
        if getrandom::fill(&mut random).is_err() {
            // Without randomness it still differs from every other of this process.
            static COUNT: AtomicU64 = AtomicU64::new(1);
            random = [1; 24];
            if let Some(last) = random.last_chunk_mut() {
                *last = COUNT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
            }
        }
        let id = random.first_chunk().copied().unwrap_or([1; 16]);
        let span = random.last_chunk().copied().unwrap_or([1; 8]);
        let (id, sampled) = parent(headers).unwrap_or((id, false));
        Self { id, span, sampled }
    }

    /// The id, as it crosses the boundary.
    #[must_use]
    pub const fn id(&self) -> [u8; 16] {
        self.id
    }

    /// The value of `traceresponse`: the id, our span, and whether the caller samples.
    #[must_use]
    pub fn response(&self) -> HeaderValue {
        let text = format!("00-{self}-{}-{:02x}", Hex(&self.span), u8::from(self.sampled));
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.id).fmt(f)
    }
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The id and the sampled flag of the one `traceparent` that there is.
fn parent(headers: &HeaderMap) -> Option<([u8; 16], bool)> {
    let mut all = headers.get_all(TRACEPARENT).iter();
    let value = all.next()?.as_bytes();
    if all.next().is_some() {
        return None;
    }
    // A later version may append members after a further dash.
    let (known, more) = value.split_at_checked(55)?;
    let mut fields = known.split(|byte| *byte == b'-');
    let [version] = hex::<1>(fields.next()?)?;
    let id = hex::<16>(fields.next()?)?;
    let span = hex::<8>(fields.next()?)?;
    let [flags] = hex::<1>(fields.next()?)?;
    let ends = match version {
        0 => more.is_empty(),
        0xff => false,
        _ => more.is_empty() || more.starts_with(b"-"),
    };
    let legal = ends && fields.next().is_none() && id != [0; 16] && span != [0; 8];
    legal.then_some((id, flags & 1 == 1))
}

/// Exactly so many bytes in lower case.
fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut out = [0; N];
    if text.len() != N * 2 {
        return None;
    }
    for (byte, pair) in out.iter_mut().zip(text.chunks(2)) {
        for digit in pair {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return None,
            };
            *byte = *byte << 4 | value;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn of(values: &[&str]) -> (String, bool) {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(TRACEPARENT, value.parse().unwrap());
        }
        let trace = Trace::of(&headers);
        let response = trace.response();
        let response = response.to_str().unwrap();
        assert_eq!((response.len(), response.get(3..35)), (55, Some(&*trace.to_string())));
        assert!(!response.contains("00f067aa0ba902b7"), "our span is our own");
        (trace.to_string(), trace.sampled)
    }

    #[test]
    fn a_caller_s_trace_goes_on() {
        let parent = |version: &str, rest: &str| format!("{version}-{ID}-00f067aa0ba902b7-{rest}");
        for (version, rest, sampled) in [
            ("00", "01", true),
            ("00", "00", false),
            ("00", "ff", true),
            ("01", "01", true),
            ("cc", "01-what-ever", true),
        ] {
            assert_eq!(of(&[&parent(version, rest)]), (ID.to_owned(), sampled), "{version} {rest}");
        }
    }

    #[test]
    fn what_is_not_exactly_a_traceparent_counts_as_none() {
        let good = format!("00-{ID}-00f067aa0ba902b7-01");
        let upper = good.to_ascii_uppercase();
        let (zeros, no_span) = ("0".repeat(32), good.replace("00f067aa0ba902b7", "0000000000000000"));
        let bad = [
            upper.as_str(),
            &no_span,
            &good.replace(ID, &zeros),
            good.strip_suffix('1').unwrap(),
            &format!("{good}-01"),
            &format!("{good} "),
            &format!(" {good}"),
            &good.replacen("00-", "ff-", 1),
            &(good.replacen("00-", "01-", 1) + "x"),
            &good.replacen('-', "_", 1),
            &good.replacen('a', "g", 1),
            &good.replacen("4bf9", "4b-9", 1),
            "",
            "00",
        ];
        for value in bad {
            let (id, sampled) = of(&[value]);
            assert!(id != ID && !sampled && id != zeros, "{value}");
        }
        assert_ne!(of(&[&good, &good]).0, ID, "two are none");
        assert_ne!(of(&[]).0, of(&[]).0);
    }
}
