//! `musegate doctor`: looks for whatever would keep Muse from answering here, by doing what a start does, and says how to
//! mend it. Starts no pair.

use crate::args::Doctor;
use crate::check;
use crate::exit::Exit;
use crate::out;
use crate::pair;
use crate::paths::Folders;
use crate::status;
use musegate_protocol::message::Layer;
use musegate_supervisor::config::Config as Supervisor;
use musegate_worker::config::{Config as Worker, Provider};
use musegate_worker::process::JailCommand;
use musegate_worker::{WorkerError, examine};
use nix::unistd::{User, geteuid};
use serde_json::{Value, json};
use std::env;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes of a Unix socket's path on the system that allows fewest, macOS.
const MAX_SOCKET_PATH: usize = 103;

/// How a finding is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grade {
    Good,
    Weak,
    Bad,
}

/// One line of the report.
struct Finding {
    what: &'static str,
    grade: Grade,
    found: String,
    mend: Option<String>,
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn good(&mut self, what: &'static str, found: impl Into<String>) {
        self.0.push(Finding { what, grade: Grade::Good, found: found.into(), mend: None });
    }

    fn weak(&mut self, what: &'static str, found: impl Into<String>, mend: impl Into<String>) {
        self.0.push(Finding { what, grade: Grade::Weak, found: found.into(), mend: Some(mend.into()) });
    }

    fn bad(&mut self, what: &'static str, found: impl Into<String>, mend: impl Into<String>) {
        self.0.push(Finding { what, grade: Grade::Bad, found: found.into(), mend: Some(mend.into()) });
    }
}

/// `musegate doctor`
pub(crate) async fn run(args: &Doctor, folders: &Folders) -> Exit {
    let mut findings = Findings::default();
    surroundings(&mut findings);
    let problems = check::all(folders);
    for problem in &problems {
        findings.bad("settings", problem.to_string(), "mend the file; musegate check shows all problems");
    }
    if problems.is_empty() {
        findings.good("settings", format!("{} is in order", folders.config.display()));
    }
    if let (Ok(supervisor), Ok(worker)) = (check::supervisor_config(folders), check::worker_config(folders)) {
        pair_fits(&supervisor, &worker, &mut findings);
        muse(&worker, &mut findings).await;
        running(&supervisor, &mut findings);
    }
    show(&findings.0, args.json);
    let worst = findings.0.iter().any(|finding| finding.grade == Grade::Bad);
    if worst { Exit::NotInOrder } else { Exit::Ok }
}

fn surroundings(findings: &mut Findings) {
    let user = User::from_uid(geteuid()).ok().flatten().map_or_else(|| geteuid().to_string(), |user| user.name);
    if geteuid().is_root() {
        let mend = "give supervisor and worker users of their own (systemd/ and launchd/ have the units)";
        findings.weak("user", "root", mend);
    } else {
        findings.good("user", user);
    }
    for name in ["HOME", "PATH", "TMPDIR"] {
        match env::var_os(name).map(|value| (Path::new(&value).is_absolute(), value)) {
            Some((true, value)) => findings.good("environment", format!("{name}={}", value.display())),
            Some((false, value)) => {
                let found = format!("{name}={} is not absolute", value.display());
                findings.weak("environment", found, "the pair does not use it; your shell may");
            }
            None if name == "TMPDIR" => {}
            None => findings.weak("environment", format!("{name} is not set"), "give --config-dir, or set it"),
        }
    }
}

fn pair_fits(supervisor: &Supervisor, worker: &Worker, findings: &mut Findings) {
    let socket = &worker.socket.path;
    let length = socket.as_os_str().as_bytes().len();
    if length > MAX_SOCKET_PATH {
        let found = format!("{} has {length} bytes, at most {MAX_SOCKET_PATH} fit", socket.display());
        findings.bad(
            "socket",
            found,
            "set socket.path (worker.toml) and worker.socket (supervisor.toml) to a shorter one",
        );
    } else {
        findings.good("socket", format!("{} ({length} of {MAX_SOCKET_PATH} bytes)", socket.display()));
    }
    if worker.socket.supervisor.is_none() {
        let mend = "for two uids set socket.supervisor_user (worker.toml) and worker.uid (supervisor.toml)";
        findings.weak("separation", "supervisor and worker share one uid", mend);
    } else {
        findings.good("separation", "the worker accepts another uid only");
    }
    let longest = worker.limits.wall.as_secs();
    findings.good(
        "time",
        format!("a job may take {longest} s: a caller's time-out must be longer (musegate hermes-config)"),
    );
    let slots = (supervisor.jobs.slots, worker.jobs.slots);
    if usize::from(slots.1) < usize::from(slots.0) {
        let found = format!("the supervisor offers {} slots, the worker has {}", slots.0, slots.1);
        findings.weak("slots", found, "set jobs.slots alike in both files; the smaller one counts");
    }
}

