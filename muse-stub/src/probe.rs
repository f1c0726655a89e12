//! What a job sees and may do, told as one JSON object: for tests of confinement.
//!
//! Promises: a probe says what the system said, `ok` or the name of the error; it undoes what it did where it can.

use crate::play::Run;
use crate::script::Step;
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{Pid, getegid, geteuid, getgid, getpgid, getppid, getsid, getuid};
use serde_json::{Map, Value, json};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(5);
/// Most bytes of a file, and entries of a folder, that are told.
const MAX_TOLD: usize = 200;

pub(crate) fn perform(run: &mut Run<'_>, step: &Step) {
    if step.name == "report" {
        let report = report(run);
        run.report.insert("report".into(), report);
        return;
    }
    let mut row = json!({"probe": step.name, "target": step.value});
    let result = probe(&step.name, &step.value);
    if let Some(row) = row.as_object_mut() {
        let (word, detail) = match result {
            Ok(detail) => ("ok".to_owned(), detail),
            Err(error) => (word(&error), Value::String(error.to_string())),
        };
        row.insert("result".into(), word.into());
        row.insert("detail".into(), detail);
    }
    if let Value::Array(rows) = run.report.entry("probes").or_insert_with(|| Value::Array(Vec::new())) {
        rows.push(row);
    }
}

/// The name of an error of the system, as `EACCES`.
fn word(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(errno) => format!("{errno:?}"),
        None => format!("{:?}", error.kind()),
    }
}

fn probe(name: &str, target: &str) -> io::Result<Value> {
    let path = Path::new(target);
    match name {
        "read" => {
            let mut bytes = Vec::new();
            fs::File::open(path)?.take(MAX_TOLD as u64).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into())
        }
        "list" => {
            let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
            names.take(MAX_TOLD).collect::<io::Result<Vec<_>>>().map(Value::from)
        }
        "write" => {
            OpenOptions::new().write(true).create_new(true).open(path)?.write_all(b"x")?;
            done(fs::remove_file(path))
        }
        "append" => done(OpenOptions::new().append(true).open(path)?.write_all(b"x")),
        "remove" => done(fs::remove_file(path)),
        "rename" => {
            let beside = path.with_extension("renamed");
            fs::rename(path, &beside)?;
            done(fs::rename(beside, path))
        }
        "link" => {
            fs::hard_link(path, "probe-link")?;
            done(fs::remove_file("probe-link"))
        }
        "chmod" => done(fs::set_permissions(path, fs::metadata(path)?.permissions())),
        "mkdir" => {
            fs::create_dir(path)?;
            done(fs::remove_dir(path))
        }
        "exec" => {
            let mut command = std::process::Command::new(Path::new(".").join(path));
            command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
            Ok(command.status()?.to_string().into())
        }
        "connect" => {
            let address = target.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
            done(TcpStream::connect_timeout(&address, PATIENCE).map(drop))
        }
        "udp" => {
            let any = if target.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
            UdpSocket::bind(any)?.send_to(b"x", target).map(Value::from)
        }
        "unix" => done(UnixStream::connect(path).map(drop)),
        "listen" => done(TcpListener::bind(target).map(drop)),
        "signal" => {
            let pid = target.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
            done(nix::sys::signal::kill(Pid::from_raw(pid), None).map_err(io::Error::from))
        }
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

fn done(result: io::Result<()>) -> io::Result<Value> {
    result.map(|()| Value::Null)
}

fn report(run: &Run<'_>) -> Value {
    let text = |os: std::ffi::OsString| Value::String(os.to_string_lossy().into_owned());
    let env: Map<String, Value> =
        std::env::vars_os().map(|(name, value)| (name.to_string_lossy().into_owned(), text(value))).collect();
    let folder = std::env::current_dir().map(|dir| text(dir.into_os_string())).unwrap_or_default();
    let prompt = run.call.prompt_file.as_deref();
    json!({
        "argv": std::env::args_os().map(text).collect::<Vec<_>>(),
        "env": env,
        "cwd": folder,
        "fds": descriptors(),
        "uid": [getuid().as_raw(), geteuid().as_raw()],
        "gid": [getgid().as_raw(), getegid().as_raw()],
        "pid": std::process::id(),
        "ppid": getppid().as_raw(),
        "pgid": getpgid(None).map(Pid::as_raw).ok(),
        "sid": getsid(None).map(Pid::as_raw).ok(),
        "limits": limits(),
        "status": status(),
        "pids": pids(),
        "prompt_file": prompt.map(|path| path.to_string_lossy().into_owned()),
        "prompt_mode": prompt.and_then(|path| fs::metadata(path).ok()).map(|meta| format!("{:o}", meta.mode() & 0o7777)),
        "key_bytes": run.prompt.key.as_ref().map(String::len),
        "fields": run.prompt.document.as_ref().and_then(Value::as_object).map(|fields| fields.keys().cloned().collect::<Vec<_>>()),
    })
}

/// Open descriptors and what they are, without the one that lists them.
fn descriptors() -> Vec<Value> {
    let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    let entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let target = |path: &Path| fs::read_link(path).ok().map(|target| target.to_string_lossy().into_owned());
    let open = entries.iter().filter(|path| fs::symlink_metadata(path).is_ok());
    open.map(|path| json!({"fd": number(path), "target": target(path)})).collect()
}

fn limits() -> Value {
    let known = [
        ("core", Resource::RLIMIT_CORE),
        ("cpu", Resource::RLIMIT_CPU),
        ("fsize", Resource::RLIMIT_FSIZE),
        ("nofile", Resource::RLIMIT_NOFILE),
        #[cfg(target_os = "linux")]
        ("nproc", Resource::RLIMIT_NPROC),
        ("as", Resource::RLIMIT_AS),
    ];
    known
        .into_iter()
        .map(|(name, which)| (name.to_owned(), json!(getrlimit(which).map(|(soft, _)| soft).ok())))
        .collect()
}

/// The lines of the kernel's own account that say what is enforced.
fn status() -> Map<String, Value> {
    const TOLD: [&str; 9] =
        ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Groups", "NStgid"];
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.filter(|(name, _)| TOLD.contains(name)).map(|(name, value)| (name.into(), value.trim().into())).collect()
}

/// Processes that can be seen.
fn pids() -> Vec<u32> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).take(MAX_TOLD).collect()
}
