//! Messages as bytes: a length of four bytes, big endian, then one message in bincode's legacy form (fixed integers,
//! little endian). The length is checked against the direction's limit before anything is allocated, bincode counts
//! against the same limit, and bytes left over are an error. Nothing else in the tree names bincode, except for the
//! derives of `message.rs`; why bincode 2.0.1 and only its native derive: docs/decisions/0001-bincode.md.

use crate::message::{FromWorker, MAX_FROM_WORKER, MAX_TO_WORKER, ToWorker};
use bincode::config::{Configuration, Fixint, Limit, LittleEndian};
use bincode::enc::write::Writer;
use bincode::error::EncodeError;
use bytes::{BufMut, BytesMut};
use std::io;
use std::marker::PhantomData;
use tokio_util::codec::{Decoder, Encoder, LengthDelimitedCodec};

/// A message that may cross, and how large a frame of its direction may be.
pub trait Wire: bincode::Encode + bincode::Decode<()> {
    /// Bytes, without the length.
    const MAX: usize;
    /// # Errors
    /// Anything but exactly one well-formed message within all bounds.
    fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed>;
    /// Appends the message, without the length.
    ///
    /// # Errors
    /// [`Malformed`] when it would be over the limit.
    fn to_bytes(&self, out: &mut BytesMut) -> Result<(), Malformed>;
}

/// Not a message within bounds.
#[derive(Debug, thiserror::Error)]
#[error("malformed frame: {0}")]
pub struct Malformed(String);

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
    ($message:ty, $max:expr) => {
        impl Wire for $message {
            const MAX: usize = $max;

            fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
                let decoded = bincode::decode_from_slice(bytes, options::<{ $max }>());
                let (message, used) = decoded.map_err(|error| Malformed(error.to_string()))?;
                if used == bytes.len() { Ok(message) } else { Err(Malformed("bytes left over".into())) }
            }

            fn to_bytes(&self, out: &mut BytesMut) -> Result<(), Malformed> {
                let out = Out { bytes: out, room: $max };
                let encoded = bincode::encode_into_writer(self, out, options::<{ $max }>());
                encoded.map_err(|error| Malformed(error.to_string()))
            }
        }
    };
}
wire!(ToWorker, MAX_TO_WORKER);
wire!(FromWorker, MAX_FROM_WORKER);

/// Frames of both directions, seen from one end.
#[derive(Debug)]
pub struct Codec<In, Out> {
    frames: LengthDelimitedCodec,
    ends: PhantomData<fn(Out) -> In>,
}

/// The worker's end.
pub type WorkerCodec = Codec<ToWorker, FromWorker>;
/// The supervisor's end.
pub type SupervisorCodec = Codec<FromWorker, ToWorker>;

impl<In: Wire, Out: Wire> Default for Codec<In, Out> {
    fn default() -> Self {
        let frames = LengthDelimitedCodec::builder().max_frame_length(In::MAX).new_codec();
        Self { frames, ends: PhantomData }
    }
}

impl<In: Wire, Out: Wire> Decoder for Codec<In, Out> {
    type Item = In;
    type Error = io::Error;

    fn decode(&mut self, from: &mut BytesMut) -> io::Result<Option<In>> {
        let Some(frame) = self.frames.decode(from)? else { return Ok(None) };
        Ok(Some(In::from_bytes(&frame)?))
    }
}

impl<In: Wire, Out: Wire> Encoder<&Out> for Codec<In, Out> {
    type Error = io::Error;

    fn encode(&mut self, message: &Out, to: &mut BytesMut) -> io::Result<()> {
        let start = to.len();
        to.put_u32(0);
        let written = message.to_bytes(to);
        let len = to.len().saturating_sub(start).saturating_sub(4);
        match (written, to.get_mut(start..start.saturating_add(4)), u32::try_from(len)) {
            (Ok(()), Some(head), Ok(len)) => head.copy_from_slice(&len.to_be_bytes()),
            (written, _, _) => {
                to.truncate(start);
                written?;
            }
        }
        Ok(())
    }
}
