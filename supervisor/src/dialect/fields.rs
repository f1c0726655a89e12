//! Members of an object, each taken with the type and the bound that it must have. A wrong one becomes
//! [`Refusal::InvalidParams`] that names it from the top: `message.parts[2].raw`.
//!
//! Spellings are those of ProtoJSON: `contextId` and `context_id` are one member, `null` is the same as none, whole
//! numbers may stand in strings, and so may bytes as base64 of either alphabet. Members that nobody asks for are passed
//! over.

use super::json::{Kind, Value};
use crate::a2a::{ContextId, Json, TaskId};
use crate::refusal::Refusal;
use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use std::borrow::Cow;

/// Longest identifier, bytes.
pub(super) const MAX_ID: usize = 128;
/// Longest name, media type, scheme or token, bytes.
pub(super) const MAX_NAME: usize = 512;
/// Longest URL, bytes.
pub(super) const MAX_URL: usize = 2048;
/// Most media types, extensions or tasks named in one list.
pub(super) const MAX_NAMES: usize = 32;
/// Longest opaque metadata of one object, bytes.
pub(super) const MAX_METADATA: usize = 64 * 1024;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const ORDINARY: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const URL_LIKE: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// An object and where it stands.
pub(super) struct Fields<'d> {
    object: Value<'d>,
    path: Cow<'static, str>,
}

impl<'d> Fields<'d> {
    /// # Errors
    /// When it is no object.
    pub(super) fn of(value: Value<'d>, path: impl Into<Cow<'static, str>>) -> Result<Self, Refusal> {
        let path = path.into();
        if value.kind() == Kind::Object {
            Ok(Self { object: value, path })
        } else {
            Err(wrong(path, "must be an object"))
        }
    }

    /// The same members, named without what they stand in.
    pub(super) fn at_top(self) -> Self {
        Self { path: Cow::Borrowed(""), ..self }
    }

    /// A refusal of the member `name`.
    pub(super) fn no(&self, name: &str, what: impl Into<String>) -> Refusal {
        wrong(self.place(name), what)
    }

    /// A refusal of the object as a whole.
    pub(super) fn bad(&self, what: impl Into<String>) -> Refusal {
        wrong(self.path.clone(), what)
    }

    fn place(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The member, also when it is `null`.
    pub(super) fn present(&self, name: &str) -> Result<Option<Value<'d>>, Refusal> {
        let mut found = self.object.members().filter(|(key, _)| key.text().is_some_and(|key| is_spelt(&key, name)));
        let first = found.next().map(|(_, value)| value);
        if found.next().is_some() { Err(self.no(name, "is given in two spellings")) } else { Ok(first) }
    }

