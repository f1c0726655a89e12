//! Signatures of cards: JSON Web Signatures (RFC 7515) with the card itself as their detached payload, A2A 1.0 §8.4.
//!
//! Promises: what verifies is the whole card that was read, with every member in it; the key decides the algorithm, never
//! the signature; a header that asks for anything that is not known here is refused; of what a signature says of itself,
//! nothing is followed. Refuses to know files and HTTP.
//!
//! The specification and the official SDKs do not sign the same bytes: the former keeps what is required though it is
//! empty, the latter take out everything empty and all that their types do not know. So a card gets one signature over each
//! form in which it differs; whoever reads it needs only one that is right.

pub mod canonical;
mod key;
mod present;
#[cfg(test)]
mod tests;

pub use key::{Algorithm, KeyError, KeySet, SigningKey};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// Most signatures that are looked at.
const MAX_SIGNATURES: usize = 16;
/// Longest protected header, bytes as it stands.
const MAX_HEADER: usize = 4096;

/// Why a card is not signed as it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsigned {
    /// No card.
    #[error("not a card: {0}")]
    Card(String),
    /// It has no signatures.
    #[error("the card has no signatures")]
    None,
    /// It has too many.
    #[error("the card has more than {MAX_SIGNATURES} signatures")]
    TooMany,
    /// None is right; why, for each.
    #[error("no signature is right: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Wrong(Vec<Wrong>),
}

/// Why one signature is not right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// Not of the form of the specification.
    #[error("{0}")]
    Form(&'static str),
    /// An algorithm that is not known here, or none.
    #[error("algorithm {0} is not one of ES256 and EdDSA")]
    Algorithm(String),
    /// No such key among those that are trusted.
    #[error("no trusted key is called {0}")]
    Key(String),
    /// The key is of another algorithm.
    #[error("the key {0} is not of the algorithm that the signature names")]
    Confusion(String),
    /// It is over something else.
    #[error("the signature by {0} is not of this card")]
    Mismatch(String),
}

/// Whose signature was right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The key's name.
    pub kid: String,
    /// With which algorithm.
    pub algorithm: Algorithm,
    /// Over which form.
    pub form: Form,
}

/// Over which form of a card a signature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The specification's.
    Specified,
    /// That of the official SDKs, which differs in members that are empty.
    Sdk,
}

/// Adds signatures to a card; those that it has stay. `jku`: where the key can be had.
pub fn sign(card: &mut Value, key: &SigningKey, jku: Option<&str>) {
    let mut header = json!({ "alg": key.algorithm().name(), "kid": key.kid(), "typ": "JOSE" });
    if let (Some(members), Some(jku)) = (header.as_object_mut(), jku) {
        members.insert("jku".to_owned(), json!(jku));
    }
    let protected = URL_SAFE_NO_PAD.encode(canonical::form(&header));
    let mut payloads: Vec<String> = Vec::new();
    let known = present::known(card);
    for form in [Some(present::present(card)), Some(known.clone()), present::not_empty(known)].into_iter().flatten() {
        let payload = canonical::form(&form);
        if !payloads.contains(&payload) {
            payloads.push(payload);
        }
    }
    let signatures = payloads.iter().map(|payload| {
        let signature = key.sign(&input(&protected, payload));
        json!({ "protected": protected, "signature": URL_SAFE_NO_PAD.encode(signature) })
    });
    let Some(members) = card.as_object_mut() else { return };
    match members.entry("signatures").or_insert_with(|| json!([])) {
        Value::Array(all) => all.extend(signatures),
        other => *other = signatures.collect(),
    }
}

