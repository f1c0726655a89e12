//! Values that know their bound. Decoding one is checking it: a length is compared with the bound before a byte of it
//! is allocated. Written in the codec's legacy form: a length of eight bytes, little endian, then the content.

#[cfg(test)]
mod tests;

use bincode::de::{BorrowDecoder, Decoder, read::Reader};
use bincode::enc::{Encoder, write::Writer};
use bincode::error::{DecodeError, EncodeError};
use bincode::{BorrowDecode, Decode, Encode};
use bytes::Bytes;
use std::fmt;
use std::ops::Deref;

/// A value does not fit its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Longer than the bound.
    #[error("{len} is over the limit of {max}")]
    TooLong {
        /// What there is, bytes or elements.
        len: usize,
        /// What is allowed.
        max: usize,
    },
    /// Outside the alphabet, or empty.
    #[error("only {0} are allowed, and at least one")]
    Alphabet(&'static str),
}

/// The derive asks for a borrowing decoder too; ours owns, so it is the same.
macro_rules! borrow_as_owned {
    ($type:ty $(, $($param:tt)+)?) => {
        impl<'de, C $(, $($param)+)?> BorrowDecode<'de, C> for $type {
            fn borrow_decode<D: BorrowDecoder<'de, Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
                Self::decode(decoder)
            }
        }
    };
}
borrow_as_owned!(Text<MAX>, const MAX: usize);
borrow_as_owned!(Blob<MAX>, const MAX: usize);
borrow_as_owned!(List<T, MAX>, T: Decode<C>, const MAX: usize);
borrow_as_owned!(Label);
borrow_as_owned!(FileName);

fn fits(len: usize, max: usize) -> Result<(), Unfit> {
    if len > max { Err(Unfit::TooLong { len, max }) } else { Ok(()) }
}

fn decode_len<D: Decoder>(decoder: &mut D, max: usize) -> Result<usize, DecodeError> {
    let len = usize::try_from(u64::decode(decoder)?).map_err(|_| DecodeError::Other("length over the limit"))?;
    if len > max { Err(DecodeError::Other("length over the limit")) } else { Ok(len) }
}

/// Copies a content out of the frame. What is not there is not allocated: `peek_read` knows how much is left (codec.rs
/// decodes from slices only; from any other reader nothing would be read).
fn decode_bytes<D: Decoder>(decoder: &mut D, max: usize) -> Result<Vec<u8>, DecodeError> {
    let len = decode_len(decoder, max)?;
    decoder.claim_bytes_read(len)?;
    let reader = decoder.reader();
    let bytes = reader.peek_read(len).ok_or(DecodeError::UnexpectedEnd { additional: len })?.to_vec();
    reader.consume(len);
    Ok(bytes)
}

fn encode_bytes<E: Encoder>(encoder: &mut E, bytes: &[u8]) -> Result<(), EncodeError> {
    (bytes.len() as u64).encode(encoder)?;
    encoder.writer().write(bytes)
}

/// UTF-8 of at most `MAX` bytes.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Text<const MAX: usize>(String);

impl<const MAX: usize> Text<MAX> {
    /// # Errors
    /// [`Unfit::TooLong`] over `MAX` bytes.
    pub fn new(text: impl Into<String>) -> Result<Self, Unfit> {
        let text = text.into();
        fits(text.len(), MAX).map(|()| Self(text))
    }

    /// As much of it as fits, cut at a character.
    #[must_use]
    pub fn cut(text: &str) -> Self {
        Self(text.get(..text.floor_char_boundary(MAX)).unwrap_or_default().to_owned())
    }

    /// The string itself.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl<const MAX: usize> Deref for Text<MAX> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

/// Shows the length only: texts of callers and of the model do not belong in a log.
impl<const MAX: usize> fmt::Debug for Text<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({} bytes)", self.0.len())
    }
}

impl<const MAX: usize> Encode for Text<MAX> {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        encode_bytes(encoder, self.0.as_bytes())
    }
}

impl<C, const MAX: usize> Decode<C> for Text<MAX> {
    fn decode<D: Decoder<Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let bytes = decode_bytes(decoder, MAX)?;
        String::from_utf8(bytes).map(Self).map_err(|_| DecodeError::Other("not UTF-8"))
    }
}

/// At most `MAX` bytes.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Blob<const MAX: usize>(Bytes);

impl<const MAX: usize> Blob<MAX> {
    /// # Errors
    /// [`Unfit::TooLong`] over `MAX` bytes.
    pub fn new(bytes: impl Into<Bytes>) -> Result<Self, Unfit> {
        let bytes = bytes.into();
        fits(bytes.len(), MAX).map(|()| Self(bytes))
    }

