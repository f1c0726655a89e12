//! The answer of one job, on its way from the records to the frames.
//!
//! Muse says its answer twice: in deltas, and whole in the terminal record. Promises: what is sent in the end equals the
//! terminal text wherever that can be read, in as few bytes as possible (nothing, the rest, or all of it afresh); what
//! is compared is what Muse said; what is sent was cleaned of everything hidden and then redacted, since what hides a
//! secret would be taken away by the supervisor; a text that somebody may read as JSON waits until it is whole, and is
//! redacted inside of its strings. Of an answer that was sent nothing is kept but its length and its hash. Refuses to
//! know about credit: it hands out pieces, and waits until they are taken.

use crate::redact::{Counts, Redactor, Rules, TOO_LONG};
use musegate_protocol::message::MAX_STRUCTURED;
use musegate_sanitize::{self as sanitize, Mode, Stream};
use serde_json::value::RawValue;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::sync::Arc;

/// The answer so far.
pub struct Answer {
    rules: Arc<Rules>,
    /// The answer is JSON of a declared form.
    schema: bool,
    cleaner: Stream,
    /// Cleaned, not yet looked at.
    between: String,
    form: Form,
    redactor: Redactor,
    /// What was redacted inside of JSON.
    inside: Counts,
    /// What was hidden there.
    hidden: sanitize::Counts,
    /// Of the text as Muse said it.
    hash: DefaultHasher,
    /// Bytes of the text as Muse said it.
    said: u64,
    /// Most of these.
    limit: u64,
    /// Redacted, not yet taken, from `taken` on.
    ready: String,
    taken: usize,
    /// Bytes that were taken since the last fresh piece.
    offset: u64,
    /// The next piece replaces what was taken before.
    fresh: bool,
    /// A part of the text could not be read.
    lost: bool,
    too_large: bool,
}

/// What the answer is, by what it begins with.
#[derive(Debug)]
enum Form {
    /// Nothing but white space so far.
    Blank,
    /// It may be read as JSON: kept until it is whole.
    Json(String),
    /// Anything else, sent as it comes.
    Text,
}

/// The answer does not fit its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// A piece of the answer that is to be sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Where it stands in the answer, bytes.
    pub offset: u64,
    /// It replaces all before.
    pub fresh: bool,
    /// Never empty, unless it is fresh.
    pub text: &'a str,
}

impl Answer {
    /// Of at most `limit` bytes. `schema`: it is JSON of a declared form.
    #[must_use]
    pub fn new(rules: Arc<Rules>, limit: u64, schema: bool) -> Self {
        Self {
            redactor: Redactor::new(Arc::clone(&rules)),
            rules,
            schema,
            cleaner: Stream::new(Mode::Strip),
            between: String::new(),
            form: Form::Blank,
            inside: Counts::default(),
            hidden: sanitize::Counts::default(),
            hash: DefaultHasher::new(),
            said: 0,
            limit,
            ready: String::new(),
            taken: 0,
            offset: 0,
            fresh: false,
            lost: false,
            too_large: false,
        }
    }

    /// More of it.
    ///
    /// # Errors
    /// [`TooLarge`]; what fits is kept.
    pub fn delta(&mut self, text: &str) -> Result<(), TooLarge> {
        let room = usize::try_from(self.limit.saturating_sub(self.said)).unwrap_or(usize::MAX);
        let fits = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
        self.hash.write(fits.as_bytes());
        self.said = self.said.saturating_add(fits.len() as u64);
        self.cleaner.push(fits, &mut self.between);
        self.look();
        self.too_large |= fits.len() < text.len();
        if self.too_large { Err(TooLarge) } else { Ok(()) }
    }

    /// A part of it was too long to be read.
    pub fn lose(&mut self) {
        self.lost = true;
    }