/// Verifies a card as it came. One right signature is enough. `specified`: only over the form of the specification.
///
/// # Errors
/// [`Unsigned`]
pub fn verify(card: &[u8], keys: &KeySet, specified: bool) -> Result<Verified, Unsigned> {
    let card = canonical::read(card).map_err(|no_form| Unsigned::Card(no_form.to_string()))?;
    let Value::Object(members) = &card else { return Err(Unsigned::Card("it is no object".to_owned())) };
    let signatures = match members.get("signatures") {
        Some(Value::Array(signatures)) if !signatures.is_empty() => signatures,
        _ => return Err(Unsigned::None),
    };
    if signatures.len() > MAX_SIGNATURES {
        return Err(Unsigned::TooMany);
    }
    let whole = present::present(&card);
    let mut forms = vec![(Form::Specified, canonical::form(&whole))];
    if !specified {
        forms.extend(present::not_empty(whole).map(|form| (Form::Sdk, canonical::form(&form))));
    }
    let mut wrong = Vec::new();
    for signature in signatures {
        match right(signature, &forms, keys) {
            Ok(verified) => return Ok(verified),
            Err(why) => wrong.push(why),
        }
    }
    Err(Unsigned::Wrong(wrong))
}

fn right(signature: &Value, forms: &[(Form, String)], keys: &KeySet) -> Result<Verified, Wrong> {
    let word =
        |name| signature.get(name).and_then(Value::as_str).ok_or(Wrong::Form("protected or signature is missing"));
    let (protected, bytes) = (word("protected")?, word("signature")?);
    let bytes = URL_SAFE_NO_PAD.decode(bytes).map_err(|_| Wrong::Form("the signature is not base64url"))?;
    let header = header(protected, signature.get("header"))?;
    let said = |name| header.get(name).and_then(Value::as_str);
    let alg = said("alg").ok_or(Wrong::Form("the protected header has no alg"))?;
    let algorithm = [Algorithm::Es256, Algorithm::EdDsa].into_iter().find(|known| known.name() == alg);
    let algorithm = algorithm.ok_or_else(|| Wrong::Algorithm(alg.chars().take(20).collect()))?;
    let kid = said("kid").ok_or(Wrong::Form("the protected header has no kid"))?;
    let shown = || kid.chars().take(64).collect::<String>();
    let (mut any, mut fits) = (false, false);
    for key in keys.named(kid) {
        any = true;
        if key.algorithm() != algorithm {
            continue;
        }
        fits = true;
        for (form, payload) in forms {
            if key.verifies(&input(protected, payload), &bytes) {
                return Ok(Verified { kid: kid.to_owned(), algorithm, form: *form });
            }
        }
    }
    Err(match (any, fits) {
        (false, _) => Wrong::Key(shown()),
        (true, false) => Wrong::Confusion(shown()),
        (true, true) => Wrong::Mismatch(shown()),
    })
}

/// The protected header, if nothing in it or beside it asks for what is not done here.
fn header(protected: &str, beside: Option<&Value>) -> Result<Value, Wrong> {
    if protected.len() > MAX_HEADER {
        return Err(Wrong::Form("the protected header is too long"));
    }
    let bytes = URL_SAFE_NO_PAD.decode(protected).map_err(|_| Wrong::Form("the protected header is not base64url"))?;
    let header =
        canonical::read(&bytes).map_err(|_| Wrong::Form("the protected header is no JSON that all read alike"))?;
    let Value::Object(members) = &header else { return Err(Wrong::Form("the protected header is no object")) };
    let other = match beside {
        None | Some(Value::Null) => None,
        Some(Value::Object(other)) => Some(other),
        Some(_) => return Err(Wrong::Form("the header is no object")),
    };
    // RFC 7515 §4.1.11: what is critical must be understood, and nothing that could be is. §7.2.1: no name in both.
    let has = |name: &str| members.contains_key(name) || other.is_some_and(|other| other.contains_key(name));
    if has("crit") || has("b64") {
        return Err(Wrong::Form("the header demands an extension that is not known"));
    }
    if other.is_some_and(|other| other.keys().any(|name| members.contains_key(name))) {
        return Err(Wrong::Form("the header says the same twice"));
    }
    Ok(header)
}

/// RFC 7515 §5.1
fn input(protected: &str, payload: &str) -> Vec<u8> {
    [protected.as_bytes(), b".", URL_SAFE_NO_PAD.encode(payload).as_bytes()].concat()
}
