//! Which kinds of parts a caller takes: by its grant, and by the media types that it named with its message. Text is
//! always taken, since without it nothing could be said at all.

use crate::a2a::{Content, Part};
use musegate_protocol::message::FileName;
use std::collections::BTreeSet;

/// Longest url, bytes.
const MAX_URL: usize = 2048;

/// What a caller takes.
#[derive(Clone, Copy, Debug)]
pub struct Allowed<'m> {
    /// JSON values.
    pub data: bool,
    /// Files, inside the answer.
    pub files: bool,
    /// References, never fetched by us.
    pub links: bool,
    /// Bytes of all files together.
    pub file_bytes: usize,
    /// Media types from `acceptedOutputModes`, such as `image/*`; none: any.
    pub modes: &'m [String],
}

/// Why a part is withheld, in words for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    Data,
    File,
    Link,
    Size,
    Mode,
}

impl Allowed<'_> {
    /// The part as it may be handed on. `file_bytes`: of the files before it.
    pub(super) fn admit(&self, part: Part, file_bytes: &mut usize) -> Result<Part, Why> {
        let media_type = part.media_type.filter(|media_type| is_media_type(media_type));
        let named = media_type.as_deref();
        match &part.content {
            Content::Text(_) => {}
            Content::Data(_) if !self.data => return Err(Why::Data),
            Content::Data(_) => self.mode(named.unwrap_or("application/json"))?,
            Content::Raw(_) if !self.files => return Err(Why::File),
            Content::Raw(bytes) => {
                self.mode(named.unwrap_or("application/octet-stream"))?;
                let sum = file_bytes.saturating_add(bytes.len());
                if sum > self.file_bytes {
                    return Err(Why::Size);
                }
                *file_bytes = sum;
            }
            Content::Url(url) if !self.links || !is_web_url(url) => return Err(Why::Link),
            // What a link leads to is not known unless the model says it.
            Content::Url(_) => named.map_or(Ok(()), |media_type| self.mode(media_type))?,
        }
        // A name that could lead out of a folder is no name.
        let filename = part.filename.filter(|name| FileName::new(name.as_str()).is_ok());
        Ok(Part { content: part.content, media_type, filename, metadata: None })
    }

    fn mode(&self, media_type: &str) -> Result<(), Why> {
        let accepted = self.modes.is_empty() || self.modes.iter().any(|mode| matches(mode, media_type));
        if accepted { Ok(()) } else { Err(Why::Mode) }
    }
}

/// `*/*`, `image/*`, `application/json; charset=utf-8`
fn matches(mode: &str, media_type: &str) -> bool {
    let essence = |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (mode, media_type) = (essence(mode), essence(media_type));
    match mode.strip_suffix("/*") {
        Some("*") => true,
        Some(family) => media_type.split('/').next() == Some(family),
        None => mode == media_type,
    }
}

/// `type/subtype` of RFC 6838 §4.2, without parameters.
fn is_media_type(text: &str) -> bool {
    let name = |text: &str| {
        (1..=63).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
    };
    text.split_once('/').is_some_and(|(family, kind)| name(family) && name(kind))
}

/// What a person may be asked to open: http or https, and nothing in it that could be taken for something else.
fn is_web_url(url: &str) -> bool {
    let web = url.starts_with("https://") || url.starts_with("http://");
    web && url.len() <= MAX_URL && url.bytes().all(|b| b.is_ascii_graphic() && !b"<>\"\\`".contains(&b))
}

/// What was withheld, for one sentence.
#[derive(Debug, Default)]
pub(super) struct Withheld {
    count: usize,
    reasons: BTreeSet<Why>,
}

impl Withheld {
    pub(super) fn add(&mut self, why: Why) {
        self.count += 1;
        self.reasons.insert(why);
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn sentence(&self) -> Option<String> {
        let reasons: Vec<&str> = self.reasons.iter().map(|why| why.words()).collect();
        let parts = if self.count == 1 { "1 part" } else { &format!("{} parts", self.count) };
        (self.count > 0).then(|| format!("[{parts} of the answer withheld: {}]", reasons.join(", ")))
    }
}

impl Why {
    const fn words(self) -> &'static str {
        match self {
            Self::Data => "this caller takes no data",
            Self::File => "this caller takes no files",
            Self::Link => "this caller takes no links, or this is none",
            Self::Size => "the files are too large",
            Self::Mode => "its media type is not among the accepted output modes",
        }
    }
}
