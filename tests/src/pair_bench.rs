//! A real supervisor and a real worker on one machine, with the stand-in for Muse, called over HTTP.
//!
//! Promises: everything waits for a condition, with a deadline, never for a time; whatever a test started is gone when it
//! is dropped; a process of a job is found by the folder that stands in its environment, never by its name alone.

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// No step of a test takes longer than this.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Where the programs are that a test starts.
#[derive(Clone, Copy, Debug)]
pub struct Programs {
    /// The supervisor.
    pub supervisor: &'static str,
    /// The worker.
    pub worker: &'static str,
    /// Its jail.
    pub jail: &'static str,
    /// The stand-in for Muse.
    pub stub: &'static str,
}

/// The programs that Cargo has built for this test.
#[macro_export]
macro_rules! pair_programs {
    () => {
        $crate::pair_bench::Programs {
            supervisor: env!("CARGO_BIN_EXE_trial-supervisor"),
            worker: env!("CARGO_BIN_EXE_trial-worker"),
            jail: env!("CARGO_BIN_EXE_trial-jail"),
            stub: env!("CARGO_BIN_EXE_trial-muse-stub"),
        }
    };
}

/// An answer over HTTP.
#[derive(Debug)]
pub struct Answer {
    /// Status.
    pub status: u16,
    /// Head, in lower case.
    pub head: String,
    /// Body as JSON; `Null` where it is none.
    pub body: Value,
}

impl Answer {
    /// The state of the Task in it, without its prefix.
    #[must_use]
    pub fn state(&self) -> &str {
        let task = self.body.pointer("/result/task").or_else(|| self.body.get("result"));
        let state = task.and_then(|task| task.pointer("/status/state")).and_then(Value::as_str);
        state.unwrap_or_default().trim_start_matches("TASK_STATE_")
    }