    /// The whole of it, as the terminal record has it; `None` where it has none or could not be read.
    ///
    /// # Errors
    /// [`TooLarge`]; also where a part was lost and is not made good here.
    pub fn whole(&mut self, text: Option<&str>) -> Result<(), TooLarge> {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return if self.lost { Err(TooLarge) } else { Ok(()) };
        };
        if let Some(rest) = self.rest_of(text) {
            return self.delta(rest);
        }
        self.redactor = Redactor::new(Arc::clone(&self.rules));
        self.cleaner = Stream::new(Mode::Strip);
        self.between.clear();
        self.form = Form::Blank;
        (self.inside, self.hidden) = Default::default();
        self.hash = DefaultHasher::new();
        self.said = 0;
        self.ready.clear();
        self.taken = 0;
        self.fresh = self.offset > 0;
        self.lost = false;
        self.delta(text)
    }

    /// What `text` has beyond the deltas, if it begins with them.
    fn rest_of<'a>(&self, text: &'a str) -> Option<&'a str> {
        if self.lost || self.too_large {
            return None;
        }
        let (same, rest) = text.split_at_checked(usize::try_from(self.said).ok()?)?;
        let mut hash = DefaultHasher::new();
        hash.write(same.as_bytes());
        (hash.finish() == self.hash.finish()).then_some(rest)
    }

    /// There is no more: what was held back because it might have become a secret is decided.
    pub fn finish(&mut self) {
        self.cleaner.finish(&mut self.between);
        self.look();
        if matches!(self.form, Form::Blank) {
            self.form = Form::Text;
            self.look();
        }
        if let Form::Json(json) = &mut self.form {
            let json = std::mem::take(json);
            self.form = Form::Text;
            let inside = self.rules.redact_json(&json);
            self.inside.add(&inside.counts);
            self.hidden.add(&inside.hidden);
            self.ready.push_str(&inside.text);
        }
        self.redactor.finish(&mut self.ready);
    }

    /// Sends on what was cleaned, or keeps it until it is whole.
    fn look(&mut self) {
        let blank = self.between.trim_start().is_empty();
        if matches!(self.form, Form::Blank) && !(blank && self.between.len() < MAX_STRUCTURED) {
            let json = self.schema || blank || self.between.trim_start().starts_with('{');
            self.form = if json { Form::Json(String::new()) } else { Form::Text };
        }
        match &mut self.form {
            Form::Blank => return,
            Form::Text => self.redactor.push(&self.between, &mut self.ready),
            Form::Json(json) => json.push_str(&self.between),
        }
        self.between.clear();
        if let Form::Json(json) = &mut self.form
            && json.len() > MAX_STRUCTURED
        {
            // Nobody may read as JSON what cannot be looked into.
            self.redactor.push(TOO_LONG, &mut self.ready);
            self.redactor.push(json, &mut self.ready);
            self.form = Form::Text;
        }
    }

    /// The next piece, of at most `most` bytes. `None`: nothing is ready.
    #[must_use]
    pub fn piece(&self, most: usize) -> Option<Piece<'_>> {
        let ready = self.ready.get(self.taken..).unwrap_or_default();
        let text = ready.get(..ready.floor_char_boundary(most)).unwrap_or_default();
        if text.is_empty() && !(self.fresh && ready.is_empty()) {
            return None;
        }
        Some(Piece { offset: if self.fresh { 0 } else { self.offset }, fresh: self.fresh, text })
    }

    /// So many bytes of [`Answer::piece`] were sent.
    pub fn took(&mut self, bytes: usize) {
        if self.fresh {
            self.offset = 0;
            self.fresh = false;
        }
        self.offset = self.offset.saturating_add(bytes as u64);
        self.taken = self.taken.saturating_add(bytes);
        if self.taken >= self.ready.len() {
            self.taken = 0;
            self.ready.clear();
            self.ready.shrink_to(64 << 10);
        }
    }

    /// Whether something waits to be sent.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.fresh || self.taken < self.ready.len()
    }

    /// Bytes sent since the last fresh piece.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.offset
    }

    /// What was redacted in it, by kind; a kind may come twice.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u32)> {
        self.redactor.counts().chain(self.inside.iter())
    }

    /// What was hidden in it and is gone.
    #[must_use]
    pub fn hidden(&self) -> sanitize::Counts {
        let mut all = self.cleaner.counts();
        all.add(&self.hidden);
        all
    }
}

/// The last of several JSON values that stand one after the other, as Muse writes them where a schema was asked for.
/// The text itself where it is anything else.
#[must_use]
pub fn last_value(text: &str) -> &str {
    let mut last = None;
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        match value {
            Ok(value) => last = Some(value.get()),
            Err(_) => return text,
        }
    }
    last.unwrap_or(text)
}

#[cfg(test)]
mod tests;
