//! What the real program looks at before it begins, and refuses to begin over: its workspace and its settings file.

use crate::flags::Call;
use serde_json::Value;
use std::path::PathBuf;

/// Why a run cannot begin, as the line on standard error; exit code 1.
pub(crate) fn refusal(call: &Call) -> Option<String> {
    workspace(call).or_else(settings)
}

fn workspace(call: &Call) -> Option<String> {
    let root = call.workspace.as_ref()?;
    match std::fs::symlink_metadata(root) {
        Ok(meta) if meta.is_dir() => None,
        Ok(meta) if meta.is_symlink() => Some(format!("workspace root {} is a reparse point", root.display())),
        Ok(_) => Some(format!("workspace root {} is not a directory", root.display())),
        Err(error) => Some(format!("workspace root {}: {error}", root.display())),
    }
}

/// A missing file is fine; one without its version makes every command fail.
fn settings() -> Option<String> {
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")))?;
    let path = config.join("muse/settings.json");
    let text = std::fs::read_to_string(&path).ok()?;
    let fault = match serde_json::from_str::<Value>(&text) {
        Ok(settings) if settings.get("schema_version") == Some(&Value::from(1)) => return None,
        Ok(_) => "missing field `schema_version`".to_owned(),
        Err(error) => error.to_string(),
    };
    Some(format!("failed to load {}: {fault}", path.display()))
}
