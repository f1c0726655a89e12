//! What a request says about itself in its headers: the edition (`A2A-Version`, §3.6), the extensions it opts into
//! (`A2A-Extensions`, §3.2.6), and the type of its body. No header: what §3.6.2 says no header means, which is 0.3.

use super::Version;
use crate::refusal::Refusal;
use hyper::HeaderMap;
use hyper::header::{ACCEPT, CONTENT_TYPE};

/// Extensions that a client may activate.
pub mod extension {
    /// The answer streams as appended chunks, as soon as its text is there.
    pub const CHUNKS_RAW: &str = "urn:musegate:chunks:raw";
    /// The same, cut at the ends of lines.
    pub const CHUNKS_LINES: &str = "urn:musegate:chunks:lines";
    /// All of them.
    pub const ALL: [&str; 2] = [CHUNKS_RAW, CHUNKS_LINES];
}

/// Most extensions looked at.
const MAX_EXTENSIONS: usize = 32;

/// The edition that header or query name; nothing when neither does.
///
/// # Errors
/// [`Refusal::VersionNotSupported`] for one that is not spoken here, and for two at once.
pub(super) fn asked(headers: &HeaderMap, query: Option<&str>) -> Result<Option<Version>, Refusal> {
    // A proxy may have made one line of two.
    let in_headers = headers.get_all("a2a-version").iter().flat_map(|line| line.to_str().unwrap_or("?").split(','));
    let in_query = query.into_iter().flat_map(|query| query.split('&')).filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case("A2A-Version").then_some(value)
    });
    let mut said = None;
    for text in in_headers.chain(in_query).map(str::trim).filter(|text| !text.is_empty()) {
        let version = version(text)?;
        if said.is_some_and(|earlier| earlier != version) {
            return Err(Refusal::VersionNotSupported("two versions are asked for at once".into()));
        }
        said = Some(version);
    }
    Ok(said)
}

/// `Major.Minor`; a patch number is passed over.
fn version(text: &str) -> Result<Version, Refusal> {
    let digits = |field: &&str| (1..=3).contains(&field.len()) && field.bytes().all(|b| b.is_ascii_digit());
    let fields: Vec<&str> = text.splitn(4, '.').collect();
    let (major, minor) = match fields.as_slice() {
        [major, minor] | [major, minor, _] if fields.iter().all(digits) => (*major, *minor),
        _ => return Err(unsupported("what the request names is no version")),
    };
    match (major, minor) {
        ("1", "0") => Ok(Version::V1),
        ("0", "2" | "3") => Ok(Version::V03),
        ("0", "1") => Ok(Version::Early),
        _ => Err(unsupported(&format!("{major}.{minor}"))),
    }
}

fn unsupported(what: &str) -> Refusal {
    Refusal::VersionNotSupported(format!("{what}; this agent speaks 1.0, 0.3, 0.2 and 0.1"))
}

/// Whether a method or path of `family` may be used with what the client says it speaks.
///
/// # Errors
/// [`Refusal::VersionNotSupported`], with what to send instead.
pub(super) fn check(family: Version, asked: Option<Version>, name: &str) -> Result<(), Refusal> {
    let why = match (family, asked) {
        (Version::V1, None) => {
            format!("0.3 is what a missing A2A-Version header means, and {name} is of 1.0: send A2A-Version: 1.0")
        }
        (_, None) => return Ok(()),
        (family, Some(asked)) if family == asked => return Ok(()),
        (family, Some(asked)) => {
            let (family, asked) = (family.word(), asked.word());
            format!("{asked} is asked for, and {name} is of {family}: send A2A-Version: {family}")
        }
    };
    Err(Refusal::VersionNotSupported(why))
}

/// The extensions of ours that the client names. The header of 0.3 begins with `X-`.
pub(super) fn extensions(headers: &HeaderMap) -> Vec<&'static str> {
    let lines = ["a2a-extensions", "x-a2a-extensions"].into_iter().flat_map(|name| headers.get_all(name));
    let named = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(',')).map(str::trim);
    let named: Vec<&str> = named.take(MAX_EXTENSIONS).collect();
    extension::ALL.into_iter().filter(|uri| named.contains(uri)).collect()
}

/// Whether the client names event streams among what it accepts.
pub(super) fn wants_events(headers: &HeaderMap) -> bool {
    accepts(headers, "text/event-stream")
}

/// Whether the client names this type among what it accepts; `*/*` names none.
pub(super) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .any(|range| range.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(media_type))
}

