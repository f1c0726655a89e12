//! Keys that sign cards, and keys that verify them, as JSON Web Keys: RFC 7517, RFC 7518 §6.2, RFC 8037.
//!
//! Promises: a key signs and verifies with one algorithm, its own, whatever a signature says of itself; a private key is
//! wiped when dropped and never shown but by [`SigningKey::private`]. Refuses to know files.

use super::canonical;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::{Signer, Verifier};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Longest id of a key, bytes.
const MAX_KID: usize = 256;
/// Most keys of a set.
const MAX_KEYS: usize = 64;

/// Why a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It is no JSON.
    #[error(transparent)]
    Json(#[from] canonical::NoForm),
    /// A member is missing or wrong.
    #[error("`{0}` is missing or wrong")]
    Member(&'static str),
    /// Another kind of key.
    #[error("must be of kty OKP and crv Ed25519, or of kty EC and crv P-256")]
    Kind,
    /// The halves do not belong together.
    #[error("the public half does not belong to the private one")]
    Halves,
    /// A private key where a public one belongs.
    #[error("holds a private key; verify with the public one (`musegate card key --show`)")]
    Private,
    /// None, or too many.
    #[error("must hold 1 to {MAX_KEYS} keys")]
    Number,
    /// The system gives no random bytes.
    #[error("the system gives no random bytes")]
    Random,
}

/// How a card is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// Its name in a protected header.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }
}

enum Secret {
    Es256(Box<p256::ecdsa::SigningKey>),
    EdDsa(Box<ed25519_dalek::SigningKey>),
}

/// A key that signs.
pub struct SigningKey {
    secret: Secret,
    kid: String,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey({} {})", self.algorithm().name(), self.kid)
    }
}

impl SigningKey {
    /// A new one.
    ///
    /// # Errors
    /// [`KeyError::Random`]
    pub fn generate(algorithm: Algorithm) -> Result<Self, KeyError> {
        let mut bytes = Zeroizing::new([0; 32]);
        // All but one in 2^32 numbers are a key of P-256.
        for _ in 0..8 {
            getrandom::fill(bytes.as_mut_slice()).map_err(|_| KeyError::Random)?;
            if let Some(secret) = Secret::of(algorithm, bytes.as_slice()) {
                let kid = secret.public().thumbprint();
                return Ok(Self { secret, kid });
            }
        }
        Err(KeyError::Random)
    }

    /// Of a private JSON Web Key. Without a `kid` its thumbprint is its name, RFC 7638.
    ///
    /// # Errors
    /// [`KeyError`]
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let jwk = canonical::read(text.trim().as_bytes())?;
        let public = PublicKey::of(&jwk)?;
        let secret = Zeroizing::new(field(&jwk, "d")?);
        let secret = Secret::of(public.algorithm(), &secret).ok_or(KeyError::Member("d"))?;
        if secret.public() != public.point {
            return Err(KeyError::Halves);
        }
        let kid = public.kid.unwrap_or_else(|| public.point.thumbprint());
        Ok(Self { secret, kid })
    }

    /// Its name.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// What it signs with.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        match self.secret {
            Secret::Es256(_) => Algorithm::Es256,
            Secret::EdDsa(_) => Algorithm::EdDsa,
        }
    }

    /// The public half, as a JSON Web Key.
    #[must_use]
    pub fn public(&self) -> Value {
        let mut jwk = self.secret.public().jwk();
        if let Some(members) = jwk.as_object_mut() {
            members.insert("kid".to_owned(), json!(self.kid));
            members.insert("alg".to_owned(), json!(self.algorithm().name()));
            members.insert("use".to_owned(), json!("sig"));
        }
        jwk
    }

    /// Both halves, as a JSON Web Key: for a file that nobody else can read.
    #[must_use]
    pub fn private(&self) -> Zeroizing<String> {
        let secret = match &self.secret {
            Secret::Es256(key) => Zeroizing::new(key.to_bytes().to_vec()),
            Secret::EdDsa(key) => Zeroizing::new(key.to_bytes().to_vec()),
        };
        let d = Zeroizing::new(URL_SAFE_NO_PAD.encode(secret.as_slice()));
        let public = self.public().to_string();
        let inside = public.strip_suffix('}').unwrap_or_default();
        Zeroizing::new(format!("{inside},\"d\":\"{}\"}}\n", d.as_str()))
    }

    /// The signature of some bytes.
    pub(super) fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        match &self.secret {
            Secret::Es256(key) => {
                let signature: p256::ecdsa::Signature = key.sign(bytes);
                signature.to_bytes().to_vec()
            }
            Secret::EdDsa(key) => ed25519_dalek::Signer::sign(key.as_ref(), bytes).to_bytes().to_vec(),
        }
    }
}