    pub(super) fn get(&self, name: &str) -> Result<Option<Value<'d>>, Refusal> {
        Ok(self.present(name)?.filter(|value| value.kind() != Kind::Null))
    }

    pub(super) fn object(&self, name: &str) -> Result<Option<Fields<'d>>, Refusal> {
        self.get(name)?.map(|value| Fields::of(value, self.place(name))).transpose()
    }

    pub(super) fn required_object(&self, name: &str) -> Result<Fields<'d>, Refusal> {
        self.object(name)?.ok_or_else(|| self.no(name, "is required"))
    }

    /// A string of any length that the body had room for.
    pub(super) fn string(&self, name: &str) -> Result<Option<Cow<'d, str>>, Refusal> {
        self.get(name)?.map(|value| value.text().ok_or_else(|| self.no(name, "must be a string"))).transpose()
    }

    /// A short string; an empty one is none.
    pub(super) fn short(&self, name: &str, max: usize) -> Result<Option<String>, Refusal> {
        let text = self.string(name)?.filter(|text| !text.is_empty());
        match text {
            Some(text) if text.len() > max => Err(self.no(name, format!("is longer than {max} bytes"))),
            Some(text) if text.chars().any(char::is_control) => Err(self.no(name, "holds control characters")),
            text => Ok(text.map(Cow::into_owned)),
        }
    }

    pub(super) fn required(&self, name: &str, max: usize) -> Result<String, Refusal> {
        self.short(name, max)?.ok_or_else(|| self.no(name, "is required"))
    }

    pub(super) fn boolean(&self, name: &str) -> Result<Option<bool>, Refusal> {
        match self.get(name)?.map(Value::kind) {
            None => Ok(None),
            Some(Kind::True) => Ok(Some(true)),
            Some(Kind::False) => Ok(Some(false)),
            Some(_) => Err(self.no(name, "must be true or false")),
        }
    }

    /// A whole number from 0 to 2³¹ − 1.
    pub(super) fn count(&self, name: &str) -> Result<Option<u32>, Refusal> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        let said = match value.kind() {
            Kind::Number => Cow::Borrowed(value.raw()),
            _ => value.text().ok_or_else(|| self.no(name, "must be a whole number"))?,
        };
        whole(&said).map(Some).ok_or_else(|| self.no(name, "must be a whole number from 0 to 2147483647"))
    }

    /// The elements of an array, each with its place.
    pub(super) fn array(&self, name: &str, max: usize) -> Result<Vec<(Value<'d>, String)>, Refusal> {
        let Some(value) = self.get(name)? else { return Ok(Vec::new()) };
        if value.kind() != Kind::Array {
            return Err(self.no(name, "must be an array"));
        }
        let items: Vec<_> = value.items().take(max + 1).collect();
        if items.len() > max {
            return Err(self.no(name, format!("has more than {max} elements")));
        }
        let place = self.place(name);
        Ok(items.into_iter().enumerate().map(|(index, item)| (item, format!("{place}[{index}]"))).collect())
    }

    /// Short strings.
    pub(super) fn strings(&self, name: &str, max: usize) -> Result<Vec<String>, Refusal> {
        let mut strings = Vec::new();
        for (item, place) in self.array(name, max)? {
            let text = item.text().filter(|text| text.len() <= MAX_URL && !text.chars().any(char::is_control));
            strings.push(text.ok_or_else(|| wrong(place, "must be a short string"))?.into_owned());
        }
        Ok(strings)
    }

    /// An opaque object; an empty one is none.
    pub(super) fn metadata(&self, name: &str) -> Result<Option<Json>, Refusal> {
        self.metadata_without(name, "")
    }

    /// The same, with the member `left_out` left out.
    pub(super) fn metadata_without(&self, name: &str, left_out: &str) -> Result<Option<Json>, Refusal> {
        let Some(object) = self.object(name)? else { return Ok(None) };
        let json = object.object.rewritten_without(left_out);
        if json.len() > MAX_METADATA {
            return Err(self.no(name, format!("is longer than {MAX_METADATA} bytes")));
        }
        Ok((json != "{}").then(|| Json(json.into())))
    }

    pub(super) fn bytes(&self, name: &str) -> Result<Option<Bytes>, Refusal> {
        let Some(text) = self.string(name)? else { return Ok(None) };
        let url_like = text.contains(['-', '_']);
        let decoded = if url_like { URL_LIKE.decode(&*text) } else { ORDINARY.decode(&*text) };
        decoded.map(|bytes| Some(bytes.into())).map_err(|_| self.no(name, "must be base64"))
    }

    /// A conversation's id. An illegal one is refused, never replaced (§3.4.3).
    pub(super) fn context_id(&self, name: &str) -> Result<Option<ContextId>, Refusal> {
        match self.short(name, MAX_ID)? {
            Some(id) if !is_label(&id) => Err(self.no(name, "may hold letters, digits and . _ : - only")),
            id => Ok(id.map(|id| ContextId(id.into()))),
        }
    }

    /// A Task's id. One that cannot be ours does not exist, like any other that is not there.
    pub(super) fn task_id(&self, name: &str) -> Result<Option<TaskId>, Refusal> {
        self.string(name)?.filter(|id| !id.is_empty()).map(|id| task_id(&id)).transpose()
    }

    pub(super) fn required_task_id(&self, name: &str) -> Result<TaskId, Refusal> {
        self.task_id(name)?.ok_or_else(|| self.no(name, "is required"))
    }

    /// The object as it was sent.
    pub(super) fn raw(&self) -> &'d str {
        self.object.raw()
    }
}

/// # Errors
/// [`Refusal::TaskNotFound`] for what no Task of ours can be called.
pub(super) fn task_id(text: &str) -> Result<TaskId, Refusal> {
    if is_label(text) { Ok(TaskId(text.into())) } else { Err(Refusal::TaskNotFound) }
}

/// `[A-Za-z0-9._:-]{1,128}`
pub(super) fn is_label(text: &str) -> bool {
    (1..=MAX_ID).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b))
}

/// A refusal of what stands at `place`.
pub(super) fn wrong(place: impl Into<String>, what: impl Into<String>) -> Refusal {
    Refusal::InvalidParams { field: place.into(), what: what.into() }
}

/// `pageSize` is spelt `pageSize` or `page_size`.
fn is_spelt(key: &str, name: &str) -> bool {
    let mut key = key.bytes();
    let snake = name.bytes().flat_map(|byte| {
        let under = byte.is_ascii_uppercase().then_some(b'_');
        under.into_iter().chain([byte.to_ascii_lowercase()])
    });
    key.clone().eq(name.bytes()) || key.by_ref().eq(snake)
}

/// Also `5.0` and `5e0`, which are whole numbers in JSON.
pub(super) fn whole(text: &str) -> Option<u32> {
    const MAX: u32 = i32::MAX.unsigned_abs();
    if let Ok(number) = text.parse::<u32>() {
        return (number <= MAX && !text.starts_with('+')).then_some(number);
    }
    let number = text.parse::<f64>().ok()?;
    let fits = number.fract() == 0.0 && (0.0..=f64::from(MAX)).contains(&number);
    // Exact, since it is whole and below 2³¹.
    fits.then_some(number as u32)
}
