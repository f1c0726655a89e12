//! What a text among the settings must be. Each error is a lowercase fragment that says what to write instead.

use crate::redact::ExtraPattern;
use musegate_protocol::message::Layer;
use nix::unistd::User;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The shortest limit of a socket's path among the systems we run on, without its final NUL.
const MAX_SOCKET_PATH: usize = 103;

pub(super) fn absolute(text: &str) -> Result<PathBuf, String> {
    let path = Path::new(text);
    let plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || text.contains('\0') {
        return Err("must be an absolute path".into());
    }
    if !path.components().all(plain) {
        return Err("must not contain ..".into());
    }
    Ok(path.to_owned())
}

pub(super) fn socket_path(text: &str) -> Result<PathBuf, String> {
    let path = absolute(text)?;
    let len = path.as_os_str().as_bytes().len();
    if len > MAX_SOCKET_PATH {
        return Err(format!("has {len} bytes, a socket's path may have {MAX_SOCKET_PATH}"));
    }
    if path.file_name().is_none() {
        return Err("must name a socket in a folder".into());
    }
    Ok(path)
}

pub(super) fn user(text: &str) -> Result<u32, String> {
    if let Ok(uid) = text.parse::<u32>() {
        return Ok(uid);
    }
    match User::from_name(text) {
        Ok(Some(user)) => Ok(user.uid.as_raw()),
        Ok(None) => Err("is no user of this machine".into()),
        Err(error) => Err(format!("cannot be looked up: {}", error.desc())),
    }
}

pub(super) fn model(text: &str) -> Result<String, String> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"._:-/".contains(&b);
    if text.is_empty() || text.len() > 128 || text.starts_with('-') || !text.bytes().all(legal) {
        return Err("must be a model's name".into());
    }
    Ok(text.to_owned())
}

pub(super) fn layer(text: &str) -> Result<Layer, String> {
    Layer::of_word(text).ok_or_else(|| {
        let words = Layer::ALL.map(Layer::word).join(", ");
        format!("is no layer; these are: {words}")
    })
}

pub(super) fn pattern(text: &str) -> Result<ExtraPattern, String> {
    ExtraPattern::parse(text).map_err(|error| error.to_string())
}
