//! Messages as bytes: a length of four bytes, big endian, then one message in bincode's legacy form (fixed integers,
//! little endian), which begins with the number of its variant.
//!
//! Promises: the length is compared with the limit of its direction, and with the limit of its variant, before a byte of
//! the message is waited for or allocated; bincode counts against the same limit; bytes left over are an error; each
//! message has exactly one encoding. Nothing else in the tree names bincode, except for `bounded.rs` and the derives of
//! `message.rs` and `push/mod.rs`; why bincode 2.0.1 and only its native derive: docs/decisions/0001-bincode.md.

use crate::message::{FromWorker, MAX_FROM_WORKER, MAX_TO_WORKER, ToWorker};
use crate::push::{FromPusher, MAX_FROM_PUSHER, MAX_TO_PUSHER, ToPusher};
use bincode::config::{Configuration, Fixint, Limit, LittleEndian};
use bincode::enc::write::Writer;
use bincode::error::{DecodeError, EncodeError};
use bytes::{BufMut, BytesMut};
use std::io;
use std::marker::PhantomData;
use tokio_util::codec::{Decoder, Encoder, LengthDelimitedCodec};

/// Bytes of the length in front of each frame.
const HEAD: usize = 4;
/// Bytes of a variant's number, with which each message begins.
const TAG: usize = 4;
/// Longest frame of the supervisor that is no `Start`, bytes.
const MAX_CONTROL: usize = 4 * 1024;
/// The number of `ToWorker::Start`.
const START: u32 = 1;

/// A message that may cross, and how large a frame of its direction may be.
pub trait Wire: bincode::Encode + bincode::Decode<()> {
    /// Bytes, without the length.
    const MAX: usize;
    /// The same for one variant, by its number.
    fn limit(tag: u32) -> usize;
    /// # Errors
    /// [`Malformed`]: anything but exactly one well-formed message within all bounds.
    fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed>;
    /// Appends the message, without the length.
    ///
    /// # Errors
    /// [`Malformed`] when it would be over the limit; `out` may then hold a part of it.
    fn to_bytes(&self, out: &mut BytesMut) -> Result<(), Malformed>;
}

/// Not a message within bounds.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// No message is so short.
    #[error("malformed frame: {0} bytes hold no message")]
    Short(usize),
    /// Over the limit of its direction or variant.
    #[error("malformed frame: {len} bytes, the limit is {max}")]
    Long {
        /// What was announced, bytes.
        len: usize,
        /// What is allowed, bytes.
        max: usize,
    },
    /// A message, and something after it.
    #[error("malformed frame: {0} bytes left over")]
    LeftOver(usize),
    /// Not a message.
    #[error("malformed frame: {0}")]
    Decode(#[from] DecodeError),
    /// A message of ours that is over the limit.
    #[error("message cannot be sent: {0}")]
    Encode(#[from] EncodeError),
}

impl From<Malformed> for io::Error {
    fn from(error: Malformed) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

fn options<const MAX: usize>() -> Configuration<LittleEndian, Fixint, Limit<MAX>> {
    bincode::config::legacy().with_limit::<MAX>()
}

struct Out<'a> {
    bytes: &'a mut BytesMut,
    room: usize,
}

impl Writer for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.room = self.room.checked_sub(bytes.len()).ok_or(EncodeError::Other("over the limit"))?;
        self.bytes.put_slice(bytes);
        Ok(())
    }
}