impl Secret {
    fn of(algorithm: Algorithm, bytes: &[u8]) -> Option<Self> {
        Some(match algorithm {
            Algorithm::Es256 if bytes.len() == 32 => {
                Self::Es256(Box::new(p256::ecdsa::SigningKey::from_slice(bytes).ok()?))
            }
            Algorithm::Es256 => return None,
            Algorithm::EdDsa => Self::EdDsa(Box::new(ed25519_dalek::SigningKey::from_bytes(bytes.try_into().ok()?))),
        })
    }

    fn public(&self) -> Point {
        match self {
            Self::Es256(key) => Point::Es256(*key.verifying_key()),
            Self::EdDsa(key) => Point::EdDsa(key.verifying_key()),
        }
    }
}

/// A public half.
#[derive(Clone, Debug, PartialEq)]
enum Point {
    Es256(p256::ecdsa::VerifyingKey),
    EdDsa(ed25519_dalek::VerifyingKey),
}

impl Point {
    fn jwk(&self) -> Value {
        match self {
            Self::Es256(key) => {
                let point = key.to_sec1_point(false);
                let (x, y) = point.as_bytes().get(1..).unwrap_or_default().split_at_checked(32).unwrap_or_default();
                json!({ "kty": "EC", "crv": "P-256", "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y) })
            }
            Self::EdDsa(key) => json!({ "kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(key.to_bytes()) }),
        }
    }

    /// RFC 7638: of the members that every such key must have, in their order.
    fn thumbprint(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(canonical::form(&self.jwk())))
    }
}

/// A key that verifies.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PublicKey {
    point: Point,
    kid: Option<String>,
}

impl PublicKey {
    fn of(jwk: &Value) -> Result<Self, KeyError> {
        let word = |name| jwk.get(name).and_then(Value::as_str);
        let point = match (word("kty"), word("crv")) {
            (Some("OKP"), Some("Ed25519")) => {
                let x: [u8; 32] = field(jwk, "x")?.try_into().map_err(|_| KeyError::Member("x"))?;
                let key = ed25519_dalek::VerifyingKey::from_bytes(&x).map_err(|_| KeyError::Member("x"))?;
                if key.is_weak() {
                    return Err(KeyError::Member("x"));
                }
                Point::EdDsa(key)
            }
            (Some("EC"), Some("P-256")) => {
                let (x, y) = (field(jwk, "x")?, field(jwk, "y")?);
                if x.len() != 32 || y.len() != 32 {
                    return Err(KeyError::Member("x"));
                }
                let point = [&[4][..], &x, &y].concat();
                Point::Es256(p256::ecdsa::VerifyingKey::from_sec1_bytes(&point).map_err(|_| KeyError::Member("y"))?)
            }
            _ => return Err(KeyError::Kind),
        };
        let kid = match jwk.get("kid") {
            None => None,
            Some(Value::String(kid)) if (1..=MAX_KID).contains(&kid.len()) => Some(kid.clone()),
            Some(_) => return Err(KeyError::Member("kid")),
        };
        let key = Self { point, kid };
        match jwk.get("alg") {
            Some(alg)
                if alg != key.algorithm().name() && !(alg == "Ed25519" && key.algorithm() == Algorithm::EdDsa) =>
            {
                Err(KeyError::Member("alg"))
            }
            _ if jwk.get("use").is_some_and(|used| used != "sig") => Err(KeyError::Member("use")),
            _ => Ok(key),
        }
    }

    /// What it verifies with.
    pub(super) const fn algorithm(&self) -> Algorithm {
        match self.point {
            Point::Es256(_) => Algorithm::Es256,
            Point::EdDsa(_) => Algorithm::EdDsa,
        }
    }

    pub(super) fn verifies(&self, bytes: &[u8], signature: &[u8]) -> bool {
        match &self.point {
            Point::Es256(key) => p256::ecdsa::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify(bytes, &signature).is_ok()),
            Point::EdDsa(key) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_strict(bytes, &signature).is_ok()),
        }
    }
}

/// Keys that are trusted.
#[derive(Clone, Debug)]
pub struct KeySet(Vec<PublicKey>);

