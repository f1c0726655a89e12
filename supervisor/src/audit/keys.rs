//! The key of the audit trail: what ties its lines together, and what makes digests of short texts unguessable.
//!
//! Promises: made once, kept in a file that nobody else can read, never shown. One key from the file, two derived from
//! it, so that a digest says nothing about the chain.

use hmac::{Hmac, KeyInit, Mac};
use musegate_settings::private::{self, Refused, Rule};
use sha2::Sha256;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

type HmacSha256 = Hmac<Sha256>;

/// A link of the chain, and what the next one is made from.
pub(super) type Link = [u8; 32];

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file is not taken.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It cannot be made.
    #[error("{}: cannot be made: {error}", path.display())]
    Make {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It does not hold a key.
    #[error("{}: must hold 64 hex digits; without it earlier records cannot be verified", path.display())]
    Content {
        /// The file.
        path: PathBuf,
    },
}

/// Both keys, ready to use.
#[derive(Clone)]
pub(super) struct Keys {
    chain: HmacSha256,
    digest: HmacSha256,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(…)")
    }
}

impl Keys {
    /// Reads the key, or makes it when there is no file.
    pub(super) fn open(path: &Path) -> Result<Self, KeyError> {
        match Self::read(path) {
            Err(KeyError::Refused(Refused::Io { error, .. })) if error.kind() == io::ErrorKind::NotFound => {
                make(path).map_err(|error| KeyError::Make { path: path.to_owned(), error })?;
                Self::read(path)
            }
            other => other,
        }
    }

    /// Reads the key.
    pub(super) fn read(path: &Path) -> Result<Self, KeyError> {
        let text = private::read(path, Rule::Secret, 256)?;
        let master = unhex(text.trim()).ok_or_else(|| KeyError::Content { path: path.to_owned() })?;
        Ok(Self::derive(&master))
    }

    fn derive(master: &[u8; 32]) -> Self {
        let derive = |purpose: &[u8]| {
            let mut mac = keyed(master);
            mac.update(purpose);
            keyed(&mac.finalize().into_bytes().into())
        };
        Self { chain: derive(b"musegate audit chain"), digest: derive(b"musegate audit digest") }
    }

    /// The link after `previous`, over a line without its own link.
    pub(super) fn link(&self, previous: &Link, line: &[u8]) -> Link {
        let mut mac = self.chain.clone();
        mac.update(previous);
        mac.update(line);
        mac.finalize().into_bytes().into()
    }

    /// For a digest of a text, in pieces.
    pub(super) fn digester(&self) -> Digester {
        Digester(self.digest.clone())
    }
}

/// HMAC takes a key of any length; 32 bytes need no hashing first.
fn keyed(key: &[u8; 32]) -> HmacSha256 {
    let mut block = [0u8; 64];
    if let Some(head) = block.first_chunk_mut() {
        *head = *key; // a shorter key is padded with zeros, RFC 2104 §2
    }
    HmacSha256::new(&block.into())
}

fn make(path: &Path) -> io::Result<()> {
    let mut bytes = Zeroizing::new([0u8; 32]);
    getrandom::fill(bytes.as_mut_slice()).map_err(|error| io::Error::other(error.to_string()))?;
    let mut text = Zeroizing::new(hex(bytes.as_slice()));
    text.push('\n');
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// A digest in the making: HMAC-SHA-256 under the trail's key, cut to 128 bits.
#[derive(Clone)]
pub struct Digester(HmacSha256);

impl fmt::Debug for Digester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digester(…)")
    }
}

impl Digester {
    /// More of the text.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// 32 hex digits.
    #[must_use]
    pub fn finish(self) -> String {
        let mac: [u8; 32] = self.0.finalize().into_bytes().into();
        hex(mac.first_chunk::<16>().map_or(&[], |half| half.as_slice()))
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |n: u8| DIGITS.get(usize::from(n)).copied().map_or('0', char::from);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

pub(super) fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0u8; 32];
    if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}