macro_rules! wire {
    ($message:ty, $max:expr, $limit:expr) => {
        impl Wire for $message {
            const MAX: usize = $max;

            fn limit(tag: u32) -> usize {
                $limit(tag)
            }

            fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
                let (message, used) = bincode::decode_from_slice(bytes, options::<{ $max }>())?;
                match bytes.len().checked_sub(used) {
                    Some(0) => Ok(message),
                    left => Err(Malformed::LeftOver(left.unwrap_or_default())),
                }
            }

            fn to_bytes(&self, out: &mut BytesMut) -> Result<(), Malformed> {
                let out = Out { bytes: out, room: $max };
                Ok(bincode::encode_into_writer(self, out, options::<{ $max }>())?)
            }
        }
    };
}
wire!(ToWorker, MAX_TO_WORKER, |tag| if tag == START { MAX_TO_WORKER } else { MAX_CONTROL });
wire!(FromWorker, MAX_FROM_WORKER, |_| MAX_FROM_WORKER);
wire!(ToPusher, MAX_TO_PUSHER, |_| MAX_TO_PUSHER);
wire!(FromPusher, MAX_FROM_PUSHER, |_| MAX_FROM_PUSHER);

/// Frames of both directions, seen from one end.
#[derive(Debug)]
pub struct Codec<In, Out> {
    frames: LengthDelimitedCodec,
    /// The head of the frame in `frames` was judged.
    begun: bool,
    ends: PhantomData<fn(Out) -> In>,
}

/// The worker's end.
pub type WorkerCodec = Codec<ToWorker, FromWorker>;
/// The supervisor's end.
pub type SupervisorCodec = Codec<FromWorker, ToWorker>;
/// The pusher's end.
pub type PusherCodec = Codec<ToPusher, FromPusher>;
/// The supervisor's end of the same.
pub type PusherEnd = Codec<FromPusher, ToPusher>;

impl<In: Wire, Out: Wire> Default for Codec<In, Out> {
    fn default() -> Self {
        let frames = LengthDelimitedCodec::builder().length_field_length(HEAD).max_frame_length(In::MAX).new_codec();
        Self { frames, begun: false, ends: PhantomData }
    }
}

/// Judges a frame by its first eight bytes. `false`: they are not all there yet.
fn judge<In: Wire>(from: &[u8]) -> Result<bool, Malformed> {
    let Some((head, rest)) = from.split_first_chunk::<HEAD>() else { return Ok(false) };
    let len = usize::try_from(u32::from_be_bytes(*head)).unwrap_or(usize::MAX);
    if len < TAG {
        return Err(Malformed::Short(len));
    }
    let tag = rest.first_chunk::<TAG>().map(|tag| u32::from_le_bytes(*tag));
    let max = tag.map_or(In::MAX, In::limit);
    if len > max {
        return Err(Malformed::Long { len, max });
    }
    Ok(tag.is_some())
}

impl<In: Wire, Out: Wire> Decoder for Codec<In, Out> {
    type Item = In;
    type Error = io::Error;

    fn decode(&mut self, from: &mut BytesMut) -> io::Result<Option<In>> {
        self.begun = self.begun || judge::<In>(from)?;
        if !self.begun {
            return Ok(None);
        }
        let Some(frame) = self.frames.decode(from)? else { return Ok(None) };
        self.begun = false;
        Ok(Some(In::from_bytes(&frame)?))
    }
}

impl<In: Wire, Out: Wire> Encoder<&Out> for Codec<In, Out> {
    type Error = io::Error;

    /// Appends one frame, or nothing when it fails.
    fn encode(&mut self, message: &Out, to: &mut BytesMut) -> io::Result<()> {
        let start = to.len();
        to.put_bytes(0, HEAD);
        let written = message.to_bytes(to).and_then(|()| fill_head(to, start));
        if written.is_err() {
            to.truncate(start);
        }
        Ok(written?)
    }
}

/// Writes the length of what follows it into the head at `start`.
fn fill_head(frame: &mut [u8], start: usize) -> Result<(), Malformed> {
    let frame = frame.get_mut(start..).and_then(|frame| frame.split_first_chunk_mut::<HEAD>());
    let Some((head, body)) = frame else { return Err(Malformed::Short(0)) };
    let len = u32::try_from(body.len()).map_err(|_| Malformed::Long { len: body.len(), max: u32::MAX as usize })?;
    *head = len.to_be_bytes();
    Ok(())
}