impl KeySet {
    /// Of a public JSON Web Key, or of a set of them. Keys of a set that are of no kind that is known here are passed over.
    ///
    /// # Errors
    /// [`KeyError`]
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let jwks = canonical::read(text.trim().as_bytes())?;
        let single = [jwks.clone()];
        let all = match jwks.get("keys") {
            Some(Value::Array(keys)) => keys.as_slice(),
            Some(_) => return Err(KeyError::Member("keys")),
            None => &single,
        };
        if all.iter().any(|jwk| jwk.get("d").is_some()) {
            return Err(KeyError::Private);
        }
        let mut keys = Vec::new();
        for jwk in all.iter().take(MAX_KEYS + 1) {
            match PublicKey::of(jwk) {
                Err(KeyError::Kind) if all.len() > 1 => {}
                key => keys.push(key?),
            }
        }
        if (1..=MAX_KEYS).contains(&keys.len()) { Ok(Self(keys)) } else { Err(KeyError::Number) }
    }

    /// Those that may have made a signature of this name. A key without a name may have made any.
    pub(super) fn named<'k>(&'k self, kid: &'k str) -> impl Iterator<Item = &'k PublicKey> {
        self.0.iter().filter(move |key| key.kid.as_deref().is_none_or(|known| known == kid))
    }
}

fn field(jwk: &Value, name: &'static str) -> Result<Vec<u8>, KeyError> {
    let text = jwk.get(name).and_then(Value::as_str).ok_or(KeyError::Member(name))?;
    URL_SAFE_NO_PAD.decode(text).map_err(|_| KeyError::Member(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8037 A.1
    const RFC_8037: &str = r#"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
        "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;

    #[test]
    fn the_key_and_the_signature_of_rfc_8037_are_ours() {
        let key = SigningKey::parse(RFC_8037).unwrap();
        assert_eq!(key.kid(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", "A.3");
        // A.4: header {"alg":"EdDSA"}, payload "Example of Ed25519 signing".
        let input = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature = URL_SAFE_NO_PAD.encode(key.sign(input.as_bytes()));
        let wanted = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        assert_eq!(signature, wanted);
    }

    #[test]
    fn the_key_and_the_signature_of_rfc_7515_verify() {
        // RFC 7515 A.3: ES256.
        let jwk = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;
        let input = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
        let keys = KeySet::parse(jwk).unwrap();
        let key = keys.named("any").next().unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        assert!(key.verifies(input.as_bytes(), &signature));
        assert!(!key.verifies(b"other", &signature) && !key.verifies(input.as_bytes(), &[0; 64]));
        assert!(!key.verifies(input.as_bytes(), &signature[..63]));
    }

    #[test]
    fn a_new_key_comes_back_from_its_file_and_shows_its_public_half_alone() {
        for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
            let key = SigningKey::generate(algorithm).unwrap();
            let again = SigningKey::parse(&key.private()).unwrap();
            assert_eq!((again.kid(), again.algorithm()), (key.kid(), algorithm));
            assert_eq!(again.sign(b"x"), key.sign(b"x"), "signatures are the same every time");
            let public = key.public().to_string();
            assert!(!public.contains("\"d\"") && KeySet::parse(&public).is_ok());
            assert_eq!(KeySet::parse(&key.private()).unwrap_err(), KeyError::Private);
            assert!(!format!("{key:?}").contains(key.private().get(..20).unwrap()));
            assert_ne!(SigningKey::generate(algorithm).unwrap().kid(), key.kid());
        }
    }

    #[test]
    fn wrong_keys_are_told_why() {
        let key = SigningKey::generate(Algorithm::Es256).unwrap();
        let other = SigningKey::generate(Algorithm::Es256).unwrap();
        let mut halves: Value = serde_json::from_str(&key.private()).unwrap();
        halves["x"] = other.public()["x"].clone();
        halves["y"] = other.public()["y"].clone();
        assert_eq!(SigningKey::parse(&halves.to_string()).unwrap_err(), KeyError::Halves);
        let with = |name: &str, value: Value| {
            let mut jwk = key.public();
            jwk[name] = value;
            KeySet::parse(&jwk.to_string()).unwrap_err()
        };
        assert_eq!(with("kty", json!("oct")), KeyError::Kind);
        assert_eq!(with("crv", json!("P-384")), KeyError::Kind);
        assert_eq!(with("alg", json!("EdDSA")), KeyError::Member("alg"));
        assert_eq!(with("use", json!("enc")), KeyError::Member("use"));
        assert_eq!(with("kid", json!("")), KeyError::Member("kid"));
        assert_eq!(with("x", json!("AA")), KeyError::Member("x"));
        assert_eq!(with("y", key.public()["x"].clone()), KeyError::Member("y"), "no point of the curve");
        assert_eq!(KeySet::parse(r#"{"keys":[]}"#).unwrap_err(), KeyError::Number);
        assert!(matches!(KeySet::parse(r#"{"kty":"EC","kty":"OKP"}"#), Err(KeyError::Json(_))));
        assert!(matches!(SigningKey::parse(&key.public().to_string()), Err(KeyError::Member("d"))));
        let zero = r#"{"kty":"OKP","crv":"Ed25519","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#;
        assert_eq!(KeySet::parse(zero).unwrap_err(), KeyError::Member("x"), "a key for which anything is signed");
    }
}
