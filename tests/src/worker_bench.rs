//! A real worker process with the stand-in for Muse, and the supervisor's end of its socket, driven by hand.
//!
//! Promises: everything waits for a condition, with a deadline, never for a time; the supervisor's end keeps the order
//! table too, so that a worker that breaks the protocol fails the test that sees it.

use bytes::BytesMut;
use musegate_protocol::bounded::{Label, List, Text};
use musegate_protocol::codec::SupervisorCodec;
use musegate_protocol::message::{
    CancelReason, FromWorker, Hello, HelloAck, INITIAL_CREDIT, InstanceId, JobId, JobLimits, Outcome, PROTOCOL,
    Progress, PromptPart, RefuseReason, StartJob, ToWorker,
};
use musegate_protocol::order::Order;
use musegate_protocol::preamble;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::codec::{Decoder, Encoder};

/// No step of a test takes longer than this.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Where the programs are that a test starts; made by [`programs!`](crate::programs).
#[derive(Clone, Copy, Debug)]
pub struct Programs {
    /// The worker.
    pub worker: &'static str,
    /// Its jail.
    pub jail: &'static str,
    /// The stand-in for Muse.
    pub stub: &'static str,
    /// A folder on the same file system.
    pub folder: &'static str,
}

/// The programs that Cargo has built for this test.
#[macro_export]
macro_rules! programs {
    () => {
        $crate::worker_bench::Programs {
            worker: env!("CARGO_BIN_EXE_trial-worker"),
            jail: env!("CARGO_BIN_EXE_trial-jail"),
            stub: env!("CARGO_BIN_EXE_trial-muse-stub"),
            folder: env!("CARGO_TARGET_TMPDIR"),
        }
    };
}

/// Lines of a worker's settings, by section.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `[socket]`; a test that says nothing of it may be silent for long.
    pub socket: &'static str,
    /// `[muse]`
    pub muse: &'static str,
    /// `[jobs]`
    pub jobs: &'static str,
    /// `[limits]`
    pub limits: &'static str,
    /// Other sections.
    pub more: String,
}

/// A running worker, in a folder of its own.
pub struct Worker {
    /// All that it makes is in here.
    pub folder: TempDir,
    child: Child,
}

impl Worker {
    /// Starts one and waits until it listens and has found its Muse.
    pub async fn start(programs: Programs, settings: Settings) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("w")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(programs.folder)
            .unwrap();
        let path = folder.path();
        fs::create_dir(path.join("bin")).unwrap();
        for (from, name) in
            [(programs.worker, "musegate-worker"), (programs.jail, "musegate-jail"), (programs.stub, "muse-stub")]
        {
            fs::hard_link(from, path.join("bin").join(name)).unwrap();
        }
        write_settings(path, &settings);
        let child = spawn(path);
        let mut worker = Self { folder, child };
        worker.until_ready().await;
        worker
    }

    async fn until_ready(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while !self.log().contains("confinement") {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("the worker ended with {status}: {}", self.log());
            }
            assert!(Instant::now() < deadline, "the worker is not ready: {}", self.log());
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Starts it again in the same folder, after it has ended.
    pub async fn restart(&mut self) {
        fs::write(self.folder.path().join("log"), "").unwrap();
        self.child = spawn(self.folder.path());
        self.until_ready().await;
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("run/worker.sock")
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.child.id().unwrap().cast_signed()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).unwrap();
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> ExitStatus {
        timeout(PATIENCE, self.child.wait()).await.expect("the worker does not end").unwrap()
    }

    /// Job folders that are there.
    pub fn scratch(&self) -> Vec<String> {
        let all = fs::read_dir(self.folder.path().join("jobs")).unwrap();
        let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("job-")).collect()
    }

    /// The folder of a job is removed right after its end is told.
    pub async fn until_no_scratch(&self) {
        let deadline = Instant::now() + PATIENCE;
        while !self.scratch().is_empty() {
            assert!(Instant::now() < deadline, "a folder is left: {:?}", self.scratch());
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// A connected supervisor that has said hello and heard the answer.
    pub async fn supervisor(&self) -> Supervisor {
        Supervisor::connect(&self.socket(), InstanceId([1; 16])).await
    }

    /// Resident memory, KiB.
    pub fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- log of the worker\n{}", self.log());
        }
    }
}

