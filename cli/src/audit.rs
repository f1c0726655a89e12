//! `musegate audit`: the trail, checked or shown. It holds no text of anybody, so it can be shown to anybody who may
//! read its file.

use crate::args::Audit;
use crate::check::supervisor_config;
use crate::exit::Exit;
use crate::out;
use crate::paths::Folders;
use musegate_supervisor::audit::{self, Verified};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io;
use std::path::Path;

/// `musegate audit …`
pub(crate) fn run(args: &Audit, folders: &Folders) -> Exit {
    let config = match supervisor_config(folders) {
        Ok(config) => config.audit,
        Err(exit) => return exit,
    };
    let done = match args {
        Audit::Verify(args) => audit::verify(&config).map(|seen| tell(&seen, args.json)).map_err(|e| e.to_string()),
        Audit::Show { lines, caller, json } => {
            let shown = show(&config.file, *lines, caller.as_deref(), *json);
            shown.map(|()| Exit::Ok).map_err(|error| format!("{}: {error}", config.file.display()))
        }
    };
    done.unwrap_or_else(|error| {
        out::complain(&error, None);
        Exit::NoInput
    })
}

fn tell(seen: &Verified, json: bool) -> Exit {
    if json {
        let damages: Vec<String> = seen.damages.iter().map(ToString::to_string).collect();
        let all = json!({"files": seen.files, "records": seen.records, "requests": seen.requests, "lost": seen.lost,
            "killed": seen.killed, "first": seen.first, "last": seen.last, "chain": seen.chain,
            "damaged": seen.damaged, "damages": damages});
        out::line(&all.to_string());
    } else {
        seen.damages.iter().for_each(|damage| out::complain(&damage.to_string(), None));
        let Verified { files, records, requests, lost, killed, first, last, chain, damaged, .. } = seen;
        out::line(&format!("{records} records in {files} files, {requests} of requests, numbers {first} to {last}"));
        out::line(&format!("{damaged} damaged, {lost} not written, {killed} starts without a stop before them"));
        out::line(&format!("last link {chain}"));
    }
    if seen.damaged == 0 { Exit::Ok } else { Exit::NotInOrder }
}

fn show(file: &Path, most: usize, caller: Option<&str>, json: bool) -> io::Result<()> {
    let mut newest = VecDeque::new();
    for line in audit::read(file)? {
        let text = line?.text;
        let of_caller = |wanted: &str| {
            let record: Value = serde_json::from_str(&text).unwrap_or_default();
            record.get("caller").and_then(Value::as_str) == Some(wanted)
        };
        if caller.is_none_or(of_caller) {
            newest.push_back(text);
        }
        if newest.len() > most {
            newest.pop_front();
        }
    }
    newest.iter().for_each(|text| if json { out::line(text) } else { out::line(&audit::show(text)) });
    Ok(())
}