/// What the body says it is. JSON of any kind will do, and so will silence.
///
/// # Errors
/// [`Refusal::MediaType`].
pub(super) fn body_type(headers: &HeaderMap) -> Result<Body, Refusal> {
    let Some(line) = headers.get(CONTENT_TYPE) else { return Ok(Body::Json) };
    let line = line.to_str().map_err(|_| Refusal::MediaType)?.to_ascii_lowercase();
    let (essence, parameters) = line.split_once(';').unwrap_or((&line, ""));
    let foreign = |p: &str| p.trim().strip_prefix("charset=").is_some_and(|c| c.trim_matches('"') != "utf-8");
    if parameters.split(';').any(foreign) {
        return Err(Refusal::MediaType);
    }
    match essence.trim() {
        "application/a2a+json" => Ok(Body::A2aJson),
        "application/json" | "application/json-rpc" | "" => Ok(Body::Json),
        other if other.starts_with("application/") && other.ends_with("+json") => Ok(Body::Json),
        _ => Err(Refusal::MediaType),
    }
}

/// Type of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Json,
    /// `application/a2a+json`, 1.0.1 §11.
    A2aJson,
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};

    fn with(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn versions_are_read_with_and_without_a_patch_number() {
        for (text, version) in [
            ("1.0", Version::V1),
            ("1.0.1", Version::V1),
            (" 1.0 ", Version::V1),
            ("0.3", Version::V03),
            ("0.3.0", Version::V03),
            ("0.2.5", Version::V03),
            ("0.1", Version::Early),
        ] {
            assert_eq!(asked(&with(&[("a2a-version", text)]), None), Ok(Some(version)), "{text}");
        }
        assert_eq!(asked(&with(&[("a2a-version", "1.0, 1.0")]), None), Ok(Some(Version::V1)));
        assert_eq!(asked(&with(&[("a2a-version", "")]), Some("x&A2A-Version=&y=1")), Ok(None));
        assert_eq!(asked(&with(&[("a2a-version", "1.0")]), Some("a2a-version=1.0.1")), Ok(Some(Version::V1)));
    }

    #[test]
    fn unknown_versions_are_refused_and_never_echoed_unless_they_are_numbers() {
        for text in
            ["1", "1.1", "2.0", "0.4", "0.0", "99.0", "1.0.1.2", "1.0.", "v1.0", "1,0", "latest", "<b>", "é", "1.0,0.3"]
        {
            let refused = asked(&with(&[("a2a-version", text)]), None);
            let Err(Refusal::VersionNotSupported(what)) = refused else { panic!("{text}: {refused:?}") };
            assert!(!what.contains(text) || text.chars().all(|c| c.is_ascii_digit() || c == '.'), "{what}");
        }
        let two = asked(&with(&[("a2a-version", "1.0")]), Some("A2A-Version=0.3"));
        assert!(matches!(two, Err(Refusal::VersionNotSupported(_))));
    }

    #[test]
    fn bodies_are_json_or_say_nothing() {
        for text in
            ["application/json", "application/json; charset=UTF-8", "Application/JSON", "application/ld+json", ""]
        {
            assert_eq!(body_type(&with(&[("content-type", text)])), Ok(Body::Json), "{text}");
        }
        assert_eq!(body_type(&HeaderMap::new()), Ok(Body::Json));
        assert_eq!(body_type(&with(&[("content-type", "application/a2a+json;x=y")])), Ok(Body::A2aJson));
        for text in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json; charset=latin1",
            "image/svg+json",
            "é",
        ] {
            assert_eq!(body_type(&with(&[("content-type", text)])), Err(Refusal::MediaType), "{text}");
        }
    }

    #[test]
    fn only_extensions_that_we_have_are_activated() {
        let named = format!("urn:x, {} ,,{}", extension::CHUNKS_LINES, extension::CHUNKS_RAW);
        assert_eq!(extensions(&with(&[("a2a-extensions", &named)])), extension::ALL);
        assert_eq!(extensions(&with(&[("x-a2a-extensions", extension::CHUNKS_RAW)])), [extension::CHUNKS_RAW]);
        assert!(extensions(&with(&[("a2a-extensions", "urn:musegate:chunks:rawer")])).is_empty());
    }

    #[test]
    fn a_wish_for_events_is_one_that_names_them() {
        assert!(wants_events(&with(&[("accept", "application/json, Text/Event-Stream; q=0.5")])));
        assert!(!wants_events(&with(&[("accept", "*/*")])));
        assert!(!wants_events(&HeaderMap::new()));
    }
}