async fn muse(worker: &Worker, findings: &mut Findings) {
    if worker.muse.provider == Provider::Meta && worker.muse.api_key_file.is_none() {
        let mend = "set muse.api_key_file, or muse.provider = \"echo\" for a trial";
        findings.weak("credential", "none for Meta's model: a real Muse will say that it has none", mend);
    }
    let jail = match env::current_exe() {
        Ok(program) => JailCommand { program, args: vec![pair::JAIL.into()] },
        Err(error) => return findings.bad("muse", error.to_string(), "run musegate from where it is installed"),
    };
    match examine(worker, jail).await {
        Ok(found) => {
            findings.good("muse", format!("{} ({}), {}", worker.muse.path.display(), found.backend, found.version));
            let words = |layers: Vec<Layer>| layers.iter().map(|layer| layer.word()).collect::<Vec<_>>().join(" ");
            findings.good("layers", format!("hold: {}", words(found.report.holds.iter().collect())));
            let lacking: Vec<Layer> = found.report.lacks.iter().collect();
            if !lacking.is_empty() {
                let mend = "see docs/confinement.md: what each is for, and which kernel has it";
                findings.weak("layers", format!("lack: {}", words(lacking)), mend);
            }
        }
        Err(error) => {
            let mend = match &error {
                WorkerError::Key(_) => "mend muse.api_key_file in worker.toml",
                WorkerError::Scratch(_) => "mend jobs.scratch in worker.toml: a folder of your own, mode 0700",
                WorkerError::Rules(_) => "mend redaction.patterns in worker.toml",
                _ => "set muse.path in worker.toml to Muse Code's own program, not the launcher of another one",
            };
            findings.bad("muse", error.to_string(), mend);
        }
    }
}

/// Whether the pair that runs now, if one does, is of this version on both sides.
fn running(supervisor: &Supervisor, findings: &mut Findings) {
    let Ok(said) = status::ask(&supervisor.operator) else {
        return findings.good("running", "no pair at the moment");
    };
    let text = |pointer: &str| said.pointer(pointer).and_then(Value::as_str).unwrap_or("none").to_owned();
    let (theirs, worker) = (text("/version"), text("/worker/build"));
    for (whose, pointer) in [("supervisor", "/own/lacks"), ("worker", "/worker/own/lacks")] {
        let lacks: Vec<&str> =
            said.pointer(pointer).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        if !lacks.is_empty() {
            let mend = "see docs/confinement.md: what each is for, and which kernel has it";
            findings.weak("layers", format!("the {whose} itself lacks: {}", lacks.join(" ")), mend);
        }
    }
    let own = env!("CARGO_PKG_VERSION");
    if theirs == own && (worker == "none" || worker.ends_with(own)) {
        findings.good("running", format!("supervisor {theirs}, worker {worker}"));
    } else {
        let found = format!("supervisor {theirs}, worker {worker}, this command {own}");
        findings.weak("running", found, "restart both after an update");
    }
}

fn show(findings: &[Finding], as_json: bool) {
    let word = |grade| match grade {
        Grade::Good => "ok",
        Grade::Weak => "weak",
        Grade::Bad => "bad",
    };
    if as_json {
        let one = |f: &Finding| json!({"what": f.what, "grade": word(f.grade), "found": f.found, "mend": f.mend.as_deref().unwrap_or("")});
        out::line(&json!(findings.iter().map(one).collect::<Vec<_>>()).to_string());
        return;
    }
    for finding in findings {
        out::line(&format!("{:<5}{:<13}{}", word(finding.grade), finding.what, finding.found));
        if let Some(mend) = &finding.mend {
            out::line(&format!("{:18}{mend}", ""));
        }
    }
}