    /// The id of the Task in it.
    #[must_use]
    pub fn task(&self) -> String {
        self.body.pointer("/result/task/id").and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

/// Both processes.
#[derive(Debug)]
pub struct Pair {
    programs: Programs,
    folder: TempDir,
    /// Where it is called.
    pub address: SocketAddr,
    /// A token.
    pub token: String,
    /// The supervisor.
    pub supervisor: Option<Child>,
    /// The worker.
    pub worker: Option<Child>,
}

impl Drop for Pair {
    fn drop(&mut self) {
        for child in [&mut self.supervisor, &mut self.worker].into_iter().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Pair {
    /// Settings, a caller, and both processes.
    #[must_use]
    pub fn start(programs: Programs) -> Self {
        Self::start_with(programs, Path::new("muse-stub"), "")
    }

    /// The same with another agent; `muse` is absolute or in the pair's folder, `more` are lines for its section.
    #[must_use]
    pub fn start_with(programs: Programs, muse: &Path, more: &str) -> Self {
        let base = Path::new("/dev/shm");
        let folder = if base.is_dir() { TempDir::new_in(base) } else { TempDir::new() }.expect("a folder");
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr()).expect("a port");
        let mut pair = Self { programs, folder, address: port, token: String::new(), supervisor: None, worker: None };
        pair.write_settings(muse, more);
        let caller = musegate_protocol::Label::new("tester").expect("a name");
        let token = musegate_supervisor::admission::edit::add(&pair.path("callers.toml"), &caller, None);
        pair.token = token.expect("a token").clear.to_string();
        pair.start_worker();
        pair.start_supervisor();
        pair.until_it_answers();
        pair
    }

    /// A path in its folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write_settings(&self, muse: &Path, more: &str) {
        let root = if Uid::effective().is_root() { "allow_root = true\n" } else { "" };
        // The worker finds its jail beside itself, by its own name.
        symlink(self.programs.worker, self.path("musegate-worker")).expect("a link");
        fs::hard_link(self.programs.worker, self.path("worker"))
            .or_else(|_| fs::copy(self.programs.worker, self.path("worker")).map(drop))
            .expect("the worker");
        fs::copy(self.programs.jail, self.path("musegate-jail")).expect("the jail");
        fs::copy(self.programs.stub, self.path("muse-stub")).expect("the stand-in");
        fs::create_dir(self.path("run")).expect("a folder");
        let socket = self.path("run/worker.sock");
        let supervisor = format!(
            "{root}[listen]\naddresses = [\"{}\"]\n[worker]\nsocket = {socket:?}\n[callers]\nrate_per_minute = 0\n",
            self.address
        );
        let worker = format!(
            "{root}[socket]\npath = {socket:?}\n[muse]\npath = {:?}\n{more}[jobs]\nscratch = {:?}\n",
            self.folder.path().join(muse),
            self.path("jobs")
        );
        fs::write(self.path("supervisor.toml"), supervisor).expect("settings");
        fs::write(self.path("worker.toml"), worker).expect("settings");
    }

    fn spawn(&self, program: &Path, settings: &str) -> Child {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.path("log")).expect("a log");
        let mut command = Command::new(program);
        command.arg("--config").arg(self.path(settings)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command.spawn().expect("a process")
    }

    /// Starts the worker.
    pub fn start_worker(&mut self) {
        self.worker = Some(self.spawn(&self.path("worker"), "worker.toml"));
    }

    /// Starts the supervisor.
    pub fn start_supervisor(&mut self) {
        self.supervisor = Some(self.spawn(Path::new(self.programs.supervisor), "supervisor.toml"));
    }

    /// SIGKILL for one of the two, and its end.
    pub fn kill(child: &mut Option<Child>) {
        let mut child = child.take().expect("it runs");
        child.kill().expect("a kill");
        child.wait().expect("its end");
    }

    /// SIGTERM for one of the two, and its status.
    pub fn stop(child: &mut Option<Child>) -> i32 {
        let mut child = child.take().expect("it runs");
        kill(Pid::from_raw(child.id().try_into().expect("a pid")), Signal::SIGTERM).expect("a signal");
        child.wait().expect("its end").code().unwrap_or(-1)
    }

    /// What both have logged.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// A JSON-RPC call of version 1.
    ///
    /// # Errors
    /// No connection, or it broke.
    pub fn call(&self, method: &str, params: Value) -> std::io::Result<Answer> {
        self.call_with(method, params, "")
    }

    /// The same with further lines of its head, each with its end.
    ///
    /// # Errors
    /// No connection, or it broke.
    pub fn call_with(&self, method: &str, params: Value, more: &str) -> std::io::Result<Answer> {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (address, token, len) = (self.address, &self.token, body.len());
        write!(
            stream,
            "POST / HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nA2A-Version: 1.0\r\n\
             Content-Type: application/json\r\nContent-Length: {len}\r\n{more}Connection: close\r\n\r\n{body}"
        )?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let (head, body) = text.split_once("\r\n\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
        let status = head.get(9..12).and_then(|code| code.parse().ok()).ok_or(std::io::ErrorKind::InvalidData)?;
        let body = serde_json::from_str(body).unwrap_or(Value::Null);
        Ok(Answer { status, head: head.to_ascii_lowercase(), body })
    }

    /// Sends a message of its own id.
    ///
    /// # Errors
    /// No connection, or it broke.
    pub fn send(&self, text: &str, wait: bool) -> std::io::Result<Answer> {
        let mut id = [0; 8];
        fs::File::open("/dev/urandom")?.read_exact(&mut id)?;
        let id = u64::from_ne_bytes(id).to_string();
        let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
        self.call("SendMessage", json!({"message": message, "configuration": {"returnImmediately": !wait}}))
    }

    /// Asks for a Task.
    #[must_use]
    pub fn get(&self, task: &str) -> Answer {
        self.call("GetTask", json!({"id": task})).expect("an answer")
    }

    /// Adds lines to the settings of both, and starts both again.
    pub fn settings(&mut self, supervisor: &str, worker: &str) {
        for (name, more) in [("supervisor.toml", supervisor), ("worker.toml", worker)] {
            let text = fs::read_to_string(self.path(name)).expect("settings");
            fs::write(self.path(name), format!("{text}{more}")).expect("settings");
        }
        Self::stop(&mut self.supervisor);
        Self::stop(&mut self.worker);
        self.start_worker();
        self.start_supervisor();
        self.until_it_answers();
    }

    /// Sends until it is answered with a completed Task. Until then only 503 with `Retry-After`, or nobody there.
    pub fn until_it_answers(&self) {
        self.until("it answers", || match self.send("@stub answer=yes", true) {
            Ok(answer) if answer.status == 200 => {
                assert_eq!(answer.state(), "COMPLETED", "{answer:?}\n{}", self.log());
                true
            }
            Ok(answer) => {
                assert_eq!(answer.status, 503, "{answer:?}");
                assert!(answer.head.contains("\r\nretry-after: "), "{answer:?}");
                false
            }
            Err(_) => false,
        });
    }

    /// Waits for a condition.
    pub fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds() {
            assert!(Instant::now() < deadline, "not in time: {what}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Processes of jobs of this pair: those that have its folder in their environment or arguments, but for the two
    /// halves and the jail.
    #[must_use]
    pub fn job_processes(&self) -> Vec<(u32, String)> {
        let folder = self.path("jobs");
        let needle = folder.as_os_str().to_string_lossy().into_owned();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("proc").flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
            let all = [read("environ"), read("cmdline")].concat();
            if String::from_utf8_lossy(&all).contains(&needle) {
                found.push((pid, String::from_utf8_lossy(&read("cmdline")).replace('\0', " ")));
            }
        }
        found
    }

    /// Scratch folders that are there now, those that wait for their removal included.
    #[must_use]
    pub fn scratch_folders(&self) -> Vec<PathBuf> {
        let list = |folder: &Path| -> Vec<PathBuf> {
            fs::read_dir(folder).map(|all| all.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
        };
        let jobs = self.path("jobs");
        let visible = list(&jobs).into_iter().filter(|path| path.is_dir() && !path.ends_with(".trash"));
        visible.chain(list(&jobs.join(".trash"))).collect()
    }

    /// The records of admitted requests in the audit.
    #[must_use]
    pub fn audit(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("audit.jsonl")).unwrap_or_default();
        let records = text.lines().map(|line| serde_json::from_str(line).expect("a record"));
        records.filter(|record: &Value| record.get("kind").and_then(Value::as_str) == Some("request")).collect()
    }

    /// Checks the whole trail.
    #[must_use]
    pub fn audit_verifies(&self) -> musegate_supervisor::audit::Verified {
        let text = fs::read_to_string(self.path("supervisor.toml")).expect("settings");
        let config =
            musegate_supervisor::config::Config::parse(&self.path("supervisor.toml"), &text).expect("settings");
        musegate_supervisor::audit::verify(&config.audit).expect("the trail")
    }
}