fn write_settings(folder: &Path, settings: &Settings) {
    let Settings { socket, muse, jobs, limits, more } = settings;
    let socket = if socket.is_empty() { "silence = \"10m\"" } else { socket };
    let place = folder.display();
    let text = format!(
        "allow_root = true\n[socket]\npath = \"{place}/run/worker.sock\"\n{socket}\n\
         [muse]\npath = \"{place}/bin/muse-stub\"\n{muse}\n[jobs]\nscratch = \"{place}/jobs\"\n{jobs}\n\
         [limits]\n{limits}\n[log]\nlevel = \"debug\"\n{more}\n"
    );
    fs::write(folder.join("worker.toml"), text).unwrap();
    fs::set_permissions(folder.join("worker.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(folder.join("log"), "").unwrap();
}

fn spawn(folder: &Path) -> Child {
    let log = fs::File::options().append(true).open(folder.join("log")).unwrap();
    Command::new(folder.join("bin/musegate-worker"))
        .args(["--config".as_ref(), folder.join("worker.toml").as_os_str()])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// Everything that was heard of one job.
#[derive(Debug, Default)]
pub struct Heard {
    /// The answer as a reader has it in the end.
    pub text: String,
    /// Frames of it.
    pub frames: usize,
    /// Whether it was ever replaced.
    pub replaced: bool,
    /// What happened inside.
    pub progress: Vec<Progress>,
    /// Files, whole.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// How a job ended, for the supervisor.
#[derive(Debug)]
pub enum Ended {
    /// It did not start.
    Refused(RefuseReason, String),
    /// It ran.
    Finished(Box<Outcome>),
}

impl Ended {
    /// The outcome of a job that ran.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Finished(outcome) => *outcome,
            Self::Refused(reason, detail) => panic!("refused: {reason:?}, {detail}"),
        }
    }
}

/// The supervisor's end of a connection.
pub struct Supervisor {
    /// The socket.
    pub stream: UnixStream,
    /// What the worker said of itself.
    pub ack: HelloAck,
    order: Order,
    codec: SupervisorCodec,
    input: BytesMut,
    last: u64,
}

impl Supervisor {
    /// Connects and greets.
    pub async fn connect(socket: &Path, instance: InstanceId) -> Self {
        let mut stream = UnixStream::connect(socket).await.unwrap();
        exchange_preambles(&mut stream).await;
        let mut order = Order::new();
        let mut codec = SupervisorCodec::default();
        let mut input = BytesMut::new();
        let hello = hello(instance);
        order.to_worker(&hello).unwrap();
        write(&mut stream, &mut codec, &hello).await;
        let ack = match read(&mut stream, &mut codec, &mut input).await {
            Some(FromWorker::HelloAck(ack)) => ack,
            other => panic!("no hello: {other:?}"),
        };
        order.from_worker(&FromWorker::HelloAck(ack.clone())).unwrap();
        Self { stream, ack: *ack, order, codec, input, last: 0 }
    }

    /// Says something that is legal.
    pub async fn say(&mut self, message: &ToWorker) {
        self.order.to_worker(message).unwrap();
        write(&mut self.stream, &mut self.codec, message).await;
    }

    /// Says something without asking whether it is legal.
    pub async fn say_anyway(&mut self, message: &ToWorker) {
        write(&mut self.stream, &mut self.codec, message).await;
    }

    /// The next message; `None` at the end of the connection. What is not legal fails the test.
    pub async fn hear(&mut self) -> Option<FromWorker> {
        let message = read(&mut self.stream, &mut self.codec, &mut self.input).await?;
        self.order.from_worker(&message).unwrap_or_else(|violation| panic!("{violation}: {message:?}"));
        Some(message)
    }

    /// Starts a job with this text; it is not waited for.
    pub async fn start(&mut self, text: &str) -> JobId {
        self.start_with(text, |_| {}).await
    }

    /// The same, with something changed.
    pub async fn start_with(&mut self, text: &str, change: impl FnOnce(&mut StartJob)) -> JobId {
        self.last += 1;
        let mut start = job(self.last, text);
        change(&mut start);
        let job = start.job;
        self.last = job.0;
        self.say(&ToWorker::Start(Box::new(start))).await;
        job
    }

    /// Hears of this job until it ends, and gives credit for all that comes. Other jobs' messages are passed over.
    pub async fn finish(&mut self, job: JobId) -> (Heard, Ended) {
        let mut heard = Heard::default();
        let mut owed = 0;
        loop {
            let message = self.hear().await.expect("the worker closed the connection");
            if message.job() != Some(job) {
                continue;
            }
            owed += message.cost();
            match message {
                FromWorker::Output { text, fresh, .. } => {
                    if fresh {
                        heard.text.clear();
                        heard.replaced = true;
                    }
                    heard.text.push_str(&text);
                    heard.frames += 1;
                }
                FromWorker::Progress { event, .. } => heard.progress.push(event),
                FromWorker::File { name, bytes, .. } => {
                    heard.files.entry(name.to_string()).or_default().extend_from_slice(&bytes);
                }
                FromWorker::Refused { reason, detail, .. } => {
                    return (heard, Ended::Refused(reason, detail.into_string()));
                }
                FromWorker::Finished { outcome, .. } => return (heard, Ended::Finished(outcome)),
                _ => {}
            }
            if owed > INITIAL_CREDIT / 4 {
                self.say(&ToWorker::Credit { job, bytes: owed }).await;
                owed = 0;
            }
        }
    }

    /// A whole job.
    pub async fn run(&mut self, text: &str) -> (Heard, Outcome) {
        let job = self.start(text).await;
        let (heard, ended) = self.finish(job).await;
        (heard, ended.outcome())
    }

    /// Hears of this job until something of it satisfies `is`.
    pub async fn until(&mut self, job: JobId, is: impl Fn(&FromWorker) -> bool) -> FromWorker {
        loop {
            let message = self.hear().await.expect("the worker closed the connection");
            if message.job() == Some(job) && is(&message) {
                return message;
            }
        }
    }

    /// Wants a job to end.
    pub async fn cancel(&mut self, job: JobId) {
        self.say(&ToWorker::Cancel { job, reason: CancelReason::Caller }).await;
    }
}

/// Both preambles, as this version has them.
pub async fn exchange_preambles(stream: &mut UnixStream) {
    stream.write_all(&preamble::ask(*b"test0000")).await.unwrap();
    let mut answer = [0; preamble::LEN];
    timeout(PATIENCE, stream.read_exact(&mut answer)).await.unwrap().unwrap();
    preamble::read_answer(&answer).unwrap();
}

/// A supervisor's hello.
pub fn hello(instance: InstanceId) -> ToWorker {
    ToWorker::Hello(Hello { version: PROTOCOL, build: Label::new("test").unwrap(), instance })
}

/// A job that asks this.
pub fn job(number: u64, text: &str) -> StartJob {
    let label = |text: &str| Label::new(text).unwrap();
    StartJob {
        job: JobId(number),
        caller: label("hermes"),
        task: label("task-1"),
        context: label("context-1"),
        message: Text::new("message-1").unwrap(),
        trace: [7; 16],
        turns: List::default(),
        parts: List::new(vec![PromptPart::Text(Text::new(text).unwrap())]).unwrap(),
        output_schema: None,
        structured: false,
        limits: JobLimits { wall_seconds: 0, output_bytes: 0, files: 0, file_bytes: 0 },
    }
}

async fn write(stream: &mut UnixStream, codec: &mut SupervisorCodec, message: &ToWorker) {
    let mut bytes = BytesMut::new();
    codec.encode(message, &mut bytes).unwrap();
    // The worker may have closed the connection; the test sees that when it reads.
    let _ = timeout(PATIENCE, stream.write_all(&bytes)).await.expect("the worker does not read");
}

async fn read(stream: &mut UnixStream, codec: &mut SupervisorCodec, input: &mut BytesMut) -> Option<FromWorker> {
    loop {
        if let Some(message) = codec.decode(input).unwrap() {
            return Some(message);
        }
        let read = timeout(PATIENCE, stream.read_buf(input)).await.expect("the worker says nothing");
        if !read.is_ok_and(|count| count > 0) {
            return None;
        }
    }
}
