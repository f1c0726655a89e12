//! A small worker: starts the jail and one hostile program, says when it is up, ends it when told.

use musegate_protocol::message::Layer;
use musegate_worker::process::{Confinement, Jail, JailCommand, KillModes, Launch, ProcessLimits, Stdin};
use std::fs::File;
use std::path::Path;
use tokio::io::AsyncReadExt;

/// Follows words on stdin (`kill`, `term`, `drop`, `wait`) until the end of it.
pub(crate) fn run(jail: &str, modes: &str, shape: &str, scratch: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(follow(jail, modes, shape, scratch));
}

async fn follow(jail: &str, modes: &str, shape: &str, scratch: &Path) {
    let command = JailCommand { program: jail.into(), args: Vec::new() };
    let kill = KillModes { pid_namespace: modes != "landlock", landlock: modes != "pid-namespace" };
    let allow_weak = Layer::ALL.into();
    let jail =
        Jail::start(&command, Confinement { allow_weak, kill, exec: vec![exe()], ..Confinement::default() }).await;
    let jail = jail.unwrap();
    for (wanted, layer) in [(kill.pid_namespace, Layer::KillByPidNamespace), (kill.landlock, Layer::KillByLandlock)] {
        assert_eq!(jail.report().holds.has(layer), wanted, "{layer:?} as wanted by {modes}");
    }
    let mut group = jail.launch(hostile(shape, scratch)).await.unwrap();
    let mut up = [0; 3];
    group.stdout.read_exact(&mut up).await.unwrap();
    println!("up {}", group.pid().unwrap_or(0));
    for word in std::io::stdin().lines() {
        let word = word.unwrap();
        match word.as_str() {
            "kill" => group.kill(),
            "term" => group.term(),
            "wait" => {}
            other => panic_on(other),
        }
        if word != "term" {
            println!("reaped {:?} {:?}", group.exited().await, group.reaped().await);
        }
    }
}

fn panic_on(word: &str) {
    println!("no such word: {word}");
    std::process::exit(64);
}

fn exe() -> std::path::PathBuf {
    std::env::current_exe().unwrap()
}

fn hostile(shape: &str, scratch: &Path) -> Launch {
    Launch {
        program: exe(),
        argv: ["trial", "hostile", shape].map(Into::into).into(),
        env: Vec::new(),
        cwd: scratch.to_owned(),
        scratch: scratch.to_owned(),
        lock: File::create(scratch.join(".lock")).unwrap().into(),
        stdin: Stdin::Null,
        limits: ProcessLimits { cpu_seconds: 60, file_bytes: 1 << 20, open_files: 64, processes: None },
    }
}
