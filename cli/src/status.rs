//! `musegate status`: what the running supervisor says of itself, and the newest calls from the audit trail.

use crate::args::Status;
use crate::check::supervisor_config;
use crate::exit::Exit;
use crate::out;
use crate::paths::Folders;
use musegate_supervisor::audit;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Longest document, bytes.
const MAX: u64 = 1024 * 1024;
/// Calls that are shown.
const CALLS: usize = 5;

/// `musegate status`
pub(crate) fn run(args: &Status, folders: &Folders) -> Exit {
    let config = match supervisor_config(folders) {
        Ok(config) => config,
        Err(exit) => return exit,
    };
    let said = match ask(&config.operator) {
        Ok(said) => said,
        Err(error) => {
            let what = format!("the supervisor is not up: {}: {error}", config.operator.display());
            out::complain(&what, Some("start a pair with: musegate up"));
            return Exit::Unavailable;
        }
    };
    let calls = newest(&config.audit.file).unwrap_or_default();
    if args.json {
        out::line(&json!({"supervisor": said, "calls": calls}).to_string());
    } else {
        show(&said);
        calls.iter().for_each(|call| out::line(&format!("{:<12}{}", "call", audit::show(&call.to_string()))));
    }
    if said.get("worker_is_there") == Some(&Value::Bool(true)) { Exit::Ok } else { Exit::NotInOrder }
}

/// The document that the running supervisor tells.
pub(crate) fn ask(socket: &Path) -> io::Result<Value> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut text = String::new();
    stream.take(MAX).read_to_string(&mut text)?;
    serde_json::from_str(&text).map_err(io::Error::other)
}

/// The newest records of requests, oldest first.
fn newest(file: &Path) -> io::Result<VecDeque<Value>> {
    let mut newest = VecDeque::new();
    for line in audit::read(file)? {
        let record: Value = serde_json::from_str(&line?.text).unwrap_or_default();
        if record.get("kind").and_then(Value::as_str) == Some("request") {
            newest.push_back(record);
        }
        if newest.len() > CALLS {
            newest.pop_front();
        }
    }
    Ok(newest)
}

fn show(said: &Value) {
    let text = |pointer: &str| match said.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(all)) if all.is_empty() => "nothing".to_owned(),
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        Some(other) => other.to_string(),
        None => "-".to_owned(),
    };
    let row = |name: &str, what: String| out::line(&format!("{name:<12}{what}"));
    let up = format!("up {} s, version {}, pid {}", text("/up_seconds"), text("/version"), text("/pid"));
    row("supervisor", format!("{up}, listens on {}", text("/listens")));
    let layers = |row: &dyn Fn(&str, String), at: &str| {
        row("  holds", text(&format!("{at}/holds")));
        row("  lacks", text(&format!("{at}/lacks")));
    };
    layers(&row, "/own");
    if said.get("worker").is_some() {
        row("worker", format!("there: {} ({})", text("/worker/backend"), text("/worker/version")));
        layers(&row, "/worker/own");
        row("its jobs", String::new());
        layers(&row, "/worker");
    } else {
        row("worker", "away".to_owned());
    }
    let jobs = format!("{} running, {} waiting", text("/jobs/running"), text("/jobs/waiting"));
    row("jobs", format!("{jobs}, {} slots", text("/worker/slots")));
    row(
        "tasks",
        format!("{} running, {} kept ({} bytes)", text("/tasks/running"), text("/tasks/kept"), text("/tasks/bytes")),
    );
}
