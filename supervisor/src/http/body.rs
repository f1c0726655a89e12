//! Bodies: what we answer, and what we read.
//!
//! Promises: a request body is read only up to its bound and its deadline, and only when somebody asks; an answer is
//! either ready bytes or a stream that is pulled, so that a client who does not read makes nobody else hold anything.
//! Refuses to know what the bytes mean.

use crate::refusal::Refusal;
use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use hyper::HeaderMap;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header::CONTENT_ENCODING;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// The body of an answer.
pub enum Body {
    /// Ready bytes; none left once sent.
    Full(Bytes),
    /// Pieces, pulled as the client reads. Empty pieces must not be yielded.
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Body {
    /// Without content.
    #[must_use]
    pub const fn empty() -> Self {
        Self::Full(Bytes::new())
    }

    /// Pieces, pulled as the client reads.
    pub fn stream(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::Stream(Box::pin(pieces))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(bytes) => write!(f, "Full({} bytes)", bytes.len()),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Full(bytes)
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(pieces) => {
                pieces.as_mut().poll_next(cx).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Full(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// Only bodies as they are: nothing here unpacks, so that nobody makes us unpack a bomb, and a coded body is not taken for
/// broken JSON. RFC 9110 §8.4, §15.5.16.
///
/// # Errors
/// [`Refusal::ContentCoding`].
pub fn uncoded(headers: &HeaderMap) -> Result<(), Refusal> {
    let lines = headers.get_all(CONTENT_ENCODING).iter().map(|line| line.to_str().unwrap_or("?"));
    let mut codings = lines.flat_map(|line| line.split(',')).map(str::trim);
    let plain = codings.all(|coding| coding.is_empty() || coding.eq_ignore_ascii_case("identity"));
    if plain { Ok(()) } else { Err(Refusal::ContentCoding) }
}

/// Reads a request body of at most `max` bytes, within `deadline`.
///
/// # Errors
/// [`Refusal::BodyTooLarge`] as soon as more is announced or comes, [`Refusal::BodyTimeout`], and
/// [`Refusal::BadRequest`] when the connection breaks off.
pub async fn collect(body: Incoming, max: usize, deadline: Duration) -> Result<Bytes, Refusal> {
    if body.size_hint().lower() > max as u64 {
        return Err(Refusal::BodyTooLarge { limit: max });
    }
    tokio::time::timeout(deadline, read(body, max)).await.unwrap_or(Err(Refusal::BodyTimeout))
}

async fn read(mut body: Incoming, max: usize) -> Result<Bytes, Refusal> {
    let Some(first) = next(&mut body).await? else { return Ok(Bytes::new()) };
    if first.len() > max {
        return Err(Refusal::BodyTooLarge { limit: max });
    }
    let Some(second) = next(&mut body).await? else { return Ok(first) };
    let mut all = BytesMut::from(first);
    let mut piece = Some(second);
    while let Some(bytes) = piece {
        if all.len().saturating_add(bytes.len()) > max {
            return Err(Refusal::BodyTooLarge { limit: max });
        }
        all.extend_from_slice(&bytes);
        piece = next(&mut body).await?;
    }
    Ok(all.freeze())
}

/// The next piece of data; trailers are dropped.
async fn next(body: &mut Incoming) -> Result<Option<Bytes>, Refusal> {
    loop {
        let frame = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
        match frame {
            None => return Ok(None),
            Some(Err(_)) => return Err(Refusal::BadRequest("the body broke off".to_owned())),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Ok(Some(bytes)),
                Err(_trailers) => {}
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_body_that_is_not_coded_is_read() {
        for (lines, plain) in [
            (&[][..], true),
            (&["identity"], true),
            (&["Identity, identity"], true),
            (&[""], true),
            (&["gzip"], false),
            (&["identity", "br"], false),
            (&["identity, deflate"], false),
            (&["x-nothing"], false),
            (&["\u{e9}"], false),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(CONTENT_ENCODING, line.parse().unwrap());
            }
            assert_eq!(uncoded(&headers).is_ok(), plain, "{lines:?}");
        }
    }
}
