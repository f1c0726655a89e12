//! What notifications are signed with, as <https://www.standardwebhooks.com> does it: HMAC-SHA256 over the event's id,
//! the time of the attempt and the exact bytes of the body.
//!
//! Promises: one master key in a private file, made once, never shown; each caller's receivers have a key of their own,
//! so that none of them can forge what another gets. Refuses to know the pusher, which never sees a key.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use musegate_protocol::bounded::{Label, Text};
use musegate_settings::private::{self, Refused, Rule};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

type HmacSha256 = Hmac<Sha256>;

/// Bytes of each key.
const KEY: usize = 32;

/// Why nothing can be signed.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
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
    #[error("{}: must hold 32 bytes in base64", path.display())]
    Content {
        /// The file.
        path: PathBuf,
    },
}

/// The master key.
pub struct Keys(Zeroizing<[u8; KEY]>);

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(…)")
    }
}

impl Keys {
    /// Reads the master key, or makes it when there is no file.
    ///
    /// # Errors
    /// [`SecretError`].
    pub fn open(path: &Path) -> Result<Self, SecretError> {
        match Self::read(path) {
            Err(SecretError::Refused(Refused::Io { error, .. })) if error.kind() == io::ErrorKind::NotFound => {
                make(path).map_err(|error| SecretError::Make { path: path.to_owned(), error })?;
                Self::read(path)
            }
            other => other,
        }
    }

    fn read(path: &Path) -> Result<Self, SecretError> {
        let text = private::read(path, Rule::Secret, 256)?;
        let bytes = Zeroizing::new(STANDARD.decode(text.trim()).unwrap_or_default());
        let master = <[u8; KEY]>::try_from(bytes.as_slice());
        master.map(|key| Self(Zeroizing::new(key))).map_err(|_| SecretError::Content { path: path.to_owned() })
    }

    /// The key of one caller's receivers.
    #[must_use]
    pub fn of(&self, caller: &Label) -> Signer {
        let mut mac = keyed(&self.0);
        mac.update(b"musegate push 1\0");
        mac.update(caller.as_bytes());
        Signer(Zeroizing::new(mac.finalize().into_bytes().into()))
    }
}

/// Signs for one caller.
pub struct Signer(Zeroizing<[u8; KEY]>);

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(…)")
    }
}

impl Signer {
    /// The value of `webhook-signature`. `timestamp`: seconds since the Unix epoch.
    #[must_use]
    pub fn sign(&self, event: &Label, timestamp: u64, body: &[u8]) -> Text<128> {
        let mut mac = keyed(&self.0);
        mac.update(event.as_bytes());
        mac.update(format!(".{timestamp}.").as_bytes());
        mac.update(body);
        Text::cut(&format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    }

    /// As a receiver is given it: `whsec_` and base64.
    #[must_use]
    pub fn show(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("whsec_{}", STANDARD.encode(self.0.as_slice())))
    }
}

/// The id of an event: the same for each attempt at it, another for each webhook and each event of it. What stands after
/// the hyphen grows.
pub(super) fn event_id(task: &str, config: &str, number: u32) -> Label {
    let mut digest = Sha256::new();
    digest.update(task.as_bytes());
    digest.update([0]);
    digest.update(config.as_bytes());
    let head: String = digest.finalize().iter().take(10).map(|byte| format!("{byte:02x}")).collect();
    Label::near(&format!("{head}-{number}"))
}

/// 32 bytes need no hashing first.
fn keyed(key: &[u8; KEY]) -> HmacSha256 {
    let mut block = Zeroizing::new([0u8; 64]);
    if let Some(head) = block.first_chunk_mut() {
        *head = *key; // a shorter key is padded with zeros, RFC 2104 §2
    }
    HmacSha256::new(&(*block).into())
}

fn make(path: &Path) -> io::Result<()> {
    let mut bytes = Zeroizing::new([0u8; KEY]);
    getrandom::fill(bytes.as_mut_slice()).map_err(|error| io::Error::other(error.to_string()))?;
    let text = Zeroizing::new(format!("{}\n", STANDARD.encode(bytes.as_slice())));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn label(text: &str) -> Label {
        Label::new(text).unwrap()
    }

    /// The vector of the specification of Standard Webhooks, so that its libraries verify what we sign.
    #[test]
    fn the_signature_is_the_one_of_standard_webhooks() {
        let key = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let mut block = [0u8; KEY];
        block[..key.len()].copy_from_slice(&key);
        let signer = Signer(Zeroizing::new(block)); // padded with zeros, as HMAC would
        let signed = signer.sign(&label("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(&*signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn the_key_is_made_once_private_and_never_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("push.secret");
        let one = Keys::open(&path).unwrap();
        let two = Keys::open(&path).unwrap();
        assert_eq!(*one.of(&label("ann")).show(), *two.of(&label("ann")).show());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(format!("{one:?} {:?}", one.of(&label("ann"))), "Keys(…) Signer(…)");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Keys::open(&path), Err(SecretError::Refused(Refused::Mode { .. }))));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&path, "short\n").unwrap();
        assert!(matches!(Keys::open(&path), Err(SecretError::Content { .. })));
    }

    #[test]
    fn each_caller_has_another_key_and_every_byte_is_signed() {
        let keys = Keys(Zeroizing::new([7; KEY]));
        assert_ne!(*keys.of(&label("ann")).show(), *keys.of(&label("bob")).show());
        let signer = keys.of(&label("ann"));
        let base = signer.sign(&label("e-1"), 1, b"body");
        for other in [
            signer.sign(&label("e-2"), 1, b"body"),
            signer.sign(&label("e-1"), 2, b"body"),
            signer.sign(&label("e-1"), 1, b"bodz"),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn an_event_id_is_the_same_for_each_attempt_and_differs_between_webhooks() {
        assert_eq!(event_id("t", "c", 3), event_id("t", "c", 3));
        assert!(event_id("t", "c", 3).ends_with("-3"));
        for other in [event_id("t", "c", 4), event_id("t", "d", 3), event_id("u", "c", 3), event_id("tc", "", 3)] {
            assert_ne!(event_id("t", "c", 3), other);
        }
    }
}
