//! The list of attacks, run twice against targets laid out alike: as a job, and as an ordinary program.

use musegate_protocol::message::Layer;
use musegate_sandbox_profiles::attack::{Target, attempts, gaps};
use musegate_worker::process::{Confinement, Jail, JailCommand, Launch, ProcessLimits, Stdin};
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tokio::io::AsyncReadExt;

/// Attacks the target that the words describe; one line per attempt: where, name, outcome.
pub(crate) fn run(place: &str, scratch: &str, outside: &str, tcp_port: &str, unix: &str, victim: &str) {
    let target = Target {
        scratch: scratch.into(),
        outside: outside.into(),
        tcp_port: tcp_port.parse().unwrap(),
        unix: unix.into(),
        victim: victim.parse().unwrap(),
    };
    for attempt in attempts() {
        say(place, attempt.name, (attempt.run)(&target));
    }
    for gap in gaps() {
        say(place, gap.name, (gap.run)(&target));
    }
}

fn say(place: &str, name: &str, outcome: nix::Result<()>) {
    match outcome {
        Ok(()) => println!("{place} {name} ok"),
        Err(errno) => println!("{place} {name} {errno:?}"),
    }
}

/// Both runs, below `folder`.
pub(crate) fn both(jail: &str, folder: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(inside(jail, Range::lay_out("inside", &folder.join("inside"))));
    outside(&folder.join("outside"));
}

/// What is attacked, alive as long as this is.
pub(crate) struct Range {
    scratch: PathBuf,
    words: Vec<OsString>,
    victim: Child,
    _open: (TcpListener, UnixListener),
}

impl Range {
    pub(crate) fn lay_out(place: &str, folder: &Path) -> Self {
        let (scratch, outside, unix) = (folder.join("scratch"), folder.join("private"), folder.join("socket"));
        fs::create_dir_all(&scratch).unwrap();
        fs::create_dir(&outside).unwrap();
        for file in ["secret", "loot", "doomed"] {
            fs::write(outside.join(file), "x").unwrap();
        }
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port().to_string();
        let open = (tcp, UnixListener::bind(&unix).unwrap());
        let mut victim = start_victim();
        // A job has its own process numbers from 1 on: the victim's must not be one of them.
        while victim.id() < 64 {
            drop(victim.stdin.take());
            let _ = victim.wait();
            victim = start_victim();
        }
        let number = victim.id().to_string();
        let mut words: Vec<OsString> = ["attack", place].map(Into::into).into();
        words.extend([scratch.clone().into(), outside.into(), port.into(), unix.into(), number.into()]);
        Self { scratch, words, victim, _open: open }
    }

    fn tear_down(mut self) {
        drop(self.victim.stdin.take());
        let _ = self.victim.wait();
    }
}

/// As a job.
pub(crate) async fn inside(jail: &str, range: Range) {
    let command = JailCommand { program: jail.into(), args: Vec::new() };
    let jail = Jail::start(&command, Confinement::default()).await.unwrap();
    for layer in Layer::ALL.into_iter().filter(|layer| jail.report().holds.has(*layer)) {
        println!("holds {} ok", layer.word());
    }
    let mut argv: Vec<OsString> = vec!["trial".into()];
    argv.extend(range.words.clone());
    let launch = Launch {
        program: exe(),
        argv,
        env: Vec::new(),
        cwd: range.scratch.clone(),
        scratch: range.scratch.clone(),
        lock: File::create(range.scratch.join(".lock")).unwrap().into(),
        stdin: Stdin::Null,
        limits: ProcessLimits { cpu_seconds: 60, file_bytes: 1 << 20, open_files: 64, processes: None },
    };
    let mut group = jail.launch(launch).await.unwrap();
    let (mut said, mut complaints) = (String::new(), String::new());
    group.stdout.read_to_string(&mut said).await.unwrap();
    group.stderr.read_to_string(&mut complaints).await.unwrap();
    print!("{said}");
    assert!(complaints.is_empty(), "{complaints}");
    println!("inside ended {:?}", group.exited().await);
    range.tear_down();
}

fn outside(folder: &Path) {
    let range = Range::lay_out("outside", folder);
    let (_, hard) = rlimit::Resource::NOFILE.get().unwrap();
    rlimit::Resource::NOFILE.set(hard.min(8192), hard).unwrap();
    assert!(Command::new(exe()).args(&range.words).status().unwrap().success());
    range.tear_down();
}

fn start_victim() -> Child {
    Command::new(exe()).arg("victim").stdin(Stdio::piped()).spawn().unwrap()
}

/// Waits until nobody holds its stdin open.
pub(crate) fn victim() {
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}

pub(crate) fn exe() -> PathBuf {
    std::env::current_exe().unwrap()
}
