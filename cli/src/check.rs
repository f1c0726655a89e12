//! `musegate check`: both configurations and the callers, every problem at once.

use crate::client::agents;
use crate::exit::Exit;
use crate::out;
use crate::paths::Folders;
use musegate_settings::private::{self, Rule};
use musegate_settings::{Problem, Problems};
use musegate_supervisor::admission::Callers;
use musegate_supervisor::card::Signer;
use serde_json::json;
use std::path::Path;

const MAX_FILE: u64 = 1024 * 1024;

/// `musegate check`
pub(crate) fn run(json: bool, folders: &Folders) -> Exit {
    let problems = all(folders);
    if json {
        let show = |p: &Problem| json!({"file": p.file, "line": p.line, "key": p.key, "what": p.what});
        out::line(&json!({"problems": problems.iter().map(show).collect::<Vec<_>>()}).to_string());
    } else {
        problems.iter().for_each(|problem| out::complain(&problem.to_string(), None));
        if problems.is_empty() {
            out::line("in order: supervisor.toml, worker.toml, callers.toml, agents.toml");
        }
    }
    if problems.is_empty() { Exit::Ok } else { Exit::Config }
}

/// Every problem of every file.
pub(crate) fn all(folders: &Folders) -> Vec<Problem> {
    let mut problems = Vec::new();
    let supervisor =
        read(&folders.config.join("supervisor.toml"), &mut problems, musegate_supervisor::config::Config::parse);
    let worker = read(&folders.config.join("worker.toml"), &mut problems, musegate_worker::config::Config::parse);
    let callers = match &supervisor {
        Some(config) => config.callers.file.clone(),
        None => folders.config.join("callers.toml"),
    };
    if let Err(Problems(more)) = Callers::load(&callers) {
        problems.extend(more);
    }
    if let Some(Err(Problems(more))) = supervisor.as_ref().map(|config| Signer::open(&config.agent)) {
        problems.extend(more);
    }
    let agents_file = folders.config.join("agents.toml");
    match agents::load(&agents_file) {
        Err(agents::Unknown::Problems(Problems(more))) => problems.extend(more),
        Err(other) => problems.push(whole(&agents_file, other.to_string())),
        Ok(_) => {}
    }
    if let (Some(supervisor), Some(worker)) = (supervisor, worker)
        && supervisor.worker.socket != worker.socket.path
    {
        let what = format!(
            "socket is {}, but {} says {}",
            supervisor.worker.socket.display(),
            folders.config.join("worker.toml").display(),
            worker.socket.path.display()
        );
        problems.push(whole(&folders.config.join("supervisor.toml"), what));
    }
    problems
}

/// The supervisor's settings, or its problems printed.
pub(crate) fn supervisor_config(folders: &Folders) -> Result<musegate_supervisor::config::Config, Exit> {
    or_complain(&folders.config.join("supervisor.toml"), musegate_supervisor::config::Config::parse)
}

/// The worker's settings, or its problems printed.
pub(crate) fn worker_config(folders: &Folders) -> Result<musegate_worker::config::Config, Exit> {
    or_complain(&folders.config.join("worker.toml"), musegate_worker::config::Config::parse)
}

fn or_complain<T>(file: &Path, parse: impl Fn(&Path, &str) -> Result<T, Problems>) -> Result<T, Exit> {
    let mut problems = Vec::new();
    let config = read(file, &mut problems, parse);
    problems.iter().for_each(|problem| out::complain(&problem.to_string(), None));
    config.ok_or(Exit::Config)
}

fn read<T>(file: &Path, problems: &mut Vec<Problem>, parse: impl Fn(&Path, &str) -> Result<T, Problems>) -> Option<T> {
    match private::read(file, Rule::Settings, MAX_FILE) {
        Err(refused) => {
            let hint = if file.exists() { "" } else { "; make it with: musegate up --init" };
            problems.push(whole(file, format!("{refused}{hint}")));
            None
        }
        Ok(text) => match parse(file, &text) {
            Ok(config) => Some(config),
            Err(Problems(more)) => {
                problems.extend(more);
                None
            }
        },
    }
}

fn whole(file: &Path, what: String) -> Problem {
    Problem { file: file.to_owned(), line: 0, key: String::new(), what }
}