    /// The bytes themselves.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl<const MAX: usize> Deref for Blob<MAX> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl<const MAX: usize> fmt::Debug for Blob<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({} bytes)", self.0.len())
    }
}

impl<const MAX: usize> Encode for Blob<MAX> {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        encode_bytes(encoder, &self.0)
    }
}

impl<C, const MAX: usize> Decode<C> for Blob<MAX> {
    fn decode<D: Decoder<Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
        decode_bytes(decoder, MAX).map(|bytes| Self(bytes.into()))
    }
}

/// At most `MAX` elements. Memory grows with what is really there, not with what the length claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T, const MAX: usize>(Vec<T>);

impl<T, const MAX: usize> Default for List<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MAX: usize> List<T, MAX> {
    /// # Errors
    /// [`Unfit::TooLong`] over `MAX` elements.
    pub fn new(items: Vec<T>) -> Result<Self, Unfit> {
        fits(items.len(), MAX).map(|()| Self(items))
    }

    /// The elements themselves.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<T, const MAX: usize> Deref for List<T, MAX> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Encode, const MAX: usize> Encode for List<T, MAX> {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        (self.0.len() as u64).encode(encoder)?;
        self.0.iter().try_for_each(|item| item.encode(encoder))
    }
}

impl<C, T: Decode<C>, const MAX: usize> Decode<C> for List<T, MAX> {
    fn decode<D: Decoder<Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
        const { assert!(size_of::<T>() > 0, "an element must take room, or a length costs only time") };
        let len = decode_len(decoder, MAX)?;
        let mut items = Vec::new();
        for _ in 0..len {
            items.push(T::decode(decoder)?);
        }
        Ok(Self(items))
    }
}

/// An identifier: `[A-Za-z0-9._:-]{1,128}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(String);

impl Label {
    const ALPHABET: &'static str = "letters, digits and . _ : -";

    /// # Errors
    /// [`Unfit`] over 128 bytes, when empty, or with another character.
    pub fn new(text: impl Into<String>) -> Result<Self, Unfit> {
        let text = text.into();
        fits(text.len(), 128)?;
        let legal = |b: &u8| b.is_ascii_alphanumeric() || b"._:-".contains(b);
        if text.is_empty() || !text.as_bytes().iter().all(legal) {
            return Err(Unfit::Alphabet(Self::ALPHABET));
        }
        Ok(Self(text))
    }

    /// As near to a text as the alphabet allows: `_` for every other character, and for no text at all.
    #[must_use]
    pub fn near(text: &str) -> Self {
        let legal = |c: char| if c.is_ascii_alphanumeric() || "._:-".contains(c) { c } else { '_' };
        let near: String = text.chars().take(128).map(legal).collect();
        Self(if near.is_empty() { "_".to_owned() } else { near })
    }
}

impl Deref for Label {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Encode for Label {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        encode_bytes(encoder, self.0.as_bytes())
    }
}

impl<C> Decode<C> for Label {
    fn decode<D: Decoder<Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let text = Text::<128>::decode(decoder)?;
        Self::new(text.into_string()).map_err(|_| DecodeError::Other("not an identifier"))
    }
}

/// A file name without a folder: `[A-Za-z0-9._-]{1,100}`, beginning with neither a dot (hidden, `..`) nor a hyphen
/// (an option to whatever program is later given `*`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileName(String);

impl FileName {
    const ALPHABET: &'static str = "letters, digits and . _ - (first no dot, no hyphen)";

    /// # Errors
    /// [`Unfit`] over 100 bytes, when empty, with a leading dot or hyphen, or with another character.
    pub fn new(text: impl Into<String>) -> Result<Self, Unfit> {
        let text = text.into();
        fits(text.len(), 100)?;
        let legal = |b: &u8| b.is_ascii_alphanumeric() || b"._-".contains(b);
        if text.is_empty() || text.starts_with(['.', '-']) || !text.as_bytes().iter().all(legal) {
            return Err(Unfit::Alphabet(Self::ALPHABET));
        }
        Ok(Self(text))
    }
}

impl Deref for FileName {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl Encode for FileName {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        encode_bytes(encoder, self.0.as_bytes())
    }
}

impl<C> Decode<C> for FileName {
    fn decode<D: Decoder<Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let text = Text::<100>::decode(decoder)?;
        Self::new(text.into_string()).map_err(|_| DecodeError::Other("not a file name"))
    }
}
